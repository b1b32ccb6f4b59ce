"""Two spaces of the same rows."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import spearmanr
from sklearn.neighbors import NearestNeighbors

from isoscope.data.arrays import ArrayCloud
from isoscope.errors import UsageError
from isoscope.measures.reads.moments import MomentParts
from isoscope.verbs.diff.paired.same_rows import SameRows, compare_same_rows
from isoscope.verbs.diff.two_clouds import Reading

RANDOM = np.random.default_rng(0)
ONE = RANDOM.normal(0.5, 1, (400, 12))
OTHER = ONE @ RANDOM.standard_normal((12, 20)) + RANDOM.standard_normal((400, 20))


def compared(a: np.ndarray, b: np.ndarray, k: int = 10, sample: int = 10_000) -> SameRows:
    two = Reading(MomentParts(), sample, 0).in_step(ArrayCloud(a, "a"), ArrayCloud(b, "b"))
    return compare_same_rows(two, k, 0)


def test_the_overlap_is_that_of_brute_force() -> None:
    found = compared(ONE, OTHER, k=7)
    lists = []
    for rows in (ONE, OTHER):
        searcher = NearestNeighbors(n_neighbors=8, metric="cosine", algorithm="brute").fit(rows)
        lists.append(searcher.kneighbors(rows, return_distance=False)[:, 1:])
    wanted = [len(set(one) & set(other)) / 7 for one, other in zip(*lists, strict=True)]
    assert found.overlap.value == pytest.approx(np.mean(wanted), abs=1e-3)
    assert found.chance == 7 / 399
    assert found.overlap.low < found.overlap.value < found.overlap.high
    assert found.to_partner is None


def test_the_rank_correlation_is_over_pairs_that_share_no_row() -> None:
    found = compared(ONE, OTHER)
    order = np.random.default_rng(0).permutation(400)
    cosines = []
    for rows in (ONE, OTHER):
        units = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        cosines.append((units[order[:200]] * units[order[200:]]).sum(axis=1))
    assert found.rank_correlation.value == pytest.approx(spearmanr(*cosines).statistic, abs=1e-12)
    assert found.rank_correlation.n == 200


def test_a_turned_space_is_the_same_but_for_its_axes() -> None:
    turn = np.linalg.qr(RANDOM.standard_normal((12, 12)))[0]
    found = compared(ONE, 3 * ONE @ turn)
    assert found.overlap.value > 0.999
    assert found.rank_correlation.value > 0.999_99
    assert found.to_partner is not None
    assert abs(found.to_partner.value) < 0.9
    itself = compared(ONE, ONE.copy())
    assert itself.to_partner is not None
    assert itself.to_partner.value == pytest.approx(1)
    assert itself.cka.plain == pytest.approx(1)


def test_rows_without_a_direction_are_left_out_of_cosines() -> None:
    holes = ONE.copy()
    holes[[3, 5]] = 0
    found = compared(holes, OTHER)
    assert (found.sampled, found.without_direction) == (398, 2)


def test_the_sample_is_the_same_rows_of_both() -> None:
    found = compared(ONE, ONE * np.arange(1, 401)[:, None], sample=100)
    assert (found.sampled, found.rows) == (100, 400)
    assert found.overlap.value == 1


def test_too_many_neighbours_are_refused() -> None:
    with pytest.raises(UsageError, match="399 neighbours need 401 sampled rows"):
        compared(ONE, OTHER, k=399)
