"""Where the blocks of a transformer are, found from its modules instead of from a list of names.

A *stack* is a sequence of equal blocks and what surrounds it: the only one of most models, the
encoder's and the decoder's of a sequence-to-sequence model. Its blocks are in a ``ModuleList``
that is in no other; its final norm, where there is one, is a norm beside that list. OPT has a
``final_layer_norm`` in *every* block as well: what a norm is follows from its parent, never from
its name.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from isoscope.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch import nn

EMBEDDING = "embedding"
FINAL_NORM = "final norm"


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


def find_stacks(network: nn.Module) -> tuple[Stack, ...]:
    """Find the stacks of a network, encoder first."""
    modules = dict(network.named_modules())
    lists = [path for path, module in modules.items() if is_block_list(module)]
    outer = [path for path in lists if not any(path.startswith(f"{other}.") for other in lists)]
    # A tower of another kind, such as a pooler of two layers, is not as deep.
    deepest = max((len(list(modules[path].children())) for path in outer), default=0)
    if deepest == 0:
        raise DataError(
            f"{type(network).__name__} has no list of blocks; isoscope looks into transformers"
        )
    sides = {path: side_of(path) for path in outer}
    several = set(sides.values()) >= {"encoder", "decoder"}
    found = []
    for path in outer:
        names = [name for name, _ in modules[path].named_children()]
        if not several and len(names) < deepest:
            continue
        parent, _, _ = path.rpartition(".")
        found.append(
            Stack(
                sides[path] if several else "",
                tuple(f"{path}.{name}" for name in names),
                final_norm_beside(modules[parent], parent),
            )
        )
    return tuple(sorted(found, key=lambda stack: stack.name != "encoder"))


def side_of(path: str) -> str:
    """Return which side of a sequence-to-sequence model a path is on, as far as it says."""
    return next((part for part in path.split(".") if part in ("encoder", "decoder")), "")


def is_block_list(module: nn.Module) -> bool:
    """Whether a module is a list of modules of one class that hold a norm each."""
    from torch import nn

    children = list(module.children())
    return (
        isinstance(module, nn.ModuleList)
        and len({type(child) for child in children}) == 1
        and all(any(is_norm(part) for part in child.modules()) for child in children)
    )


def is_norm(module: nn.Module) -> bool:
    """Whether a module is a LayerNorm or one of the many classes that are an RMSNorm."""
    return type(module).__name__.lower().endswith(("layernorm", "rmsnorm", "layer_norm", "norm"))


def final_norm_beside(parent: nn.Module, path: str) -> str | None:
    """Return the norm that stands beside the blocks; one of the embeddings has a name with emb."""
    beside = [name for name, child in norms_of(parent) if "emb" not in name.lower()]
    if not beside:
        return None
    return f"{path}.{beside[-1]}" if path else beside[-1]


def norms_of(parent: nn.Module) -> Iterator[tuple[str, nn.Module]]:
    """Yield the norms that are children of a module."""
    for name, child in parent.named_children():
        if is_norm(child):
            yield name, child
