"""Dealing rows to folds, class by class.

scikit-learn's stratified folds refuse classes that have fewer rows than there are folds, and warn
of others. Here the rows of a class, in random order, go to folds 0, 1, 2, … in turn: a class with
fewer rows than folds is in the first ones only, so that the last fold never holds all of a class.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.intp]


def dealt_by_class(codes: Integers, folds: int, seed: int) -> Integers:
    """Return the fold of every row.

    Parameters
    ----------
    codes : array of int
        The class of every row.
    folds : int
        How many there are.
    seed : int
        Of the order within classes.
    """
    order = np.random.default_rng(seed).permutation(len(codes))
    fold = np.empty(len(codes), np.intp)
    for code in np.unique(codes):
        rows = order[codes[order] == code]
        fold[rows] = np.arange(len(rows)) % folds
    return fold
