"""What a terminal shows of two clouds."""

from __future__ import annotations

import numpy as np
from screens_for_tests import screen_lines, words_of

import isoscope

RANDOM = np.random.default_rng(8)
A = RANDOM.normal(size=(600, 10)) + 1


def test_what_may_not_be_kept() -> None:
    other = RANDOM.normal(size=(500, 10)) * 0.5 + 3
    result = isoscope.diff(A, other, same_rows=False)
    keep = {row.correction: row.extra["keep"] for row in result.rows
            if row.part == "keeping" and "threshold" not in row.extra}  # fmt: skip
    assert keep["center"] is False
    lines = screen_lines(result)
    text = words_of(lines)
    assert "Significant differences:" in text
    assert "A's correction may not be kept for B" in text
    assert "isoscope correct fit B --correction center" in text
    assert any(line.startswith("  center   replace") for line in lines)


def test_neighbours_in_common_stand_beside_the_chance_level() -> None:
    other = RANDOM.normal(size=(500, 10)) * 0.5 + 3
    result = isoscope.diff(A, other, same_rows=False)
    lines = screen_lines(result, 120)
    kept, chance = (
        next(
            row for row in result.rows if row.correction == "center" and row.measure.endswith(name)
        )
        for name in ("neighbours_kept@10", "neighbours_kept@10/by_chance")
    )
    line = next(line for line in lines if line.startswith("  center   replace"))
    assert line.split()[2:4] == [f"{row.value:.2f}" for row in (kept, chance)]
    assert "by chance: the same share for two fits on rows of B" in words_of(lines)


def test_what_may_be_kept() -> None:
    more = RANDOM.normal(size=(600, 10)) + 1
    result = isoscope.diff(A, more, same_rows=False)
    kept = {row.extra["keep"] for row in result.rows if row.part == "keeping"}
    text = words_of(screen_lines(result))
    if kept == {True}:
        assert "may not be kept" not in text
    assert "A's correction may be kept for B" in text


def test_rows_are_counted_once_where_they_are_the_same() -> None:
    turned = A @ np.linalg.qr(RANDOM.normal(size=(10, 10)))[0]
    (title, *_) = screen_lines(isoscope.diff(A, turned, same_rows=True))
    assert title.endswith("· the same 600 rows")
    (title, *_) = screen_lines(isoscope.diff(A, turned, same_rows=False))
    assert title.endswith("· 1,200 rows")


def test_the_same_vectors() -> None:
    text = words_of(screen_lines(isoscope.diff(A, A)))
    assert "every difference is exactly 0" in text


def test_why_there_is_no_statement() -> None:
    """A reader of the short screen learns what is missing, as one of the details does."""
    cloud = np.random.default_rng(0).normal(size=(500, 64)) + 0.3
    result = isoscope.diff(cloud[:250], cloud[250:], same_rows=False)
    text = words_of(screen_lines(result))
    assert "No statement on A's correction (whiten): there are too few rows" in text
    assert "(whiten): A has 250 rows, and a threshold after whitening 64 dimensions needs" in text
    reasons = {row.extra["no_statement"] for row in result.rows if row.extra.get("no_statement")}
    assert len(reasons) >= 2
    for reason in reasons:
        assert reason in text
