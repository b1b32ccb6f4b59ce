"""How certain a comparison of two figures is: p-values of its being true, and of its being false.

The error of a figure comes from what its row has, in this order:

1. *exact*: a property of stored weights, read without sampling. There is no error.
2. *p*: the p-value of a test of its own against zero, for trends and correlations.
3. *replicates*: values without each of some blocks of the data (`compute.stats.jackknife`). Two
   figures of the same blocks are compared by the differences of their replicates.
4. *difference*: where both sides are scores of the same items, the row of their difference, whose
   interval is made from influence functions.
5. *sd* and *n*: the spread over independent runs, such as seeds of a training.
6. *low* and *high*: an interval of 95 %. Of two figures of the same data whose dependence is not
   known, the standard errors are added, which no dependence can exceed; those of different models
   are independent, and their squares are added.

Without any of these nothing can be said, and the claim is undecided. I1 and other tiny numbers are
compared by their logarithms.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeGuard

import numpy as np
from scipy import stats

from isoscope.compute.stats.jackknife import jackknife_error
from isoscope.results.result import Row

# Fields of rows that say how certain a figure is.
EXACT, REPLICATES, BLOCKS, P_VALUE, SD = "exact", "replicates", "blocks", "p", "sd"

# Half an interval of 95 % in standard errors.
Z = float(stats.norm.ppf(0.975))

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
    if row.extra.get(EXACT):
        return exactly(row.value - number)
    if row.extra.get(P_VALUE) is not None and number == 0:
        return tested(row)
    on_log = is_known(row.log10) and number > 0
    at = math.log10(number) if on_log else number
    value = row.log10 if on_log and row.log10 is not None else row.value
    if REPLICATES in row.extra:
        # Replicates of figures with a logarithm are logarithms.
        if is_known(row.log10) and not on_log:
            return NOTHING
        return from_replicates(value - at, row.extra[REPLICATES])
    if row.extra.get(SD) is not None and row.n and row.n > 1 and not on_log:
        return from_error(value - at, row.extra[SD] / math.sqrt(row.n), row.n - 1, "runs")
    errors = sides(row, on_log)
    if errors is None:
        return NOTHING
    # An interval may reach further on one side: the one that faces the number counts.
    error = errors[0] if value > at else errors[1]
    return from_error(value - at, error, None, "interval")


def between_rows(left: Row, right: Row, difference: Row | None) -> Evidence:
    """Weigh two figures against each other."""
    assert left.value is not None
    assert right.value is not None
    if left.extra.get(EXACT) and right.extra.get(EXACT):
        return exactly(left.value - right.value)
    on_log = is_known(left.log10) and is_known(right.log10)
    gap = difference_of(left, right, on_log=on_log)
    same = (
        REPLICATES in left.extra
        and REPLICATES in right.extra
        and left.extra.get(BLOCKS) == right.extra.get(BLOCKS)
        and left.extra.get(BLOCKS) is not None
    )
    if same:
        pairs = np.subtract(left.extra[REPLICATES], right.extra[REPLICATES])
        return from_replicates(gap, pairs.tolist())
    if difference is not None and is_known(difference.value):
        return against_number(difference, 0.0)
    one, other = (figure_errors(row, on_log) for row in (left, right))
    if one is None or other is None:
        return NOTHING
    facing = (one[0], other[1]) if gap > 0 else (one[1], other[0])
    if left.subject != right.subject:
        return from_error(gap, math.hypot(*facing), None, "intervals of independent figures")
    return from_error(gap, sum(facing), None, "intervals, whatever their dependence")


def difference_of(left: Row, right: Row, *, on_log: bool) -> float:
    """Return left less right, of logarithms where both have one."""
    one, other = (row.log10 if on_log else row.value for row in (left, right))
    assert one is not None
    assert other is not None
    return one - other


def figure_errors(row: Row, on_log: bool) -> tuple[float, float] | None:
    """Return the standard errors of a figure to both sides."""
    if row.extra.get(EXACT):
        return 0.0, 0.0
    if REPLICATES in row.extra and is_known(row.log10) == on_log:
        # Student's quantile in place of the normal one, as only some blocks were left out.
        replicates = row.extra[REPLICATES]
        error = jackknife_error(replicates) * stats.t.ppf(0.975, len(replicates) - 1) / Z
        return float(error), float(error)
    if row.extra.get(SD) is not None and row.n and row.n > 1 and not on_log:
        error = row.extra[SD] / math.sqrt(row.n) * stats.t.ppf(0.975, row.n - 1) / Z
        return float(error), float(error)
    return sides(row, on_log)


def sides(row: Row, on_log: bool) -> tuple[float, float] | None:
    """Return the standard errors below and above a figure, from its interval."""
    if not (is_known(row.low) and is_known(row.high)):
        return None
    value = row.log10 if on_log else row.value
    ends = (row.low, row.high)
    if on_log:
        if row.low <= 0:
            return None
        ends = (math.log10(row.low), math.log10(row.high))
    assert value is not None
    return (value - ends[0]) / Z, (ends[1] - value) / Z


def exactly(gap: float) -> Evidence:
    """Compare what has no error; equal sides are neither above nor below each other."""
    return Evidence(float(gap <= 0), float(gap >= 0), "exact", gap, gap)


def tested(row: Row) -> Evidence:
    """Take the two-sided p-value of a figure against zero, with its sign."""
    assert row.value is not None
    half = float(row.extra[P_VALUE]) / 2
    up, down = (half, 1 - half) if row.value > 0 else (1 - half, half)
    return Evidence(up, down, str(row.extra.get("test", "test")), row.low, row.high)


def from_replicates(gap: float, replicates: Sequence[float]) -> Evidence:
    """Weigh a difference by its values without each block."""
    if len(replicates) < 2 or not all(map(math.isfinite, replicates)):
        return NOTHING
    return from_error(gap, jackknife_error(replicates), len(replicates) - 1, "blocks of the data")


def from_error(gap: float, error: float, freedom: int | None, how: str) -> Evidence:
    """Weigh a difference by its standard error, by Student's distribution or the normal one."""
    if not (math.isfinite(gap) and math.isfinite(error)) or error < 0:
        return NOTHING
    if error == 0:
        return Evidence(float(gap <= 0), float(gap >= 0), how, gap, gap)
    known = stats.norm if freedom is None else stats.t(freedom)
    reach = error * float(known.ppf(0.975))
    t = gap / error
    return Evidence(float(known.sf(t)), float(known.cdf(t)), how, gap - reach, gap + reach)


def is_known(value: float | None) -> TypeGuard[float]:
    """Whether a figure is a number; what is not finite is undefined, as in a saved result."""
    return value is not None and math.isfinite(value)
