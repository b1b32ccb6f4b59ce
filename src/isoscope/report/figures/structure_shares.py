"""Whether words gather by the structure of their sentences, before and after a correction."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from isoscope.report.figure import Figure, file_name
from isoscope.report.figures.interval_dots import interval_dots
from isoscope.report.figures.space_colours import MOST_SERIES, chosen_spaces, series_colours
from isoscope.report.figures.standing_records import NONE, interval_of, of, standing_rows

if TYPE_CHECKING:
    from isoscope.results.result import Result, Row

SHARE, CHANCE = "same_group_share", "chance"
BY_CHANCE = "by chance"


def structure_figures(result: Result) -> list[Figure]:
    """Draw the shares of every word, per model."""
    shares: dict[str, list[Row]] = {}
    chances: dict[str, list[Row]] = {}
    for row in standing_rows(result):
        if row.measure == SHARE:
            shares.setdefault(row.subject, []).append(row)
        elif row.measure == CHANCE and row.correction == NONE:
            chances.setdefault(row.subject, []).append(row)
    return [drawn(subject, rows, chances.get(subject, [])) for subject, rows in shares.items()]


def drawn(subject: str, rows: list[Row], chances: list[Row]) -> Figure:
    """Draw the shares of one model."""
    words = dict.fromkeys(row.part for row in rows)
    spaces = chosen_spaces((row.correction for row in rows), MOST_SERIES - 1)
    known = [row for row in chances if row.part in words]
    colours = series_colours([*spaces, BY_CHANCE] if known else spaces)
    points: list[dict[str, Any]] = [
        {
            "thing": quoted(word), "kind": space, "colour": colours[space], "value": row.value,
            **interval_of(row),
        }
        for space in spaces
        for word in words
        for row in rows
        if (row.part, row.correction) == (word, space)
    ]  # fmt: skip
    points += [
        {
            "thing": quoted(row.part), "kind": BY_CHANCE, "colour": colours[BY_CHANCE],
            "value": row.value,
        }
        for row in known
    ]  # fmt: skip
    more = len({row.correction for row in rows}) - len(spaces)
    left = f" {more:,} more corrections are left out." if more > 0 else ""
    said = "; ".join(
        f"{quoted(word)} "
        + ", ".join(
            f"{point['value']:.2%} ({point['kind']})"
            for point in points
            if point["thing"] == quoted(word)
        )
        for word in words
    )
    return Figure(
        file_name("structure-shares", subject),
        of("Nearest neighbours from sentences of the same structure in", subject),
        "Share of a word's nearest neighbours that are from sentences of the same structure, in "
        f"{subject}: {said}.{left}",
        interval_dots(
            points, "word", "share of neighbours of the same structure", "correction, or chance",
            colours, axis={"format": "~%", "tickCount": 6},
        ),
        ["word", "correction", "share", "low", "high"],
        [
            [
                point["thing"], point["kind"], f"{point['value']:.2%}",
                *(f"{point[end]:.2%}" if end in point else "" for end in ("low", "high")),
            ]
            for point in points
        ],
    )  # fmt: skip


def quoted(word: str) -> str:
    """Return a word in quotation marks: a full stop alone is hardly seen on an axis."""
    return f"“{word}”"
