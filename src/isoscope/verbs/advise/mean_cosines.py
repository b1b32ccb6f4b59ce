"""Mean cosines within the documents, within the queries and between the two.

Queries and documents are two clouds: pooled, their mean cosine depends on how many there are of
each, and describes neither. With unit vectors u of n documents and v of m queries,

    within    (‖Σ u‖² − n) / (n² − n)        between    (Σ u · Σ v) / (n m)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.data.arrays import unit_rows
from isoscope.tasks.problem import PairedRows
from isoscope.tasks.problems.retrieval import RetrievalProblem

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from isoscope.tasks.vectors import Ground

    Rows = NDArray[np.intp]

DOCUMENTS, QUERIES, VECTORS, BETWEEN = "documents", "queries", "vectors", "between"


@dataclass(frozen=True)
class MeanCosine:
    """A mean cosine, and over how many vectors (within a side) or pairs (between two) it is."""

    value: float | None
    n: int


def sides_of(ground: Ground) -> dict[str, Rows]:
    """Tell the two sides of a task apart; where it has but one, all its vectors are that.

    Sides are documents and queries, where the task or the user tells them apart, or the first and
    the second of all pairs, where no vector is on both sides.
    """
    problem = ground.problem
    everything = np.arange(len(ground.vectors))
    if ground.query_rows is not None:
        documents = np.setdiff1d(everything, ground.query_rows)
        return {DOCUMENTS: documents, QUERIES: ground.query_rows}
    if isinstance(problem, RetrievalProblem):
        return {DOCUMENTS: problem.document_rows, QUERIES: problem.query_rows}
    if isinstance(problem, PairedRows):
        first, second = np.unique(problem.first), np.unique(problem.second)
        if not len(np.intersect1d(first, second)):
            return {"first side": first, "second side": second}
    return {VECTORS: everything}


def mean_cosines(sides: Mapping[str, NDArray[Any]]) -> dict[str, MeanCosine]:
    """Measure within each side, and between the two where there are two.

    Parameters
    ----------
    sides : mapping of str to array
        The vectors of each side; rows that are zero or not finite have no direction and are left
        out.
    """
    sums, counts = {}, {}
    for name, vectors in sides.items():
        finite = np.asarray(vectors[np.isfinite(vectors).all(axis=1)], np.float64)
        units = unit_rows(finite)
        units = units[np.isfinite(units).all(axis=1)]
        sums[name], counts[name] = units.sum(axis=0), len(units)
    found = {}
    for name, total in sums.items():
        n = counts[name]
        value = min((float(total @ total) - n) / (n**2 - n), 1.0) if n > 1 else None
        found[name] = MeanCosine(value, n)
    if len(sums) == 2:
        (one, other), pairs = sums.values(), int(np.prod(list(counts.values())))
        value = max(min(float(one @ other) / pairs, 1.0), -1.0) if pairs else None
        found[BETWEEN] = MeanCosine(value, pairs)
    return found


def in_words(found: Mapping[str, MeanCosine]) -> str:
    """Return all of them in words, such as ``0.84 within 2,000 documents``."""
    words = [
        f"{number(one.value)} within {one.n:,} {NOUNS.get(name, f'vectors of the {name}')}"
        for name, one in found.items()
        if name != BETWEEN
    ]
    if BETWEEN in found:
        between = found[BETWEEN]
        words.append(f"{number(between.value)} between them ({between.n:,} pairs)")
    return ", ".join(words[:-1]) + f" and {words[-1]}" if len(words) > 1 else words[0]


# What the vectors of a side are called, where they have a name of their own.
NOUNS = {name: name for name in (DOCUMENTS, QUERIES, VECTORS)}


def number(value: float | None) -> str:
    """Return a cosine in two digits."""
    return "undefined" if value is None else f"{round(value, 2) + 0.0:.2f}"
