"""Tests of trends along layers and along a training, where neighbours are alike.

**Does a curve rise?** Neighbouring layers resemble each other, so that a permutation of layers
finds a trend in any smooth curve. Here the steps from one layer to the next are looked at: where
nothing drives the curve in one direction, a step up is as likely as a step down of the same size.
Spearman's ρ of the curve with depth is compared with what it is when every step gets a random sign
and the curve is put together again. This holds its level for a random walk, which is as alike as
neighbours can be without a trend, and is conservative where layers are less alike: their steps then
cancel. With m steps no p-value is below 2 / 2ᵐ: six steps (seven layers) are the fewest that can
show a trend at 5 %.

**Do two curves of a training go together?** Two random walks have a large correlation by chance.
The products of their steps are compared with random signs (right for random walks), and one curve
is permuted against the other (right for independent points): the larger p-value counts, as it is
not known which of the two is closer to the truth.

**Correlations over models.** Models are independent. With fewer than eight, all permutations are
looked at; Fisher's interval needs more.

References
----------
Pitman (1937), Significance tests which may be applied to samples from any populations. Fisher
(1935), The design of experiments, section 21. Granger & Newbold (1974), Spurious regressions in
econometrics. ``benchmarks/claims.py`` simulates the rates of wrong decisions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import permutations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import rankdata

# All sign patterns are looked at up to this many steps, and a sample of them beyond.
ALL_SIGNS = 12
DRAWS = 4_999

# Up to this many points all orders are looked at: 7! are 5,040.
ALL_ORDERS = 7

# Share of a number within which two ways to compute it may differ.
ROUNDING = 1e-9


@dataclass(frozen=True)
class Trend:
    """Spearman's ρ of a curve with depth, and the two-sided p-value of no trend."""

    rho: float
    p: float


def trend(values: Sequence[float], seed: int = 0) -> Trend | None:
    """Test whether a curve rises or falls; None with fewer than three values.

    Examples
    --------
    >>> trend([1, 2, 3, 4, 5, 6, 7])
    Trend(rho=1.0, p=0.03125)
    """
    steps = np.diff(np.asarray(values, np.float64))
    if len(steps) < 2 or not np.isfinite(steps).all():
        return None
    signs, exact = sign_patterns(len(steps), seed)
    curves = np.concatenate([steps[None], signs * steps]).cumsum(axis=1)
    rhos = depth_correlations(np.pad(curves, ((0, 0), (1, 0))))
    found, others = float(rhos[0]), np.abs(rhos[1:])
    return Trend(found, share_reached(others >= abs(found) - ROUNDING, exact=exact))


def rise_p(values: Sequence[float], seed: int = 0) -> float | None:
    """Return the two-sided p-value of no trend; None with fewer than three values.

    Examples
    --------
    >>> rise_p([1, 2, 3, 4, 5, 6, 7])
    0.03125
    """
    found = trend(values, seed)
    return None if found is None else found.p


def depth_correlations(curves: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return Spearman's ρ of every row with the number of the column; 0 where a row is constant."""
    # A curve that comes back to a value does so up to rounding, and must be tied with it.
    size = np.abs(curves).max(axis=1, keepdims=True)
    tied = np.round(curves / np.where(size > 0, size, 1.0), 9)
    order = np.argsort(tied, axis=1)
    depth = np.arange(curves.shape[1]) - (curves.shape[1] - 1) / 2
    rhos = depth[order] @ depth / (depth @ depth)
    # Ranks of ties take ten times as long, and few curves have any.
    has_ties = (np.diff(np.take_along_axis(tied, order, axis=1)) == 0).any(axis=1)
    ranks = rankdata(tied[has_ties], axis=1) - (len(depth) + 1) / 2
    norms = np.sqrt((ranks**2).sum(axis=1) * (depth @ depth))
    rhos[has_ties] = ranks @ depth / np.where(norms > 0, norms, 1.0)
    return np.asarray(rhos, np.float64)


def flipped_p(parts: NDArray[np.float64], seed: int = 0) -> float:
    """Return how often the size of a sum is reached where every part has a random sign."""
    signs, exact = sign_patterns(len(parts), seed)
    sums = np.abs(signs @ parts)
    # Sums of the same parts in another order differ by rounding.
    least = abs(float(parts.sum())) - ROUNDING * float(np.abs(parts).sum())
    return share_reached(sums >= least, exact=exact)


def share_reached(reached: NDArray[np.bool_], *, exact: bool) -> float:
    """Return a p-value: the share of all patterns, or of a sample with what was observed."""
    count = int(reached.sum())
    return count / len(reached) if exact else (count + 1) / (len(reached) + 1)


@lru_cache(maxsize=8)
def sign_patterns(count: int, seed: int) -> tuple[NDArray[np.float64], bool]:
    """Return all patterns of signs, or some at random, and whether these are all."""
    exact = count <= ALL_SIGNS
    if exact:
        bits = (np.arange(2**count)[:, None] >> np.arange(count)) & 1
    else:
        bits = np.random.default_rng(seed).integers(0, 2, (DRAWS, count))
    signs = np.asarray(1.0 - 2.0 * bits, np.float64)
    signs.setflags(write=False)
    return signs, exact


@lru_cache(maxsize=8)
def some_orders(count: int, seed: int) -> tuple[NDArray[np.intp], bool]:
    """Return all orders of so many points, or some at random, and whether these are all."""
    exact = count <= ALL_ORDERS
    if exact:
        orders = np.array(list(permutations(range(count))), np.intp)
    else:
        orders = np.argsort(np.random.default_rng(seed).random((DRAWS, count)), axis=1)
    orders.setflags(write=False)
    return orders, exact


def together_p(one: Sequence[float], other: Sequence[float], seed: int = 0) -> float | None:
    """Return the two-sided p-value of no association of two curves; None below four points."""
    x, y = (np.asarray(values, np.float64) for values in (one, other))
    if len(x) < 4 or x.std() == 0 or y.std() == 0:
        return None
    return max(flipped_p(np.diff(x) * np.diff(y), seed), permuted_p(x, y, seed))


def permuted_p(one: ArrayLike, other: ArrayLike, seed: int = 0) -> float:
    """Return how often the size of a correlation is reached with one side in another order.

    Examples
    --------
    >>> round(permuted_p([1, 2, 3, 4, 5], [1, 2, 3, 4, 5]) * 120)
    2
    """
    x, y = (np.asarray(values, np.float64) for values in (one, other))
    x, y = x - x.mean(), y - y.mean()
    orders, exact = some_orders(len(x), seed)
    products = np.abs(y[orders] @ x)
    least = abs(float(x @ y)) - ROUNDING * float(np.abs(x) @ np.abs(y))
    return share_reached(products >= least, exact=exact)
