"""How a network is told where in a text a token stands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Collection

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
