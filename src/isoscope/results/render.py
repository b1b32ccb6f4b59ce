"""Results for people: tables of text in the terminal, as Markdown and as HTML."""

from __future__ import annotations

import re
from html import escape

from isoscope.results.kinds import grids
from isoscope.results.result import Result
from isoscope.results.tables import Grid, previews

# What begins markup: backslashes, emphasis, code, columns, tags, and the addresses of links.
MARKUP = re.compile(r"[\\*`|]|<(?=[A-Za-z/!?])|(?<=\])[(\[:]|(?<![^\W_])_(?=\S)|(?<=\S)_(?![^\W_])")

# What would begin a new column, or emphasis, in cells that are Markdown already.
COLUMNS = re.compile(r"[*|]")


class Markdown(str):
    """A cell that is Markdown already, such as a link that we make ourselves."""

    __slots__ = ()


def plain(result: Result) -> str:
    """Return aligned text, for a Python prompt."""
    parts = []
    for one in [*grids(result), *previews(result)]:
        lines = aligned([one.header, *one.rows]) if one.rows else []
        parts.append("\n".join([one.title, *lines, *one.verdict, *one.notes]))
    return "\n\n".join(parts) or "empty result"


def aligned(table: list[list[str]]) -> list[str]:
    """Pad the columns of a table, numbers to the right."""
    widths = [max(len(row[k]) for row in table) for k in range(len(table[0]))]
    return [
        "  ".join(
            text.ljust(width) if k == 0 else text.rjust(width)
            for k, (text, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in table
    ]


def markdown(result: Result) -> str:
    """Return Markdown tables, with notes and verdict below each."""
    parts = []
    for one in [*grids(result), *previews(result)]:
        parts.append(f"**{escaped(one.title)}**")
        if one.rows:
            parts.append(markdown_table([one.header, *one.rows]))
        parts += [escaped(line) for line in one.verdict]
        if one.notes:
            parts.append("\n".join(f"- {escaped(note)}" for note in one.notes))
    return "\n\n".join(parts)


def markdown_table(table: list[list[str]], left: int = 1) -> str:
    """Return rows as a Markdown table, the first as its header; numbers stand right."""
    lines = ["| " + " | ".join(map(markdown_cell, row)) + " |" for row in table]
    lines.insert(1, "|" + " --- |" * left + " ---: |" * (len(table[0]) - left))
    return "\n".join(lines)


def markdown_cell(text: str) -> str:
    """Return a cell; only what is known to be Markdown keeps its links and code."""
    return COLUMNS.sub(r"\\\g<0>", text) if isinstance(text, Markdown) else escaped(text)


def escaped(text: str) -> str:
    """Return text in which Markdown sees no emphasis, code, link, HTML or new column.

    Names come from files and may hold anything. Brackets and signs that mean nothing to Markdown
    where they stand, as in "[0.1, 0.2]" or "p < 0.05", are left as they are.
    """
    return MARKUP.sub(r"\\\g<0>", " ".join(text.splitlines()))


def html(result: Result) -> str:
    """Return HTML tables without styles or scripts of their own, for notebooks."""
    parts = []
    for one in grids(result):
        parts.append(html_table(one) if one.rows else "")
        parts += [f"<p>{escape(line)}</p>" for line in [*one.verdict, *one.notes]]
    parts += [
        html_table(one) if one.rows else f"<p>{escape(one.title)}</p>" for one in previews(result)
    ]
    return "".join(parts)


def html_table(grid: Grid) -> str:
    """Return a grid as an HTML table."""

    def cells(tag: str, row: list[str]) -> str:
        sides = ["left"] + ["right"] * (len(row) - 1)
        return "".join(
            f'<{tag} style="text-align:{side}">{escape(text)}</{tag}>'
            for side, text in zip(sides, row, strict=True)
        )

    head = f"<thead><tr>{cells('th', grid.header)}</tr></thead>"
    body = "".join(f"<tr>{cells('td', row)}</tr>" for row in grid.rows)
    return f"<table><caption>{escape(grid.title)}</caption>{head}<tbody>{body}</tbody></table>"
