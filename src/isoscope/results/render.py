"""Results for people: one grid of text behind the terminal, Markdown and HTML tables."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

from isoscope.measures.registry import all_measures

if TYPE_CHECKING:
    from isoscope.results.result import Result, Row

LENGTH_MARK = " *"
LENGTH_LEGEND = (
    "* changes with the length of the vectors: compare only at equal scale, or use i1_scaled"
)
SMALLEST_SHOWN = 1e-4


@dataclass(frozen=True)
class Grid:
    """One cloud's numbers: measures down, corrections across."""

    title: str
    header: list[str]
    rows: list[list[str]]
    notes: list[str]
    verdict: list[str]


def grids(result: Result) -> list[Grid]:
    """Arrange a result in one grid per cloud."""
    clouds = dict.fromkeys((row.subject, row.part) for row in result.rows)
    return [grid(result, subject, part) for subject, part in clouds]


def grid(result: Result, subject: str, part: str) -> Grid:
    """Arrange the rows of one cloud."""
    rows = [row for row in result.rows if (row.subject, row.part) == (subject, part)]
    corrections = list(dict.fromkeys(row.correction for row in rows))
    measures = list(dict.fromkeys(row.measure for row in rows))
    cells = {(row.measure, row.correction): row for row in rows}
    dependent = {item.name for item in all_measures() if item.length_dependent}
    body = [
        [name + LENGTH_MARK * (name in dependent)]
        + [cell(cells.get((name, correction))) for correction in corrections]
        for name in measures
    ]
    name = " ".join(word for word in (subject, part) if word)
    count = max((row.n or 0 for row in rows), default=0)
    protocol = rows[0].protocol if rows else ""
    notes = [LENGTH_LEGEND] if dependent & set(measures) else []
    notes += grouped_notes(rows)
    notes += [f"left out: {number:,} rows, {why}" for why, number in result.left_out.items()]
    return Grid(
        f"{name}: {count:,} vectors ({protocol})",
        ["measure", *corrections],
        body,
        notes,
        verdict_lines(result, subject, part),
    )


def verdict_lines(result: Result, subject: str, part: str) -> list[str]:
    """Return the verdict on a cloud, then what it implies and what it does not."""
    lines = []
    for verdict in result.verdicts:
        if (verdict.get("subject"), verdict.get("part")) == (subject, part):
            also = " ".join(verdict.get("also", []))
            lines.append(f"Verdict: {verdict['sentence']}" + (f" Also: {also}" if also else ""))
            lines.append(
                f"It means: {verdict['implies']}. It does not mean: {verdict['does_not_imply']}."
            )
    return lines


def grouped_notes(rows: list[Row]) -> list[str]:
    """Say every note once, with the measures and corrections that it belongs to."""
    groups: dict[str, tuple[dict[str, None], dict[str, None]]] = {}
    for row in rows:
        if row.note:
            measures, corrections = groups.setdefault(row.note, ({}, {}))
            measures[row.measure] = None
            corrections[row.correction] = None
    return [
        f"{', '.join(measures)} ({', '.join(corrections)}): {note}"
        for note, (measures, corrections) in groups.items()
    ]


def cell(row: Row | None) -> str:
    """Return a number as a person reads it; tiny ones by their power of ten."""
    if row is None:
        return ""
    if row.value is None:
        return "undefined"
    if row.log10 is not None and abs(row.value) < SMALLEST_SHOWN:
        return f"10^{row.log10:.4f}" if row.log10 > -100 else f"10^{row.log10:.1f}"
    if row.value == 0:
        return "0"
    if abs(row.value) < SMALLEST_SHOWN or abs(row.value) >= 1e6:
        return f"{row.value:.2e}"
    digits = 4 if abs(row.value) < 100 else 1
    return f"{row.value:.{digits}f}"


def plain(result: Result) -> str:
    """Return aligned text, for a Python prompt."""
    parts = []
    for one in grids(result):
        table = [one.header, *one.rows]
        widths = [max(len(row[k]) for row in table) for k in range(len(one.header))]
        lines = [
            "  ".join(
                text.ljust(width) if k == 0 else text.rjust(width)
                for k, (text, width) in enumerate(zip(row, widths, strict=True))
            ).rstrip()
            for row in table
        ]
        parts.append("\n".join([one.title, *lines, *one.notes, *one.verdict]))
    return "\n\n".join(parts) or "empty result"


def markdown(result: Result) -> str:
    """Return Markdown tables, with notes and verdict below each."""
    parts = []
    for one in grids(result):
        head = "| " + " | ".join(one.header) + " |"
        rule = "| --- |" + " ---: |" * (len(one.header) - 1)
        # An asterisk would start emphasis, a bar a new column.
        body = [
            "| " + " | ".join(text.replace("*", "\\*").replace("|", "\\|") for text in row) + " |"
            for row in one.rows
        ]
        notes = [f"- {note.replace('*', chr(92) + '*')}" for note in one.notes]
        blocks = [f"**{one.title}**", "\n".join([head, rule, *body])]
        if notes:
            blocks.append("\n".join(notes))
        parts.append("\n\n".join([*blocks, *one.verdict]))
    return "\n\n".join(parts)


def html(result: Result) -> str:
    """Return HTML tables without styles or scripts of their own, for notebooks."""
    return "".join(html_grid(one) for one in grids(result))


def html_grid(one: Grid) -> str:
    """Return one grid as HTML."""

    def cells(tag: str, row: list[str]) -> str:
        align = ['style="text-align:left"'] + ['style="text-align:right"'] * (len(row) - 1)
        return "".join(
            f"<{tag} {style}>{escape(text)}</{tag}>" for style, text in zip(align, row, strict=True)
        )

    head = f"<thead><tr>{cells('th', one.header)}</tr></thead>"
    body = "".join(f"<tr>{cells('td', row)}</tr>" for row in one.rows)
    below = "".join(f"<p>{escape(line)}</p>" for line in [*one.verdict, *one.notes])
    caption = f"<caption>{escape(one.title)}</caption>"
    return f"<table>{caption}{head}<tbody>{body}</tbody></table>{below}"


def table_preview(rows: list[dict[str, Any]], most: int) -> list[list[str]]:
    """Return the first rows of a structured measure as text, a header first."""
    if not rows:
        return []
    shown = [[preview_cell(value) for value in row.values()] for row in rows[:most]]
    return [[name.replace("_", " ") for name in rows[0]], *shown]


def preview_cell(value: Any) -> str:
    """Return one entry of a structured measure as text."""
    if value is None:
        return "undefined"
    return f"{value:.3g}" if isinstance(value, float) else str(value)
