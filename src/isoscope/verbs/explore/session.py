"""The spaces of a page: every layer under every correction, made when first asked for.

A space is drawn on the plane of its first two principal components, turned so that the picture
stays near the one before the correction (orthogonal Procrustes; Schönemann 1966). The neighbours of
a row are those with the largest cosine among all rows.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from functools import cached_property
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from isoscope.corrections.fit import read_summary
from isoscope.corrections.registry import make_correction
from isoscope.data.arrays import ArrayCloud
from isoscope.data.sampling import lowest_indices
from isoscope.errors import DataError, UsageError, unknown_name
from isoscope.measures.reads.moments import MomentParts
from isoscope.measures.views import NONE
from isoscope.verbs.measure.api import measure

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from isoscope.results.result import Row
    from isoscope.verbs.explore.word_rows import Explored


# Variances from this share of the largest on are one: a whitened cloud has no first component.
TIED = 0.999


@dataclass(frozen=True)
class Plane:
    """Two directions of a space.

    Attributes
    ----------
    mean : array of shape (d,)
        Of the cloud: the middle of the picture.
    axes : array of shape (d, 2)
        Unit vectors; the second is zero in one dimension.
    shares : tuple of float
        What part of the variance lies along each.
    """

    mean: NDArray[np.float32]
    axes: NDArray[np.float32]
    shares: tuple[float, float]

    def of(self, vectors: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return where vectors are drawn."""
        return np.asarray((vectors - self.mean) @ self.axes, np.float32)


def find_plane(
    vectors: NDArray[np.float32],
    rows: NDArray[np.int64],
    before: NDArray[np.float32] | None = None,
) -> Plane:
    """Find the plane of the largest variance.

    The sign of a component is open, and so is every component of a cloud with the same variance
    all around, which whitening makes. Both are settled so that the picture stays as near as can be
    to the one before.

    Parameters
    ----------
    vectors : array of shape (n, d)
        The cloud.
    rows : array of int
        Some of its rows.
    before : array of shape (len(rows), 2), optional
        Where these were drawn before a correction.
    """
    summary = read_summary(ArrayCloud(vectors), MomentParts(dimensions=False), precision="single")
    system = summary.geometry.centred
    mean = summary.moments.mean.astype(np.float32)
    tied = int(np.sum(system.values >= TIED * system.values[0]))
    span = system.vectors[:, : max(tied, 2)]
    turn = np.eye(span.shape[1], 2)
    if before is not None:
        like = ((vectors[rows] - mean) @ span).T @ (before - before.mean(axis=0))
        turn = nearest_turn(like) if tied > 2 else turn * np.where(np.diag(like) < 0, -1.0, 1.0)
    axes = span @ turn
    total = float(system.values.sum())
    variances = (turn**2).T @ system.values[: span.shape[1]]
    first, second = variances / total if total > 0 else (0.0, 0.0)
    return Plane(mean, axes.astype(np.float32), (float(first), float(second)))


def nearest_turn(like: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the two orthonormal columns Q with the largest trace of Qᵀ like (Procrustes)."""
    left, _, right = np.linalg.svd(like, full_matrices=False)
    turn: NDArray[np.float64] = left @ right
    return turn


# What a page offers, in this order.
CORRECTIONS = (NONE, "center", "all-but-the-top", "whiten", "cluster-pc-removal")

# What a page shows of every space.
MEASURES = ("mean_cosine", "i1_scaled", "effective_rank", "top_variance_share", "mean_norm")

# Rows that measures are taken on: a switch must not take seconds.
MOST_MEASURED = 20_000

# Bytes of spaces that stay in memory; those that were not used for longest go first.
MOST_KEPT = 2 * 10**9

# A vector shorter than this share of the mean length is rounding of float32: it has no direction. A
# correction leaves such vectors where a row is alone in its cluster.
NO_DIRECTION = 1e-6


@dataclass(frozen=True)
class Space:
    """One layer under one correction.

    Attributes
    ----------
    units : array of shape (n, d)
        All vectors at length 1, in float32; zero where there is no direction.
    lengths : array of shape (n,)
        Their lengths.
    plane : Plane
        What it is drawn on.
    """

    units: NDArray[np.float32]
    lengths: NDArray[np.float32]
    plane: Plane

    @cached_property
    def aimless(self) -> NDArray[np.intp]:
        """Rows without a direction."""
        return np.flatnonzero(self.lengths == 0)

    @property
    def bytes(self) -> int:
        """What it takes in memory."""
        return self.units.nbytes + self.lengths.nbytes

    def vectors(self, rows: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return some vectors at their own length."""
        return self.units[rows] * self.lengths[rows, None]

    def points(self, rows: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return where some vectors are drawn."""
        return self.plane.of(self.vectors(rows))

    @property
    def origin(self) -> NDArray[np.float32]:
        """Where the zero vector is drawn."""
        return self.plane.of(np.zeros(self.units.shape[1], np.float32))


class Spaces:
    """All spaces of what is explored.

    Parameters
    ----------
    explored : Explored
        The vectors.
    shown : int
        Points that are drawn, at most: the same rows in every space.
    seed : int
        Of the rows that are drawn and of those that are measured.
    """

    def __init__(self, explored: Explored, shown: int = 4_000, seed: int = 0) -> None:
        self.explored, self.seed = explored, seed
        self.shown = lowest_indices(len(explored), shown, seed)
        self.measured = lowest_indices(len(explored), MOST_MEASURED, seed)
        self._made: OrderedDict[tuple[str, str], Space] = OrderedDict()
        self._measures: dict[tuple[str, str], list[Row]] = {}
        self._making, self._measuring = Lock(), Lock()

    @property
    def last_layer(self) -> str:
        """The layer that a page begins with."""
        return list(self.explored.layers)[-1]

    def get(self, layer: str, correction: str) -> Space:
        """Return a space; it is made where nobody has asked for it before."""
        self.check(layer, correction)
        with self._making:
            return self._get(layer, correction)

    def measures(self, layer: str, correction: str) -> list[Row]:
        """Return the measures of a space, on at most ``MOST_MEASURED`` of its rows."""
        space = self.get(layer, correction)
        with self._measuring:
            if (layer, correction) not in self._measures:
                cloud = ArrayCloud(space.vectors(self.measured), self.explored.name)
                result = measure(cloud, MEASURES, NONE, intervals=False, seed=self.seed)
                self._measures[layer, correction] = [result.row(name) for name in MEASURES]
            return self._measures[layer, correction]

    def check(self, layer: str, correction: str) -> None:
        """Refuse names that do not exist."""
        if layer not in self.explored.layers:
            raise unknown_name(f"layer of {self.explored.name}", layer, self.explored.layers)
        if correction not in CORRECTIONS:
            raise unknown_name("correction of this page", correction, CORRECTIONS)

    def _get(self, layer: str, correction: str) -> Space:
        key = layer, correction
        if key not in self._made:
            self._made[key] = self._make(layer, correction)
            while len(self._made) > 2 and sum(one.bytes for one in self._made.values()) > MOST_KEPT:
                self._made.popitem(last=False)
        self._made.move_to_end(key)
        return self._made[key]

    def _make(self, layer: str, correction: str) -> Space:
        vectors = self.explored.layers[layer]
        if correction == NONE:
            return made(vectors.copy(), find_plane(vectors, self.measured))
        before = self._get(layer, NONE).points(self.measured)
        try:
            corrected = make_correction(correction).fit(vectors).transform(vectors)
        except UsageError as error:  # too narrow for its defaults: the data's doing, not the user's
            raise DataError(f"{layer} cannot be corrected: {error}") from error
        return made(corrected, find_plane(corrected, self.measured, before))


def made(vectors: NDArray[np.float32], plane: Plane) -> Space:
    """Make a space of vectors, which are brought to length 1 in place."""
    lengths = np.linalg.norm(vectors, axis=1)
    lengths[lengths <= NO_DIRECTION * lengths.mean()] = 0
    vectors /= np.where(lengths > 0, lengths, np.inf)[:, None].astype(np.float32)
    return Space(vectors, lengths, plane)


class Neighbour(NamedTuple):
    """A row and its cosine to the one that was asked for."""

    row: int
    cosine: float


def nearest(space: Space, row: int, k: int) -> list[Neighbour]:
    """Return the k rows with the largest cosine to a row, itself left out.

    One product of all unit vectors with one of them, in float32. Rows with equal cosines come in
    their order. Rows without a direction are nobody's neighbours and have none.

    Parameters
    ----------
    space : Space
        Where to look.
    row : int
        Whose neighbours.
    k : int
        How many; fewer where there are fewer rows.
    """
    if not space.lengths[row] > 0:
        return []
    cosines = space.units @ space.units[row]
    cosines[space.aimless] = -np.inf
    cosines[row] = -np.inf
    found = largest(cosines, k)
    return [
        Neighbour(int(one), min(1.0, float(cosines[one]))) for one in found if cosines[one] > -2
    ]


# Numbers among which the largest is found first: the largest of all are in few of such stretches.
STRETCH = 512


def largest(values: NDArray[np.float32], k: int) -> NDArray[np.intp]:
    """Return the places of the k largest numbers, the largest first and ties in their order.

    The k-th largest of the maxima of stretches is no larger than the k-th largest number. So only
    the stretches that reach it are looked at one by one, which spares a partition of all numbers.
    """
    k = min(k, len(values))
    starts = np.arange(0, len(values), STRETCH)
    maxima = np.maximum.reduceat(values, starts)
    reached = -np.inf if k > len(maxima) else np.partition(maxima, len(maxima) - k)[-k]
    places = starts[maxima >= reached][:, None] + np.arange(STRETCH)
    places = places.reshape(-1)
    places = places[places < len(values)]
    places = places[values[places] >= reached]
    # Stable, so that of equal numbers the first comes first.
    return np.asarray(places[np.argsort(-values[places], kind="stable")][:k])
