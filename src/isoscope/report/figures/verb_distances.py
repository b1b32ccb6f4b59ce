"""How far apart occurrences of a verb are: by tense and by sense, before and after a correction."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from isoscope.report.figure import Figure, file_name, shown
from isoscope.report.figures.interval_dots import interval_dots
from isoscope.report.figures.space_colours import chosen_spaces, series_colours
from isoscope.report.figures.standing_records import interval_of, of, standing_rows

if TYPE_CHECKING:
    from isoscope.results.result import Result, Row

KINDS = {
    "distance/same_tense_same_sense": "same tense, same sense",
    "distance/same_tense_other_sense": "same tense, other sense",
    "distance/other_tense_same_sense": "other tense, same sense",
}


def verb_figures(result: Result) -> list[Figure]:
    """Draw the three distances per model and layer."""
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in standing_rows(result):
        if row.measure in KINDS:
            groups.setdefault((row.subject, row.part), []).append(row)
    return [drawn(subject, part, rows) for (subject, part), rows in groups.items()]


def drawn(subject: str, part: str, rows: list[Row]) -> Figure:
    """Draw the distances of one layer."""
    spaces = chosen_spaces(row.correction for row in rows)
    colours = series_colours(spaces)
    points: list[dict[str, Any]] = [
        {
            "thing": KINDS[measure], "kind": space, "colour": colours[space], "value": row.value,
            **interval_of(row),
        }
        for space in spaces
        for measure in KINDS
        for row in rows
        if (row.correction, row.measure) == (space, measure)
    ]  # fmt: skip
    where = of(subject, part)
    said = "; ".join(
        f"{space}: "
        + ", ".join(
            f"{point['thing']} {shown(point['value'])}"
            for point in points
            if point["kind"] == space
        )
        for space in spaces
    )
    more = len({row.correction for row in rows}) - len(spaces)
    left = f" {more:,} more corrections are left out." if more else ""
    return Figure(
        file_name("verb-distances", subject, part),
        of("Distances between occurrences of a verb in", where),
        f"Mean distance of an occurrence of a verb to others of that verb, in {where}. {said}."
        f"{left}",
        interval_dots(
            points, "occurrences with", "mean Euclidean distance", "correction", colours,
            scale={"zero": False}, axis={"tickCount": 6},
        ),
        ["correction", "occurrences with", "mean distance", "low", "high"],
        [
            [
                point["kind"], point["thing"], shown(point["value"]),
                *(shown(point[end]) if end in point else "" for end in ("low", "high")),
            ]
            for point in points
        ],
    )  # fmt: skip
