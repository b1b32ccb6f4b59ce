"""What a run may take, and the line that says so before it begins."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import numpy as np
import pytest

import isoscope
from isoscope.compute import memory
from isoscope.compute.memory import (
    check_matrices,
    container_memory,
    limited,
    memory_limit,
    parsed_size,
)
from isoscope.corrections import Center, Whiten
from isoscope.errors import UsageError

CLOUD = np.random.default_rng(0).standard_normal((1_100, 1_000))


@pytest.mark.parametrize("text", ["", "8 apples", "-1GB", "1e9", "0GB"])
def test_what_is_no_size(text: str) -> None:
    with pytest.raises(UsageError, match="--max-memory"):
        parsed_size(text)


@pytest.mark.parametrize("text", ["5", "8 B", "0.5", "999999"])
def test_a_size_without_its_unit(text: str) -> None:
    with pytest.raises(UsageError, match="--max-memory has no unit, and would be .* bytes"):
        parsed_size(text)
    assert parsed_size("1000000") == 10**6


def test_the_limit_that_is_named_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ISOSCOPE_MAX_MEMORY", "2GB")
    assert memory_limit() == 2 * 10**9
    with limited("1GB"):
        assert memory_limit() == 10**9
        with limited(None):
            assert memory_limit() == 10**9
    monkeypatch.delenv("ISOSCOPE_MAX_MEMORY")
    monkeypatch.setattr(memory, "free_memory", lambda: 4_000)
    monkeypatch.setattr(memory, "container_memory", lambda: 2_000)
    assert memory_limit() == 1_500


def test_the_limit_of_a_container(tmp_path: Path) -> None:
    assert container_memory(tmp_path) is None
    (tmp_path / "memory.max").write_text("max\n")
    (tmp_path / "memory.current").write_text("100\n")
    assert container_memory(tmp_path) is None
    (tmp_path / "memory.max").write_text("1000\n")
    assert container_memory(tmp_path) == 900
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory" / "memory.limit_in_bytes").write_text("500")
    (tmp_path / "memory" / "memory.usage_in_bytes").write_text("600")
    assert container_memory(tmp_path) == 0


def test_work_that_does_not_fit_is_refused_with_the_figure() -> None:
    with limited("8GB"):
        check_matrices(1_000, 12, "measuring x", "y")
        with pytest.raises(
            UsageError,
            match=r"measuring x takes about 38\.4 GB for matrices of 20,000 × 20,000, and 8\.0 GB "
            r"may be used \(--max-memory or ISOSCOPE_MAX_MEMORY\); do y",
        ):
            check_matrices(20_000, 12, "measuring x", "do y")


def test_measures_and_corrections_are_guarded() -> None:
    with limited("50MB"):
        with pytest.raises(UsageError, match=r"measuring array takes about 96\.0 MB.*--measures"):
            isoscope.measure(CLOUD)
        assert isoscope.measure(CLOUD, "mean_cosine", "none").value("mean_cosine") is not None
    with limited("20MB"):
        with pytest.raises(UsageError, match="fitting on .* choose a correction without"):
            Whiten().fit(np.hstack([CLOUD, CLOUD]))
        Center().fit(CLOUD)


def test_sums_of_blocks_are_guarded_and_left_out_of_few_rows() -> None:
    wide = np.ones((70, 100_000), np.float32)
    with limited("80MB"):
        with pytest.raises(
            UsageError, match=r"with intervals takes about 99\.2 MB .* with --no-intervals"
        ):
            isoscope.measure(wide, "mean_cosine", "none")
        isoscope.measure(wide, "mean_cosine", "none", intervals=False)
    tracemalloc.start()
    try:
        row = isoscope.measure(wide[:9], "mean_cosine", "none").row("mean_cosine")
        assert tracemalloc.get_traced_memory()[1] < 8 * 2 * wide[:9].size
    finally:
        tracemalloc.stop()
    assert row.extra["no_interval"] == "fewer than 62 rows"
