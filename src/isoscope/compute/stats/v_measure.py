"""V-measure: how well clusters agree with classes.

The harmonic mean of homogeneity I / H(class) and completeness I / H(cluster) is
V = 2 I / (H(class) + H(cluster)), with I the information that the two share. With φ(m) = m ln m
and n_ck, n_c, n_k the counts of cells, classes and clusters,

    n I = Σ φ(n_ck) − Σ φ(n_c) − Σ φ(n_k) + φ(n),  n H(class) = φ(n) − Σ φ(n_c),

so that leaving out an item changes one term of each sum. Its influence is n − 1 times the change.

Few items share information by chance: I is too high by about (C − 1)(K − 1) / 2n. The mean of the
influences is minus that bias (the jackknife's estimate of it), and the interval stands around the
value less it; the value itself is the one that everybody prints. With fewer than three items for
each cell of the table that is not enough (intervals of 95 % held 70 to 90 % of the time), and there
is no interval; differences of two such scores, whose bias is alike, keep theirs. Clusters count as
given: their own dependence on the items is no part of the interval.

References
----------
Rosenberg & Hirschberg (2007), V-measure: a conditional entropy-based external cluster evaluation
measure, EMNLP. Quenouille (1956), Notes on bias in estimation. Miller (1955), Note on the bias of
information estimates.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from isoscope.compute.stats.estimates import (
    FEWEST,
    ROUNDING,
    Score,
    check_level,
    paired_lists,
    quantile,
    standard_error,
    undefined,
)
from isoscope.typing import Vector

Counts = NDArray[np.float64]

ITEMS_A_CELL = 3


def v_measure(truth: ArrayLike, clusters: ArrayLike, level: float = 0.95) -> Score:
    """Return the V-measure of classes and clusters, with its interval.

    Parameters
    ----------
    truth : array-like
        The class of every item.
    clusters : array-like
        Its cluster; numbers or names mean nothing but same or other.
    level : float
        Coverage of the interval, between 0 and 1.
    """
    true, _ = paired_lists(truth, truth)
    said, _ = paired_lists(clusters, clusters)
    paired_lists(true, said)  # of one length
    if len(true) == 0 or np.ptp(true) == 0:
        return undefined("one class only", len(true))
    cells = (int(true.max()) + 1) * (int(said.max()) + 1)
    return with_interval(*v_influences(true, said), cells, level)


def with_interval(
    value: float, influences: Vector, cells: int, level: float, seed_variance: float = 0.0
) -> Score:
    """Put an interval around a V-measure, or around a mean over seeds of the same items.

    Parameters
    ----------
    value, influences, level
        As ``bounded_score`` takes them.
    cells : int
        Pairs of a class and a cluster, in all tables that the score is taken from.
    seed_variance : float
        The variance of the mean that is due to seeds.
    """
    check_level(level)
    n = len(influences)
    if n < FEWEST:
        return Score(value, None, None, n, f"no interval from fewer than {FEWEST} items")
    if np.ptp(influences) <= ROUNDING:
        note = "no interval: no item moves the score"
        return Score(value, None, None, n, note, influences, seed_variance=seed_variance)
    if n < ITEMS_A_CELL * cells:
        note = f"no interval from fewer than {ITEMS_A_CELL} items for each of {cells:,} cells"
        return Score(value, None, None, n, note, influences, seed_variance=seed_variance)
    middle = value + float(np.mean(influences))
    half = quantile(level, n) * math.hypot(standard_error(influences), math.sqrt(seed_variance))
    low, high = (float(np.clip(middle + s * half, 0, 1)) for s in (-1, 1))
    note = "" if low <= value <= high else "the interval is around the value less its bias"
    return Score(value, low, high, n, note, influences, seed_variance=seed_variance)


def v_influences(true: NDArray[np.intp], said: NDArray[np.intp]) -> tuple[float, Vector]:
    """Return V and the influence of every item on it; classes and clusters are numbers from 0."""
    n = len(true)
    width = int(said.max()) + 1
    _, cell, counts = np.unique(true * width + said, return_inverse=True, return_counts=True)
    of_cell = counts.astype(np.float64)
    of_class, of_cluster = (np.bincount(one).astype(np.float64) for one in (true, said))
    sums = [float(phi(one).sum()) for one in (of_cell, of_class, of_cluster)]
    value = v_of(sums[0], sums[1] + sums[2], n)
    # A change of each sum by item, which all items of a cell share.
    cells = phi(of_cell - 1) - phi(of_cell)
    margins = phi(of_class - 1)[true] - phi(of_class)[true]
    margins = margins + phi(of_cluster - 1)[said] - phi(of_cluster)[said]
    without = v_of(sums[0] + cells[cell], sums[1] + sums[2] + margins, n - 1)
    return float(value), (n - 1) * (value - without)


def phi(counts: Counts) -> Vector:
    """Return m ln m, and 0 for nothing."""
    positive = counts > 0
    return np.asarray(counts * np.log(counts, out=np.zeros_like(counts), where=positive))


def v_of(cells: Vector | float, margins: Vector | float, n: int) -> Vector:
    """Return V from Σ φ of the cells, Σ φ of both margins together, and the number of items."""
    whole = float(phi(np.array([float(n)]))[0])
    entropies = np.asarray(2 * whole - margins)
    # Without a single item only one class in one cluster may be left, which has no V: perfect.
    shared = np.maximum(np.asarray(cells - margins + whole), 0.0)
    empty = entropies <= ROUNDING * max(whole, 1.0)
    return np.where(empty, 1.0, 2 * shared / np.where(empty, 1.0, entropies))
