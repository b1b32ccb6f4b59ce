"""Tables of text and the numbers in them."""

from __future__ import annotations

from isoscope.compute.stats.estimates import Estimate
from isoscope.results.numbers import cell, shown, with_interval, with_spread
from isoscope.results.result import Row
from isoscope.results.tables import grouped, pivot, said_once

ROWS = [
    Row("m", "layer 1", "none", "a", 1.0),
    Row("m", "layer 2", "none", "a", 2.0),
    Row("m", "layer 1", "center", "a", 3.0),
]


def test_pivot_has_lines_and_columns_in_the_order_of_the_rows_and_empty_cells() -> None:
    header, body = pivot(ROWS, "part", "correction", cell, corner="layer")
    assert header == ["layer", "none", "center"]
    assert body == [["layer 1", "1.0000", "3.0000"], ["layer 2", "2.0000", ""]]


def test_pivot_takes_keys_of_its_own_and_words_for_them() -> None:
    header, body = pivot(
        ROWS,
        lambda row: (row.part, row.measure),
        "correction",
        cell,
        lines={("layer 2", "a"): "last"},
        columns=["center", "none"],
    )
    assert header == ["", "center", "none"]
    assert body == [["last", "", "2.0000"]]


def test_a_row_has_value_interval_count_and_note_of_an_estimate() -> None:
    found = Estimate(0.5, 0.4, 0.6, 20, "of few")
    assert Row.of(found, "s", "p", "none", "m", protocol="how") == Row(
        "s", "p", "none", "m", 0.5, low=0.4, high=0.6, n=20, protocol="how", note="of few"
    )
    other = Row.of(found, "s", "p", "none", "m", n=3, note="mine", extra={"unit": "pairs"})
    assert (other.n, other.note, other.extra) == (3, "mine", {"unit": "pairs"})
    assert Row.of(None, "s", "p", "none", "m") == Row("s", "p", "none", "m", None)
    assert Row.of(2.0, "s", "p", "none", "m", n=1) == Row("s", "p", "none", "m", 2.0, n=1)


def test_numbers_are_written_with_their_interval_or_deviation() -> None:
    found = Estimate(0.5, 0.4, 0.6, 20)
    assert with_interval(found, ".2f") == "0.50 (0.40 to 0.60)"
    assert with_interval(found, "+.2f", ".1f", to="–") == "+0.50 (0.4–0.6)"
    assert with_interval(found, "{:.0%}".format) == "50% (40% to 60%)"
    assert with_interval(Estimate(0.5, None, None, 20), ".2f") == "0.50"
    assert with_interval(Estimate(None, None, None, 0), ".2f", undefined="–") == "–"
    assert with_interval(None, ".2f") == ""
    assert with_spread(0.5, 0.1) == "0.5000 ± 0.1000"
    assert with_spread(0.5, None, ".1f") == "0.5"
    assert with_spread(0.0005, 0.0001) == "5.0e-04 ± 1.0e-04"
    assert [shown(value) for value in (None, "word", 12345, 0.123456)] == [
        "undefined", "word", "12,345", "0.1235",
    ]  # fmt: skip


def test_a_note_is_said_once_with_all_that_it_is_about() -> None:
    notes = [("a", "why"), ("b", ""), ("c", "why"), ("a", "why"), ("d", "other")]
    assert said_once(notes) == ["a, c: why", "d: other"]
    assert grouped([3, 1, 5, 2], lambda number: number % 2) == {1: [3, 1, 5], 0: [2]}
