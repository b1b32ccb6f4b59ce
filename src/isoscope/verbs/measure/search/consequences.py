"""What one space means for a search: lists of neighbours, and the figures that they give."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from isoscope.compute.faiss_library import one_faiss_thread
from isoscope.measures.families.neighbours import skewness
from isoscope.results.neighboured import (
    BINARY,
    BINARY_RESCORED,
    HNSW,
    INT8,
    INT8_RESCORED,
    IVF,
    KEPT,
    ORIGINAL,
)
from isoscope.verbs.measure.search.exact import Neighbours, exact_neighbours
from isoscope.verbs.measure.search.indexes import RESCORED, by_bits, by_hnsw, by_int8, by_ivf

if TYPE_CHECKING:
    from collections.abc import Callable

    from isoscope.typing import Ids, Vector
    from isoscope.verbs.measure.search.directions import SearchSpace


SEARCHES = 2_000
"""Queries that indexes and codes are asked: a recall is then known to about a hundredth."""

STEPS = 5
"""Lists that are made for a space."""


@dataclass(frozen=True)
class Lists:
    """What searches in one space find."""

    exact: Neighbours
    hnsw: Ids
    ivf: Ids
    int8: Ids
    """Candidates, best first: ``RESCORED`` times as many as neighbours."""
    binary: Ids

    @property
    def hubness(self) -> float | None:
        """Skewness of how often rows are found; None where all are found equally often."""
        found = self.exact.ids.reshape(-1)
        return skewness(np.bincount(found, minlength=self.exact.space.rows))

    def figures(self, original: Neighbours) -> dict[str, Vector]:
        """Return every share, query by query.

        Parameters
        ----------
        original : Neighbours
            Those of the vectors as they are.
        """
        exact, k = self.exact, self.exact.k
        found = {
            KEPT: original.recall(exact.ids),
            HNSW: exact.recall(self.hnsw),
            IVF: exact.recall(self.ivf),
        }
        codes = ((INT8, INT8_RESCORED, self.int8), (BINARY, BINARY_RESCORED, self.binary))
        for plain, rescored, candidates in codes:
            found[plain] = exact.recall(candidates[:, :k])
            found[rescored] = exact.recall(candidates)
            found[f"{plain}/{ORIGINAL}"] = original.recall(candidates[:, :k])
            found[f"{rescored}/{ORIGINAL}"] = original.recall(candidates)
        return found


def search(space: SearchSpace, k: int, seed: int, step: Callable[[], None]) -> Lists:
    """Search one space in every way, on one thread.

    Parameters
    ----------
    space : SearchSpace
        What to search.
    k : int
        How many neighbours.
    seed : int
        Of the cells of IVF.
    step : callable
        Called after every list.
    """

    def done(found: Ids) -> Ids:
        step()
        return found

    most = min(RESCORED * k, space.findable)
    with one_faiss_thread():
        exact = exact_neighbours(space, k)
        step()
        return Lists(
            exact,
            done(by_hnsw(space, k, SEARCHES)),
            done(by_ivf(space, k, SEARCHES, seed)),
            done(by_int8(space, most, SEARCHES)),
            done(by_bits(space, most, SEARCHES)),
        )
