"""Texts of a task turned into vectors of one layer of a model."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from isoscope.compute.vector_cache import VectorCache
from isoscope.data.arrays import ArrayCloud
from isoscope.data.base import CloudGroup
from isoscope.data.open import one_cloud, open_cloud
from isoscope.data.texts.open import open_texts
from isoscope.errors import UsageError
from isoscope.models.encode import Encoder, EncodingPool, chosen_layers
from isoscope.models.model import Model, open_model
from isoscope.models.sentences.pipeline_encoder import encoder_for
from isoscope.models.sentences.prompts import Role
from isoscope.progress import Progress
from isoscope.tasks.prompts import with_prompt
from isoscope.tasks.protocol import SentenceProtocol


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
    model = opened(source, protocol)
    layers = chosen_layers(model, protocol.layers)
    if len(layers) != 1:
        raise UsageError(f"{what} one layer, not {len(layers)}: {', '.join(layers)}")
    return encoder_of(model, protocol, layers, protocol.cache), (layers[0],)


def encoder_of(
    model: Model,
    protocol: SentenceProtocol,
    layers: tuple[str, ...],
    cache: VectorCache | bool,
    pool: EncodingPool | None = None,
) -> Encoder:
    """Return what turns texts into vectors as a protocol says; prompts depend on the texts."""
    return encoder_for(
        model,
        layers,
        protocol.pooling,
        protocol.special_tokens,
        of_tokens=protocol.correct_at == "token",
        longest=protocol.longest,
        cache=cache,
        pool=pool,
    )


def open_source(
    source: Any,
    *,
    text: Any = None,
    layer: str = "last",
    sentences: SentenceProtocol | None = None,
    column: str | None = None,
    role: Role = "text",
    progress: Progress | None = None,
) -> CloudGroup:
    """Open one cloud of vectors.

    Parameters
    ----------
    source : str, Path, array, CloudGroup or Model
        Anything that ``open_cloud`` takes; with ``text``, anything that ``open_model`` takes.
    text : str, Path or list of str, optional
        Texts that the model turns into vectors, a row each, in their order.
    layer : str
        Layer of the model.
    sentences : SentenceProtocol, optional
        Pooling, cache and so on of the texts.
    column : str, optional
        Array, column or field, if the file has several.
    role : {"text", "document", "query"}
        What the texts are in a search, which decides their prompt.
    progress : callable, optional
        Called with the name of the work, steps done, and steps in all.
    """
    if text is None:
        group = open_cloud(source, column=column)
        one_cloud(group)  # which refuses several
        return group
    if column is not None:
        raise UsageError("a column is one of a file of vectors; texts are read by a model")
    protocol = replace(sentences or SentenceProtocol(), layers=layer)
    return encoded(source, text, protocol, role, progress)


def encoded(
    source: Any, text: Any, protocol: SentenceProtocol, role: Role, progress: Progress | None
) -> ArrayCloud:
    """Turn texts into the vectors of one layer of a model."""
    encoder, layers = one_layer_encoder(source, protocol, "a search is in")
    encoder = with_prompt(encoder, protocol, role)
    texts = [one.text for one in open_texts(text).texts()]
    vectors = encoder.encode(texts, layers, progress=progress)[layers[0]]
    return ArrayCloud(vectors, f"{encoder.model.name} {layers[0]}, {encoder}")


def with_caveats(protocol: str, *clouds: CloudGroup | None) -> str:
    """Add to a protocol what must be known of its sources, such as codes that are lossy."""
    told = dict.fromkeys(getattr(one, "caveat", "") for one in clouds)
    return "; ".join([protocol, *(caveat for caveat in told if caveat)])


def opened(source: Any, protocol: SentenceProtocol, pool: EncodingPool | None = None) -> Model:
    """Open a model where the protocol, or else the workers, want it to compute."""
    if isinstance(source, Model):
        return source
    device = protocol.device if pool is None else pool.device
    model = open_model(source, revision=protocol.revision, dtype=protocol.dtype, device=device)
    if pool is not None:
        pool.settle(model, protocol.dtype)
    return model
