"""The named parts of a transformer, found from its modules: embeddings, positions, norms.

Nothing is loaded: the modules are those of a network without numbers. Paths are those of the
network without a head (`Model.network`), as results call a part the same whatever head a
checkpoint was saved with; paths of the head are those of the whole network.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from isoscope.models.layer_names import FINAL_NORM
from isoscope.models.structure.norm_layers import Norm, find_norms
from isoscope.models.structure.skeleton import trace
from isoscope.models.structure.stacks import Stack, find_stacks

if TYPE_CHECKING:
    from torch import nn


LEARNED, SINUSOIDAL, ROTARY = "learned", "sinusoidal", "rotary"
RELATIVE, ALIBI, NONE = "relative", "alibi", "none"


@dataclass(frozen=True)
class PositionTable:
    """A tensor with a row for every position."""

    path: str
    kind: str
    """``learned`` or ``sinusoidal``."""
    first_row: int
    """Row of the first position: RoBERTa and MPNet begin behind the padding token's, OPT and BART
    by an offset of their own."""
    positions: int


@dataclass(frozen=True)
class Positions:
    """The kinds of positional information; MPNet has two, and some networks have none."""

    kinds: tuple[str, ...]
    tables: tuple[PositionTable, ...] = ()


def find_positions(
    skeleton: nn.Module, config: Any, calls: Collection[str] | None = None
) -> Positions:
    """Find out what a network knows of positions from its modules.

    Rotary, relative and ALiBi positions enter the attention and have no row for a position. Falcon
    makes a rotary module even where it uses ALiBi.

    Parameters
    ----------
    skeleton : torch.nn.Module
        The network without a head.
    config : transformers.PretrainedConfig
        Its configuration.
    calls : collection of str, optional
        Paths of the modules that a forward pass over text calls: a tower for images has positions
        as well.
    """
    text = config.get_text_config()
    modules = list(skeleton.named_modules())
    looked_up = [(path, module) for path, module in modules if calls is None or path in calls]
    tables = tuple(position_tables(looked_up, text))
    classes = [type(module).__name__.lower() for _, module in modules]
    ends = [path.rpartition(".")[2].lower() for path, _ in modules]
    kinds = [table.kind for table in tables]
    if any("sinusoid" in name for name in classes):
        kinds.append(SINUSOIDAL)
    if any(name.startswith(("relative", "rel_emb", "distance_emb")) for name in ends) or any(
        "relative" in name for name in classes
    ):
        kinds.append(RELATIVE)
    if getattr(text, "alibi", False) or any(builds_alibi(module) for _, module in modules):
        kinds.append(ALIBI)
    elif any("rotary" in name for name in classes) or getattr(text, "rotary_dim", None):
        kinds.append(ROTARY)
    return Positions(tuple(dict.fromkeys(kinds)) or (NONE,), tables)


def builds_alibi(module: nn.Module) -> bool:
    """Whether a module has a method that makes the slopes of ALiBi."""
    return any(name.startswith("build_") and "alibi" in name for name in dir(type(module)))


def position_tables(modules: list[tuple[str, nn.Module]], config: Any) -> list[PositionTable]:
    """Find the tables that are looked up by position."""
    from torch import nn

    found = []
    for path, module in modules:
        end = path.rpartition(".")[2]
        if not isinstance(module, nn.Embedding) or not names_positions(end):
            continue
        # Of DistilBERT the configuration says whether the table holds sinusoids.
        fixed = not module.weight.requires_grad or getattr(config, "sinusoidal_pos_embds", False)
        before = rows_before(module)
        found.append(
            PositionTable(
                f"{path}.weight",
                SINUSOIDAL if fixed else LEARNED,
                before,
                module.num_embeddings - before,
            )
        )
    return found


def names_positions(name: str) -> bool:
    """Whether an embedding is one of positions, by its name, and not of distances between them."""
    return name == "wpe" or ("position" in name and "relative" not in name)


def rows_before(table: Any) -> int:
    """Return how many rows of a table come before that of the first position."""
    offset = getattr(table, "offset", None)
    if offset is None:
        offset = 0 if table.padding_idx is None else table.padding_idx + 1
    return int(offset)


__all__ = ["Norm", "Parts", "Positions", "find_parts"]


@dataclass(frozen=True)
class Parts:
    """What a transformer is made of."""

    input_embedding: str
    """Path of the tensor with a row for every token."""
    unembedding: str | None
    """Path of the tensor whose rows make the scores of tokens; None without such a head."""
    tied: bool | None
    """Whether both are one tensor; None without an unembedding."""
    positions: Positions
    norms: tuple[Norm, ...]
    """In the order in which they compute."""
    stacks: tuple[Stack, ...]
    """One, or the encoder's and the decoder's."""
    prefix: str
    """Path of the network without a head in the whole one, with a dot behind, or nothing."""

    def final_norm(self, stack: str = "") -> Norm | None:
        """Return the norm behind the last block of a stack, where there is one.

        Parameters
        ----------
        stack : str
            ``encoder`` or ``decoder`` of a sequence-to-sequence model.
        """
        wanted = f"{stack} {FINAL_NORM}".strip()
        return next((norm for norm in self.norms if norm.where == wanted), None)


def find_parts(skeleton: Any) -> Parts:
    """Find the parts of a network with its head, which needs no weights."""
    base = skeleton.base_model
    prefix = "" if base is skeleton else f"{skeleton.base_model_prefix}."
    calls = trace(skeleton)
    inside = None
    if calls is not None:
        inside = [path.removeprefix(prefix) for path in calls if path.startswith(prefix)]
    stacks = find_stacks(base, inside)
    entry, out = skeleton.get_input_embeddings(), skeleton.get_output_embeddings()
    return Parts(
        input_embedding=weight_path(base, entry),
        unembedding=None if out is None else weight_path(skeleton, out).removeprefix(prefix),
        tied=None if out is None else out.weight is entry.weight,
        positions=find_positions(base, skeleton.config, inside),
        norms=find_norms(skeleton, prefix, stacks, calls),
        stacks=stacks,
        prefix=prefix,
    )


def weight_path(network: nn.Module, wanted: nn.Module) -> str:
    """Return the path of the weight of a module."""
    path = next(path for path, module in network.named_modules() if module is wanted)
    return f"{path}.weight"
