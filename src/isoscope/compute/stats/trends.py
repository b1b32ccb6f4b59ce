"""Tests of trends along layers and along a training, where neighbours are alike.

**Does a curve rise?** Neighbouring layers resemble each other, so that a permutation of layers
finds a trend in any smooth curve. Here the steps from one layer to the next are looked at: where
nothing drives the curve in one direction, a step up is as likely as a step down of the same size.
The total rise is compared with what it is when every step gets a random sign. This holds its level
for a random walk, which is as alike as neighbours can be without a trend, and is conservative
where layers are less alike: their steps then cancel.

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
from itertools import permutations

import numpy as np
from numpy.typing import ArrayLike, NDArray

# All sign patterns are looked at up to this many steps, and a sample of them beyond.
ALL_SIGNS = 14
DRAWS = 9_999

# Up to this many points all orders are looked at: 7! are 5,040.
ALL_ORDERS = 7


def rise_p(values: Sequence[float], seed: int = 0) -> float | None:
    """Return the two-sided p-value of no trend; None with fewer than three values.

    Examples
    --------
    >>> rise_p([1, 2, 3, 4, 5, 6, 7])
    0.03125
    """
    steps = np.diff(np.asarray(values, np.float64))
    return None if len(steps) < 2 else flipped_p(steps, seed)


def flipped_p(parts: NDArray[np.float64], seed: int = 0) -> float:
    """Return how often the size of a sum is reached where every part has a random sign."""
    signs, exact = sign_patterns(len(parts), seed)
    sums = np.abs(signs @ parts)
    # Sums of the same parts in another order differ by rounding.
    reached = int((sums >= abs(parts.sum()) - 1e-9 * np.abs(parts).sum()).sum())
    return reached / len(sums) if exact else (reached + 1) / (len(sums) + 1)


def sign_patterns(count: int, seed: int) -> tuple[NDArray[np.float64], bool]:
    """Return all patterns of signs, or some at random, and whether these are all."""
    if count <= ALL_SIGNS:
        bits = np.arange(2**count)[:, None] >> np.arange(count)
        return np.asarray(1.0 - 2.0 * (bits & 1), np.float64), True
    draws = np.random.default_rng(seed).integers(0, 2, (DRAWS, count))
    return np.asarray(1.0 - 2.0 * draws, np.float64), False


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
    if len(x) <= ALL_ORDERS:
        orders = np.array(list(permutations(range(len(x)))))
        exact = True
    else:
        rng = np.random.default_rng(seed)
        orders, exact = np.argsort(rng.random((DRAWS, len(x))), axis=1), False
    products = np.abs(y[orders] @ x)
    reached = int((products >= abs(float(x @ y)) - 1e-9 * np.abs(x) @ np.abs(y)).sum())
    return reached / len(orders) if exact else (reached + 1) / (len(orders) + 1)
