"""Quantiles of three distributions, for code that must not wait for the import of scipy.

Importing ``scipy.special`` takes longer than measuring a small file. These few quantiles are
asked for once or twice in a run, so that halving an interval sixty times is fast enough; they agree
with scipy's to ten digits or more (``tests/compute/stats/test_quantiles.py``).
"""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

# Halvings of an interval; what is left of it is below a rounding of its ends.
HALVINGS = 200

# Terms of a series or a continued fraction. They converge in about √(a + b) terms.
MOST_TERMS = 100_000

# Stands for zero where a continued fraction divides by it (Thompson & Barnett 1986).
TINY = 1e-300


def crossing(rising: Callable[[float], float], level: float, low: float, high: float) -> float:
    """Return where a rising function reaches a level, between two ends."""
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (middle, high) if rising(middle) < level else (low, middle)
    return (low + high) / 2


@cache
def student_quantile(freedom: int, level: float) -> float:
    """Return the t that |T| stays below with a probability of ``level``.

    With θ = atan(t / √ν) that probability is a finite sum of powers of cos θ for every whole ν
    (Abramowitz & Stegun 1964, 26.7.3 and 26.7.4).
    """
    angle = crossing(lambda angle: _within_angle(angle, freedom), level, 0.0, math.pi / 2)
    return math.sqrt(freedom) * math.tan(angle)


def _within_angle(angle: float, freedom: int) -> float:
    """Probability that |T| is below √ν tan θ, for ν degrees of freedom."""
    cosine = math.cos(angle)
    odd = freedom % 2 == 1
    term, total = cosine if odd else 1.0, 0.0
    # cos θ + 2/3 cos³θ + … for an odd ν, 1 + 1/2 cos²θ + … for an even one.
    for k in range(freedom // 2):
        total += term
        term *= cosine * cosine * ((2 * k + 2) / (2 * k + 3) if odd else (2 * k + 1) / (2 * k + 2))
    if odd:
        return 2 / math.pi * (angle + math.sin(angle) * total)
    return math.sin(angle) * total


def chi_square_limit(freedom: float, alpha: float) -> float:
    """Return what χ² with ν degrees of freedom exceeds with the probability ``alpha``."""
    half = freedom / 2
    # Laurent & Massart (2000), lemma 1: the tail beyond ν + 2 √(ν t) + 2 t is at most exp(−t).
    t = -math.log(alpha)
    highest = freedom + 2 * math.sqrt(freedom * t) + 2 * t
    return crossing(lambda x: -upper_gamma(half, x / 2), -alpha, 0.0, highest)


def upper_gamma(a: float, x: float) -> float:
    """Q(a, x) = Γ(a, x) / Γ(a), the share of the gamma function beyond x."""
    if x <= 0:
        return 1.0
    front = math.exp(a * math.log(x) - x - math.lgamma(a))
    if x < a + 1:
        # The series of the lower part, Σ_k x^k / (a (a + 1) … (a + k)).
        term = total = 1 / a
        for k in range(1, MOST_TERMS):
            term *= x / (a + k)
            total += term
            if term < total * 1e-17:
                break
        return 1.0 - front * total
    # The continued fraction of the upper part, from the front (Lentz 1976).
    b = x + 1 - a
    c, d = 1 / TINY, 1 / b
    found = d
    for k in range(1, MOST_TERMS):
        numerator = -k * (k - a)
        b += 2
        d = 1 / (numerator * d + b or TINY)
        c = b + numerator / c or TINY
        found *= d * c
        if abs(d * c - 1) < 1e-16:
            break
    return front * found


@cache
def beta_quantile(a: float, b: float, level: float) -> float:
    """Return the x that a Beta(a, b) variable stays below with a probability of ``level``."""
    return crossing(lambda x: lower_beta(a, b, x), level, 0.0, 1.0)


def lower_beta(a: float, b: float, x: float) -> float:
    """I_x(a, b), the share of the beta function below x."""
    if x <= 0 or x >= 1:
        return float(x >= 1)
    # The fraction converges fast below the mean of the distribution, and the symmetry
    # I_x(a, b) = 1 − I_{1−x}(b, a) leads there.
    if x > (a + 1) / (a + b + 2):
        return 1.0 - lower_beta(b, a, 1 - x)
    logs = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    front = math.exp(logs + a * math.log(x) + b * math.log1p(-x)) / a
    return front * _beta_fraction(a, b, x)


def _beta_fraction(a: float, b: float, x: float) -> float:
    """Evaluate the continued fraction of I_x(a, b) (Abramowitz & Stegun 1964, 26.5.8)."""
    c, d = 1.0, 1 / (1 - (a + b) * x / (a + 1) or TINY)
    found = d
    for m in range(1, MOST_TERMS):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for numerator in (even, odd):
            d = 1 / (1 + numerator * d or TINY)
            c = 1 + numerator / c or TINY
            found *= d * c
        if abs(d * c - 1) < 1e-16:
            break
    return found
