"""The nearest rows by cosine, of queries or of other rows, exactly and in bounded memory.

The cosine of x and y is x·y / (‖x‖ ‖y‖), so that rows are divided by their norms once and a block
of products gives all cosines of its rows.

Documents of a query are searched by hand because ties must not depend on chance: scikit-learn's
neighbours keep whichever of two equal documents a partition puts first. Here the order of the
documents decides. Rows among themselves are searched by hand because a row must not find itself,
and one stripe of products and a partition is all it takes; an index would have to be built first.
faiss, which few calls need, is imported when one does, and limited to one thread.

An interval of the mean overlap of two searches is for further rows that are searched among these
same rows, as queries are in an index that stays. Other rows to search in would add to its error: in
simulations of 400 and 2,000 rows the standard deviation over new clouds was 1.2 to 1.3 times the
standard error (the jackknife, which leaves rows out of the lists of others as well, made it 1.6
times too large).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isoscope.compute.threads import in_parallel
from isoscope.data.arrays import square_norms, unit_rows
from isoscope.errors import require
from isoscope.typing import Floats, Matrix, Places, Vector

QUERIES_AT_ONCE, DOCUMENTS_AT_ONCE = 256, 4096

# Cosines are rounded to these, so that equal documents are tied wherever they stand in a block.
DECIMALS = 12

# In place of a document where there are fewer than asked for.
NONE = -1


def nearest_documents(
    queries: NDArray[Any], documents: NDArray[Any], order: Places, without: Places, most: int
) -> Places:
    """Return the documents of highest cosine for every query, the highest first.

    Parameters
    ----------
    queries, documents : array
        A row each. Documents without a direction are never found; a query without one finds none.
    order : array of int
        The documents in the order in which ties are broken.
    without : array of int
        For every query the document that it must not find, or -1.
    most : int
        How many documents.

    Returns
    -------
    array
        A row of documents for every query, filled up with -1 where there are fewer.
    """
    scores = np.full((len(queries), most), -np.inf)
    found = np.full((len(queries), most), NONE, np.intp)
    units = unit_rows(np.asarray(queries, np.float64))
    for start in range(0, len(order), DOCUMENTS_AT_ONCE):
        block = order[start : start + DOCUMENTS_AT_ONCE]
        # Blocks of documents are the outer loop, as a block is widened and divided by its lengths
        # once for all queries; only one block is held in double precision at a time.
        across = unit_rows(np.asarray(documents[block], np.float64)).T
        for first in range(0, len(units), QUERIES_AT_ONCE):
            some = slice(first, first + QUERIES_AT_ONCE)
            cosines = np.round(units[some] @ across, DECIMALS)
            cosines[np.isnan(cosines)] = -np.inf
            cosines[block == without[some, None]] = -np.inf
            keep_best(scores[some], found[some], cosines, block)
    return found


def keep_best(scores: Vector, found: Places, cosines: Vector, block: Places) -> None:
    """Merge the documents of a block into the best so far, in place.

    A tie goes to the document that was there before, so that only higher cosines can enter.
    """
    enters = cosines > scores[:, -1:]
    for row in np.flatnonzero(enters.any(axis=1)):
        new = np.flatnonzero(enters[row])
        candidates = np.concatenate([scores[row], cosines[row, new]])
        # Stable, with what was found before in front: of equal cosines the earlier document stays.
        best = np.argsort(-candidates, kind="stable")[: scores.shape[1]]
        found[row] = np.concatenate([found[row], block[new]])[best]
        scores[row] = candidates[best]


def load_faiss() -> Any:
    """Return the library, or say what to install."""
    return require("faiss", "searching the sample needs faiss; pip install 'isoscope[search]'")


@contextmanager
def one_faiss_thread() -> Iterator[None]:
    """Hold faiss to one thread in the thread that asks, for a while.

    Threads that insert into one HNSW graph at a time make another graph at every call, and sums
    that threads share round differently: one each gives the same lists every time.
    """
    faiss = load_faiss()
    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)
    try:
        yield
    finally:
        faiss.omp_set_num_threads(before)


# Rows whose cosines with all others are held at a time.
STRIPE = 512

# Distances that one thread of ``nearest_points`` holds at a time, at most.
STRIPE_ELEMENTS = 2**24


def nearest_rows(vectors: NDArray[Any], k: int) -> Places:
    """Return the k rows of highest cosine for every row, itself left out, in no order.

    Lengths are taken out in double precision, products are in single: cosines that differ by less
    than 1e-7 are neighbours of equal right. A row without a direction finds rows of no meaning.
    """
    units = np.nan_to_num(unit_rows(np.asarray(vectors, np.float64)), nan=0.0).astype(np.float32)
    found = np.empty((len(units), k), np.intp)
    for first in range(0, len(units), STRIPE):
        stripe = units[first : first + STRIPE]
        rows = np.arange(len(stripe))
        # The nearest first: a partition by the negated cosine.
        cosines = stripe @ -units.T
        cosines[rows, first + rows] = np.inf
        found[first : first + len(stripe)] = np.argpartition(cosines, k - 1, axis=1)[:, :k]
    return found


def nearest_points(points: Matrix, k: int) -> Places:
    """Return the k nearest other points of every point, by Euclidean distance and in no order.

    ‖a − b‖² without ‖a‖², which is the same for all b, follows from products around the mean of the
    points. These are taken in single precision, where an entry is off by at most
    e = (d + 8) 2⁻²⁴ (2 ‖a‖ M + M²) with M the largest length (Higham 2002, section 3.1). Where the
    nearest k are not ahead of the next by 2 e, the row is searched again in double precision: so
    the points found are those of double precision.

    Parameters
    ----------
    points : array of shape (n, d)
        In double precision. Unit vectors have their nearest points at the largest cosines.
    k : int
        How many, at most n − 1.
    """
    centred = points - points.mean(axis=0)
    reach = float(np.abs(centred).max(initial=0.0))
    if reach > 0:  # so that no square leaves the range of single precision
        centred /= reach
    # Narrower where there are many points, so that memory does not grow with their square.
    height = max(1, min(STRIPE, STRIPE_ELEMENTS // max(len(points), 1)))
    search = NearestPoints(centred, k, height)
    starts = range(0, len(points), height)
    return np.concatenate(in_parallel([partial(search, first) for first in starts]))


class NearestPoints:
    """Finds the nearest points of one stripe of rows at a time; see ``nearest_points``."""

    def __init__(self, centred: Matrix, k: int, height: int) -> None:
        self._double, self._k, self._height = centred, k, height
        self._single = centred.astype(np.float32)
        self._squares = square_norms(centred)
        lengths = np.sqrt(self._squares)
        longest = float(lengths.max(initial=0.0))
        error = (centred.shape[1] + 8) * 2.0**-24
        self._bounds = error * (2 * lengths * longest + longest**2)

    def __call__(self, first: int) -> Places:
        """Return the nearest points of the rows from ``first`` on."""
        rows, k = np.arange(first, min(first + self._height, len(self._single))), self._k
        distances = self._distances(self._single, rows)
        found, last, following = nearest_columns(distances, k)
        gaps = following.astype(np.float64) - last
        unsure = np.flatnonzero(~(gaps > 2 * self._bounds[rows]))
        if len(unsure):
            exact = self._distances(self._double, rows[unsure])
            found[unsure] = np.argpartition(exact, k - 1, axis=1)[:, :k]
        return found

    def _distances(self, points: Floats, rows: Places) -> Floats:
        """‖b‖² − 2 a·b for rows a and all points b, infinite for a itself."""
        distances = (points[rows] * points.dtype.type(-2)) @ points.T
        distances += self._squares.astype(points.dtype)
        distances[np.arange(len(rows)), rows] = np.inf
        return distances


# Columns are looked at in so many groups for each one that is wanted.
GROUPS_PER_COLUMN = 16


def nearest_columns(distances: Floats, k: int) -> tuple[Places, Floats, Floats]:
    """Return the columns of the k smallest of every row, the largest of these, and the next one.

    Of the smallest numbers of many groups of columns the one in place k + 1 is a bound, as k + 1
    numbers of the row are not above it. Few others are, and only these are partitioned: that takes
    a fifth of the time of partitioning whole rows. Which columns are found of equal ones is open.
    """
    rows, columns = distances.shape
    groups = GROUPS_PER_COLUMN * (k + 1)
    whole = columns // groups * groups
    if whole:
        # Columns that are ``groups`` apart are one group; each of the last ones is a group alone.
        grouped = distances[:, :whole].reshape(rows, -1, groups).min(axis=1)
        lowest = np.concatenate((grouped, distances[:, whole:]), axis=1)
        bounds = np.partition(lowest, k, axis=1)[:, k]
        row, column = np.nonzero(distances <= bounds[:, None])
        counts = np.bincount(row, minlength=rows)
        most = int(counts.max())
        # Many equal distances leave many columns; NaN leaves none, and is searched again.
        if most <= 2 * groups and counts.min() > k:
            place = np.arange(len(row)) - np.repeat(np.cumsum(counts) - counts, counts)
            values = np.full((rows, most), np.inf, distances.dtype)
            places = np.zeros((rows, most), np.intp)
            values[row, place], places[row, place] = distances[row, column], column
            return smallest(values, places, k)
    return smallest(distances, None, k)


def smallest(values: Floats, places: Places | None, k: int) -> tuple[Places, Floats, Floats]:
    """Return places of the k smallest values of every row, the largest of these, and the next."""
    order = np.argpartition(values, k, axis=1)[:, : k + 1]
    found = order[:, :k] if places is None else np.take_along_axis(places, order[:, :k], axis=1)
    ahead = np.take_along_axis(values, order, axis=1)
    return np.sort(found, axis=1), ahead[:, :k].max(axis=1), ahead[:, k]


def shared(one: Places, other: Places) -> NDArray[np.float64]:
    """Return the share of each row's neighbours that two searches have in common."""
    found = np.empty(len(one))
    for first in range(0, len(one), STRIPE):
        rows = slice(first, first + STRIPE)
        found[rows] = (one[rows, :, None] == other[rows, None, :]).sum(axis=(1, 2))
    return np.asarray(found / one.shape[1])


def has_direction(vectors: NDArray[Any]) -> NDArray[np.bool_]:
    """Tell which rows are not zero: others have no cosine."""
    return np.asarray((vectors != 0).any(axis=1))
