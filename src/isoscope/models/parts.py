"""The named parts of a transformer, found from its modules: embeddings, positions, norms.

Nothing is loaded: the modules are those of a network without numbers. Paths are those of the
network without a head (`Model.network`), as results call a part the same whatever head a
checkpoint was saved with; paths of the head are those of the whole network.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from isoscope.models.norms import Norm, find_norms
from isoscope.models.positions import Positions, find_positions
from isoscope.models.skeleton import trace
from isoscope.models.stacks import FINAL_NORM, Stack, find_stacks

if TYPE_CHECKING:
    from torch import nn

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

    def norms_at(self, layer: str) -> tuple[Norm, ...]:
        """Return the norms of a layer, or of the ``head``."""
        return tuple(norm for norm in self.norms if norm.where == layer)


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
