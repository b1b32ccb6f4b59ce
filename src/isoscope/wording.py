"""Counts and lists of names in words."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence


# Characters that steer a terminal or turn the direction of text around, other than ends of lines
# and tabs: names out of files may hold them.
STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")

REPLACEMENT = "\ufffd"


def visible(text: str) -> str:
    r"""Return text with a sign in the place of every character that would steer a terminal.

    Examples
    --------
    >>> visible("title\x1b]0;other\x07") == "title\ufffd]0;other\ufffd"
    True
    """
    return STEERING.sub(REPLACEMENT, text)


def counted(number: int, thing: str) -> str:
    """Return a number with its thing, in the plural where it takes one."""
    return f"{number:,} {thing}" if number == 1 else f"{number:,} {thing}s"


def listed(given: Iterable[str] | str | None, default: Sequence[str]) -> list[str]:
    """Turn a comma-separated string or an iterable into a list of names."""
    if given is None:
        return list(default)
    names = given.split(",") if isinstance(given, str) else list(given)
    stripped = [name.strip() if isinstance(name, str) else name for name in names]
    return [name for name in stripped if name != ""]


def and_list(names: Sequence[str]) -> str:
    """Return names as a sentence lists them: a, b and c."""
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


SHELL_WORD = re.compile(r"""(?:[^\s'"]|'[^']*'|"[^"]*")+""")


def command_lines(command: str, room: int, width: Callable[[str], int] = len) -> list[str]:
    """Break a command between its words, with the backslashes that a shell joins lines by.

    Words stay whole, even one that is longer than a line: a shell would not join its pieces.

    Parameters
    ----------
    command : str
        What is broken.
    room : int
        Width of a line.
    width : callable
        Gives the width of a text, which is not its length where a character takes two cells.
    """
    lines: list[str] = []
    for word in SHELL_WORD.findall(command):
        if lines and width(f"{lines[-1]} {word}") <= room - 2:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return [f"{line} \\" for line in lines[:-1]] + lines[-1:]
