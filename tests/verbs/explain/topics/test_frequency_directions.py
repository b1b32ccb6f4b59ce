"""Correlations of components and lengths with frequency, against numpy on kinds of tokens."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import spearmanr

from isoscope.compute.stats.estimates import Score
from isoscope.models.frequencies import Frequencies
from isoscope.verbs.explain.names import EXPLAINED_BY_FREQUENCY as MEASURE
from isoscope.verbs.explain.names import FIRST, NORM
from isoscope.verbs.explain.topics.frequency import POINTS, absolute, frequency_directions

KINDS = 300


def occurrences(seed: int, size: int = 3_000) -> tuple[np.ndarray, np.ndarray, Frequencies]:
    """Tokens of a text that follows Zipf's law, vectors of their kinds, and frequencies."""
    rng = np.random.default_rng(seed)
    shares = 1 / np.arange(1, KINDS + 1)
    shares /= shares.sum()
    ids = rng.choice(KINDS, size, p=shares)
    vectors = rng.normal(0, 1, (KINDS, 12))[ids] + rng.normal(0, 0.5, (size, 12))
    known = shares.copy()
    known[[3, 50]] = np.nan
    known[60] = 0
    return vectors.astype(np.float32), ids, Frequencies(known, "made")


def words(ids: np.ndarray) -> np.ndarray:
    return np.array([f"w{k}" for k in ids], dtype=object)


def projected(vectors: np.ndarray) -> np.ndarray:
    wide = vectors.astype(np.float64)
    centred = wide - wide.mean(axis=0)
    return np.asarray(centred @ np.linalg.svd(centred, full_matrices=False)[2][:3].T)


def test_kinds_are_the_unit() -> None:
    vectors, ids, known = occurrences(0)
    found = frequency_directions("block 1", vectors, ids, words(ids), known)
    values = {row.measure: row for row in found.rows}
    coordinates = projected(vectors)
    kinds = [k for k in np.unique(ids) if known.shares[k] > 0]
    logs = np.log10(known.shares[kinds])
    for k in range(3):
        means = [coordinates[ids == kind, k].mean() for kind in kinds]
        expected = abs(np.corrcoef(means, logs)[0, 1])
        row = values[f"{MEASURE}/component_{k + 1}"]
        # Vectors are in single precision.
        assert row.value == pytest.approx(expected, abs=1e-5)
        assert (row.n, row.part, row.correction) == (len(kinds), "block 1", "none")
        assert row.low is not None
        assert row.high is not None
        assert 0 <= row.low <= row.value <= row.high  # type: ignore[operator]
        assert "over kinds of tokens" in row.protocol
    ranked = [k for k in np.unique(ids) if not np.isnan(known.shares[k])]
    lengths = np.linalg.norm(vectors.astype(np.float64), axis=1)
    means = [lengths[ids == kind].mean() for kind in ranked]
    assert len(ranked) == len(kinds) + 1  # what the text lacks is the rarest
    assert values[NORM].n == len(ranked)
    assert values[NORM].value == pytest.approx(spearmanr(means, known.shares[ranked]).statistic)


def test_components_are_those_of_all_tokens() -> None:
    vectors, ids, known = occurrences(1)
    vectors[ids == 3] += 40  # the fourth token has no frequency, but the largest spread
    found = frequency_directions("block 1", vectors, ids, words(ids), known).scatter
    outside = np.flatnonzero(ids != 3)
    coordinates = np.abs(projected(vectors))
    firsts = {round(entry, 3) for entry in coordinates[outside, 0].tolist()}
    assert {round(abs(entry["first"]), 3) for entry in found.rows} <= firsts


def test_points_of_the_picture() -> None:
    vectors, ids, known = occurrences(2)
    found = frequency_directions("block 1", vectors, ids, words(ids), known).scatter
    assert len(found.rows) == POINTS
    with_one = int((np.nan_to_num(known.shares[ids]) > 0).sum())
    assert found.note == f"2,000 of {with_one:,} tokens with a frequency, drawn at random"
    coordinates = np.abs(projected(vectors)[:, :2])
    for entry in found.rows[:50]:
        kind = int(entry["token"].removeprefix("w"))
        assert entry["log10_frequency"] == pytest.approx(np.log10(known.shares[kind]))
        point = np.abs([entry["first"], entry["second"]])
        assert np.abs(coordinates[ids == kind] - point).max(axis=1).min() < 1e-4
    few = frequency_directions("block 1", vectors[:50], ids[:50], words(ids[:50]), known).scatter
    assert "drawn" not in few.note
    other = frequency_directions("block 1", vectors, ids, words(ids), known, seed=1).scatter
    assert other.rows != found.rows


@pytest.mark.parametrize("seed", range(5))
def test_a_planted_direction_and_none(seed: int) -> None:
    vectors, ids, known = occurrences(seed)
    plain = frequency_directions("block 1", vectors, ids, words(ids), known).rows
    assert all(abs(row.value) < 0.3 for row in plain)  # type: ignore[arg-type]
    logs = np.log10(1 / (ids + 1))
    vectors[:, 4] += 6 * logs  # spread over kinds 2.5, against 1: r of about 0.93
    found = frequency_directions("block 1", vectors, ids, words(ids), known).rows
    assert found[0].measure == FIRST
    assert found[0].value > 0.8  # type: ignore[operator]


@pytest.mark.parametrize("seed", range(5))
def test_planted_lengths(seed: int) -> None:
    rng = np.random.default_rng(seed)
    ids = np.arange(500)
    known = Frequencies(1 / (ids + 10), "made")
    vectors = rng.normal(0, 1, (500, 8)) * (1 + ids[:, None] / 100)
    row = frequency_directions("matrix", vectors, ids, words(ids), known).rows[-1]
    assert row.measure == NORM
    assert row.value < -0.7  # type: ignore[operator]


def test_a_component_without_variance_has_no_correlation() -> None:
    rng = np.random.default_rng(0)
    vectors = rng.normal(0, 1, (50, 2)) @ rng.normal(0, 1, (2, 5))
    known = Frequencies(rng.random(50), "made")
    ids = np.arange(50)
    rows = frequency_directions("matrix", vectors, ids, words(ids), known).rows
    assert [row.value is None for row in rows] == [False, False, True, False]
    assert "no variance" in rows[2].note


def test_no_frequency_no_correlation() -> None:
    vectors, ids, _ = occurrences(0, 40)
    known = Frequencies(np.full(KINDS, np.nan), "made")
    found = frequency_directions("block 1", vectors, ids, words(ids), known)
    assert [row.value for row in found.rows] == [None] * 4
    assert {row.note for row in found.rows} == {"undefined: fewer than two pairs"}
    assert found.scatter.rows == []


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ((0.5, 0.3, 0.6), (0.5, 0.3, 0.6)),
        ((-0.5, -0.6, -0.3), (0.5, 0.3, 0.6)),
        ((-0.1, -0.4, 0.2), (0.1, 0.0, 0.4)),
        ((-1.0, None, None), (1.0, None, None)),
        ((None, None, None), (None, None, None)),
    ],
)
def test_signs_are_arbitrary(
    given: tuple[float | None, ...], expected: tuple[float | None, ...]
) -> None:
    found = absolute(Score(*given, 9))
    assert (found.value, found.low, found.high) == expected
