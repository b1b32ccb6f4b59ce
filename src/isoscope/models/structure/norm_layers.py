"""Every LayerNorm and RMSNorm of a network: where it stands, and which tensors are its own."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.measures.layer_norm import NormWeights
from isoscope.models.layer_names import EMBEDDING, side_of
from isoscope.models.structure.stacks import Stack, is_norm

if TYPE_CHECKING:
    from torch import nn

    from isoscope.models.model import Model


LAYER_NORM, RMS_NORM = "LayerNorm", "RMSNorm"
HEAD = "head"

# What classes call what a norm adds; what it multiplies by is its other parameter.
BIASES = ("bias", "beta", "b")


@dataclass(frozen=True)
class Norm:
    """One norm: y = g ∘ (x − mean x) / sd x + b, or y = g ∘ x / rms x."""

    path: str
    """The module, in the network without a head; in the whole one if it belongs to the head."""
    where: str
    """A layer's name, such as ``embedding``, ``block 3`` or ``final norm``, or ``head``."""
    kind: str
    """``LayerNorm`` or ``RMSNorm``, by what it computes."""
    width: int | None
    gain: str | None
    """Path of the tensor from which g follows."""
    bias: str | None
    gain_offset: float = 0.0
    """What is added to that tensor: 1 in Gemma, whose gain is stored as a difference from 1."""


def find_norms(
    skeleton: Any, prefix: str, stacks: tuple[Stack, ...], calls: Sequence[str] | None
) -> tuple[Norm, ...]:
    """Find all norms in the order in which they compute.

    Parameters
    ----------
    skeleton : transformers.PreTrainedModel
        The network with its head.
    prefix : str
        Path of the network without the head in it, with a dot behind, or nothing.
    stacks : tuple of Stack
        The stacks of the network without the head.
    calls : sequence of str or None
        Paths of modules in the order in which a forward pass leaves them, where that is known.
    """
    modules = dict(skeleton.named_modules())
    defined = [path for path, module in modules.items() if is_norm(module)]
    called = [path for path in calls or () if is_norm(modules[path])]
    order = list(dict.fromkeys([*called, *defined]))
    layers = {part: name for stack in stacks for part, name in named_layers(stack)}
    inside = [place(path, prefix, layers) for path in order]
    norms = []
    for k, path in enumerate(order):
        where = inside[k]
        if where is None and path.startswith(prefix) and is_before(path, inside[:k]):
            side = side_of(path) if len(stacks) > 1 else ""
            where = f"{side} {EMBEDDING}".strip()
        norms.append(describe(modules[path], path.removeprefix(prefix), where or HEAD))
    if calls is None:
        turns = [layer for stack in stacks for layer in stack.layers]
        norms.sort(key=lambda norm: turns.index(norm.where) if norm.where in turns else len(turns))
    return tuple(norms)


def named_layers(stack: Stack) -> list[tuple[str, str]]:
    """Pair the modules of a stack with the names of its layers."""
    ends = [*stack.blocks, *([] if stack.final_norm is None else [stack.final_norm])]
    return list(zip(ends, stack.layers[1:], strict=True))


def place(path: str, prefix: str, layers: dict[str, str]) -> str | None:
    """Return the layer that a module is in or is, None for those around the blocks."""
    if not path.startswith(prefix):
        return None
    parts = path.removeprefix(prefix).split(".")
    inner = (".".join(parts[:length]) for length in range(len(parts), 0, -1))
    return next((layers[module] for module in inner if module in layers), None)


def is_before(path: str, earlier: list[str | None]) -> bool:
    """Whether a norm around the blocks is one of the embeddings, by its name or by its turn."""
    return "emb" in path.lower() or not any(earlier)


def describe(module: nn.Module, path: str, where: str) -> Norm:
    """Describe one norm."""
    parameters = dict(module.named_parameters(recurse=False))
    bias = next((name for name in parameters if name in BIASES), None)
    gain = next((name for name in parameters if name != bias), None)
    kind, offset = behaviour(module)
    return Norm(
        path,
        where,
        kind,
        None if gain is None else int(parameters[gain].numel()),
        None if gain is None else f"{path}.{gain}",
        None if bias is None else f"{path}.{bias}",
        0.0 if gain is None else offset,
    )


def behaviour(module: nn.Module) -> tuple[str, float]:
    """Find out by trying whether a norm takes the mean off, and what it adds to its gain.

    Names mislead: T5's ``LayerNorm`` is an RMSNorm.
    """
    import torch
    from torch import nn

    if isinstance(module, nn.LayerNorm):
        return LAYER_NORM, 0.0
    trial = copy.deepcopy(module).to_empty(device="cpu").float()
    width = max((values.numel() for values in trial.parameters()), default=8)
    vector = torch.linspace(-1.0, 2.0, width)[None]
    try:
        with torch.no_grad():
            # With a gain of 0 an output is left only where something is added to the gain.
            fill(trial, 0.0)
            offset = float(bool(trial(vector).abs().max() > 0))
            # A LayerNorm subtracts the mean, so that it does not see a shift of its input.
            fill(trial, 1.0)
            moved = (trial(vector + 1.0) - trial(vector)).abs().max()
    except Exception:  # classes with further arguments: their name is all that is left to go by
        return (RMS_NORM if "rms" in type(module).__name__.lower() else LAYER_NORM), 0.0
    return (RMS_NORM if moved > 1e-3 else LAYER_NORM), offset


def fill(module: nn.Module, value: float) -> None:
    """Set every parameter of a module to one number."""
    for parameter in module.parameters():
        parameter.fill_(value)


def norm_weights(model: Model, norm: Norm) -> NormWeights | None:
    """Read gain and bias of a norm; None where it has no weights."""
    if norm.gain is None:
        return None
    gain = np.asarray(model.tensor(norm.gain), dtype=np.float64) + norm.gain_offset
    bias = None if norm.bias is None else np.asarray(model.tensor(norm.bias), dtype=np.float64)
    return NormWeights(gain, bias, centres=norm.kind == LAYER_NORM)


def weighted_norms(model: Model) -> Iterator[tuple[Norm, NormWeights]]:
    """Yield the norms that have weights, in the order in which they compute, with their weights."""
    for norm in model.parts.norms:
        weights = norm_weights(model, norm)
        if weights is not None:
            yield norm, weights


def norm_name(norm: Norm) -> str:
    """Return what results call a norm: its layer, and its path within."""
    # Behind the number of the block: T5 numbers the parts inside a block as well.
    inner = re.sub(r"^.*?\.\d+\.", "", norm.path)
    return norm.where if inner == norm.path else f"{norm.where}, {inner}"
