"""Bands of frequency against their definition."""

from __future__ import annotations

import numpy as np
import pytest

from isoscope.models.frequencies import Frequencies
from isoscope.results.result import Row
from isoscope.verbs.explain.topics.frequency import BANDS, WITH_MEAN, band_numbers, band_rows


def test_ranks_count_tokens_of_the_text_only() -> None:
    shares = np.arange(12_000, 0, -1) / 1e8
    shares[5] = np.nan  # 6th: everything behind moves up by one
    shares[11_000:] = 0
    bands = band_numbers(Frequencies(shares, "made"))
    assert bands[5] == -1
    assert (bands[[0, 4, 6, 100]] == 0).all()
    assert bands[101] == 1
    assert (bands[[1_000, 1_001]] == (1, 2)).all()
    assert (bands[[10_000, 10_001, 10_999, 11_000, 11_999]] == (2, 3, 3, 4, 4)).all()
    assert np.bincount(bands[bands >= 0]).tolist() == [100, 900, 9_000, 999, 1_000]


def test_ties_go_by_the_order_of_the_vocabulary() -> None:
    shares = np.full(150, 0.001)
    shares[149] = 0.5
    bands = band_numbers(Frequencies(shares, "made"))
    assert np.flatnonzero(bands == 0).tolist() == [*range(99), 149]


def mean_cosine(vectors: np.ndarray) -> float:
    cosines = [
        float(a @ b / np.sqrt((a @ a) * (b @ b)))
        for k, a in enumerate(vectors)
        for b in vectors[:k]
    ]
    return float(np.mean(cosines))


def by_part(rows: list[Row]) -> dict[tuple[str, str], Row]:
    return {(row.part, row.measure): row for row in rows}


def test_a_matrix_by_brute_force() -> None:
    rng = np.random.default_rng(0)
    vectors = rng.normal(0.3, 1, (230, 6)).astype(np.float32)
    shares = rng.permutation(
        np.r_[np.linspace(0.001, 0.01, 150), np.zeros(40), np.full(40, np.nan)]
    )
    known = Frequencies(shares, "made")
    rows = by_part(band_rows("matrix", vectors, np.arange(230), known))
    order = np.argsort(-np.nan_to_num(shares, nan=-1.0))
    groups = {
        BANDS[0]: order[:100],
        BANDS[1]: order[100:150],
        BANDS[4]: np.flatnonzero(shares == 0),
    }
    assert {part for part, _ in rows} == {f"matrix, {name}" for name in groups}
    wide = vectors.astype(np.float64)
    mean = wide.mean(axis=0)
    for name, inside in groups.items():
        own = wide[inside]
        found = {measure: row for (part, measure), row in rows.items() if part.endswith(name)}
        assert found["mean_cosine"].value == pytest.approx(mean_cosine(own), abs=1e-6)
        lengths = np.linalg.norm(own, axis=1)
        assert found["mean_norm"].value == pytest.approx(lengths.mean(), rel=1e-6)
        centre = own.mean(axis=0)
        cosine = centre @ mean / np.linalg.norm(centre) / np.linalg.norm(mean)
        assert found[WITH_MEAN].value == pytest.approx(cosine, rel=1e-6)
        scaled = own / np.sqrt(np.mean(lengths**2))
        logs = [
            max(np.logaddexp.reduce(scaled @ c), np.logaddexp.reduce(-scaled @ c))
            for c in np.linalg.eigh(scaled.T @ scaled)[1].T
        ]
        assert found["i1_scaled"].value == pytest.approx(np.exp(min(logs) - max(logs)), rel=1e-4)
        for row in found.values():
            assert (row.n, row.low, row.subject) == (len(inside), None, "")
            assert "230 rows, 40 without a frequency left out" in row.protocol
            assert row.protocol.endswith("frequencies: made")


def test_occurrences_have_intervals_by_text() -> None:
    rng = np.random.default_rng(1)
    ids = rng.integers(0, 300, 2_000)
    vectors = rng.normal(0.2, 1, (2_000, 5))
    texts = np.repeat(np.arange(100), 20)
    # Tokens of a text are alike: taken for independent they would have too short an interval.
    vectors += np.repeat(rng.normal(0, 0.5, (100, 5)), 20, axis=0)
    known = Frequencies(np.linspace(0.1, 0.001, 300), "made")
    rows = by_part(band_rows("block 2", vectors, ids, known, texts))
    alone = by_part(band_rows("block 2", vectors, ids, known, np.arange(2_000)))
    key = (f"block 2, {BANDS[1]}", "mean_cosine")
    assert rows[key].n == int((ids >= 100).sum())
    width, other = (
        found[key].high - found[key].low  # type: ignore[operator]
        for found in (rows, alone)
    )
    assert width > 1.2 * other
    assert "rows of one text counted together" in rows[key].protocol


def test_small_bands_are_left_out_with_a_note() -> None:
    rng = np.random.default_rng(2)
    known = Frequencies(np.linspace(0.1, 0.001, 129), "made")
    rows = band_rows("matrix", rng.normal(size=(129, 4)), np.arange(129), known)
    small = [row for row in rows if BANDS[1] in row.part]
    assert {(row.value, row.n, row.note) for row in small} == {
        (None, 29, "left out: fewer than 30 rows")
    }
    assert len(small) == 4
    whole = Frequencies(np.linspace(0.1, 0.001, 130), "made")
    rows = band_rows("matrix", rng.normal(size=(130, 4)), np.arange(130), whole)
    assert all(row.value is not None for row in rows)


def test_a_mean_of_zero_has_no_direction() -> None:
    half = np.random.default_rng(3).integers(-3, 4, (40, 3)).astype(float)
    vectors = np.concatenate([half, -half])
    rows = band_rows("matrix", vectors, np.arange(80), Frequencies(np.ones(80), "made"))
    row = next(row for row in rows if row.measure == WITH_MEAN)
    assert (row.value, row.note) == (None, "undefined: a mean is 0")
