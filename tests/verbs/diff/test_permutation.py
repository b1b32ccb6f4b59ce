"""Permutation tests: against slow loops over the definitions, and in simulation."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from numpy.typing import NDArray

from isoscope.verbs.diff import permutation
from isoscope.verbs.diff.permutation import equality_tests

Matrix = NDArray[np.float64]


def clouds(rows: int = 30, width: int = 5, seed: int = 0) -> tuple[Matrix, Matrix]:
    random = np.random.default_rng(seed)
    return random.normal(3, 1, (rows, width)), random.normal(3.2, 1.2, (rows, width))


def u_statistic(rows: Matrix, of_a: NDArray[np.bool_], alike: NDArray[np.bool_]) -> float:
    """‖C_A − C_B‖_F² over pairs of rows, as the docstring defines it, one pair after the other.

    ``rows`` are A's, then B's, each centred on its own mean; ``of_a`` says what they are called.
    """
    half = len(rows) // 2
    true = np.arange(len(rows)) < half
    blocks: dict[tuple[bool, bool], list[float]] = {}
    pairs = [p for p in itertools.permutations(range(len(rows)), 2) if not alike[p]]

    def own(i: int, cloud: bool) -> float:
        """Products of a row with those of its own unit in one of the clouds, itself included."""
        return sum(rows[i] @ rows[k] for k in np.flatnonzero(alike[i] & (true == cloud)))

    sizes = {
        (first, second): np.mean([(alike[i] & (true == second)).sum() for i in np.flatnonzero(
            true == first)])
        for first in (True, False) for second in (True, False)
    }  # fmt: skip

    def product(i: int, j: int) -> float:
        """What two rows that are centred on their own mean would have without it, on average."""
        first, second = bool(true[i]), bool(true[j])
        total = np.mean([own(k, second) for k in np.flatnonzero(true == first)])
        added = own(i, second) + own(j, first) - total
        return rows[i] @ rows[j] + added / (half - sizes[first, second])

    for i, j in pairs:
        blocks.setdefault((true[i], true[j]), []).append(product(i, j))
    means = {key: np.mean(values) for key, values in blocks.items()}
    squares: dict[tuple[bool, bool], list[float]] = {}
    for i, j in pairs:
        value = (product(i, j) - means[true[i], true[j]]) ** 2
        squares.setdefault((bool(of_a[i]), bool(of_a[j])), []).append(value)
    within = np.mean(squares[True, True]) + np.mean(squares[False, False])
    return float(within - 2 * np.mean(squares[True, False]))


@pytest.mark.parametrize("paired", [False, True])
@pytest.mark.parametrize("documents", [False, True])
def test_statistics_are_those_of_a_slow_loop(paired: bool, documents: bool) -> None:
    a, b = clouds(12)
    units = np.arange(12) // 2 if documents else np.arange(12)
    deal = permutation.swapped if paired else permutation.dealt
    labels = deal(units, units, 4, np.random.default_rng(1))
    assert labels[0].tolist() == [True] * 12 + [False] * 12
    pooled = np.concatenate([a, b])
    centred = np.concatenate([a - a.mean(axis=0), b - b.mean(axis=0)])
    of_units = np.concatenate([units, units if paired else units + 100])
    alike = of_units[:, None] == of_units
    means = permutation.mean_statistics(pooled, labels)
    covariances = permutation.covariance_statistics(a, b, units, units, labels, paired=paired)
    for k, of_a in enumerate(labels):
        apart = pooled[of_a].mean(axis=0) - pooled[~of_a].mean(axis=0)
        # Sums of 24 numbers of size one: 1e-12 is thousands of roundings.
        assert means[k] == pytest.approx(apart @ apart, rel=1e-12)
        assert covariances[k] == pytest.approx(u_statistic(centred, of_a, alike), rel=1e-9)


def test_uneven_lengths_are_no_difference() -> None:
    """Of equal clouds with more dimensions than rows, long rows suffer most from centring."""
    rejected = 0
    for run in range(60):
        random = np.random.default_rng(run)
        a, b = (random.normal(size=(60, 120)) * random.lognormal(0, 0.8, (60, 1)) for _ in range(2))
        found = equality_tests(a, b, permutations=99, seed=run)["covariances"]
        rejected += (found.p_value or 1) <= 0.05
    # Three on average, with a standard deviation below two; without the correction, dozens.
    assert rejected <= 8


def test_the_u_statistic_estimates_the_distance_of_covariances() -> None:
    random = np.random.default_rng(0)
    a, b = random.normal(0, 1, (2_000, 4)), random.normal(5, 2, (2_000, 4))
    labels = np.arange(4_000)[None, :] < 2_000
    units = np.arange(2_000)
    found = permutation.covariance_statistics(a, b, units, units, labels, paired=False)[0]
    # ‖I − 4 I‖_F² = 36 in four dimensions; 4 % is three times the error of 2,000 rows
    assert found == pytest.approx(36, rel=0.1)


def test_lengths_are_compared_as_scipy_does() -> None:
    from scipy.stats import cramervonmises_2samp

    random = np.random.default_rng(0)
    for ties in (False, True):
        first, second = random.normal(2, 1, 40), random.normal(2.3, 1, 30)
        if ties:
            first, second = first.round(1), second.round(1)
        labels = np.arange(70)[None, :] < 40
        found = permutation.length_statistics(np.concatenate([first, second]), labels)[0]
        if ties:  # scipy takes midranks there, which is another statistic
            points = np.concatenate([first, second])
            cdf = [(one[:, None] <= points).mean(axis=0) for one in (first, second)]
            assert found == pytest.approx(((cdf[0] - cdf[1]) ** 2).sum(), rel=1e-12)
        else:
            wanted = cramervonmises_2samp(first, second).statistic
            assert found * 40 * 30 / 70**2 == pytest.approx(wanted, rel=1e-9)


def test_p_values_count_what_is_as_large() -> None:
    a, b = clouds()
    found = equality_tests(a, b, permutations=99, seed=3)
    units = np.arange(30)
    labels = permutation.dealt(units, units, 99, np.random.default_rng(3))
    pooled = np.concatenate([a, b])
    statistics = permutation.mean_statistics(pooled, labels)
    larger = sum(value >= statistics[0] for value in statistics[1:])
    assert found["means"].p_value == (1 + larger) / 100
    assert all(
        one.p_holm is not None and one.p_holm >= (one.p_value or 1) for one in found.values()
    )


def test_documents_are_dealt_as_a_whole() -> None:
    units_a, units_b = np.array([5, 5, 9, 9, 9]), np.array([5, 7, 7])
    labels = permutation.dealt(units_a, units_b, 50, np.random.default_rng(0))
    for same in ([0, 1], [2, 3, 4], [6, 7]):
        assert (labels[:, same].all(axis=1) | ~labels[:, same].any(axis=1)).all()
    # Document 5 of A is not document 5 of B, and A keeps two of the four documents.
    assert (labels[:, 0] != labels[:, 5]).any()
    assert (labels[:, [0, 2, 5, 6]].sum(axis=1) == 2).all()


def test_swapping_keeps_a_row_and_its_partner_apart() -> None:
    units = np.arange(20) // 4
    labels = permutation.swapped(units, units, 30, np.random.default_rng(0))
    assert (labels[:, :20] != labels[:, 20:]).all()
    assert (labels[:, 0] == labels[:, 3]).all()
    assert 5 < labels[:, 0].sum() < 26


def test_clouds_that_are_the_same_are_equal() -> None:
    a, _ = clouds()
    found = equality_tests(a, a.copy(), paired=True, permutations=99)
    assert [one.p_value for one in found.values()] == [1.0, 1.0, 1.0]


def test_lengths_that_are_all_one_are_not_tested() -> None:
    a, b = clouds()
    a /= np.linalg.norm(a, axis=1, keepdims=True)
    b = (b / np.linalg.norm(b, axis=1, keepdims=True)).astype(np.float32)
    found = equality_tests(a, b.astype(np.float64), permutations=99)
    assert found["lengths"].p_value is None
    assert "same length" in found["lengths"].note
    assert found["means"].p_holm is not None


SIMULATED = 120


@pytest.mark.parametrize("kind", ["plain", "paired", "documents", "wide"])
def test_equal_clouds_are_rejected_as_often_as_the_level_says(kind: str) -> None:
    rejected = np.zeros(4)
    for seed in range(SIMULATED):
        random = np.random.default_rng(seed)
        rows, width = 60, 90 if kind == "wide" else 16
        a, b = (random.standard_normal((rows, width)) + 2 for _ in range(2))
        units = np.arange(rows)
        if kind == "documents":
            units = np.arange(rows) // 2
            a, b = (one + random.standard_normal((30, width))[units] for one in (a, b))
        if kind == "paired":
            common = random.standard_normal((rows, width))
            a, b = a + common, b + common
        found = equality_tests(
            a, b, units_a=units, units_b=units, paired=kind == "paired", permutations=99, seed=seed
        )
        p_values = [one.p_value or 0.0 for one in found.values()]
        rejected += [
            *(p <= 0.05 for p in p_values),
            min(one.p_holm or 0 for one in found.values()) <= 0.05,
        ]
    # Of 120 runs 6 are expected; 14 or more happen in 2 of 1,000 cases, 0 in 2 of 1,000.
    assert (rejected[:3] >= 1).all(), rejected
    assert (rejected <= 13).all(), rejected


def test_a_shift_of_a_tenth_of_the_spread_is_found() -> None:
    for seed in range(5):
        random = np.random.default_rng(seed)
        a, b = random.standard_normal((1_000, 64)), random.standard_normal((1_000, 64)) + 0.1
        found = equality_tests(a, b, permutations=199, seed=seed)
        assert (found["means"].p_holm or 1) <= 0.05
        assert (found["covariances"].p_value or 0) > 0.05


def test_a_shift_is_not_taken_for_another_covariance() -> None:
    p_values = []
    for seed in range(40):
        random = np.random.default_rng(seed)
        a, b = random.standard_normal((60, 8)), random.standard_normal((60, 8)) + 5
        p_values.append(equality_tests(a, b, permutations=99, seed=seed)["covariances"].p_value)
    assert sum((p or 0) <= 0.05 for p in p_values) <= 6
