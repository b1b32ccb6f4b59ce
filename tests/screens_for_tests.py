"""Screens as lines of text, and what every screen must keep to."""

from __future__ import annotations

from isoscope.results.kinds import screen_of
from isoscope.results.result import Result
from isoscope.results.screen.cells import width
from isoscope.results.screen.layout import lay_out


def screen_lines(result: Result, cells: int = 80, *, plain: bool = False) -> list[str]:
    """Return the lines of a result's screen, having checked that they fit."""
    screen = screen_of(result)
    assert screen is not None
    lines = [line.text for line in lay_out(screen, cells, plain=plain)]
    assert len(lines) <= 40, "\n".join(lines)
    assert max(map(width, lines)) <= cells, max(lines, key=width)
    return lines


def words_of(lines: list[str]) -> str:
    """Return the words of a screen, however its lines are broken."""
    return " ".join(" ".join(lines).split())
