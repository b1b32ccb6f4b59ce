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
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isoscope.data.arrays import unit_rows
from isoscope.errors import require
from isoscope.typing import Places, Vector

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
