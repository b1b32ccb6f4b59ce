"""Which matrix of a model is calibrated: its head, its vocabulary's output, or its states."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, get_args

from isoscope.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from torch import Tensor, nn

PART = "isoscope_flow"
"""What a flow is called among the parts of a model: none of its own layers is a target."""

NO_TOKEN = -100
"""What stands in labels where there is only padding; no loss is taken there."""

Target = Literal["head", "vocabulary", "hidden"]


def check_target(model: Any, target: str) -> None:
    """Refuse a target that a model has not, before it is trained."""
    if target not in get_args(Target):
        raise UsageError(f"a target is {', '.join(get_args(Target))}, not {target!r}")
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
    from torch import nn

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
