"""Vectors to search in: those of a source, or those that a model makes of texts."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from isoscope.corrections.base import one_cloud
from isoscope.data.arrays import ArrayCloud
from isoscope.data.open import open_cloud
from isoscope.errors import UsageError
from isoscope.tasks.sentence_protocol import SentenceProtocol

if TYPE_CHECKING:
    from isoscope.compute.stage import Progress
    from isoscope.data.base import CloudGroup


def open_source(
    source: Any,
    *,
    text: Any = None,
    layer: str = "last",
    sentences: SentenceProtocol | None = None,
    column: str | None = None,
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
        Which array of a file that holds several.
    progress : callable, optional
        Called with the name of the work, steps done, and steps in all.
    """
    if text is None:
        group = open_cloud(source, column=column)
        one_cloud(group)  # which refuses several
        return group
    if column is not None:
        raise UsageError("a column is one of a file of vectors; texts are read by a model")
    return encoded(source, text, replace(sentences or SentenceProtocol(), layers=layer), progress)


def encoded(
    source: Any, text: Any, protocol: SentenceProtocol, progress: Progress | None
) -> ArrayCloud:
    """Turn texts into the vectors of one layer of a model."""
    from isoscope.data.texts.open import open_texts
    from isoscope.tasks.one_layer import one_layer_encoder

    encoder, layers = one_layer_encoder(source, protocol, "a search is in")
    texts = [one.text for one in open_texts(text).texts()]
    vectors = encoder.encode(texts, layers, progress=progress)[layers[0]]
    return ArrayCloud(vectors, f"{encoder.model.name} {layers[0]}, {encoder}")


def with_caveats(protocol: str, *clouds: CloudGroup | None) -> str:
    """Add to a protocol what must be known of its sources, such as codes that are lossy."""
    told = dict.fromkeys(getattr(one, "caveat", "") for one in clouds)
    return "; ".join([protocol, *(caveat for caveat in told if caveat)])
