"""An encoder for one layer of a model, where a question is about one space."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from isoscope.errors import UsageError
from isoscope.models.encode import Encoder
from isoscope.models.model import Model, open_model
from isoscope.tasks.evaluating_texts import chosen_layers

if TYPE_CHECKING:
    from isoscope.tasks.sentence_protocol import SentenceProtocol


def one_layer_encoder(
    source: Any, protocol: SentenceProtocol, what: str
) -> tuple[Encoder, tuple[str]]:
    """Open a model, and return its encoder and the one layer that a protocol names.

    Parameters
    ----------
    source : str, Path or Model
        Anything that ``open_model`` takes.
    protocol : SentenceProtocol
        Layer, pooling, cache and so on.
    what : str
        What is about one layer, for the message where there are several.
    """
    model = source
    if not isinstance(model, Model):
        model = open_model(
            model, revision=protocol.revision, dtype=protocol.dtype, device=protocol.device
        )
    layers = chosen_layers(model, protocol.layers)
    if len(layers) != 1:
        raise UsageError(f"{what} one layer, not {len(layers)}: {', '.join(layers)}")
    encoder = Encoder(
        model,
        protocol.pooling,
        protocol.special_tokens,
        longest=protocol.longest,
        cache=protocol.cache,
    )
    return encoder, (layers[0],)
