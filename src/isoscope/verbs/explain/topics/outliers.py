"""Whether a few dimensions make the vectors of a model alike.

A dimension that is the minimum or the maximum of nearly all vectors has the same sign in all of
them, and adds to the cosine of any two. The mean cosine after setting it to zero shows how much.

With u_i = x_i / ‖x_i‖ the mean cosine of all pairs is (‖Σ u_i‖² − n) / (n² − n). Clipping sets
dimensions to zero, which changes norms too: the sum is taken anew for every set of dimensions.

References
----------
Luo et al. (2021), Positional artefacts propagate through masked language model embeddings, who
choose the dimensions by eye; the rule here is ours.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.data.arrays import ArrayCloud
from isoscope.measures.context.definitions import persistence
from isoscope.measures.context.outlier_rule import (
    extreme_shares,
    mean_deviations,
    often,
    rule_text,
    standing_out,
)
from isoscope.measures.reads.moments import MomentParts
from isoscope.measures.reads.passes import first_read
from isoscope.measures.views import NONE
from isoscope.models.layer_names import EMBEDDING
from isoscope.results.result import Row, Table
from isoscope.verbs.explain.names import CHANGE
from isoscope.verbs.explain.topics.base import Explanation, KeyFigure, Question, Topic

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from isoscope.models.token_table import TokenSample
    from isoscope.typing import Vector

    Layers = Mapping[str, "ClippedLayer"]


# Share of random directions whose largest entry is larger than we take chance to make it.
RARE = 0.01

# Vectors that are clipped together: in float64 they stay in the cache.
AT_ONCE = 512


@dataclass(frozen=True)
class Outlier:
    """A dimension that stands out in the vectors of a layer.

    Attributes
    ----------
    dimension : int
        Counted from 0.
    share_minimum, share_maximum : float
        Shares of the vectors in which it is the minimum, and the maximum.
    mean, deviations : float
        Its entry of the mean vector, and how far that is from the others in their deviations.
    mean_cosine_without_it : float or None
        Of all pairs of vectors, when this dimension alone is set to zero.
    """

    dimension: int
    share_minimum: float
    share_maximum: float
    mean: float
    deviations: float
    mean_cosine_without_it: float | None

    @property
    def share(self) -> float:
        """The larger one of both shares."""
        return max(self.share_minimum, self.share_maximum)


@dataclass(frozen=True)
class ClippedLayer:
    """What stands out in a layer, and what clipping it does.

    Attributes
    ----------
    outliers : tuple of Outlier
        Those that are an extreme most often first.
    mean, deviations : array
        The mean vector, and how far each entry is from the others.
    minimum_counts, maximum_counts : array
        Vectors, not zero, in which a dimension is the minimum, and the maximum.
    before, after : float or None
        The mean cosine as it is, and without all outliers; None for fewer than two vectors.
    """

    outliers: tuple[Outlier, ...]
    mean: Vector
    deviations: Vector
    minimum_counts: NDArray[np.int64]
    maximum_counts: NDArray[np.int64]
    before: float | None
    after: float | None

    @property
    def dimensions(self) -> list[int]:
        """The dimensions that stand out, rising."""
        return sorted(one.dimension for one in self.outliers)

    @property
    def correction(self) -> str:
        """What clips them, as corrections are written."""
        return clip_text(self.dimensions)

    @property
    def change(self) -> float | None:
        """What clipping adds to the mean cosine: below 0 where it lowers it."""
        return None if self.before is None or self.after is None else self.after - self.before


@dataclass(frozen=True)
class LayerExtremes:
    """What the rule of outliers looks at."""

    mean: Vector
    minimum_counts: NDArray[np.int64]
    maximum_counts: NDArray[np.int64]


def clip_text(dimensions: Sequence[int]) -> str:
    """Write a correction that clips some dimensions."""
    return f"clip:dimensions={'+'.join(map(str, dimensions))}"


def clipped_layer(vectors: NDArray[np.float32], layer: str) -> ClippedLayer:
    """Find the dimensions that stand out in vectors, and the mean cosine without them.

    What stands out is what ``isoscope profile`` calls an outlier dimension, too; see
    `isoscope.measures.context.outlier_rule`.

    Parameters
    ----------
    vectors : array
        A row for every token.
    layer : str
        What messages call it.
    """
    parts = MomentParts(scatter=False)
    moments = first_read(ArrayCloud(vectors, layer), parts, double=True)[layer].moments
    lowest, highest = moments.minimum_counts, moments.maximum_counts
    assert lowest is not None
    assert highest is not None
    known = LayerExtremes(moments.mean, lowest, highest)
    far, share, found = mean_deviations(known), extreme_shares(known), standing_out(known)
    counted = max(int(lowest.sum()), 1)
    # By share, then by deviations: the last key of lexsort is the first to sort by.
    found = found[np.lexsort((-np.abs(far[found]), -share[found]))]
    # Nothing clipped, all of them clipped, and each by itself, in one pass over the vectors.
    sets = [[], [int(k) for k in found], *([int(k)] for k in found)]
    before, after, *alone = cosines_without(vectors, sets)
    outliers = tuple(
        Outlier(
            int(k), float(lowest[k] / counted), float(highest[k] / counted),
            float(moments.mean[k]), float(far[k]), cosine,
        )
        for k, cosine in zip(found, alone, strict=True)
    )  # fmt: skip
    return ClippedLayer(outliers, moments.mean, far, lowest, highest, before, after)


def cosines_without(
    vectors: NDArray[np.floating[Any]], sets: Sequence[Sequence[int]]
) -> list[float | None]:
    """Return the mean cosine of all pairs with each set of dimensions at zero.

    Vectors that are zero then have no direction and are left out; None where fewer than two are
    not.
    """
    sums = np.zeros((len(sets), vectors.shape[1]))
    counts = np.zeros(len(sets), np.int64)
    for first in range(0, len(vectors), AT_ONCE):
        block = vectors[first : first + AT_ONCE].astype(np.float64)
        for number, dimensions in enumerate(sets):
            columns = np.asarray(dimensions, np.intp)
            kept = block[:, columns]
            block[:, columns] = 0.0
            # Not the whole length less that of the columns: large outliers would leave rounding.
            lengths = np.sqrt(np.einsum("ij,ij->i", block, block))
            directed = lengths > 0
            sums[number] += np.divide(1.0, lengths, out=lengths, where=directed) @ block
            counts[number] += int(directed.sum())
            block[:, columns] = kept
    return [
        float((total @ total - n) / (n * n - n)) if n > 1 else None
        for total, n in zip(sums, counts.tolist(), strict=True)
    ]


def fall_by_chance(clipped: int, width: int) -> float:
    """Return how far clipping lowers the mean cosine at most when nothing really stands out.

    Vectors with an offset in a random direction always have some dimensions with larger entries
    than the others. Say that the largest ``clipped`` of d normal numbers hold a share s of the
    squared length of the offset. Without them a mean cosine c becomes c (1 − s) / (1 − s c), and
    the fall c − c (1 − s) / (1 − s c) is at most (1 − √(1 − s))² / s, whatever c is. The largest
    entry is taken to be as large as in one of a hundred directions.
    """
    if not clipped:
        return 0.0
    share = share_by_chance(clipped, width)
    return float((1 - np.sqrt(1 - share)) ** 2 / share)


def share_by_chance(clipped: int, width: int) -> float:
    """Return the share of a random direction that its largest entries hold at most."""
    from scipy.special import ndtri

    # Sizes of the largest of d normal numbers by their quantiles. With RARE for the first place
    # instead of a half, the largest is as large as in one of a hundred directions.
    places = np.arange(min(clipped, width)) + RARE
    return min(float((ndtri(1 - places / (2 * width)) ** 2).sum()) / width, 1.0)


# A fall of the mean cosine that matters: below it, vectors with and without the outliers look
# equally alike. Where chance alone could give more, as in few dimensions, more is asked for.
MARGIN = 0.05

LARGEST_MEANS = 8
# Dimensions that a sentence names.
MOST_NAMED = 4


def explain_outliers(question: Question) -> Explanation:
    """Find dimensions that stand out in every layer, and clip them."""
    return outliers_in(question.enough("outliers"))


def outliers_in(sample: TokenSample) -> Explanation:
    """Find dimensions that stand out in tokens, and say what clipping them does."""
    layers = clipped_layers(sample)
    rows = [row for name, layer in layers.items() for row in layer_rows(name, layer, sample)]
    tables = [
        Table("", "", NONE, "mean_vectors", mean_entries(layers),
              f"the {LARGEST_MEANS} largest entries of each layer's mean vector, and how far they "
              "are from the others in their deviations"),
        Table("", "", NONE, "outliers",
              [{"layer": name, **vars(one)} for name, layer in layers.items()
               for one in layer.outliers],
              rule_of(layers)),
        Table("", "", NONE, "persistence", persistence(non_input(layers)).rows,
              f"{rule_of(layers)}; without the input; shares over all these layers"),
    ]  # fmt: skip
    found = most_lowered(non_input(layers))
    sentence = (
        not_found_sentence(layers) if found is None else found_sentence(found, non_input(layers))
    )
    brief, figures = in_brief(found, non_input(layers))
    return Explanation(found is not None, sentence, rows, tables, brief, figures)


def in_brief(found: str | None, layers: Layers) -> tuple[str, tuple[KeyFigure, ...]]:
    """Return the finding as a clause, with the layer whose mean cosine clipping lowers most."""
    standing = {name: layer for name, layer in layers.items() if layer.outliers}
    if not standing:
        return "no dimension stands out in the vectors", ()
    name = found or max(standing, key=lambda one: cosine_drop(standing[one]))
    layer = standing[name]
    lead = min(layer.outliers, key=cosine_without)
    where = sum(lead.dimension in one.dimensions for one in layers.values())
    which = list_dimensions(layer.dimensions)
    many = "dimensions" if len(layer.outliers) > 1 else "dimension"
    figures = (
        KeyFigure(f"mean cosine, {name}, without outliers", layer.after, layer.before, "as it is"),
        KeyFigure(f"layers in which dimension {lead.dimension} stands out", where,
                  len(layers), "layers in all", ".0f"),
    )  # fmt: skip
    if found is None:
        return (
            "clipping dimensions that stand out lowers the mean cosine no more than chance could",
            figures,
        )
    return f"{many} {which} raise the mean cosine, most in {name}", figures


def clipped_layers(sample: TokenSample) -> dict[str, ClippedLayer]:
    """Look at every layer of a sample."""
    return {name: clipped_layer(vectors, name) for name, vectors in sample.layers.items()}


def non_input(layers: Layers) -> dict[str, ClippedLayer]:
    """Return the layers that a block or norm gives out."""
    return {name: layer for name, layer in layers.items() if not name.endswith(EMBEDDING)}


def margin(layer: ClippedLayer) -> float:
    """Return the fall of the mean cosine beyond which clipping a layer's outliers matters."""
    return max(MARGIN, fall_by_chance(len(layer.outliers), len(layer.mean)))


def cosine_drop(layer: ClippedLayer) -> float:
    """Return by how much clipping lowers the mean cosine; 0 where there is none."""
    return -(layer.change or 0.0)


def most_lowered(layers: Layers) -> str | None:
    """Return the layer whose mean cosine clipping lowers most, None if nowhere by enough."""
    lowered = [name for name, layer in layers.items() if cosine_drop(layer) > margin(layer)]
    return max(lowered, key=lambda name: cosine_drop(layers[name]), default=None)


def rule_of(layers: Layers) -> str:
    """Say what stands out."""
    return rule_text(max(len(layer.mean) for layer in layers.values()))


def layer_rows(name: str, layer: ClippedLayer, sample: TokenSample) -> list[Row]:
    """Return the mean cosine as it is, without each outlier, and without all."""
    cosines = {NONE: layer.before}
    for one in layer.outliers:
        cosines[clip_text([one.dimension])] = one.mean_cosine_without_it
    # Of a single outlier this is the same clip, and the same cosine.
    if layer.outliers:
        cosines[layer.correction] = layer.after
    figures = [(clip, "mean_cosine", value, "") for clip, value in cosines.items()]
    if layer.outliers:
        note = f"a fall counts beyond {margin(layer):.3f}"
        figures.append((layer.correction, CHANGE, layer.change, note))
    return [
        Row(
            "", name, correction, measure, value, n=len(sample), protocol=sample.protocol,
            note="fewer than two vectors have a direction" if value is None else about,
        )
        for correction, measure, value, about in figures
    ]  # fmt: skip


def mean_entries(layers: Layers) -> list[dict[str, Any]]:
    """List the largest entries of every layer's mean vector."""
    return [
        {
            "layer": name,
            "dimension": int(k),
            "mean": float(layer.mean[k]),
            "deviations": float(layer.deviations[k]),
        }
        for name, layer in layers.items()
        for k in np.argsort(-np.abs(layer.mean), kind="stable")[:LARGEST_MEANS]
    ]


def found_sentence(name: str, layers: Layers) -> str:
    """Say what stands out in the layer where clipping does most."""
    layer = layers[name]
    # The one that does most by itself tells most; where none is None, all have a cosine.
    lead = min(layer.outliers, key=cosine_without)
    where = sum(lead.dimension in one.dimensions for one in layers.values())
    standing = (
        f"Dimension {lead.dimension} {describe(lead, len(layer.mean))} of {name} and stands out in "
        f"{where} of {len(layers)} layers"
    )
    another = another_sentence(name, lead, layers)
    if len(layer.outliers) == 1:
        return (
            f"{standing}; clipping it takes the mean cosine of {name} from {layer.before:.2f} to "
            f"{layer.after:.2f}.{another}"
        )
    others = list_dimensions([k for k in layer.dimensions if k != lead.dimension])
    return (
        f"{standing}; clipping it alone takes the mean cosine of {name} from {layer.before:.2f} to "
        f"{lead.mean_cosine_without_it:.2f}, clipping {others} as well to {layer.after:.2f}."
        f"{another}"
    )


def another_sentence(name: str, lead: Outlier, layers: Layers) -> str:
    """Say why the dimension that stands out in most layers, which a profile names, is another."""
    first = persistence(layers).rows[0]
    most, where = first["dimension"], f"{first['layers']} of {first['of_layers']} layers"
    if most == lead.dimension:
        return ""
    said = f" Dimension {most} stands out in more layers or more often ({where}), but "
    here = next((one for one in layers[name].outliers if one.dimension == most), None)
    if here is None:
        return f"{said}not in {name}, where clipping does most."
    if here.mean_cosine_without_it is None:
        return f"{said}without it fewer than two vectors of {name} have a direction."
    return (
        f"{said}clipping it alone takes the mean cosine of {name} to "
        f"{here.mean_cosine_without_it:.2f} only."
    )


def cosine_without(one: Outlier) -> float:
    """Return the mean cosine without a dimension; the largest where it is undefined."""
    return 1.0 if one.mean_cosine_without_it is None else one.mean_cosine_without_it


def describe(one: Outlier, width: int) -> str:
    """Say how a dimension stands out in the vectors of a layer that is named behind."""
    if one.share < often(width):
        return f"has a mean {abs(one.deviations):.1f} deviations from the others in the vectors"
    extreme = "minimum" if one.share_minimum > one.share_maximum else "maximum"
    return f"is the {extreme} in {percent(one.share)} of the vectors"


def percent(share: float) -> str:
    """Write a share as sentences do."""
    return f"{100 * share:.3g} %"


def list_dimensions(dimensions: Sequence[int]) -> str:
    """Name dimensions, the first few of many."""
    shown = [str(k) for k in dimensions[:MOST_NAMED]]
    if len(dimensions) > MOST_NAMED:
        shown.append(f"{len(dimensions) - MOST_NAMED} more")
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def not_found_sentence(layers: Layers) -> str:
    """Say that nothing stands out behind the input, or that clipping it does not do much."""
    behind = non_input(layers)
    if not behind:
        return "There is no layer behind the input to look at."
    listed = persistence(behind).rows
    if not listed:
        return nothing_sentence(behind)
    first = listed[0]
    name = max((k for k in behind if behind[k].outliers), key=lambda k: cosine_drop(behind[k]))
    layer = behind[name]
    many = "Dimensions stand" if len(listed) > 1 else "A dimension stands"
    said = (
        f"{many} out ({first['dimension']} in {first['layers']} of {first['of_layers']} layers), "
    )
    if layer.change is None:
        return f"{said}but fewer than two vectors have a direction without."
    return (
        f"{said}but clipping lowers the mean cosine nowhere by more than {margin(layer):.2f}; it "
        f"does most in {name}, from {layer.before:.2f} to {layer.after:.2f}."
    )


def nothing_sentence(layers: Layers) -> str:
    """Say how far dimensions are from standing out."""
    extremes = {
        name: np.maximum(layer.minimum_counts, layer.maximum_counts)
        / max(int(layer.minimum_counts.sum()), 1)
        for name, layer in layers.items()
    }
    name = max(extremes, key=lambda name: float(extremes[name].max()))
    most = float(extremes[name].max())
    largest = max(float(np.abs(layer.deviations).max()) for layer in layers.values())
    return (
        f"No dimension stands out: the one that is an extreme most often, "
        f"{int(extremes[name].argmax())} in {name}, is so in {percent(most)} of "
        f"its vectors, and no mean entry is more than {largest:.1f} deviations from the others."
    )


OUTLIERS = Topic(
    "outliers", "do a few dimensions make all vectors similar?", "a text", explain_outliers
)
