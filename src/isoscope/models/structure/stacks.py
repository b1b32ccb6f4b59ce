"""Where the blocks of a transformer are, found from its modules instead of from a list of names.

A *stack* is a sequence of equal blocks and what surrounds it: the only one of most models, the
encoder's and the decoder's of a sequence-to-sequence model. Its blocks are in a ``ModuleList``
that is in no other; its final norm, where there is one, is a norm around that list. OPT has a
``final_layer_norm`` in *every* block as well: what a norm is follows from its parent, never from
its name.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from isoscope.errors import DataError
from isoscope.models.layer_names import EMBEDDING, FINAL_NORM, side_of

if TYPE_CHECKING:
    from torch import nn


@dataclass(frozen=True)
class Stack:
    """The modules of a stack by their paths in the network."""

    name: str
    """``encoder`` or ``decoder`` of a sequence-to-sequence model, else empty."""
    blocks: tuple[str, ...]
    final_norm: str | None

    @property
    def layers(self) -> tuple[str, ...]:
        """What results call the layers of this stack, from input to output."""
        names = [EMBEDDING, *(f"block {k}" for k in range(1, len(self.blocks) + 1))]
        names += [FINAL_NORM] if self.final_norm is not None else []
        return tuple(f"{self.name} {layer}".strip() for layer in names)


def find_stacks(network: nn.Module, calls: Sequence[str] | None = None) -> tuple[Stack, ...]:
    """Find the stacks of a network, encoder first.

    Parameters
    ----------
    network : torch.nn.Module
        A network without a head, with or without numbers.
    calls : sequence of str, optional
        Paths of its modules in the order in which a forward pass over text leaves them. They tell
        which towers read text, and which norm comes behind the last block; otherwise the norm's
        place and name do.
    """
    modules = dict(network.named_modules())
    lists = {path: blocks_of(module, path) for path, module in modules.items()}
    lists = {path: blocks for path, blocks in lists.items() if blocks}
    outer = [path for path in lists if not any(path.startswith(f"{other}.") for other in lists)]
    if calls is not None:
        outer = [path for path in outer if set(lists[path]) & set(calls)]
    # A tower of another kind, such as a pooler of two layers, is not as deep.
    deepest = max((len(lists[path]) for path in outer), default=0)
    sides = {path: side_of(path) for path in outer}
    several = set(sides.values()) >= {"encoder", "decoder"}
    chosen = [path for path in outer if several or len(lists[path]) == deepest]
    names = [sides[path] if several else "" for path in chosen]
    if not chosen or len(set(names)) < len(names):
        raise DataError(
            f"{type(network).__name__} has {len(chosen) or 'no'} lists of blocks that read text; "
            "isoscope supports transformers with one, or with an encoder and a decoder"
        )
    if calls is not None:
        counts = Counter(calls)
        if any(counts[block] != 1 for path in chosen for block in lists[path]):
            raise DataError(
                f"{type(network).__name__} does not call each of its blocks once, so that its "
                "layers cannot be identified"
            )
    found = [
        Stack(name, lists[path], final_norm_of(modules, path, lists[path], calls))
        for name, path in zip(names, chosen, strict=True)
    ]
    return tuple(sorted(found, key=lambda stack: stack.name != "encoder"))


def blocks_of(module: nn.Module, path: str) -> tuple[str, ...]:
    """Return the paths of the blocks in a list of modules that hold a norm each, else nothing.

    They need not be of one class: some models mix attention with other kinds of blocks.
    """
    from torch import nn

    children = dict(module.named_children())
    are_blocks = isinstance(module, nn.ModuleList) and all(
        not is_norm(child) and any(is_norm(part) for part in child.modules())
        for child in children.values()
    )
    return tuple(f"{path}.{name}" for name in children) if are_blocks else ()


def is_norm(module: nn.Module) -> bool:
    """Whether a module is a LayerNorm or one of the many classes that are an RMSNorm."""
    return type(module).__name__.lower().endswith("norm")


def final_norm_of(
    modules: dict[str, nn.Module],
    path: str,
    blocks: tuple[str, ...],
    calls: Sequence[str] | None,
) -> str | None:
    """Return the norm behind the last block: one beside the list, or around what holds it."""
    parts = path.split(".")
    around = [".".join(parts[:length]) for length in range(len(parts) - 1, -1, -1)]
    if calls is not None:
        behind = calls[calls.index(blocks[-1]) + 1 :]
        norms = {norm for parent in around for norm in norms_of(modules[parent], parent)}
        return next((called for called in behind if called in norms), None)
    # One of the embeddings has a name that says so.
    beside = norms_of(modules[around[0]], around[0])
    return next((norm for norm in reversed(beside) if "emb" not in norm.rpartition(".")[2]), None)


def norms_of(parent: nn.Module, path: str) -> list[str]:
    """Return the paths of the norms that are children of a module."""
    children = parent.named_children()
    return [f"{path}.{name}".lstrip(".") for name, child in children if is_norm(child)]
