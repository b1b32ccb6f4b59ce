"""Sums of exponentials from sums of powers.

Several families of partition sums over the same coordinates t differ in their gains g only, and
Σ_i exp(±g_k t_ik) = Σ_m (±g_k)^m/m! · Σ_i t_ik^m. Where exponents are small, as for clouds of unit
scale, a few power sums serve all families and both signs, at the price of one exponential.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import DTypeLike

    from isoscope.typing import Doubles, Floats


POWERS_PER_EXPONENTIAL = 10
"""A power and its sum take about a tenth of the time of an exponential of both signs."""

LARGEST_EXPONENT = 3.0
"""Beyond this the alternating series for −g would lose digits."""


def worthwhile(largest: Sequence[float], dtype: DTypeLike) -> tuple[int, list[int]]:
    """Return the order of the series and the families to take from it, if it saves time.

    ``largest`` holds the largest |exponent| of each family.
    """
    small = [row for row, exponent in enumerate(largest) if exponent <= LARGEST_EXPONENT]
    order = series_order(max((largest[row] for row in small), default=0.0), dtype)
    return order, small if order < POWERS_PER_EXPONENTIAL * len(small) else []


def series_order(largest: float, dtype: DTypeLike) -> int:
    """Return the order from which the rest of the series is below a tenth of a rounding.

    The rest is at most a^(m+1)/(m+1)! · e^a of a sum that is at least e^(−a).
    """
    enough = float(np.finfo(dtype).eps) / 10 * math.exp(-2 * largest)
    order, term = 1, largest
    while term > enough:
        order += 1
        term *= largest / order
    return order


def sum_powers(totals: Doubles, unit: Floats, power: Floats) -> None:
    """Add Σ_i u_ik^m to ``totals[m]``; ``power`` is memory for the powers."""
    ones = np.ones(len(unit), unit.dtype)
    totals[0] += len(unit)
    totals[1] += ones @ unit
    np.copyto(power, unit)
    for m in range(2, len(totals)):
        np.multiply(power, unit, out=power)
        totals[m] += ones @ power


def log_sums(totals: Doubles, exponents: Doubles) -> Doubles:
    """Return ln Σ_i exp(±a_k u_ik) from the power sums of u, for the exponents a of a family."""
    plus = np.zeros_like(exponents)
    minus = np.zeros_like(exponents)
    factor = np.ones_like(exponents)
    for m, total in enumerate(totals):
        plus += factor * total
        minus += factor * total if m % 2 == 0 else -factor * total
        factor = factor * exponents / (m + 1)
    return np.log(np.stack((plus, minus)))
