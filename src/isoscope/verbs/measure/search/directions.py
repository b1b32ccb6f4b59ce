"""A sample as a search by cosine sees it, in several spaces of the same rows.

Vectors become unit vectors u = x / ‖x‖ less a common vector. Their distances order as cosines do,
‖u − v‖² = 2 − 2 cos(u, v), and rows that have no direction in one space are left out of all, so
that differences between spaces are paired.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, TypeAlias, TypeVar

import numpy as np

from isoscope.compute.threads import in_parallel, one_blas_thread
from isoscope.errors import DataError
from isoscope.progress import Progress, report

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from isoscope.typing import Ids, Mask, Matrix, Single

Codes: TypeAlias = "NDArray[np.uint8]"
Found = TypeVar("Found")
Change: TypeAlias = "Callable[[Matrix], Matrix]"


# Vectors shorter than this share of the median have no direction but that of rounding: one that
# equals the mean comes out of centring in single precision with about a ten-millionth.
SHORTEST = 1e-6

# Between these, sums of squares are as exact as any others.
LARGEST_SQUARE, SMALLEST_SQUARE = 1e300, 1e-200

# In place of a row where there is none.
NOBODY = -1


@dataclass(frozen=True)
class Directions:
    """Vectors of length 1, less a common vector.

    Distances between unit vectors order as cosines do, ‖u − v‖² = 2 − 2 cos, and do not change
    when the same vector is taken off all of them. In a cloud whose cosines are all 0.9999 what is
    left is as large as the differences between vectors, and single precision is enough.
    """

    moved: Single
    signs: Codes
    """The sign of every component, a bit each."""

    def units(self, shift: NDArray[np.float64]) -> Single:
        """Return the unit vectors themselves."""
        return np.asarray(self.moved + shift, np.float32)

    def take(self, rows: Mask) -> Directions:
        """Return some of them."""
        return self if rows.all() else Directions(self.moved[rows], self.signs[rows])


@dataclass(frozen=True)
class SearchSpace:
    """Vectors to search in, and what is looked for.

    Attributes
    ----------
    base, queries : Directions
        The same where the rows of the base are looked for themselves.
    shift : array
        What was taken off all unit vectors.
    itself : array of int
        For every query the row of the base that it is, or -1.
    """

    base: Directions
    queries: Directions
    shift: NDArray[np.float64]
    itself: Ids

    @property
    def rows(self) -> int:
        """Number of vectors to search in."""
        return len(self.base.moved)

    @property
    def width(self) -> int:
        """Number of dimensions."""
        return int(self.base.moved.shape[1])

    @property
    def findable(self) -> int:
        """Number of vectors that a query may find."""
        return self.rows - bool((self.itself != NOBODY).any())


def search_space(base: Matrix, queries: Matrix | None) -> tuple[SearchSpace, Mask, Mask]:
    """Make a space of vectors and queries; None looks for the vectors themselves.

    Returns
    -------
    SearchSpace, and which rows of the base and of the queries have a direction
    """
    lengths = lengths_of(base)
    limit = SHORTEST * float(np.median(lengths))
    units, has = unit_rows(base, lengths, limit)
    shift = units.mean(axis=0)
    here = directions(units, shift)
    if queries is None:
        return SearchSpace(here, here, shift, np.arange(len(base))), has, has
    asked, known = unit_rows(queries, lengths_of(queries), limit)
    nobody = np.full(len(asked), NOBODY, np.int64)
    return SearchSpace(here, directions(asked, shift), shift, nobody), has, known


def restricted(space: SearchSpace, base: Mask, queries: Mask) -> SearchSpace:
    """Leave rows out of a space; rows that are looked for themselves are left out of both."""
    here = space.base.take(base)
    if space.queries is space.base:
        return SearchSpace(here, here, space.shift, np.arange(int(base.sum())))
    asked = space.queries.take(queries)
    return SearchSpace(here, asked, space.shift, space.itself[queries])


def directions(units: Matrix, shift: NDArray[np.float64]) -> Directions:
    """Take a common vector off unit vectors, and their signs before that."""
    return Directions((units - shift).astype(np.float32), np.packbits(units > 0, axis=1))


def unit_rows(vectors: Matrix, lengths: NDArray[np.float64], limit: float) -> tuple[Matrix, Mask]:
    """Divide rows by their lengths; those that have none to speak of become 0."""
    has = lengths > limit
    inverse = np.divide(1.0, lengths, out=np.zeros_like(lengths), where=has)
    return vectors * inverse[:, None], has


def lengths_of(vectors: Matrix) -> NDArray[np.float64]:
    """Return the length of every row; squares neither overflow nor vanish."""
    squares = np.einsum("ij,ij->i", vectors, vectors)
    if squares.max(initial=0.0) < LARGEST_SQUARE and np.median(squares) > SMALLEST_SQUARE:
        return np.asarray(np.sqrt(squares))
    largest = np.abs(vectors).max(axis=1, initial=0.0)
    scale = np.where(largest > 0, largest, 1.0)
    return np.asarray(np.linalg.norm(vectors / scale[:, None], axis=1) * scale)


def spaces_together(
    makers: Mapping[str, Change],
    base: Matrix,
    queries: Matrix | None = None,
    of_queries: Mapping[str, Change] | None = None,
) -> tuple[dict[str, SearchSpace], int]:
    """Change vectors in every way; rows that have no direction in one are left out of all.

    Every figure is then about the same rows and queries, so that differences are paired. Queries
    are changed as the others are, unless ``of_queries`` has another way for them.

    Returns
    -------
    dict of SearchSpace, and the number of vectors that are left out
    """
    asking = {**makers, **(of_queries or {})}

    def make(name: str) -> tuple[SearchSpace, Mask, Mask]:
        changed = None if queries is None else asking[name](queries)
        return search_space(makers[name](base), changed)

    made = in_parallel([partial(make, name) for name in makers])
    for name, (_, has, known) in zip(makers, made, strict=True):
        if not (has.any() and known.any()):
            raise DataError(f"{name} leaves no vector with a direction: nothing can be searched")
    here = np.logical_and.reduce([has for _, has, _ in made])
    asked = np.logical_and.reduce([known for _, _, known in made])
    without = int((~here).sum()) + (0 if queries is None else int((~asked).sum()))
    spaces = {
        name: restricted(space, here, asked)
        for name, (space, _, _) in zip(makers, made, strict=True)
    }
    return spaces, without


def search_all(
    spaces: Mapping[str, SearchSpace],
    search: Callable[[SearchSpace, Callable[[], None]], Found],
    stage: str,
    steps: int,
    progress: Progress | None,
) -> dict[str, Found]:
    """Search every space, as many at a time as there are cores.

    Parameters
    ----------
    spaces : mapping of str to SearchSpace
        Of the same rows.
    search : callable
        Searches a space on one thread; its second argument is to be called after every step.
    stage : str
        What progress calls it.
    steps : int
        Steps of a search.
    progress : callable, optional
        Called with the stage, rows done, and rows in all.
    """
    rows = next(iter(spaces.values())).rows
    done, lock = 0, threading.Lock()

    def step() -> None:
        nonlocal done
        with lock:  # so that counts are reported in their order
            done += 1
            report(progress, stage, done * rows // steps, rows * len(spaces))

    calls = [partial(search, space, step) for space in spaces.values()]
    with one_blas_thread():  # the same sums on any number of cores
        return dict(zip(spaces, in_parallel(calls), strict=True))
