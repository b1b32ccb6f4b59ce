from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from clouds_for_tests import shifted

import isoscope
from isoscope.data.arrays import ArrayCloud
from isoscope.results.result import Result
from isoscope.verbs.measure import preliminary as module

CLOUD = shifted(0, 20_000, 6).astype(np.float32)


@pytest.fixture
def everything_is_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LONG", -1.0)
    monkeypatch.setattr(module, "FIRST_LOOK", 0.0)


class Seekable(ArrayCloud):
    asked: np.ndarray | None = None

    def read_rows(self, indices: np.ndarray) -> Any:
        self.asked = indices
        return self._array[indices]


@pytest.mark.usefixtures("everything_is_long")
def test_a_source_that_can_be_read_anywhere_is_sampled_at_once() -> None:
    shown: list[Result] = []
    cloud = Seekable(CLOUD)
    result = isoscope.measure(cloud, provisional=shown.append)
    (first,) = shown
    assert cloud.asked is not None
    assert len(cloud.asked) == 4_096
    assert (np.diff(cloud.asked) > 0).all()
    assert first.rows[0].n == 4_096
    assert result.rows[0].n == 20_000
    alone = isoscope.measure(CLOUD[cloud.asked])
    assert first.value("mean_cosine") == pytest.approx(alone.value("mean_cosine"))


@pytest.mark.usefixtures("everything_is_long")
def test_others_answer_from_the_sample_of_the_first_read() -> None:
    shown: list[Result] = []
    result = isoscope.measure(
        [CLOUD[:9_000], CLOUD[9_000:]], ["mean_cosine", "i1"], ["none", "center"],
        provisional=shown.append,
    )  # fmt: skip
    (first,) = shown
    assert first.rows[0].n == 1_024
    assert {row.correction for row in first.rows} == {"none", "center"}
    low, high = first.rows[0].low, first.rows[0].high
    assert low is not None
    assert high is not None
    slack = high - low
    assert low - slack < result.value("mean_cosine") < high + slack


@pytest.mark.usefixtures("everything_is_long")
def test_every_part_is_in_the_provisional_answer(tmp_path: Path) -> None:
    for layer in (1, 2):
        np.save(tmp_path / f"layer_{layer}.npy", CLOUD[: 3_000 * layer])
    shown: list[Result] = []
    isoscope.measure(str(tmp_path / "layer_{layer}.npy"), provisional=shown.append)
    assert {row.part for row in shown[0].rows} == {"layer 1", "layer 2"}


def test_short_work_shows_the_answer_only() -> None:
    shown: list[Result] = []
    isoscope.measure(CLOUD, provisional=shown.append)
    assert not shown


@pytest.mark.usefixtures("everything_is_long")
def test_a_sample_needs_no_other_sample() -> None:
    shown: list[Result] = []
    isoscope.measure(CLOUD, sample=500, provisional=shown.append)
    assert not shown
