"""Measured numbers beside those that a paper prints: two marks and a line between them."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from isoscope.measures.registry import counted
from isoscope.report.figure import Figure, file_name, shown
from isoscope.report.figures.dots import finite
from isoscope.report.figures.label_lines import IN_LINES, in_lines, step_for
from isoscope.report.theme import CATEGORIES
from isoscope.report.vega import layered, logarithmic, name, number, told

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoscope.report.vega import Spec
    from isoscope.results.result import Result, Row

PRINTED, MEASURED = "printed", "measured"
STUDY = "study"
VALUE = "value"
MOST_NUMBERS = 40
"""Numbers in one chart."""

WIDE = 1_000
"""Times the smallest number that the largest must be for both to stand by their logarithms."""

LONG_LINE, CLOSE = 40, 5
"""Letters of a line of the name of a number, and pixels between two."""


def study_name(result: Result) -> str:
    """Return the study that a result is of."""
    study = result.extra.get(STUDY)
    return str(study.get("id", "")) if isinstance(study, dict) else ""


def kind_of(measure: str) -> str:
    """Return what kind of number it is, such as accuracy; each kind has a chart."""
    return measure if "(" in measure else measure.rpartition("/")[2]


def printed_figures(result: Result) -> list[Figure]:
    """Draw measured beside printed numbers, a chart for every kind of number."""
    kinds: dict[str, list[Row]] = {}
    for row in result.rows:
        if finite(row.extra.get(PRINTED)) is not None:
            kinds.setdefault(kind_of(row.measure), []).append(row)
    return [figure for kind, rows in kinds.items() for figure in dumbbell(result, kind, rows)]


def dumbbell(result: Result, kind: str, rows: Sequence[Row]) -> list[Figure]:
    """Draw two marks and a line between them for every number."""
    pairs = [
        (what, finite(row.value), float(row.extra[PRINTED]))
        for what, row in zip(different(rows, kind), rows, strict=True)
    ]
    known = [(what, value, printed) for what, value, printed in pairs if value is not None]
    if not known:
        return []
    drawn = known[:MOST_NUMBERS]
    values = [
        {
            "what": in_lines(what, LONG_LINE),
            "from": value,
            "to": printed,
            "difference": value - printed,
        }
        for what, value, printed in drawn
    ]
    study = study_name(result)
    title = f"{kind}: measured and printed{f' in {study}' if study else ''}"
    furthest = max(known, key=lambda one: abs(one[1] - one[2]))
    more = len(known) - len(drawn)
    left = f" {more} more in the table only." if more else ""
    left += f" {len(pairs) - len(known)} undefined." if len(pairs) > len(known) else ""
    return [
        Figure(
            file_name("printed", study, kind),
            title,
            f"{counted(len(known), 'measured number')} beside what the paper prints, with a line "
            f"between the two. Furthest apart: {furthest[0]}, measured {shown(furthest[1])}, "
            f"printed {shown(furthest[2])}.{left}",
            bells(values),
            ["number", "measured", "printed", "difference"],
            [
                [what, shown(value), shown(printed),
                 "undefined" if value is None else f"{value - printed:+.3g}"]
                for what, value, printed in pairs
            ],
        )
    ]  # fmt: skip


def different(rows: Sequence[Row], kind: str) -> list[str]:
    """Name numbers by what they differ in; the same names get numbers."""
    rows = [replace(row, measure=row.measure.removesuffix(f"/{kind}")) for row in rows]
    fields = ("subject", "part", "correction", "measure")
    telling = [field for field in fields if len({getattr(row, field) for row in rows}) > 1]
    names = [
        ", ".join(str(getattr(row, field)) for field in telling or ("subject",)) for row in rows
    ]
    seen: Counter[str] = Counter()
    found = []
    for one in names:
        seen[one] += 1
        found.append(one if seen[one] == 1 else f"{one} ({seen[one]})")
    return found


def bells(values: list[dict[str, Any]]) -> Spec:
    """Return dumbbells: measured a blue dot, printed an orange square."""
    ends = [one[end] for one in values for end in ("from", "to")]
    wide = min(ends) > 0 and max(ends) > WIDE * min(ends)
    scale = logarithmic() if wide else {"zero": False}
    down = name("what", "number", axis=IN_LINES)
    hover = told({"what": "number"}, {"from": MEASURED, "to": PRINTED, "difference": "difference"})
    looks = {"color": [CATEGORIES[0], CATEGORIES[1]], "shape": ["circle", "square"]}
    names = [MEASURED, PRINTED]

    def style(words: str) -> Spec:
        return {
            key: {"datum": words, "type": "nominal", "title": "number",
                  "scale": {"domain": names, "range": look}}
            for key, look in looks.items()
        }  # fmt: skip

    layers: list[Spec] = [
        {
            "mark": {"type": "rule", "opacity": 0.6},
            "encoding": {
                "y": down, "x": number("from", VALUE, scale=scale), "x2": {"field": "to"},
                "tooltip": hover,
            },
        },
        *(
            {
                "mark": {"type": "point", "size": 60},
                "encoding": {
                    "y": down, "x": number(field, VALUE, scale=scale),
                    **style(words),
                    "tooltip": hover,
                },
            }
            for field, words in (("from", MEASURED), ("to", PRINTED))
        ),
    ]  # fmt: skip
    return layered(values, layers, height=step_for([one["what"] for one in values], CLOSE))
