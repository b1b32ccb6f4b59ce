"""Corrections from sums: streams, parts and whole are the same."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from clouds_for_tests import shifted
from hypothesis import given
from hypothesis import strategies as st

import isoscope
from isoscope.corrections import (
    AllButTheTop,
    Center,
    Clip,
    ScaledCenter,
    Standardize,
    Whiten,
    fit_together,
)
from isoscope.corrections.closed_form import ClosedForm
from isoscope.errors import DataError, UsageError
from isoscope.measures.reads.moments import MomentParts
from isoscope.measures.reads.passes import first_read

CLOUD = shifted(0, 5_000, 8)
CLOUD[:, 3] += 9
NEW = shifted(1, 30, 8)
MAKERS: list[Callable[[], ClosedForm]] = [
    Center,
    ScaledCenter,
    lambda: AllButTheTop(2),
    lambda: AllButTheTop(2, project="original"),
    Whiten,
    lambda: Whiten(3, kind="zca"),
    Standardize,
    lambda: Clip(threshold=0.2),
    lambda: Clip([1, 2]),
]
every_correction = pytest.mark.parametrize("make", MAKERS, ids=lambda make: repr(make()))


@every_correction
def test_a_file_gives_what_memory_gives(make: Callable[[], ClosedForm], tmp_path: Path) -> None:
    np.save(tmp_path / "cloud.npy", CLOUD)
    streamed = make().fit_cloud(tmp_path / "cloud.npy")
    assert streamed.moments_.rows == len(CLOUD)
    expected = make().fit(CLOUD).transform(NEW)
    np.testing.assert_allclose(streamed.transform(NEW), expected, atol=1e-11)


@every_correction
def test_merged_parts_and_a_stream_give_the_whole(make: Callable[[], ClosedForm]) -> None:
    whole = make().fit(CLOUD).transform(NEW)
    first, second = make().fit(CLOUD[:1_234]), make().fit(CLOUD[1_234:])
    before = first.transform(NEW)
    np.testing.assert_allclose(first.merge(second).transform(NEW), whole, atol=1e-11)
    np.testing.assert_array_equal(first.transform(NEW), before)
    stream = make()
    for part in np.split(CLOUD, [1, 2, 50, 4_000]):
        stream.partial_fit(part)
    np.testing.assert_allclose(stream.transform(NEW), whole, atol=1e-11)


@given(st.integers(1, 199), st.integers(0, 50))
def test_any_cut_merges_to_the_whole(cut: int, seed: int) -> None:
    rows = shifted(seed, 200, 4)
    weights = np.random.default_rng(seed).random(200)
    for make in (Whiten, AllButTheTop, ScaledCenter):
        parts = [
            make().fit(rows[part], sample_weight=weights[part])
            for part in (slice(0, cut), slice(cut, None))
        ]
        whole = make().fit(rows, sample_weight=weights)
        np.testing.assert_allclose(
            parts[0].merge(parts[1]).transform(rows), whole.transform(rows), atol=1e-9
        )


@every_correction
def test_moments_of_measures_fit_corrections(make: Callable[[], ClosedForm]) -> None:
    moments = first_read(isoscope.open_cloud(CLOUD), MomentParts())["array"].moments
    fitted = make().fit_moments(moments)
    np.testing.assert_allclose(fitted.transform(NEW), make().fit(CLOUD).transform(NEW), atol=1e-11)


@every_correction
def test_several_share_one_read(make: Callable[[], ClosedForm]) -> None:
    reads = []
    fitted = fit_together(
        [make(), Whiten(), Center()], CLOUD, progress=lambda _, done, __: reads.append(done)
    )
    assert reads.count(len(CLOUD)) == 1
    for one, alone in zip(fitted, (make(), Whiten(), Center()), strict=True):
        np.testing.assert_allclose(one.transform(NEW), alone.fit(CLOUD).transform(NEW), atol=1e-11)


def test_weights_of_a_stream_belong_to_its_rows(tmp_path: Path) -> None:
    np.save(tmp_path / "cloud.npy", CLOUD)
    weights = np.random.default_rng(0).random(len(CLOUD))
    streamed = Whiten().fit_cloud(tmp_path / "cloud.npy", sample_weight=weights)
    expected = Whiten().fit(CLOUD, sample_weight=weights).transform(NEW)
    np.testing.assert_allclose(streamed.transform(NEW), expected, atol=1e-11)
    for number in (len(CLOUD) - 1, len(CLOUD) + 1):
        with pytest.raises(UsageError, match="weights"):
            Whiten().fit_cloud(CLOUD, sample_weight=np.ones(number))


def test_weights_that_make_no_sense_are_refused() -> None:
    for fit in (Center().fit, Center().fit_cloud):
        with pytest.raises(DataError, match="negative"):
            fit(CLOUD, sample_weight=-np.ones(len(CLOUD)))
        with pytest.raises(UsageError, match="per row"):
            fit(CLOUD, sample_weight=np.ones((len(CLOUD), 1)))
    with pytest.raises(DataError, match="sum to zero"):
        Whiten().fit(CLOUD, sample_weight=np.zeros(len(CLOUD)))


def test_a_stream_of_single_vectors_is_decomposed_only_when_used(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls = []
    solve = Whiten._solve
    monkeypatch.setattr(
        Whiten, "_solve", lambda self, summary: calls.append(1) or solve(self, summary)
    )
    stream = Whiten()
    for row in CLOUD[:20]:
        stream.partial_fit(row[None])
    assert len(calls) == 1  # the first is a fit
    np.testing.assert_allclose(
        stream.transform(NEW), Whiten().fit(CLOUD[:20]).transform(NEW), atol=1e-9
    )


def test_only_equal_corrections_merge() -> None:
    with pytest.raises(UsageError, match="differ"):
        AllButTheTop(1).fit(CLOUD).merge(AllButTheTop(2).fit(CLOUD))
    with pytest.raises(UsageError, match="differ"):
        Center().fit(CLOUD).merge(Standardize().fit(CLOUD))
    with pytest.raises(DataError, match="dimensions"):
        Center().fit(CLOUD).merge(Center().fit(CLOUD[:, :3]))


def test_moments_without_what_is_needed_are_refused() -> None:
    parts = MomentParts(scatter=False, dimensions=False)
    moments = first_read(isoscope.open_cloud(CLOUD), parts)["array"].moments
    Center().fit_moments(moments)
    with pytest.raises(UsageError, match="scatter"):
        Whiten().fit_moments(moments)
    with pytest.raises(UsageError, match="dimensions"):
        Clip().fit_moments(moments)
    with pytest.raises(UsageError, match="stored"):
        Center().fit_moments(moments, "float8")


def test_the_coarsest_type_decides_what_is_rounding() -> None:
    """Noise of 1e-9 is data in float64 and rounding beside float32."""
    rows = shifted(2, 300, 4)
    rows[:, 2] = 1e-9 * rows[:, 1]
    rows[:, 2] += 1e-10 * np.random.default_rng(0).standard_normal(300)
    assert Standardize().fit(rows).dropped_.size == 0
    mixed = Standardize().fit(rows).partial_fit(rows.astype(np.float32))
    assert list(mixed.dropped_) == [2]
    assert mixed.stored_ == "float32"
