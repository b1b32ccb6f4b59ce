"""How certain a comparison of two figures is: p-values of its being true, and of its being false.

The error of a figure comes from what its row has, in this order:

1. *exact*: a property of stored weights, read without sampling. There is no error.
2. *p*: the p-value of a test of its own against zero, for trends and correlations.
3. *replicates*: values without each of some blocks of the data (`compute.stats.jackknife`). Two
   figures of the same blocks are compared by the differences of their replicates.
4. *difference*: where both sides are scores of the same items, the row of their difference, whose
   interval is made from influence functions.
5. *sd* and *n*: the spread over independent runs, such as seeds of a training.
6. *trials*: the number of items that a figure is a share of. Against a number it is compared by the
   binomial distribution; Wilson's interval misses 5 % with a hundred items.
7. *low* and *high*: an interval of 95 %, by Student's distribution where the row says with how many
   degrees of freedom: an interval of three runs has longer tails than a normal one, which matters
   at the small levels of Holm's correction. Of two figures of the same data whose dependence is not
   known, the standard errors are added, which no dependence can exceed; those of different models
   are independent, and their squares are added.

A mean over seeds of a random method, such as k-means, would be another with other seeds. Its
replicates are about the data alone, so that the error of the mean over seeds is added, as squares;
an interval of such a mean has it in it already.

Without any of these nothing can be said, and the claim is undecided. The same is true where blocks
or runs do not differ at all: no spread is no certainty. I1 and other tiny numbers are compared by
their logarithms, correlations over models on Fisher's scale.

References
----------
Welch (1947), The generalization of 'Student's' problem when several different population variances
are involved, Biometrika 34. Fisher (1921), On the "probable error" of a coefficient of correlation.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeGuard

import numpy as np
from scipy.special import bdtr, bdtrc, betaincinv, ndtr, ndtri, stdtr, stdtrit

from isoscope.compute.stats.jackknife import jackknife_error
from isoscope.results.fields import BLOCKS, FREEDOM, REPLICATES
from isoscope.results.result import Row

# Fields of rows that say how certain a figure is.
EXACT, P_VALUE, SD = "exact", "p", "sd"

# Field of a share: the number of independent items that it is a share of.
TRIALS = "trials"

# Field of a mean over runs: the value of each, None where a run has none.
RUNS = "runs"

# Field of a mean over seeds of a random method: the value of each, a logarithm where the figure has
# one. Measures that take such a mean themselves keep each value under a name of its own.
SEED_VALUES = "seed_values"
OF_ONE_SEED = re.compile(r"seed_\d+_log10")

# Figures that differ by less than this share of them are the same number, computed in another way.
ROUNDING = 1e-9

NO_INTERVAL = "no valid interval"


@dataclass(frozen=True)
class Evidence:
    """One-sided p-values of ``left − right > 0`` and of ``left − right < 0``.

    Attributes
    ----------
    above, below : float
        How likely a difference at least as large, or as small, is where there is none: a small
        ``above`` says that the left side is larger.
    how : str
        Where the error comes from; why there is none where both p-values are 1.
    low, high : float or None
        Interval of 95 % of the difference, on the scale of the comparison.
    """

    above: float
    below: float
    how: str
    low: float | None = None
    high: float | None = None


NOTHING = Evidence(1.0, 1.0, NO_INTERVAL)


def evidence(left: Row, right: Row | float, difference: Row | None = None) -> Evidence:
    """Weigh two figures, or a figure and a number, against each other.

    Parameters
    ----------
    left, right : Row, or float on the right
        The two sides; both values are known.
    difference : Row, optional
        The difference of the two with an interval of its own.
    """
    if isinstance(right, Row):
        return between_rows(left, right, difference)
    return against_number(left, float(right))


def against_number(row: Row, number: float) -> Evidence:
    """Weigh a figure against a number without error."""
    assert row.value is not None
    scale = scale_of(row, number)
    if row.extra.get(EXACT):
        return exactly(scale.of(row) - scale.at(number), scale.of(row), scale.at(number))
    if row.extra.get(P_VALUE) is not None and number == 0:
        return by_own_test(row)
    gap = scale.of(row) - scale.at(number)
    if REPLICATES in row.extra:
        seeds = error_of_seeds(row, scale)
        return from_replicates(gap, scale.replicates(row), abs(scale.of(row)), [seeds])
    if row.extra.get(TRIALS):
        return as_share(row, number)
    found = error_of(row, scale)
    if found is None:
        return NOTHING
    # An interval may reach further on one side: the one that faces the number counts.
    return from_error(gap, found.facing(gap), found.freedom, found.how)


def between_rows(left: Row, right: Row, difference: Row | None) -> Evidence:
    """Weigh two figures against each other."""
    assert left.value is not None
    assert right.value is not None
    scale = LOGARITHMS if is_known(left.log10) and is_known(right.log10) else PLAIN
    one, other = scale.of(left), scale.of(right)
    gap = one - other
    if left.extra.get(EXACT) and right.extra.get(EXACT):
        return exactly(gap, one, other)
    if have_same_blocks(left, right):
        pairs = np.subtract(scale.replicates(left), scale.replicates(right))
        seeds = [error_of_seeds(row, scale) for row in (left, right)]
        return from_replicates(gap, pairs.tolist(), max(abs(one), abs(other)), seeds)
    if difference is not None and is_known(difference.value):
        return against_number(difference, 0.0)
    errors = [error_of(row, scale) for row in (left, right)]
    if errors[0] is None or errors[1] is None:
        return NOTHING
    sides = errors[0].facing(gap), errors[1].facing(-gap)
    freedoms = errors[0].freedom, errors[1].freedom
    if left.subject != right.subject:
        return from_error(
            gap, math.hypot(*sides), welch(sides, freedoms), "intervals of independent figures"
        )
    return from_error(gap, sum(sides), min(freedoms), "intervals, whatever their dependence")


def have_same_blocks(left: Row, right: Row) -> bool:
    """Whether two figures were computed without the same blocks of the same data."""
    one, other = (row.extra.get(BLOCKS) for row in (left, right))
    counts = [len(row.extra.get(REPLICATES, ())) for row in (left, right)]
    return one is not None and one == other and counts[0] == counts[1] > 0


@dataclass(frozen=True)
class Scale:
    """On what scale figures are compared.

    Replicates of a figure that has a logarithm are logarithms; on the plain scale they are turned
    back.
    """

    name: str

    def of(self, row: Row) -> float:
        """Return a figure on the scale."""
        value = row.log10 if self.name == "log10" else row.value
        assert value is not None
        return self.at_value(value)

    def at_value(self, value: float) -> float:
        """Return a value, or a logarithm where the scale is of logarithms, on the scale."""
        if self.name != "fisher":
            return value
        return math.atanh(value) if abs(value) < 1 else math.copysign(math.inf, value)

    def at(self, number: float) -> float:
        """Return a number on the scale."""
        return math.log10(number) if self.name == "log10" else self.at_value(number)

    def replicates(self, row: Row) -> list[float]:
        """Return the values without each block on the scale."""
        return self.stored(row, row.extra[REPLICATES])

    def stored(self, row: Row, values: Sequence[float]) -> list[float]:
        """Return values that a row keeps, logarithms where it has one, on the scale."""
        if is_known(row.log10) and self.name != "log10":
            return [10.0 ** float(value) for value in values]
        return [self.at_value(float(value)) for value in values]


PLAIN, LOGARITHMS, FISHER = Scale("plain"), Scale("log10"), Scale("fisher")


def scale_of(row: Row, number: float) -> Scale:
    """Return the scale on which a figure is compared with a number.

    Correlations over models are compared on Fisher's scale, where their error does not depend on
    them: with few models the interval of r is far from symmetric.
    """
    if is_known(row.log10) and number > 0:
        return LOGARITHMS
    ends = [end for end in (row.value, row.low, row.high) if end is not None]
    if is_correlation(row) and all(abs(end) < 1 for end in (*ends, number)):
        return FISHER
    return PLAIN


def is_correlation(row: Row) -> bool:
    """Whether a figure is a correlation of few points, by the name of its measure."""
    return row.measure.startswith("correlation(")


@dataclass(frozen=True)
class Error:
    """Standard errors below and above a figure, with degrees of freedom (infinite: normal)."""

    below: float
    above: float
    freedom: float
    how: str

    def facing(self, gap: float) -> float:
        """Return the error on the side of what the figure is compared with."""
        error = self.below if gap > 0 else self.above
        # At the edge of what it can be, a figure has an interval to one side only.
        return error if error > 0 else max(self.below, self.above)


def error_of(row: Row, scale: Scale) -> Error | None:
    """Return the standard error of a figure on a scale; None without a valid one."""
    if row.extra.get(EXACT):
        return Error(0.0, 0.0, math.inf, "exact")
    if REPLICATES in row.extra:
        replicates = scale.replicates(row)
        if not are_spread(replicates, abs(scale.of(row))):
            return None
        own = jackknife_error(replicates), len(replicates) - 1.0
        error, freedom = added([own, error_of_seeds(row, scale)])
        return Error(error, error, freedom, "blocks of the data")
    runs = runs_of(row)
    if runs > 1 and scale is PLAIN:
        error = float(row.extra[SD]) / math.sqrt(runs)
        return Error(error, error, runs - 1, "runs") if error > 0 else None
    return error_of_interval(row, scale)


def runs_of(row: Row) -> int:
    """Return the number of runs that a figure is the mean of; 0 where it is none."""
    if row.extra.get(SD) is None:
        return 0
    runs = row.extra.get(RUNS)
    # Runs without a value do not count towards the mean.
    return sum(run is not None for run in runs) if isinstance(runs, list) else row.n or 0


def error_of_interval(row: Row, scale: Scale) -> Error | None:
    """Return the standard errors that an interval of 95 % stands for."""
    if not (is_known(row.low) and is_known(row.high)) or row.low == row.high:
        return None
    if scale is LOGARITHMS and row.low <= 0:
        return None
    freedom = float(row.extra.get(FREEDOM) or math.inf)
    if is_correlation(row) and row.n and row.n > 3:
        freedom = row.n - 2
    reach = quantile(freedom)
    value, low, high = scale.of(row), scale.at(row.low), scale.at(row.high)
    if not low <= value <= high:
        return None
    return Error((value - low) / reach, (high - value) / reach, freedom, "interval")


def error_of_seeds(row: Row, scale: Scale) -> tuple[float, float]:
    """Return the error of a mean over seeds with its degrees of freedom; none of other figures."""
    named = [value for name, value in row.extra.items() if OF_ONE_SEED.fullmatch(name)]
    values = scale.stored(row, row.extra.get(SEED_VALUES) or named)
    if len(values) < 2 or not all(map(math.isfinite, values)):
        return 0.0, math.inf
    return float(np.std(values, ddof=1)) / math.sqrt(len(values)), len(values) - 1.0


def added(errors: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Return the error of a sum of independent parts, and its degrees of freedom."""
    sizes, freedoms = zip(*errors, strict=True)
    return math.hypot(*sizes), welch(sizes, freedoms)


def welch(errors: Sequence[float], freedoms: Sequence[float]) -> float:
    """Return the degrees of freedom of a sum of independent errors (Welch & Satterthwaite)."""
    total = sum(error**2 for error in errors) ** 2
    parts = sum(e**4 / f for e, f in zip(errors, freedoms, strict=True) if math.isfinite(f))
    return total / parts if parts > 0 else math.inf


def exactly(gap: float, one: float, other: float) -> Evidence:
    """Compare what has no error; equal sides are neither above nor below each other."""
    if abs(gap) <= ROUNDING * max(abs(one), abs(other)):
        gap = 0.0
    return Evidence(float(gap <= 0), float(gap >= 0), EXACT, gap, gap)


def by_own_test(row: Row) -> Evidence:
    """Take the two-sided p-value of a figure against zero, with its sign."""
    assert row.value is not None
    half = float(row.extra[P_VALUE]) / 2
    if not 0 <= half <= 0.5:
        return NOTHING
    up, down = (half, 1 - half) if row.value > 0 else (1 - half, half)
    return Evidence(up, down, str(row.extra.get("test", "test")), row.low, row.high)


def as_share(row: Row, number: float) -> Evidence:
    """Compare a share of items with a number by the binomial distribution."""
    assert row.value is not None
    trials = int(row.extra[TRIALS])
    count = round(row.value * trials)
    if not 0 < number < 1 or abs(count - row.value * trials) > 1e-6 * trials:
        return NOTHING
    # Clopper & Pearson's interval.
    low = float(betaincinv(count, trials - count + 1, 0.025)) if count > 0 else 0.0
    high = float(betaincinv(count + 1, trials - count, 0.975)) if count < trials else 1.0
    above = float(bdtrc(count - 1, trials, number)) if count > 0 else 1.0
    below = float(bdtr(count, trials, number))
    return Evidence(above, below, "binomial distribution", low - number, high - number)


def from_replicates(
    gap: float,
    replicates: Sequence[float],
    size: float,
    seeds: Sequence[tuple[float, float]] = (),
) -> Evidence:
    """Weigh a difference of figures of a size by its values without each block.

    The errors of means over seeds, with their degrees of freedom, are added.
    """
    if not are_spread(replicates, size):
        return NOTHING
    own = jackknife_error(replicates), len(replicates) - 1.0
    return from_error(gap, *added([own, *seeds]), "blocks of the data")


def are_spread(replicates: Sequence[float], size: float) -> bool:
    """Whether values without each block differ by more than rounding.

    A figure that no block changes, such as a count or the score of a perfect run, is not certain:
    the blocks say nothing about its error.
    """
    if len(replicates) < 2 or not all(map(math.isfinite, replicates)):
        return False
    return max(replicates) - min(replicates) > ROUNDING * max(size, *map(abs, replicates))


def from_error(gap: float, error: float, freedom: float, how: str) -> Evidence:
    """Weigh a difference by its standard error, by Student's distribution or the normal one."""
    if not (math.isfinite(gap) and math.isfinite(error)) or error <= 0:
        return NOTHING
    reach = error * quantile(freedom)
    t = gap / error
    return Evidence(below_p(-t, freedom), below_p(t, freedom), how, gap - reach, gap + reach)


def below_p(t: float, freedom: float) -> float:
    """Return Student's distribution function, the normal one with infinite degrees of freedom."""
    return float(stdtr(freedom, t) if math.isfinite(freedom) else ndtr(t))


def quantile(freedom: float) -> float:
    """Return half the width of an interval of 95 % in standard errors."""
    return float(stdtrit(freedom, 0.975) if math.isfinite(freedom) else ndtri(0.975))


def is_known(value: float | None) -> TypeGuard[float]:
    """Whether a figure is a number; what is not finite is undefined, as in a saved result."""
    return value is not None and math.isfinite(value)
