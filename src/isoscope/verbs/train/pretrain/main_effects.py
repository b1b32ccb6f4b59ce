"""Main effects in a balanced grid of models: analysis of variance with seeds as blocks.

With x̄_l the mean over all runs at level l of a factor and n_l their number, the effect of l against
the first level 0 is x̄_l − x̄_0, with the interval

    ± t(0.975, ν) · s · √(1/n_l + 1/n_0),   s² = Σ (x − x̄_cell − x̄_seed + x̄)² / ν

over C cells and R seeds, ν = (C − 1)(R − 1). Runs of one seed read the same texts in the same order
and begin alike: what they have in common is in every level, and no chance of a difference. Neither
is what factors do together, which is in the means of cells. The p-value is that of
F = Σ_l n_l (x̄_l − x̄)² / ((L − 1) s²). With one run a cell, s² is what the main effects leave over,
and holds what factors do together as well.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy.stats import f as fisher
from scipy.stats import t as student

from isoscope.errors import UsageError
from isoscope.typing import Doubles
from isoscope.verbs.train.pretrain.plan import Cell, Factor
from isoscope.verbs.train.pretrain.plan import cells as all_cells

LEVEL = 0.05


@dataclass(frozen=True)
class Effect:
    """What one level of a factor changes against the first; no interval where chance is unknown."""

    factor: str
    level: str
    reference: str
    value: float
    low: float | None
    high: float | None
    p: float | None
    runs: int
    freedom: int = 0
    """Degrees of freedom of the variance of chance."""

    @property
    def excludes_zero(self) -> bool:
        """Whether the interval does not hold 0."""
        return self.low is not None and self.high is not None and not self.low <= 0 <= self.high


def main_effects(
    values: Mapping[Cell, Sequence[float]], factors: tuple[Factor, ...]
) -> list[Effect]:
    """Return the effect of every level but the first of every factor.

    Parameters
    ----------
    values : mapping
        Numbers of all runs of every cell of the grid, in the order of seeds, as many in each.
    factors : tuple of Factor
        In the order of a cell's levels.
    """
    counts = {len(runs) for runs in values.values()}
    if len(counts) != 1 or counts == {0}:
        raise UsageError("main effects need as many runs in every cell, and one at least")
    if set(values) != set(all_cells(factors)):
        raise UsageError("main effects need every cell of the grid")
    cells = list(values)
    numbers = np.array([values[cell] for cell in cells], np.float64)
    variance, free = chance(numbers, cells, factors)
    found = []
    for place, factor in enumerate(factors):
        at = {
            level: numbers[[cell[place] == level for cell in cells]].ravel()
            for level in factor.levels
        }
        p = factor_p(at, variance, free)
        reference = factor.levels[0]
        for level in factor.levels[1:]:
            value = float(at[level].mean() - at[reference].mean())
            reach = reach_of(variance, free, len(at[level]), len(at[reference]))
            low, high = (None, None) if reach is None else (value - reach, value + reach)
            runs = len(at[level]) + len(at[reference])
            found.append(Effect(factor.name, level, reference, value, low, high, p, runs, free))
    return found


def chance(
    numbers: Doubles, cells: Sequence[Cell], factors: tuple[Factor, ...]
) -> tuple[float, int]:
    """Return the variance of chance, and its degrees of freedom; 0 of them where it is unknown."""
    count, runs = numbers.shape
    if runs > 1:
        of_cells, of_seeds = (numbers.mean(axis=k, keepdims=True) for k in (1, 0))
        left_over = numbers - of_cells - of_seeds + numbers.mean()
        free = (count - 1) * (runs - 1)
        return float((left_over**2).sum() / free), free
    free = count - 1 - sum(len(factor.levels) - 1 for factor in factors)
    if free < 1:
        return math.nan, 0
    columns = [np.ones(count)]
    for place, factor in enumerate(factors):
        columns += [
            np.array([cell[place] == level for cell in cells], float) for level in factor.levels[1:]
        ]
    design = np.stack(columns, axis=1)
    left = numbers[:, 0] - design @ np.linalg.lstsq(design, numbers[:, 0], rcond=None)[0]
    return float(left @ left / free), free


def factor_p(at: Mapping[str, Doubles], variance: float, free: int) -> float | None:
    """Return the p-value of no effect of a factor at all."""
    if not free:
        return None
    runs = len(next(iter(at.values())))
    means = [float(x.mean()) for x in at.values()]
    # Σ_l n (x̄_l − x̄)² by pairs, which is exactly 0 where all means are the same.
    between = runs / len(means) * sum((x - y) ** 2 for x, y in combinations(means, 2))
    if variance == 0:
        return float(between == 0)
    return float(fisher.sf(between / (len(at) - 1) / variance, len(at) - 1, free))


def reach_of(variance: float, free: int, first: int, second: int) -> float | None:
    """Return half of the width of the interval of a difference of two means."""
    if not free:
        return None
    error = math.sqrt(variance * (1 / first + 1 / second))
    return error * float(student.ppf(1 - LEVEL / 2, free))
