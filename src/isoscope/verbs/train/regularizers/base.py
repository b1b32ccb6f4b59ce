"""What a calibration is: a term of the loss that sees one matrix of a model.

That matrix is the head, the vocabulary's output matrix, or the last hidden states of a batch.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Any, Literal, Protocol, get_args, runtime_checkable

import torch
from torch import Tensor, nn
from torch.nn import Parameter

from isoscope.errors import DataError, UsageError, one_of


class Calibration(Protocol):
    """A term that is added to the loss of a task.

    The matrix is a task's head (labels × d), the output matrix of a vocabulary (words × d), or
    hidden states (tokens × d).
    """

    @property
    def name(self) -> str:
        """What results call it."""

    @property
    def weight(self) -> float:
        """Of the term."""

    def __call__(self, matrix: Tensor) -> Tensor:
        """Return the term, weight included, differentiable in the matrix."""


@runtime_checkable
class Attachable(Calibration, Protocol):
    """A calibration that learns, and is a part of the model for that."""

    @property
    def learning_rate(self) -> float:
        """Of its own parameters."""

    @property
    def maps(self) -> bool:
        """Whether it changes what a layer reads; its term is then that of the forward pass."""

    def attach(self, model: Any, target: Any) -> None:
        """Become a part of a model."""

    def parameters(self) -> list[Parameter]:
        """Return what it learns."""

    def kept_term(self) -> Tensor | None:
        """Return the term of the last forward pass, once."""


def checked_matrix(matrix: Tensor, name: str) -> Tensor:
    """Refuse what has no rows and columns; half precision is computed in single."""
    if matrix.ndim != 2 or not matrix.numel():
        raise DataError(f"{name} calibrates a matrix, not a tensor of shape {tuple(matrix.shape)}")
    if not matrix.is_floating_point():
        raise DataError(f"{name} calibrates numbers, not {matrix.dtype}")
    return matrix.float() if matrix.element_size() < 4 else matrix


def full_precision(matrix: Tensor) -> AbstractContextManager[None]:
    """Return a block in which autocast makes no product one of half precision."""
    block: AbstractContextManager[None] = torch.autocast(matrix.device.type, enabled=False)
    return block


def check_weight(weight: float) -> None:
    """Refuse a weight that is no weight."""
    if not (math.isfinite(weight) and weight >= 0):
        raise UsageError(f"a weight must be at least 0, got {weight}")


# What a flow is called among the parts of a model: none of its own layers is a target.
PART = "isoscope_flow"

# What stands in labels where there is only padding; no loss is taken there.
NO_TOKEN = -100

Target = Literal["head", "vocabulary", "hidden"]


def check_target(model: Any, target: str) -> None:
    """Refuse a target that a model has not, before it is trained."""
    one_of("target", target, get_args(Target))
    if target != "hidden":
        target_matrix(model, target)


def target_matrix(
    model: Any, target: str, outputs: Any = None, attention_mask: Tensor | None = None
) -> Tensor:
    """Return the matrix that a calibration sees.

    Parameters
    ----------
    model : PreTrainedModel
        What is trained.
    target : {"head", "vocabulary", "hidden"}
        The weights of the last linear map to labels (labels × d); those of the map to words
        (words × d); or the last hidden states of a batch, padding left out (tokens × d).
    outputs : ModelOutput, optional
        Of the batch, with hidden states, where these are the target.
    attention_mask : Tensor, optional
        1 for tokens, 0 for padding.
    """
    if target == "head":
        return head_weight(model)
    if target == "vocabulary":
        return output_weight(model)
    states = hidden_states(outputs)
    if attention_mask is None:
        return states.reshape(-1, states.shape[-1])
    return states[attention_mask.bool()]


def head_weight(model: Any) -> Tensor:
    """Return the weights of the last linear map outside of the base model: labels × d."""
    weight: Tensor = head_layer(model).weight
    return weight


def head_layer(model: Any) -> nn.Linear:
    """Return the last linear map to labels outside of the base model."""
    elsewhere = (f"{model.base_model_prefix}.", f"{PART}.")
    labels = getattr(model.config, "num_labels", None)
    found = [
        module
        for name, module in model.named_modules()
        if isinstance(module, nn.Linear) and not name.startswith(elsewhere)
        and module.out_features == labels
    ]  # fmt: skip
    if not found:
        raise UsageError(
            f"{type(model).__name__} has no head with {labels} labels to calibrate; the targets "
            "vocabulary and hidden are for other models"
        )
    return found[-1]


def output_weight(model: Any) -> Tensor:
    """Return the output matrix of a vocabulary: words × d."""
    weight: Tensor = output_layer(model).weight
    return weight


def output_layer(model: Any) -> nn.Linear:
    """Return the linear map to the words of a vocabulary."""
    layer: nn.Linear | None = model.get_output_embeddings()
    if layer is None:
        raise UsageError(
            f"{type(model).__name__} has no output matrix of a vocabulary to calibrate; the "
            "targets head and hidden are for models with labels"
        )
    return layer


def hidden_states(outputs: Any) -> Tensor:
    """Return the last hidden states of a batch, of the decoder where there is one."""
    for name in ("hidden_states", "decoder_hidden_states"):
        states = getattr(outputs, name, None)
        if states is not None:
            last: Tensor = states[-1]
            return last
    raise UsageError("the outputs hold no hidden states; call the model with them switched on")


def token_mask(model: Any, inputs: Mapping[str, Any]) -> Tensor | None:
    """Return which of the last hidden states of a batch are tokens, and which are padding.

    A decoder that writes has the tokens of the labels, not those that the encoder reads.
    """
    labels = inputs.get("labels")
    if model.config.is_encoder_decoder and labels is not None and labels.ndim == 2:
        mask: Tensor = labels != NO_TOKEN
        return mask
    return inputs.get("attention_mask")
