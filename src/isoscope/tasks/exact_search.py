"""The nearest documents of every query by cosine, exactly, in bounded memory.

Written by hand because ties must not depend on chance: scikit-learn's neighbours keep whichever of
two equal documents a partition leaves in front. Here they are in the order of the documents.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.tasks.scoring import unit_rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from isoscope.typing import Places, Vector


QUERIES_AT_ONCE, DOCUMENTS_AT_ONCE = 256, 4096
DECIMALS = 12
"""Cosines are rounded to these, so that equal documents are tied wherever they stand in a block."""

NONE = -1
"""In place of a document where there are fewer than asked for."""


def nearest(
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
        best = np.argsort(-candidates, kind="stable")[: scores.shape[1]]
        found[row] = np.concatenate([found[row], block[new]])[best]
        scores[row] = candidates[best]
