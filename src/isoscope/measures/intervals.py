"""95 % intervals by the delete-one-block jackknife, where one is valid.

Every measure is taken once more without each block of rows (Quenouille 1956; Tukey 1958). With
θ the value and θ_b the values without block b of B,

    error² = (B − 1)/B Σ_b (θ_b − mean θ_b)²     bias = (B − 1) (mean θ_b − θ)

and the interval is θ − bias ± t error, t of B − 1 degrees of freedom. Where the bias is not small
beside the error no interval is given, because its estimate is then not good enough either.

To leave a block out of the covariance would take 31 matrices and decompositions. The eigenvalues
without block b are instead, to first order, the variances along the eigenvectors without block b,
which the second read sums; the bias that this leaves out is known (see ``families/spectrum``).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from isoscope.compute.stats.quantiles import student_quantile
from isoscope.measures.registry import Value
from isoscope.measures.space import Spectrum

if TYPE_CHECKING:
    from collections.abc import Callable

    from isoscope.measures.reads.build_spaces import Reads
    from isoscope.measures.registry import Measure
    from isoscope.measures.space import Space
    from isoscope.typing import Matrix, Vector


LEVEL = 0.95

# Two rows for each block: with fewer, leaving out a block is leaving out a row or nothing, and
# many blocks would be empty.
FEWEST_ROWS = 62

# Blocks that must have rows: fewer documents say too little about how documents differ.
FEWEST_BLOCKS = 10

POPULATION = "these are all rows, not a sample"
FITTED = "the correction is fitted on the same rows"

# Spaces for which leaving out a block is enough: centring changes no variance, while other
# corrections would have to be fitted anew without it.
SAME_SPECTRUM = {"sums": ("none",), "spectrum": ("none", "center")}

BIASED = "the bias from the finite number of rows is too large beside the error"
FEW_ROWS = f"fewer than {FEWEST_ROWS} rows"
FEW_DOCUMENTS = f"the documents fill fewer than {FEWEST_BLOCKS} of the blocks"


@dataclass(frozen=True)
class Interval:
    """A range, or the reason why there is none."""

    low: float | None = None
    high: float | None = None
    missing: str = ""
    bias: float | None = None
    """By how much finite n alone moves the value, where that is the reason."""

    def reasons(self) -> dict[str, str | float]:
        """Return why there is none, as fields of a result row."""
        found: dict[str, str | float] = {"no_interval": self.missing} if self.missing else {}
        return found if self.bias is None else {**found, "bias": self.bias}


class IntervalEstimator:
    """Gives every value of one cloud its interval, or the reason why it has none.

    Parameters
    ----------
    reads : Reads
        What was read.
    dealt : bool
        Whether rows were dealt to blocks; otherwise they are a population, which has no error.
    given : bool
        Whether intervals are wanted at all.
    """

    def __init__(self, reads: Reads, dealt: bool, given: bool) -> None:
        self._reads, self._dealt, self._given = reads, dealt, given
        self._spaces: dict[str, Jackknife] = {}

    def interval(self, item: Measure, space: Space, value: Value) -> Interval:
        """Return the interval of a value of a measure on a space."""
        if not self._given or value.value is None:
            return Interval()
        # Measures of a sample bring their own interval, that of a U-statistic. Only if the sample
        # is the whole cloud, and the cloud a population, is there no error left.
        if item.interval == "own":
            whole = space.sample is not None and space.sample.everything
            if whole and not self._dealt:
                return Interval(missing=POPULATION)
            return Interval(value.low, value.high, value.no_interval)
        if item.interval is None:
            return Interval(missing=item.no_interval)
        if not self._dealt:
            return Interval(missing=POPULATION)
        if space.correction not in SAME_SPECTRUM[item.interval]:
            return Interval(missing=FITTED)
        # One for all measures of a space, which share its 31 spaces without a block.
        known = self._spaces.setdefault(space.correction, Jackknife(self._reads, space))
        return known.interval(item, value.value)


class Jackknife:
    """One space without each of its blocks in turn.

    Parameters
    ----------
    reads : Reads
        What was read, with sums by block.
    space : Space
        The cloud as it is, or centred: with its mean taken away the spectrum is the same.
    """

    def __init__(self, reads: Reads, space: Space) -> None:
        self._reads, self._space = reads, space
        blocks = reads.moments.blocks
        # A few long documents may leave blocks empty. To leave out an empty block changes nothing,
        # and counting it would claim more degrees of freedom than there are.
        self._filled = np.flatnonzero(blocks.rows) if blocks is not None else np.empty(0, np.int64)

    def interval(self, item: Measure, value: float) -> Interval:
        """Return the interval of a measure whose value on all rows is given."""
        if self._space.rows < FEWEST_ROWS:
            return Interval(missing=FEW_ROWS)
        if len(self._filled) < FEWEST_BLOCKS:
            return Interval(missing=FEW_DOCUMENTS)
        without = [number(item, space) for space in self._spaces]
        if any(one is None for one in without):
            return Interval(missing="undefined without some of the blocks")
        values = np.array(without, dtype=np.float64)
        count = len(values)
        # The sum has (B − 1)² times the factor that the variance of a mean of B values has: values
        # without a block share all other blocks, and differ by only 1/(B − 1) of what single blocks
        # would.
        error = math.sqrt((count - 1) / count * float(((values - values.mean()) ** 2).sum()))
        if item.bias is not None:
            # The jackknife's own estimate would miss it: variances along fixed eigenvectors leave
            # out that the eigenvectors turn, which is just what biases eigenvalues.
            bias = self._spectral_bias(item.bias)
        else:
            bias = (count - 1) * float(values.mean() - value)
        # A bias of rounding alone needs no error to be small beside.
        if abs(bias) > item.largest_bias * error + 1e-9 * abs(value):
            return Interval(missing=BIASED, bias=bias if math.isfinite(bias) else None)
        reach = student_quantile(count - 1, LEVEL) * error
        return Interval(value - bias - reach, value - bias + reach)

    @cached_property
    def _spaces(self) -> list[Space]:
        """The space without each block that has rows."""
        return [self._without(int(block)) for block in self._filled]

    def _without(self, block: int) -> Space:
        moments, space = self._reads.moments, self._space
        sums = moments.blocks
        assert sums is not None
        weight = moments.weight - sums.weight[block]
        # Sums are subtracted, nothing is read again: a measure is a function of a Space, and does
        # not notice that a block is missing from this one.
        vector = moments.mean * moments.weight - sums.vector_sum[block]
        unit = moments.unit_sum - sums.unit_sum[block]
        spectrum = space.spectrum
        if spectrum is not None and self._variances is not None:
            # Without a block two close eigenvalues may change places. Second moments stay those of
            # all rows, as no measure that has an interval looks at them.
            variances = np.sort(self._variances[block])[::-1]
            spectrum = Spectrum(variances, spectrum.second_moments, spectrum.null)
        return replace(
            space,
            rows=space.rows - int(sums.rows[block]),
            lengths=replace(
                space.lengths, mean=(moments.norm_sum - float(sums.norm_sum[block])) / weight
            ),
            units=replace(
                space.units,
                weight=moments.unit_weight - float(sums.unit_weight[block]),
                weight_squares=moments.unit_weight_squares - float(sums.unit_weight_squares[block]),
                sum_square=float(unit @ unit),
            ),
            norm_of_mean=float(np.linalg.norm(vector)) / float(weight),
            spectrum=spectrum,
        )

    @cached_property
    def _variances(self) -> Matrix | None:
        """Variance along each eigenvector without each block, around the mean without it."""
        reads = self._reads
        moments, found, geometry = reads.moments, reads.projections, reads.geometry
        sums = moments.blocks
        if found is None or geometry is None or sums is None or not found.block_squares.any():
            return None
        weight = sums.weight[:, None]
        # Σ z over the rows of each block. Over all rows it is zero, as z is centred; so what is
        # left without a block has minus the block's own sum.
        centred = geometry.centred.coordinates(sums.vector_sum - weight * moments.mean)
        left = moments.weight - weight
        total = found.block_squares.sum(axis=0)
        # Without a block the mean moves by −centred/left, and variances are around that mean.
        variances: Matrix = (total - found.block_squares) / left - (centred / left) ** 2
        # A difference of two nearly equal numbers may come out below zero.
        return np.maximum(variances, 0.0)

    def _spectral_bias(self, bias: Callable[[Vector], float]) -> float:
        """Bias for Gaussian rows, times how much more the eigenvalues vary than for those."""
        spectrum, variances = self._space.spectrum, self._variances
        if spectrum is None or variances is None or spectrum.total == 0:
            return math.inf
        # Eigenvalues that are rounding count as zero, or the formula of the effective rank would
        # take their logarithms.
        values = np.where(spectrum.variances > spectrum.null, spectrum.variances, 0.0)
        # Squares of variances leave the range of float64 long before the vectors do. The factor is
        # a power of two, which changes no digit, and falls out of the ratio below.
        scale = math.ldexp(1.0, -math.frexp(float(values.sum()))[1])
        values = values * scale
        spread = variances[self._filled] * scale
        count = len(spread)
        errors = (count - 1) / count * ((spread - spread.mean(axis=0)) ** 2).sum()
        # For independent Gaussian rows the variance of λ_k is 2 λ_k² / n. What the blocks show
        # beyond the sum of these is due to heavy tails, or to rows that are not independent, and
        # the bias grows by the same factor.
        gaussian = 2 * float(values @ values) / self._space.rows
        return bias(values / values.sum()) / self._space.rows * float(errors) / gaussian


def number(item: Measure, space: Space) -> float | None:
    """Evaluate a measure that gives one number."""
    found = item.of(space)
    return found.value if isinstance(found, Value) else None
