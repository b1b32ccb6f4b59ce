"""Unused tokens against every other token, one pair at a time."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import spearmanr

from isoscope.data.arrays import ArrayCloud
from isoscope.data.base import rows_per_batch
from isoscope.models.frequencies import Frequencies
from isoscope.verbs.explain.names import COSINE_WITH_UNUSED as MEASURE
from isoscope.verbs.explain.names import DIFFERENCE, FREQUENT, RARE, WITH_FREQUENCY
from isoscope.verbs.explain.topics.unused import (
    UNUSED_TOKENS,
    bin_rows,
    choose_bins,
    cosines_with_unused,
    summarise,
    unused_rows,
)


def labelled(vectors: np.ndarray, words: list[str]) -> ArrayCloud:
    return ArrayCloud(vectors, "toy", labels={"word": np.array(words, dtype=object)})


def pair_by_pair(vectors: np.ndarray, unused: list[int]) -> list[float]:
    """The mean over all unused tokens of the cosine with each row; both longer than 0."""
    means = []
    for x in vectors:
        cosines = []
        for row in unused:
            u = vectors[row]
            if np.linalg.norm(u) > 0:
                cosines.append(float(x @ u / np.sqrt((x @ x) * (u @ u))) if x.any() else np.nan)
        means.append(float(np.mean(cosines)))
    return means


def test_cosines_are_those_of_all_pairs() -> None:
    rng = np.random.default_rng(0)
    vectors = rng.normal(0.5, 1, (60, 5))
    vectors[[7, 30]] = 0  # an unused one and another
    unused = [3, 7, 8, 41]
    cloud = ArrayCloud(vectors)
    raw = cosines_with_unused(cloud, np.array(unused), np.zeros(5))
    assert raw == pytest.approx(pair_by_pair(vectors, unused), nan_ok=True)
    assert np.flatnonzero(np.isnan(raw)).tolist() == [7, 30]
    mean = vectors.mean(axis=0)
    centred = cosines_with_unused(cloud, np.array(unused), mean)
    assert centred == pytest.approx(pair_by_pair(vectors - mean, unused))


def test_several_batches_are_one_vocabulary() -> None:
    width = 2_000
    rows = 2 * rows_per_batch(width) + 50
    vectors = np.random.default_rng(1).normal(0.1, 1, (rows, width)).astype(np.float32)
    words = [f"w{k}" for k in range(rows)]
    unused = [2, rows_per_batch(width) + 1, rows - 1]
    for row in unused:
        words[row] = f"[unused{row}]"
    cloud = labelled(vectors, words)
    look = summarise(cloud)
    assert (look.rows, look.named.tolist()) == (rows, unused)
    assert look.mean == pytest.approx(vectors.mean(axis=0, dtype=np.float64))
    wide = vectors.astype(np.float64)
    units = wide / np.linalg.norm(wide, axis=1, keepdims=True)
    found = cosines_with_unused(cloud, look.named, np.zeros(width))
    assert found == pytest.approx((units @ units[unused].T).mean(axis=1))


def test_without_a_direction_nothing_has_a_cosine() -> None:
    vectors = np.ones((4, 3))
    vectors[0] = 0
    cosines = cosines_with_unused(ArrayCloud(vectors), np.array([0]), np.zeros(3))
    assert np.isnan(cosines).all()
    row, difference = bin_rows(cosines, "none", choose_bins(4, np.array([0])), "")
    assert (row.part, row.value, row.note, row.n) == ("ids 0 to 3", None, "only zero vectors", 4)
    assert (difference.value, "too small" in difference.note) == (None, True)


def test_the_papers_bins() -> None:
    bert = choose_bins(30_522, np.arange(1, 999))
    assert (bert.frequent, bert.rare) == (FREQUENT, RARE)
    assert bert.every[-1] == (30_000, 30_522)
    assert bert.ranges()[-2:] == [(30_000, 30_522), RARE]
    roberta = choose_bins(50_265, np.arange(49_265, 50_265))
    assert (roberta.frequent, roberta.rare) == ((0, 1_000), (48_265, 49_265))
    assert choose_bins(900, np.arange(3)).rare is None
    # A vocabulary like BERT's whose unused tokens are elsewhere has no such bins.
    late = choose_bins(30_522, np.array([5, 2_500]))
    assert (late.frequent, late.rare) == ((6, 1_006), (29_522, 30_522))


def test_bins_are_means_and_the_rare_one_is_compared() -> None:
    cosines = np.linspace(0, 1, 3_000)
    cosines[10] = np.nan
    bins = choose_bins(3_000, np.arange(10))
    rows = {row.part: row for row in bin_rows(cosines, "center", bins, "how")}
    assert rows["ids 1,000 to 1,999"].value == pytest.approx(cosines[1_000:2_000].mean())
    assert rows["ids 0 to 999"].value == pytest.approx(np.nanmean(cosines[:1_000]))
    assert {row.correction for row in rows.values()} == {"center"}
    assert {rows[part].measure for part in rows if part} == {MEASURE}
    expected = cosines[2_000:].mean() - np.nanmean(cosines[10:1_010])
    assert rows[""].value == pytest.approx(expected)
    assert rows[""].note == "ids 2,000 to 2,999 less ids 10 to 1,009"


@pytest.mark.parametrize("seed", range(5))
def test_closeness_to_rare_tokens_is_seen_and_not_made_up(seed: int) -> None:
    rng = np.random.default_rng(seed)
    shares = np.r_[np.full(20, np.nan), rng.permutation(np.r_[np.zeros(100), rng.random(280)])]
    words = [f"<unused{k}>" if k < 20 else f"w{k}" for k in range(400)]
    noise = rng.normal(0, 1, (400, 10))
    rare = noise + np.where(np.isnan(shares), 2.0, 2.0 - 2 * np.nan_to_num(shares))[:, None]
    known = Frequencies(shares, "made")
    planted, control = (unused_rows(labelled(x, words), known, "matrix") for x in (rare, noise))
    found = next(row for row in planted if row.measure == WITH_FREQUENCY)
    cosines = pair_by_pair(rare, list(range(20)))
    assert found.value == pytest.approx(spearmanr(cosines[20:], shares[20:]).statistic)
    assert (found.n, found.part, found.extra[UNUSED_TOKENS]) == (380, "matrix", 20)
    assert found.high is not None
    assert found.high < -0.1
    none = next(row for row in control if row.measure == WITH_FREQUENCY)
    assert none.value is not None
    assert abs(none.value) < 0.3
    after = [row for row in planted if row.correction == "center"]
    centred = pair_by_pair(rare - rare.mean(axis=0), list(range(20)))
    assert after[0].value == pytest.approx(spearmanr(centred[20:], shares[20:]).statistic)
    assert [row.measure for row in after] == [WITH_FREQUENCY, MEASURE, DIFFERENCE]


def test_no_names_no_unused_tokens() -> None:
    vectors = np.eye(4)
    known = Frequencies(np.ones(4), "made")
    assert unused_rows(ArrayCloud(vectors), known, "matrix") == []
    assert unused_rows(labelled(vectors, ["a", "b", "c", "unused"]), known, "matrix") == []
