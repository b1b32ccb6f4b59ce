"""Forest plots."""

from __future__ import annotations

import pytest

from isoscope.results.screen.cells import width
from isoscope.results.screen.forest import Entry, forest

ENTRIES = [
    Entry("clip", 0.21, 0.17, 0.25, "recommended"),
    Entry("center", 0.0, -0.01, 0.01, "not significant"),
    Entry("whiten", None),
]


@pytest.mark.parametrize("room", [50, 78, 120])
@pytest.mark.parametrize("plain", [False, True])
def test_a_line_for_every_entry(room: int, plain: bool) -> None:
    ticks, *lines = forest(ENTRIES).draw(room, plain)
    assert len(lines) == 3
    assert max(map(width, [ticks, *lines])) <= room
    assert "recommended" in lines[0] or "…" in lines[0] or "..." in lines[0]


def test_values_stand_where_they_belong() -> None:
    _, better, same, unknown = forest(ENTRIES).draw(78, False)
    zero = same.index("●")
    assert better.index("│") == zero
    assert better.index("├") > zero
    assert "+0.21" in better
    assert "●" not in unknown


def test_long_labels_and_losses() -> None:
    entries = [Entry("x" * 60, -0.05, -0.1, -0.01), Entry("向量" * 20, 0.2, 0.1, 0.3)]
    lines = forest(entries).draw(78, False)
    assert max(map(width, lines)) <= 78
    assert "−0.05" in lines[1]


def test_nothing_to_draw() -> None:
    assert forest([Entry("a", None)], mark=None).draw(78, False) == []


def test_zero_has_no_sign_on_the_axis() -> None:
    entries = [Entry("a", -0.0012, -0.0033, 0.0008), Entry("b", 0.0)]
    ticks, *_ = forest(entries).draw(78, False)
    assert "0.000" in ticks.split() or "0.00" in ticks.split()
    assert not {"0", "-0", "−0"} & set(ticks.split())


def test_names_of_corrections_are_whole_at_80_columns() -> None:
    label = "all-but-the-top (own centres)"
    entries = [Entry(label, 0.03, -0.01, 0.07, "not significant"), Entry("b", 0.1, 0.0, 0.2)]
    _, line, _ = forest(entries, digits="+.3f").draw(78, False)
    assert line.startswith(label)
    assert line.endswith("not significant")
