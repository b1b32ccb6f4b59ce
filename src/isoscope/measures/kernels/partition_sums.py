"""ln Σ_i exp(±g_k t_ik) of a batch, for every direction k and several families of gains g.

One exponential serves both signs, as exp(−a) = 1/exp(a). Several families over the same coordinates
t differ in their gains only, and Σ_i exp(±g_k t_ik) = Σ_m (±g_k)^m/m! · Σ_i t_ik^m: where exponents
are small, a few sums of powers serve all families and both signs. They are small in all directions
but the first few, since directions are in the order of falling variance; so each family takes
exponentials of the first ones and the series of the rest.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from isoscope.measures.kernels.working_memory import WorkingMemory
    from isoscope.typing import Doubles, Floats

from isoscope.measures.kernels.base import safe_exponent
from isoscope.measures.kernels.working_memory import blocks

# What one number costs, as multiples of a power with its sum: an exponential with both of its sums,
# and the division by the largest coordinate that comes before the first power. An exponential by
# itself takes 3.5 times as long. It is counted as 20 for two reasons: four corrections of
# 20,000 × 384 took 0.58 s with 15 to 30, and 0.73 s with 3.5, as families share their powers; and
# an exponential is rounded to float32, by up to 6e-8, while the first term of the series, the
# number of rows, is exact.
EXPONENTIAL = 20.0
DIVISION = 0.8

# Beyond this the alternating series for −g would lose digits: at 3, terms of up to 4.5 have to
# cancel to e⁻³ = 0.05, at 10 terms of up to 2,800 to 0.00005.
LARGEST_EXPONENT = 3.0

# Orders that are looked at; in float32 the last one reaches exponents of 3.
ORDERS = range(2, 23)


@dataclass(frozen=True)
class Split:
    """From which direction on each family is summed as a series, and up to which power."""

    order: int
    starts: tuple[int, ...]

    @property
    def first(self) -> int:
        """The first direction whose powers are summed."""
        return min(self.starts)


def cheapest_split(exponents: Doubles, dtype: np.dtype[Any]) -> Split:
    """Choose how to sum from the largest |exponent| of each family (rows) in each direction."""
    families, width = exponents.shape
    # The largest from a direction on: a row rises, and NaN, which counts as large, is at its end.
    rest = np.maximum.accumulate(exponents[:, ::-1], axis=1)
    limits = largest_exponents(dtype)
    starts = width - np.array([np.searchsorted(one, limits, side="right") for one in rest])
    orders = np.array(ORDERS) + DIVISION
    costs = EXPONENTIAL * starts.sum(axis=0) + orders * (width - starts.min(axis=0))
    best = int(costs.argmin())
    if costs[best] >= EXPONENTIAL * families * width:
        return Split(0, (width,) * families)
    return Split(ORDERS[best], tuple(starts[:, best].tolist()))


@cache
def largest_exponents(dtype: np.dtype[Any]) -> Doubles:
    """Return up to which |a| the series of each order is exact enough."""
    return np.array([largest_exponent(order, dtype) for order in ORDERS])


def largest_exponent(order: int, dtype: np.dtype[Any]) -> float:
    """Return up to which |a| the rest of the series of an order is below a tenth of a rounding.

    The rest is at most a^(m+1)/(m+1)! · e^a of a sum that is at least e^(−a).
    """
    enough = float(np.finfo(dtype).eps) / 10 * math.factorial(order + 1)
    low, high = 0.0, LARGEST_EXPONENT
    for _ in range(50):
        middle = (low + high) / 2
        fits = middle ** (order + 1) * math.exp(2 * middle) <= enough
        low, high = (middle, high) if fits else (low, middle)
    return low


def log_partitions(t: Floats, gains: Sequence[Doubles], memory: WorkingMemory) -> Doubles:
    """Return ln Σ_i exp(±g_k t_ik): an array of (families, 2, directions)."""
    width = t.shape[1]
    reach = np.maximum(t.max(axis=0), -t.min(axis=0)).astype(np.float64)
    factors = np.array(gains).reshape(len(gains), width)
    split = cheapest_split(factors * reach, t.dtype)
    # Powers of t itself could overflow or vanish. Divided by the largest of their direction,
    # coordinates lie between −1 and 1, and the gains take its size.
    scale = np.divide(1.0, reach, out=np.zeros_like(reach), where=reach > 0).astype(t.dtype)
    first = split.first
    totals = np.zeros((split.order + 1, width - first))
    near = [
        NearSums(family[:start], reach[:start], len(t), t.dtype)
        for family, start in zip(factors, split.starts, strict=True)
    ]
    for block in blocks(t):
        rows = t[block]
        for one in near:
            one.add(rows, memory)
        if first < width:
            add_powers(totals, rows[:, first:], scale[first:], memory)
    found = np.empty((len(gains), 2, width))
    for row, (one, start) in enumerate(zip(near, split.starts, strict=True)):
        found[row, :, :start] = one.logarithms(t)
        if start < width:
            exponents = factors[row, start:] * reach[start:]
            found[row, :, start:] = series_logarithms(totals[:, start - first :], exponents)
    return found


class NearSums:
    """Σ_i exp(±g_k t_ik) of one family over the first directions, block by block.

    Directions whose exponents could overflow are left out until the end, and then shifted by
    their maximum.
    """

    def __init__(self, gains: Doubles, reach: Doubles, rows: int, dtype: np.dtype[Any]) -> None:
        self._gains = gains.astype(dtype)
        # Not written as ≥, so that NaN and infinities go the careful way as well.
        self._far = np.flatnonzero(~(gains * reach < safe_exponent(dtype, rows)))
        # exp(0) cannot overflow; what it gives for these directions is replaced at the end.
        self._near_gains = self._gains.copy()
        self._near_gains[self._far] = 0
        self._plain = bool((self._near_gains == 1).all())
        self._sums = np.zeros((2, len(gains)))

    def add(self, rows: Floats, memory: WorkingMemory) -> None:
        """Take the rows of a block into account."""
        width = len(self._gains)
        if not width:
            return
        t = rows[:, :width]
        powers = memory.like("powers", t)
        ones = np.ones(len(t), t.dtype)
        exponents = t if self._plain else np.multiply(t, self._near_gains, out=powers)
        np.exp(exponents, out=powers)
        self._sums[0] += ones @ powers
        np.reciprocal(powers, out=powers)
        self._sums[1] += ones @ powers

    def logarithms(self, t: Floats) -> Doubles:
        """Return the logarithms of both sums, for the coordinates of all blocks together."""
        found, far = np.log(self._sums), self._far
        if len(far):
            exponents = t[:, far] * self._gains[far]
            for row, signed in enumerate((exponents, -exponents)):
                top = signed.max(axis=0)
                found[row, far] = top + np.log(np.exp(signed - top).sum(axis=0, dtype=np.float64))
        return found


def add_powers(totals: Doubles, t: Floats, scale: NDArray[Any], memory: WorkingMemory) -> None:
    """Add Σ_i u_ik^m to ``totals[m]``, for u = t times a scale of its direction."""
    ones = np.ones(len(t), t.dtype)
    unit = np.multiply(t, scale, out=memory.like("unit", t))
    totals[0] += len(t)
    totals[1] += ones @ unit
    power = unit
    for m in range(2, len(totals)):
        power = np.multiply(power, unit, out=memory.like("powers", t))
        totals[m] += ones @ power


def series_logarithms(totals: Doubles, exponents: Doubles) -> Doubles:
    """Return ln Σ_i exp(±a_k u_ik) from the power sums of u, for the exponents a of a family."""
    plus = np.zeros_like(exponents)
    minus = np.zeros_like(exponents)
    factor = np.ones_like(exponents)
    for m, total in enumerate(totals):
        plus += factor * total
        minus += factor * total if m % 2 == 0 else -factor * total
        factor = factor * exponents / (m + 1)
    return np.log(np.stack((plus, minus)))
