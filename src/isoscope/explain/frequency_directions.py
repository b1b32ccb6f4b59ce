"""Whether principal components, and lengths, follow how frequent tokens are.

Occurrences of one token are not independent of each other, so that the unit is the kind of token:
components are those of all vectors, and what is correlated is the mean projection of each kind's
occurrences with log10 frequency (Pearson), and the mean of their lengths with frequency (Spearman).
In a matrix every kind has one row. The sign of a component is arbitrary: |r| is given.

Tokens that a text lacks have no logarithm, but a rank: the last. Leaving them out there, too, would
leave most of a vocabulary and all of its rare end out where the text is short.

References
----------
Rajaee & Pilehvar (2021), A cluster-based approach for improving isotropy, figure 5. Gong et al.
(2018), FRAGE: frequency-agnostic word representation.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.compute.stats.estimates import Score, pearson, spearman
from isoscope.data.arrays import ArrayCloud
from isoscope.data.sampling import lowest_indices
from isoscope.measures.views import NONE
from isoscope.results.result import Row, Table

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from isoscope.explain.known_frequencies import Frequencies


COMPONENTS = 3
MEASURE = "correlation_with_log_frequency"
FIRST = f"{MEASURE}/component_1"
NORM = "norm/spearman_with_frequency"
POINTS = 2_000
"""Tokens of a scatter plot."""


@dataclass(frozen=True)
class Directions:
    """How components and lengths go with frequency, and a picture of it."""

    rows: list[Row]
    scatter: Table


def frequency_directions(
    where: str,
    vectors: NDArray[Any],
    ids: NDArray[np.int64],
    tokens: NDArray[np.object_],
    frequencies: Frequencies,
    seed: int = 0,
) -> Directions:
    """Correlate the first components and the lengths of vectors with log10 frequency.

    Parameters
    ----------
    where : str
        What the vectors are of: a matrix or a layer.
    vectors : array
        A row for every token of a vocabulary, or for every occurrence in a text. All of them decide
        what the components are.
    ids, tokens : array
        The token of every row, and how it is written.
    frequencies : Frequencies
        Of the vocabulary; tokens without one are not correlated.
    seed : int
        Of the points that are drawn.
    """
    from isoscope.corrections.estimators.whiten import Whiten  # imports scikit-learn

    cloud = ArrayCloud(vectors)
    pca = Whiten().fit_cloud(cloud)
    directions = pca.components_[:COMPONENTS].T
    projections = np.concatenate(
        [(batch.vectors - pca.mean_) @ directions for batch in cloud.read()]
    )
    logs = frequencies.log10(ids)
    known = np.flatnonzero(~np.isnan(logs))
    kinds = Kinds.of(ids[known])
    of_kinds = frequencies.log10(kinds.ids)
    protocol = (
        f"components of {len(vectors):,} vectors; correlated over kinds of tokens, by their means; "
        f"frequencies: {frequencies.source}"
    )
    scores = {}
    for k in range(projections.shape[1]):
        score = pearson(kinds.means(projections[known, k]), of_kinds)
        if k in pca.dropped_:
            score = Score(None, None, None, score.n, "undefined: no variance is left in it")
        scores[f"{MEASURE}/component_{k + 1}"] = absolute(score)
    lengths = np.sqrt(np.einsum("ij,ij->i", vectors, vectors, dtype=np.float64))
    ranked = np.flatnonzero(~np.isnan(frequencies.shares[ids]))
    kinds = Kinds.of(ids[ranked])
    scores[NORM] = spearman(kinds.means(lengths[ranked]), frequencies.shares[kinds.ids])
    rows = [
        Row(
            "", where, NONE, name, score.value,
            low=score.low, high=score.high, n=score.n, protocol=protocol, note=score.note,
        )
        for name, score in scores.items()
    ]  # fmt: skip
    chosen = known[lowest_indices(len(known), min(POINTS, len(known)), seed)]
    points = [
        {
            "first": float(projections[row, 0]),
            "second": float(projections[row, 1]),
            "log10_frequency": float(logs[row]),
            "token": str(tokens[row]),
        }
        for row in chosen
    ]
    drawn = "" if len(points) == len(known) else ", drawn at random"
    about = f"{len(points):,} of {len(known):,} tokens with a frequency{drawn}"
    return Directions(rows, Table("", where, NONE, "frequency_projections", points, about))


@dataclass(frozen=True)
class Kinds:
    """The different tokens among occurrences.

    Attributes
    ----------
    ids : array
        Each once.
    places : array
        Which of them each occurrence is of.
    counts : array
        How many occurrences each has.
    """

    ids: NDArray[np.int64]
    places: NDArray[np.int64]
    counts: NDArray[np.int64]

    @classmethod
    def of(cls, ids: NDArray[np.int64]) -> Kinds:
        """Find them."""
        return cls(*np.unique(ids, return_inverse=True, return_counts=True))

    def means(self, values: NDArray[Any]) -> NDArray[np.float64]:
        """Return the mean of a figure over the occurrences of every kind."""
        return np.bincount(self.places, values, minlength=len(self.ids)) / self.counts


def absolute(score: Score) -> Score:
    """Return the size of a correlation; an interval around 0 begins at 0."""
    if score.value is None:
        return score
    if score.low is None or score.high is None:
        return replace(score, value=abs(score.value))
    ends = sorted((abs(score.low), abs(score.high)))
    low = 0.0 if score.low <= 0 <= score.high else ends[0]
    return replace(score, value=abs(score.value), low=low, high=ends[1])
