"""One forward pass that gives the output of every layer.

``hidden_states`` of transformers will not do: in GPT-2, GPT-NeoX, OPT, Falcon, LLaMA and mBART the
last entry is what the final norm made of the last block's output, which itself is missing. Hooks
on the blocks and on the norm give both.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from isoscope.models.stacks import EMBEDDING, FINAL_NORM

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    import torch
    from torch import nn

    from isoscope.models.stacks import Stack


@contextmanager
def captured(
    network: nn.Module,
    stacks: Sequence[Stack],
    layers: Collection[str],
    take: Callable[[str, torch.Tensor], None],
) -> Iterator[None]:
    """Hand the output of every wanted layer to ``take`` while forward passes run.

    What enters the first block is the layer ``embedding``: positions and an embedding norm are in
    it, where the model has them.
    """
    handles = []

    def input_hook(layer: str) -> Callable[..., None]:
        def hook(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
            del module
            take(layer, args[0] if args else kwargs["hidden_states"])

        return hook

    def output_hook(layer: str) -> Callable[..., None]:
        def hook(module: nn.Module, args: tuple[Any, ...], output: Any) -> None:
            del module, args
            take(layer, output[0] if isinstance(output, tuple) else output)

        return hook

    try:
        for stack in stacks:
            for layer, path in zip(stack.layers, modules_of(stack), strict=True):
                if layer not in layers:
                    continue
                module = network.get_submodule(path)
                if layer.endswith(EMBEDDING):
                    hook = input_hook(layer)
                    handles.append(module.register_forward_pre_hook(hook, with_kwargs=True))
                else:
                    handles.append(module.register_forward_hook(output_hook(layer)))
        yield
    finally:
        for handle in handles:
            handle.remove()


def modules_of(stack: Stack) -> tuple[str, ...]:
    """Return the module whose input or output each layer of a stack is."""
    last = (stack.final_norm,) if stack.final_norm is not None else ()
    assert not last or stack.layers[-1].endswith(FINAL_NORM)
    return (stack.blocks[0], *stack.blocks, *last)
