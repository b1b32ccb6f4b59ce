"""Text measured in the cells of a terminal: widths, wrapping, shortening, and plain ASCII.

A Chinese character takes two cells and a combining accent none, so that ``len`` says little about
how wide a line is.
"""

from __future__ import annotations

import re

from rich.cells import cell_len

ELLIPSIS = "…"

# Between a number and what belongs to it; no line ends here.
NO_BREAK = "\u00a0"
_UNITS = re.compile(r"(?<=\d) (?=%)|(?<=[±×]) (?=\d)")

# What is written instead of characters that a plain terminal does not have.
ASCII = {
    "·": "-", "×": "x", "…": "...", "–": "-", "—": "-", "−": "-", "±": "+-", "→": "->",
    "‖": "||", "√": "sqrt", "≤": "<=", "≥": ">=", "²": "^2", "₁": "1", "λ": "lambda", "ρ": "rho",
    "σ": "sigma", "Σ": "sum", "μ": "mu", "│": "|", "┃": "|", "─": "-", "├": "[", "┤": "]",
    "●": "o", "▒": "=", "°": "deg", "‘": "'", "’": "'", "“": '"', "”": '"',
    "█": "#", "▉": "#", "▊": "#", "▋": "#", "▌": "#", "▍": "", "▎": "", "▏": "",
    "↑": "^", "↓": "v", "ℓ": "l", "ι": "iota", "₂": "2", "∞": "inf", "≈": "~", "′": "'",
}  # fmt: skip
_TO_ASCII = str.maketrans(ASCII)


def width(text: str) -> int:
    """Return how many cells a text takes."""
    return cell_len(text)


def to_ascii(text: str) -> str:
    """Write typographic characters in ASCII; letters of other scripts stay as they are."""
    return text.translate(_TO_ASCII)


def padded(text: str, cells: int, *, right: bool = False) -> str:
    """Fill a text up to a width, at its end or, for numbers, before it."""
    room = " " * max(cells - width(text), 0)
    return room + text if right else text + room


def shortened(text: str, cells: int, ellipsis: str = ELLIPSIS) -> str:
    """Return a text that fits a width, without its middle where it is too long.

    Both ends of a name tell names apart: folders at its beginning, numbers and formats at its end.
    """
    if width(text) <= cells:
        return text
    room = max(cells - width(ellipsis), 0)
    tail = room // 2
    end = len(text)
    while end > 0 and width(text[end - 1 :]) <= tail:
        end -= 1
    return _head(text, room - width(text[end:])) + ellipsis + text[end:]


def _head(text: str, cells: int) -> str:
    """Return as much of the beginning of a text as fits a width."""
    end = 0
    while end < len(text) and width(text[: end + 1]) <= cells:
        end += 1
    return text[:end]


def words_of(text: str) -> list[str]:
    """Return the words of a text; a number and its percent sign are one."""
    return _UNITS.sub(NO_BREAK, text).split(" ")


def wrapped(text: str, cells: int) -> list[str]:
    """Break a text into lines at spaces; what has none and does not fit is broken anywhere."""
    lines = [""]
    for word in words_of(text):
        rest = word
        if lines[-1] and width(lines[-1]) + 1 + width(rest) <= cells:
            lines[-1] += f" {rest}"
            continue
        if lines[-1]:
            lines.append("")
        while width(rest) > cells:
            lines[-1] = _head(rest, cells) or rest[0]
            rest = rest[len(lines[-1]) :]
            lines.append("")
        lines[-1] = rest
    return [line.replace(NO_BREAK, " ") for line in lines]
