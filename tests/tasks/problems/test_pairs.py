"""Scores of pairs of texts against scipy, and what becomes of pairs that have none."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from scipy import stats

from isoscope.compute.stats.estimates import pearson
from isoscope.errors import DataError
from isoscope.results.fields import BEST
from isoscope.results.result import Row
from isoscope.tasks.problems.pairs import ScoredPairs, mean_of
from isoscope.tasks.scores import problem_rows
from isoscope.verbs.evaluate.layer_scores import with_best_layers

RNG = np.random.default_rng(0)
SCIPY = {"spearman": stats.spearmanr, "pearson": stats.pearsonr}
LEVEL = 0.95


class Pair(NamedTuple):
    first: str
    second: str
    score: float
    subset: str


def drawn(pairs: int = 120, subsets: tuple[str, ...] = ("news", "forum", "captions")) -> list[Pair]:
    first = RNG.integers(0, 40, pairs)
    chosen = np.sort(np.stack([first, (first + RNG.integers(1, 40, pairs)) % 40], axis=1))
    scores = np.round(RNG.uniform(0, 5, pairs))
    return [
        Pair(f"text {a}", f"text {b}", float(score), subsets[k % len(subsets)])
        for k, ((a, b), score) in enumerate(zip(chosen, scores, strict=True))
    ]


def by_hand(pairs: list[Pair], vectors: dict[str, np.ndarray]) -> np.ndarray:
    def cosine(a: np.ndarray, b: np.ndarray) -> float:
        return float(a @ b / np.sqrt(a @ a) / np.sqrt(b @ b))

    return np.array([cosine(vectors[pair.first], vectors[pair.second]) for pair in pairs])


def rows_of(
    pairs: list[Pair], spaces: dict[str, np.ndarray], texts: tuple[str, ...] | None = None
) -> dict[tuple[str, str], Row]:
    scored = ScoredPairs.of("toy", pairs)
    assert texts is None or scored.texts == texts
    cosines = {name: scored.cosines(vectors) for name, vectors in spaces.items()}
    everything = np.arange(len(pairs))
    rows = problem_rows(("model", "block 1"), scored, cosines, everything, "how", LEVEL)
    return {(row.correction, row.measure): row for row in rows}


@pytest.mark.parametrize("metric", SCIPY)
def test_all_subsets_and_their_mean_are_scipys(metric: str) -> None:
    pairs = drawn()
    scored = ScoredPairs.of("toy", pairs)
    vectors = RNG.standard_normal((len(scored.texts), 5)).astype(np.float32)
    rows = rows_of(pairs, {"none": vectors})
    cosines = by_hand(pairs, dict(zip(scored.texts, vectors.astype(np.float64), strict=True)))
    human = np.array([pair.score for pair in pairs])
    each = {}
    for name in ("news", "forum", "captions"):
        chosen = np.array([pair.subset == name for pair in pairs])
        each[name] = SCIPY[metric](cosines[chosen], human[chosen]).statistic
        row = rows["none", f"toy/{name}/cosine/{metric}"]
        assert row.value == pytest.approx(each[name], abs=1e-12)
        assert row.n == chosen.sum()
    whole = rows["none", f"toy/cosine/{metric}"]
    assert whole.value == pytest.approx(SCIPY[metric](cosines, human).statistic, abs=1e-12)
    mean = rows["none", f"toy/cosine/{metric}/mean"]
    assert mean.value == pytest.approx(np.mean(list(each.values())), abs=1e-12)
    assert mean.low < mean.value < mean.high  # type: ignore[operator]
    assert mean.n == 120


def test_texts_that_are_the_same_are_tied() -> None:
    pairs = [Pair(f"text {k}", f"text {k}", 5.0, "test") for k in range(30)]
    scored = ScoredPairs.of("toy", pairs)
    vectors = RNG.standard_normal((30, 7))
    vectors[4] = 0
    cosines = scored.cosines(vectors)
    assert np.isnan(cosines[4])
    assert (np.delete(cosines, 4) == 1.0).all()


def test_one_subset_has_no_mean() -> None:
    pairs = drawn(subsets=("test",))
    vectors = RNG.standard_normal((len(ScoredPairs.of("toy", pairs).texts), 5))
    assert [measure for _, measure in rows_of(pairs, {"none": vectors})] == [
        "toy/cosine/spearman",
        "toy/cosine/pearson",
    ]


def test_the_interval_of_a_mean_covers_it() -> None:
    """Three subsets of unequal size and unequal correlation, a thousand times."""
    rng = np.random.default_rng(1)
    truth, hits, times = (0.8, 0.3, 0.5), 0, 1_000
    for _ in range(times):
        parts = {}
        for name, (n, rho) in enumerate(zip((50, 200, 100), truth, strict=True)):
            x, e = rng.standard_normal((2, n))
            parts[str(name)] = pearson(x, rho * x + np.sqrt(1 - rho**2) * e)
        found = mean_of(parts, LEVEL)
        assert found.low is not None
        assert found.high is not None
        hits += found.low <= np.mean(truth) <= found.high
    assert 0.93 <= hits / times <= 0.97


@pytest.mark.parametrize("part", ["toy/cosine/spearman", "toy/cosine/spearman/mean"])
def test_differences_are_paired(part: str) -> None:
    """Of two spaces that differ little, far closer than their intervals would tell."""
    pairs = drawn(600)
    count = len(ScoredPairs.of("toy", pairs).texts)
    vectors = RNG.standard_normal((count, 5))
    near = vectors + 0.01 * RNG.standard_normal((count, 5))
    rows = rows_of(pairs, {"none": vectors, "center": near})
    change, after = rows["center", f"{part}/difference"], rows["center", part]
    assert change.value == pytest.approx(after.value - rows["none", part].value)  # type: ignore[operator]
    assert change.low < change.value < change.high  # type: ignore[operator]
    assert change.high - change.low < 0.2 * (after.high - after.low)  # type: ignore[operator]
    assert ("none", f"{part}/difference") not in rows
    assert not any("difference" in measure for _, measure in rows_of(pairs, {"center": near}))


def test_constant_scores_are_undefined_and_never_zero() -> None:
    pairs = [pair._replace(score=3.0) if pair.subset == "news" else pair for pair in drawn()]
    vectors = RNG.standard_normal((len(ScoredPairs.of("toy", pairs).texts), 5))
    rows = rows_of(pairs, {"none": vectors, "center": np.ones_like(vectors)})
    row = rows["none", "toy/news/cosine/spearman"]
    assert (row.value, row.low, row.high) == (None, None, None)
    assert row.note == "undefined: all scores are the same"
    assert rows["none", "toy/cosine/spearman"].value is not None
    mean = rows["none", "toy/cosine/spearman/mean"]
    assert mean.value is None
    assert "news is undefined" in mean.note
    for name, row in rows.items():  # all cosines are 1
        if name[0] == "center":
            assert row.value is None
            assert "undefined" in row.note


def test_pairs_without_a_cosine_are_counted_and_left_out_of_both_sides() -> None:
    pairs = drawn(subsets=("test",))
    scored = ScoredPairs.of("toy", pairs)
    vectors = RNG.standard_normal((len(scored.texts), 5))
    gone, zero = vectors.copy(), vectors + 0.1
    gone[3], zero[7] = np.nan, 0
    rows = rows_of(pairs, {"none": gone, "center": zero})

    def without(*places: int) -> np.ndarray:
        return ~(np.isin(scored.first, places) | np.isin(scored.second, places))

    row = rows["none", "toy/cosine/spearman"]
    kept = without(3)
    cosines = scored.cosines(vectors)
    expected = stats.spearmanr(cosines[kept], scored.human[kept]).statistic
    assert row.value == pytest.approx(expected, abs=1e-12)
    assert row.n == kept.sum()
    assert row.note == f"{120 - kept.sum()} pairs without a score left out"
    assert row.extra["of"] == 120
    assert rows["center", "toy/cosine/spearman/difference"].n == without(3, 7).sum()


def test_the_best_layer_is_marked() -> None:
    def row(layer: str, value: float | None, measure: str = "toy/cosine/spearman") -> Row:
        return Row("model", layer, "none", measure, value)

    rows = [row("block 1", -0.1), row("block 2", 0.0), row("block 3", None), row("block 2", 0.0)]
    rows += [row("block 1", 0.9, "toy/cosine/spearman/difference"), row("block 1", 3, "toy/i1")]
    marks = [BEST in one.extra for one in with_best_layers(rows)]
    assert marks == [False, True, False, False, False, False]
    assert "chosen on what is scored" in with_best_layers(rows)[1].note
    assert not any(BEST in one.extra for one in with_best_layers(rows[:1]))
    assert not any(BEST in one.extra for one in with_best_layers([rows[2], rows[2]]))


def test_no_pairs() -> None:
    with pytest.raises(DataError, match="toy has no pair"):
        ScoredPairs.of("toy", [])
