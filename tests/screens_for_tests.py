"""Screens as lines of text, and what every screen must keep to."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

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
    assert too_wide(lines, cells) == []
    return lines


def too_wide(lines: Sequence[str], cells: int) -> list[str]:
    """Return the lines that are wider than a terminal, and should not be.

    A word of a command cannot be broken, because a shell would not join its pieces: a long name of
    a file has a line of its own, which begins as far to the left as any line of a screen.
    """
    return [
        line
        for before, line in zip(["", *lines], lines, strict=False)
        if width(line) > cells and not (before.endswith(" \\") and is_one_word(line))
    ]


def is_one_word(line: str) -> bool:
    """Whether a line has nothing but a word of a command, and no room is lost before it."""
    text = line.removesuffix(" \\")
    return text.startswith("  ") and text[2] != " " and len(shlex.split(text)) == 1


def words_of(lines: list[str]) -> str:
    """Return the words of a screen, however its lines are broken."""
    return " ".join(" ".join(line.removesuffix(" \\") for line in lines).split())
