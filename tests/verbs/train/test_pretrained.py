"""A training from scratch as tables: steps, moves of the last recorded step, and the mean row."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from isoscope.results.kinds import grids, kind_of
from isoscope.results.render import html, markdown, plain
from isoscope.results.result import Result, Row, Table
from isoscope.verbs.train.text import pretraining_grids

POINTS = [(0, 3_999.5, None), (500, 120.25, 6.125), (1_000, 63.126, 4.5)]
DRIFT = ("length_of_mean", "drift_of_mean", "cosine_with_enemy", "common_share_of_step")


def step_rows() -> list[Row]:
    return [
        Row("tiny", f"step{step}", "none", measure, value, n=900, protocol="clm, 1,000 steps",
            extra={"step": step, "unit": "tokens"})
        for step, perplexity, loss in POINTS
        for measure, value in (("perplexity", perplexity), ("training_loss", loss))
        if value is not None
    ]  # fmt: skip


def move(step: int, update: str, band: str, share: float | None, pairs: float | None) -> Any:
    return {
        "step": step, "update": update, "band": band, "rows": 9, "share_against_h": share,
        "mean_cosine_against_h": share, "non_targets": 8, "share_of_non_targets": 1.0,
        "pair_cosine_of_non_targets": pairs,
    }  # fmt: skip


def recordings(count: int = 3) -> list[Table]:
    moves = [
        move(step, update, band, None if band == "never seen" else 0.75 + step / 1_000, 0.5)
        for step in range(100, 100 + count)
        for update in ("SGD", "AdamW")
        for band in ("all", "never seen")
    ]
    drift = [
        {"step": step, **dict.fromkeys(DRIFT, step / 1_000), "cosine_with_enemy": None}
        for step in range(100, 100 + count)
    ]
    return [
        Table(
            "tiny", "unembedding matrix", "none", "common_enemies", moves, "rows in single steps"
        ),
        Table("tiny", "unembedding matrix", "none", "mean_drift", drift, "the mean row"),
    ]


def result(*tables: Table, **extra: Any) -> Result:
    return Result(step_rows(), list(tables), extra={"kind": "pretraining", **extra})


def test_steps_down() -> None:
    (grid,) = pretraining_grids(result(seconds=1_234.4))
    assert grid.title == "tiny: trained from scratch"
    assert grid.header == ["step", "perplexity on validation", "training loss before"]
    # Before the first step nothing was learned, so there is no loss.
    assert grid.rows == [
        ["0", "3999.50", ""], ["500", "120.25", "6.125"], ["1000", "63.13", "4.500"],
    ]  # fmt: skip
    assert grid.notes == ["clm, 1,000 steps", "1,234 s of training"]
    assert grid.verdict == ["Verdict: perplexity went from 3,999.5 to 63.1 by step 1000."]


@pytest.mark.parametrize("extra", [{}, {"seconds": 0.4}, {"seconds": None}])
def test_no_time_is_told_where_there_is_none(extra: dict[str, Any]) -> None:
    (grid,) = pretraining_grids(result(**extra))
    assert grid.notes == ["clm, 1,000 steps"]


def test_moves_are_those_of_the_last_recorded_step() -> None:
    _, moves, _ = pretraining_grids(result(*recordings()))
    assert moves.title == "tiny: how rows of the output matrix move in step 102"
    assert moves.header == [
        "update and tokens", "rows that move against h", "of those that are no target",
        "mean cosine of these moves",
    ]  # fmt: skip
    assert moves.rows == [
        ["SGD: all", "0.852", "1.000", "0.500"],
        ["SGD: never seen", "", "1.000", "0.500"],
        ["AdamW: all", "0.852", "1.000", "0.500"],
        ["AdamW: never seen", "", "1.000", "0.500"],
    ]
    assert "h: mean of what predicts" in moves.notes[0]


def test_the_mean_row_by_step() -> None:
    *_, drift = pretraining_grids(result(*recordings()))
    assert drift.title == "tiny: the mean row"
    assert len(drift.header) == 1 + len(DRIFT)
    assert drift.rows == [
        [str(step), f"0.{step}0", f"0.{step}0", "", f"0.{step}0"] for step in (100, 101, 102)
    ]


@pytest.mark.parametrize(
    ("count", "shown"),
    [(1, [100]), (10, list(range(100, 110))), (11, list(range(100, 111, 2)))],
)
def test_ten_steps_at_most_and_always_the_last(count: int, shown: list[int]) -> None:
    *_, drift = pretraining_grids(result(*recordings(count)))
    assert [row[0] for row in drift.rows] == [str(step) for step in shown]


def test_many_steps_are_thinned_evenly() -> None:
    for count in range(1, 60):
        *_, drift = pretraining_grids(result(*recordings(count)))
        steps = [int(row[0]) for row in drift.rows]
        assert 1 <= len(steps) <= 10
        assert steps[-1] == 99 + count
        assert len({later - step for step, later in pairwise(steps)}) <= 1


def test_one_kind_of_recording_alone() -> None:
    moves, drift = recordings()
    assert len(pretraining_grids(result(moves))) == 2
    assert len(pretraining_grids(result(drift))) == 2


def test_it_is_known_by_its_kind_also_from_a_file() -> None:
    made = result(*recordings(), seconds=5.0)
    again = Result.from_json(made.to_json())
    assert kind_of(made) == kind_of(again) == "pretraining"
    assert kind_of(Result(step_rows())) != "pretraining"
    assert kind_of(Result(step_rows(), extra={"kind": "fine-tuning"})) != "pretraining"
    assert grids(again) == grids(made) == pretraining_grids(made)
    assert len(grids(made)) == 3


@pytest.mark.parametrize("shown", [plain, markdown, html])
def test_every_way_to_show_it(shown: Any) -> None:
    text = shown(result(*recordings()))
    for words in ("trained from scratch", "63.13", "move in step 102", "AdamW: all"):
        assert words in text
    # The moves have a table of their own: no preview shows them again.
    assert text.count("move in step 102") == 1
    assert "common_enemies" not in text
    assert "nan" not in text.lower()
    assert "None" not in text
