"""Items dealt into folds, so that each is scored with what was learned without it.

Items that share a text are dealt together where that is possible: a text is then on one side of a
split, and none has to be left out of the fit because it is scored.

Items and texts are the nodes of a graph with an edge wherever an item stands on a text; its
connected components are dealt whole, the largest first, each to the fold with the fewest items so
far (Graham 1969, Bounds on multiprocessing timing anomalies, for this rule).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from isoscope.errors import UsageError
from isoscope.tasks.problem import Items, Problem

FOLDS = 5
MOST_FOLDS = 20

# Items that hang together are dealt together unless they are more than this many even folds. Beyond
# it, items are dealt one by one: folds are then even, but a text may be on both sides, and what is
# scored is kept out of fits row by row instead (``FoldedRows``).
LARGEST_GROUP = 2.0


def dealt(problem: Problem, folds: int = FOLDS, seed: int = 0) -> list[Items]:
    """Return the items of every fold, each in order.

    Parameters
    ----------
    problem : Problem
        What is scored.
    folds : int
        How many; at least two.
    seed : int
        Of the order in which items are dealt.
    """
    count = len(problem)
    if not 2 <= folds <= min(count, MOST_FOLDS):
        raise UsageError(
            f"{problem.task}: {count:,} {problem.unit} cannot be dealt into {folds} folds; there "
            f"are two to {MOST_FOLDS}, with something in each"
        )
    groups = connected(problem)
    sizes = np.bincount(groups)
    # One large group, as where all pairs share a text, would leave a single fold with everything.
    if sizes.max() > LARGEST_GROUP * count / folds or len(sizes) < folds:
        groups, sizes = np.arange(count), np.ones(count, np.intp)
    # Shuffled first and sorted stably after that: groups of one size stay in random order, so that
    # folds do not follow the order of the file.
    turn = np.random.default_rng(seed).permutation(len(sizes))
    turn = turn[np.argsort(-sizes[turn], kind="stable")]  # the large ones first: even folds
    fold_of = np.empty(len(sizes), np.intp)
    filled = np.zeros(folds, np.intp)
    for group in turn:
        fold_of[group] = np.argmin(filled)
        filled[fold_of[group]] += sizes[group]
    return [np.flatnonzero(fold_of[groups] == fold) for fold in range(folds)]


def connected(problem: Problem) -> NDArray[np.intp]:
    """Return a number for every item, the same for items that share a text, directly or not."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    rows = [problem.ties_of(item) for item in range(len(problem))]
    items = np.repeat(np.arange(len(rows)), [len(some) for some in rows])
    ends = len(rows) + np.concatenate(rows)
    size = int(ends.max()) + 1
    # Items and what they stand on are the two sides of a graph; its components are the groups.
    graph = coo_array((np.ones(len(items)), (items, ends)), shape=(size, size))
    _, labels = connected_components(graph, directed=False)
    # Components are numbered together with the texts; items alone get numbers without gaps.
    _, numbered = np.unique(labels[: len(rows)], return_inverse=True)
    return np.asarray(numbered, np.intp)
