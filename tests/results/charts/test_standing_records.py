from __future__ import annotations

import math
from typing import Any

from isoscope.results.charts.marks import (
    entries_of,
    interval_of,
    is_number,
    is_standing,
    standing_rows,
    standing_tables,
)
from isoscope.results.result import Result, Row, Table


def test_rows_of_trainings_belong_to_other_charts() -> None:
    row = Row("m", "block 1", "none", "mean_cosine", 0.5)
    assert is_standing(row)
    for name in ("revision", "step", "factor", "factors"):
        assert not is_standing(Row("m", "", "none", "x", 0.5, extra={name: 0}))
    made = Result([row, Row("m", "", "none", "x", None), Row("m", "", "none", "x", math.inf)])
    assert list(standing_rows(made)) == [row]


def test_numbers_are_finite_and_no_truths() -> None:
    assert is_number(0)
    assert is_number(-1.5)
    assert not any(is_number(value) for value in (None, True, "1", math.nan, -math.inf))


def test_rows_of_tables_that_lack_something_are_left_out() -> None:
    rows: list[dict[str, Any]] = [
        {"dimension": 1, "mean": 0.5, "layer": "a"}, {"dimension": 2, "mean": None, "layer": "a"},
        {"dimension": 3, "mean": 0.5}, {"other": 1},
    ]  # fmt: skip
    table = Table("m", "", "none", "means", rows)
    assert entries_of(table, ["dimension", "mean"], ["layer"]) == rows[:1]
    assert entries_of(table, ["dimension", "mean"]) == [rows[0], rows[2]]


def test_tables_after_corrections_and_of_checkpoints_are_left_out() -> None:
    table = Table("m", "", "none", "means", [])
    others = [
        Table("m", "", "center", "means", []), Table("m", "", "none", "other", []),
        Table("m", "", "none", "means", [], extra={"step": 3}),
    ]  # fmt: skip
    assert standing_tables(Result([], [*others, table]), "means") == [table]


def test_half_an_interval_is_none() -> None:
    assert interval_of(Row("m", "", "none", "x", 1.0, low=0.0, high=2.0)) == {"low": 0.0, "high": 2}
    assert interval_of(Row("m", "", "none", "x", 1.0, low=0.0)) == {}
    assert interval_of(Row("m", "", "none", "x", 1.0, low=0.0, high=math.nan)) == {}
