"""Are two clouds the same but for chance? Permutation tests on a pooled sample.

Under the hypothesis that both clouds are drawn from one distribution, which row is of which cloud
is a label that could as well have been dealt otherwise. So labels are dealt anew P times, every
statistic is taken again, and

    p = (1 + number of dealings whose statistic is as large) / (1 + P)

is at most α in at most a share α of all samples, whatever the distribution (Phipson & Smyth 2010).
Rows of one document are dealt together. Where both clouds have the same rows (two models of one
text), labels are swapped within a row, or within a document, instead of dealt.

- **Means**: ‖m_A − m_B‖². In the vectors' own metric, because that is what cosines and distances
  see; Hotelling's T² would ask for more rows than dimensions.
- **Covariances**: the U-statistic of ‖C_A − C_B‖_F² (Li & Chen 2012), which products of rows alone
  give: with K_ij = (r_i · r_j)² of rows r centred on the mean of their own cloud,

      mean of K within A + mean of K within B − 2 · mean of K between them.

  Centring makes it deaf to a shift of the means (Pigoli et al. 2014 do the same), and lowers
  products within a cloud, those of long rows most; that is added again before they are squared,
  without which clouds with as many dimensions as rows would be told apart too often.
- **Lengths**: Cramér and von Mises' Σ_k (F_A(z_k) − F_B(z_k))² over all lengths z_k (Anderson
  1962), which sees any change of the distribution, not of its mean alone.

Both clouds give as many rows each: then the test of the means keeps its size where covariances
differ as well, for large samples (Romano 1990).

References
----------
Anderson (1962), On the distribution of the two-sample Cramér–von Mises criterion, Annals of
Mathematical Statistics 33(3). Li & Chen (2012), Two sample tests for high-dimensional covariance
matrices, Annals of Statistics 40(2). Phipson & Smyth (2010), Permutation p-values should never be
zero, Statistical Applications in Genetics and Molecular Biology 9(1). Pigoli, Aston, Dryden &
Secchi (2014), Distances and inference for covariance operators, Biometrika 101(2). Romano (1990),
On the behavior of randomization tests without a group invariance assumption, JASA 85(411).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from isoscope.compute.stats.significance import holm
from isoscope.typing import Ids, Mask, Matrix, Vector
from isoscope.verbs.diff.names import COVARIANCES, LENGTHS, MEANS, PERMUTATIONS

# Documents of a cloud below which the test of covariances rejects too often: with 25, in 6 %.
FEWEST_UNITS = 20

# Statistics that differ by less than this share of their size are equal.
ROUNDING = 1e-9

# Lengths are compared to these digits: further ones tell how vectors were stored.
LENGTH_DIGITS = 6


@dataclass(frozen=True)
class EqualityTest:
    """A hypothesis that was tested, with the statistic of the labels as they are.

    ``p_holm`` is the p-value by Holm's correction over the tests that were made together. Where
    there is nothing to test, both p-values are None, and the note says why.
    """

    statistic: float
    p_value: float | None
    p_holm: float | None = None
    note: str = ""


def equality_tests(
    a: Matrix,
    b: Matrix,
    *,
    units_a: Ids | None = None,
    units_b: Ids | None = None,
    paired: bool = False,
    permutations: int = PERMUTATIONS,
    seed: int = 0,
) -> dict[str, EqualityTest]:
    """Test whether two clouds have equal means, covariances and lengths.

    Parameters
    ----------
    a, b : array of shape (rows, width)
        Rows of both clouds.
    units_a, units_b : array of int, optional
        Rows with the same number are dealt together; by default every row is alone. The same
        number in ``a`` and ``b`` is the same unit only where ``paired``.
    paired : bool
        Row i of ``a`` and row i of ``b`` are of one thing.
    permutations : int
        How often labels are dealt.
    seed : int
        Of the dealing.
    """
    units_a = np.arange(len(a)) if units_a is None else units_a
    units_b = (units_a if paired else np.arange(len(b))) if units_b is None else units_b
    random = np.random.default_rng(seed)
    deal = swapped if paired else dealt
    labels = deal(units_a, units_b, permutations, random)
    pooled = np.concatenate([a, b])
    variance, rows = float(pooled.var(axis=0).sum()), len(pooled)
    found = {
        MEANS: with_p_value(mean_statistics(pooled, labels), variance / rows),
        COVARIANCES: with_p_value(
            covariance_statistics(a, b, units_a, units_b, labels, paired=paired),
            variance**2 / rows,
        ),
        LENGTHS: tested_lengths(np.linalg.norm(pooled, axis=1), labels),
    }
    made = {name: one for name, one in found.items() if one.p_value is not None}
    adjusted = holm([one.p_value for one in made.values() if one.p_value is not None])
    for (name, one), p in zip(made.items(), adjusted, strict=True):
        found[name] = replace(one, p_holm=p)
    return found


def dealt(
    units_a: Ids,
    units_b: Ids,
    permutations: int,
    random: np.random.Generator,
) -> Mask:
    """Return which rows are called A's: as they are first, then dealt anew, units as a whole.

    As many units are dealt to A as A has; where units are rows, that is as many rows.
    """
    _, first = np.unique(units_a, return_inverse=True)
    _, second = np.unique(units_b, return_inverse=True)
    count = int(first.max()) + 1
    place = np.concatenate([first, second + count])
    total = int(place.max()) + 1
    of_unit = np.tile(np.arange(total) < count, (permutations + 1, 1))
    of_unit[1:] = random.permuted(of_unit[1:], axis=1)
    return np.asarray(of_unit[:, place])


def swapped(
    units_a: Ids,
    units_b: Ids,
    permutations: int,
    random: np.random.Generator,
) -> Mask:
    """Return which rows are called A's: as they are first, then with some units swapped."""
    place = np.unique(np.concatenate([units_a, units_b]), return_inverse=True)[1]
    swaps = random.integers(0, 2, (permutations + 1, int(place.max()) + 1), dtype=np.int8) == 1
    swaps[0] = False
    of_a = np.arange(len(place)) < len(units_a)
    return np.asarray(of_a ^ swaps[:, place])


def with_p_value(statistics: Vector, scale: float) -> EqualityTest:
    """Return the p-value of the first statistic among all of them.

    ``scale`` is what the statistic comes from: what is far below it, as for clouds that are the
    same, is rounding.
    """
    slack = ROUNDING * max(float(np.abs(statistics).max()), scale)
    larger = int((statistics[1:] >= statistics[0] - slack).sum())
    return EqualityTest(float(statistics[0]), (1 + larger) / len(statistics))


def mean_statistics(pooled: Matrix, labels: Mask) -> Vector:
    """‖m_A − m_B‖² for every dealing of the labels."""
    # Centred, so that a common offset does not drown the difference.
    rows = pooled - pooled.mean(axis=0)
    sums = labels.astype(np.float64) @ rows
    of_a = labels.sum(axis=1)[:, None]
    # The rows sum to zero, so that B's sum is −1 times A's.
    apart = sums / of_a + sums / (len(pooled) - of_a)
    return np.asarray(np.einsum("ij,ij->i", apart, apart))


def covariance_statistics(
    a: Matrix,
    b: Matrix,
    units_a: Ids,
    units_b: Ids,
    labels: Mask,
    *,
    paired: bool,
) -> Vector:
    """U-statistic of ‖C_A − C_B‖_F² for every dealing of the labels.

    Pairs of rows of one unit are left out: they are alike whatever the clouds are.
    """
    squares = squared_products(a, b, same_unit(units_a, units_b, paired=paired))
    given = labels.astype(np.float64)
    within_a, between, within_b = by_label(squares, given)
    of_a, of_b = given.sum(axis=1), (1 - given).sum(axis=1)
    # How many pairs of rows are of one unit, which are no pairs here.
    if paired:  # a unit has as many rows in A as in B, swapped or not
        alike_a = alike_b = alike = unit_sizes(units_a).sum()
    else:  # a unit is A's or B's as a whole
        sizes = np.concatenate([unit_sizes(units_a), unit_sizes(units_b)])
        alike_a, alike, alike_b = given @ sizes, 0.0, (1 - given) @ sizes
    return np.asarray(
        within_a / (of_a**2 - alike_a)
        + within_b / (of_b**2 - alike_b)
        - 2 * between / (of_a * of_b - alike)
    )


def unit_sizes(units: Ids) -> Vector:
    """Return for every row how many rows its unit has."""
    _, place, counts = np.unique(units, return_inverse=True, return_counts=True)
    return counts[place].astype(np.float64)


def by_label(matrix: Matrix, given: Matrix) -> tuple[Vector, Vector, Vector]:
    """Sum a symmetric matrix over pairs within A, between A and B (once), and within B."""
    # With b = 1 − a all three sums follow from aᵀKa, the row sums of K, and their total.
    within_a = np.einsum("ij,ij->i", given @ matrix, given)
    touching_a = given @ matrix.sum(axis=1)
    within_b = float(matrix.sum()) - 2 * touching_a + within_a
    return within_a, touching_a - within_a, within_b


def same_unit(units_a: Ids, units_b: Ids, *, paired: bool) -> Mask:
    """Tell which pairs of rows are of one unit; a row of A and one of B only where paired."""
    units = np.concatenate([units_a, units_b])
    alike = units[:, None] == units
    if not paired:
        alike[: len(units_a), len(units_a) :] = False
        alike[len(units_a) :, : len(units_a)] = False
    return np.asarray(alike)


def squared_products(a: Matrix, b: Matrix, alike: Mask) -> Matrix:
    """K_ij = (r_i · r_j less what centring adds to it)²; 0 within a unit."""
    rows = np.concatenate([a - a.mean(axis=0), b - b.mean(axis=0)])
    products = rows @ rows.T
    first, second = slice(None, len(a)), slice(len(a), None)
    for one, other in ((first, first), (first, second), (second, first), (second, second)):
        block = products[one, other]
        # Few pairs are of one unit: their places are cheaper than masks over all pairs.
        first_of, second_of = np.nonzero(alike[one, other])
        block += added_by_centring(block, first_of, second_of)
        inside = block[first_of, second_of]
        block -= (block.sum() - inside.sum()) / (block.size - len(inside))
        block[first_of, second_of] = 0.0
    return np.asarray(np.square(products, out=products))


def added_by_centring(block: Matrix, first_of: Ids, second_of: Ids) -> Matrix:
    """Return by how much centring lowers the products of rows of different units, on average.

    A row x_i is in the mean of its cloud, so that x_i · m holds s_i / n, with s_i the sum of its
    products with the rows of its own unit: its squared length where it is alone. Products of
    centred rows are therefore lower by (s_i + s_j) / n − Σ s / n², and most so for long rows: a
    common constant in its place would tell clouds of uneven lengths apart that are equal.

    ``first_of`` and ``second_of`` are the places of pairs of one unit.
    """
    (rows, columns), own = block.shape, block[first_of, second_of]
    of_row = np.bincount(first_of, own, minlength=rows)
    of_column = np.bincount(second_of, own, minlength=columns)
    left = min(rows, columns) - len(own) / rows  # centring shrinks s itself
    return np.asarray((of_row[:, None] + of_column - of_row.mean()) / left)


def tested_lengths(lengths: Vector, labels: Mask) -> EqualityTest:
    """Test whether the lengths of both clouds have one distribution."""
    rounded = rounded_to(lengths, LENGTH_DIGITS)
    if np.ptp(rounded) == 0:
        return EqualityTest(
            0.0, None, note="all vectors have the same length: there is nothing to test"
        )
    return with_p_value(length_statistics(rounded, labels), 0.0)


def length_statistics(values: Vector, labels: Mask) -> Vector:
    """Σ_k (F_A(z_k) − F_B(z_k))² over all values z_k for every dealing of the labels."""
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    # Of equal values the last one has all of them below or at it.
    last = np.append(ordered[1:] != ordered[:-1], True)
    counts = np.diff(np.flatnonzero(last), prepend=-1)
    of_a = labels.sum(axis=1)[:, None]
    below_a = np.cumsum(labels[:, order], axis=1, dtype=np.int32)[:, last]
    below = np.cumsum(counts)
    apart = below_a / of_a - (below - below_a) / (len(values) - of_a)
    return np.asarray((apart**2) @ counts.astype(np.float64))


def rounded_to(values: Vector, digits: int) -> Vector:
    """Round to this many digits of the largest value."""
    largest = float(np.abs(values).max(initial=0.0))
    if largest == 0:
        return values
    return np.asarray(np.round(values / largest, digits) * largest)
