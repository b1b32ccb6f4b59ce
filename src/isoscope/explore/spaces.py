"""The spaces of a page: every layer under every correction, made when first asked for."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np

from isoscope.data.arrays import ArrayCloud
from isoscope.data.sampling import lowest_indices
from isoscope.errors import DataError, UsageError, unknown_name
from isoscope.explore.planes import Plane, find_plane
from isoscope.measures.views import NONE
from isoscope.results.measuring import measure

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from isoscope.explore.explored import Explored
    from isoscope.results.result import Row


CORRECTIONS = (NONE, "center", "all-but-the-top", "whiten", "cluster-pc-removal")
"""What a page offers, in this order."""

MEASURES = ("mean_cosine", "i1_scaled", "effective_rank", "top_variance_share", "mean_norm")
"""What a page shows of every space."""

MOST_MEASURED = 20_000
"""Rows that measures are taken on: a switch must not take seconds."""

MOST_KEPT = 2 * 10**9
"""Bytes of spaces that stay in memory; those that were not used for longest go first."""

NO_DIRECTION = 1e-6
"""A vector shorter than this share of the mean length is rounding of float32: it has no direction.
A correction leaves such vectors where a row is alone in its cluster."""


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
        zero = np.zeros(self.units.shape[1], np.float32)
        return self.plane.of(zero)


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
        from isoscope.corrections.registry import make_correction  # imports scikit-learn

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
