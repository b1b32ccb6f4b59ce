"""Errors of scores whose pairs share rows: a query that is in ten pairs is not ten queries.

Two pairs that share a row are not independent. With u_i the influence of pair i on a score of n
pairs, and i ~ j where they share a row or are the same,

    Var = Σ_{i ~ j} u_i u_j / n².

With S_r the sum of the influences of the pairs that hold row r, and T_e that of the pairs of the
same two rows, the sum is Σ_r S_r² − Σ_e T_e²: every pair is in two rows, and what shares both is
counted twice. Divided by what independent pairs would have, Σ u_i² / n², it is the design effect.

References
----------
Fafchamps & Gubert (2007), The formation of risk sharing networks, Journal of Development Economics
83. Aronow, Samii & Assenova (2015), Cluster-robust variance estimation for dyadic data, Political
Analysis 23. Kish (1965), Survey sampling, for the design effect.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from isoscope.tasks.intervals import Difference, Estimate, p_value, quantile

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from isoscope.typing import Vector

    Rows = NDArray[np.intp]

Found = TypeVar("Found", bound=Estimate)


def design_effect(influences: Vector | None, first: Rows, second: Rows) -> float:
    """Return how many times larger a variance is than that of independent pairs; at least 1.

    Parameters
    ----------
    influences : array or None
        Of every pair on the score.
    first, second : array of int
        The rows of every pair.
    """
    if influences is None or not len(influences):
        return 1.0
    u = influences - influences.mean()
    alone = float(u @ u)
    if alone == 0:
        return 1.0
    rows = np.concatenate([first, second])
    _, place = np.unique(rows, return_inverse=True)
    of_rows = np.bincount(place, np.concatenate([u, u]))
    ends = np.sort(np.stack([first, second], axis=1), axis=1)
    _, same = np.unique(ends, axis=0, return_inverse=True)
    of_ends = np.bincount(same.reshape(-1), u)
    return max(1.0, (float(of_rows @ of_rows) - float(of_ends @ of_ends)) / alone)


def widened(found: Found, effect: float, bounds: tuple[float, float] | None = (0.0, 1.0)) -> Found:
    """Return an estimate whose interval allows for a design effect.

    Parameters
    ----------
    found : Estimate
        With an interval for independent pairs.
    effect : float
        By how much its variance is too small.
    bounds : tuple of float, optional
        What it cannot leave; its interval is then widened on the scale of log odds.
    """
    if effect <= 1 or found.value is None or found.low is None or found.high is None:
        return found
    stretch = math.sqrt(effect)
    if bounds is None:
        low, high = (found.value + stretch * (end - found.value) for end in (found.low, found.high))
    else:
        low, high = (
            stretched(found.value, end, stretch, bounds) for end in (found.low, found.high)
        )
    if isinstance(found, Difference) and found.p_value is not None:
        error = stretch * (found.high - found.low) / 2 / quantile(0.95, found.n)
        return replace(found, low=low, high=high, p_value=p_value(found.value / error, found.n))
    return replace(found, low=low, high=high)


def stretched(value: float, end: float, stretch: float, bounds: tuple[float, float]) -> float:
    """Move the end of an interval away from the value, on the scale of log odds."""
    bottom, top = bounds

    def odds(at: float) -> float:
        share = min(max((at - bottom) / (top - bottom), SMALLEST), 1 - SMALLEST)
        return math.log(share / (1 - share))

    middle = odds(value)
    far = middle + stretch * (odds(end) - middle)
    return bottom + (top - bottom) / (1 + math.exp(-far))


SMALLEST = 1e-9
"""Shares closer to a bound than this have no log odds to speak of."""
