"""What an ablation measures of every checkpoint: matrices, layers over a text, the last norm."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isoscope.measures.reads.moments import MomentParts
from isoscope.models.layer_names import EMBEDDING as INPUT_LAYER
from isoscope.models.layers import LayerClouds
from isoscope.profiles.weights import EMBEDDING, UNEMBEDDING, norm_weights
from isoscope.results.ablated import (
    BIAS,
    BIAS_OVER_GAIN,
    EXTREME,
    FINAL_NORM,
    GAIN,
    LAST_LAYER,
    MEAN_COSINE,
    NON_INPUT,
)
from isoscope.results.measuring import measure

if TYPE_CHECKING:
    from isoscope.data.texts.base import TextSource
    from isoscope.measures.reads.moments import Moments
    from isoscope.models.model import Model


OF_MATRICES = "i1,i1_scaled,mean_cosine,mean_norm"
Place = tuple[str, str]
"""Part and measure."""


def checkpoint_measures(model: Model, texts: TextSource) -> dict[Place, float | None]:
    """Measure one checkpoint.

    Parameters
    ----------
    model : Model
        With an unembedding.
    texts : TextSource
        What its layers read.
    """
    return {**matrix_measures(model), **layer_measures(model, texts), **norm_measures(model)}


def matrix_measures(model: Model) -> dict[Place, float | None]:
    """Measure the input and the output matrix, as they are; tied ones are the same twice."""
    found: dict[Place, float | None] = {}
    for which, part in (("input", EMBEDDING), ("output", UNEMBEDDING)):
        cloud = model.embedding_cloud(which)
        for row in measure(cloud, OF_MATRICES, "none", intervals=False).rows:
            found[part, row.measure] = row.value
    return found


def layer_measures(model: Model, texts: TextSource) -> dict[Place, float | None]:
    """Measure the mean cosine of every layer, and how often one dimension is the extreme.

    The share is that of the dimension that is most often the minimum, or the maximum, of a vector,
    over all layers but the input: Luo (2021), section 3.2.
    """
    from isoscope.measures.kernels.torch_kernel import TorchMoments

    group = LayerClouds(model, texts)
    parts = MomentParts(scatter=False)
    sums = {layer: TorchMoments(parts, double=False) for layer in group.names}
    for batches in group.batches():
        for layer, batch in batches.items():
            sums[layer].add(batch.vectors)
    moments = {layer: found for layer, one in sums.items() if (found := one.result()) is not None}
    cosines: dict[Place, float | None] = {
        (layer, MEAN_COSINE): mean_cosine(one) for layer, one in moments.items()
    }
    cosines[LAST_LAYER, MEAN_COSINE] = list(cosines.values())[-1]
    behind = [one for layer, one in moments.items() if layer != INPUT_LAYER]
    extremes = [
        np.sum([getattr(one, name) for one in behind], axis=0)
        for name in ("minimum_counts", "maximum_counts")
    ]
    share = max(float(counts.max() / max(counts.sum(), 1)) for counts in extremes)
    return {**cosines, (NON_INPUT, EXTREME): share}


def mean_cosine(moments: Moments) -> float | None:
    """Return the mean cosine of all pairs of rows, from sums over unit vectors."""
    pairs = moments.unit_weight**2 - moments.unit_weight_squares
    if pairs <= 0:
        return None
    return float((moments.unit_sum @ moments.unit_sum - moments.unit_weight_squares) / pairs)


def norm_measures(model: Model) -> dict[Place, float | None]:
    """Measure gain and bias of the last norm before the output matrix."""
    norms = [norm for norm in model.parts.norms if norm.gain is not None]
    weights = norm_weights(model, norms[-1]) if norms else None
    if weights is None:
        return {}
    values = weights.values()
    return {(FINAL_NORM, name): values[name].value for name in (GAIN, BIAS, BIAS_OVER_GAIN)}
