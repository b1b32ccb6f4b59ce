"""Do more isotropic spaces score better? Every space as a mark, and correlations by question."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from isoscope.report.figure import MOST_POINTS, Figure, file_name, shown
from isoscope.report.figures.dots import (
    MOST_SERIES,
    PANEL_WIDTH,
    Point,
    finite,
    in_panels,
    left_words,
    point,
    told_apart,
    with_interval,
)
from isoscope.report.figures.isotropy_correlations import correlation_figure
from isoscope.report.theme import BEFORE
from isoscope.report.vega import name, number, told
from isoscope.results.related import DIRECTION, ISOTROPY, SCORE, is_relation

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from isoscope.report.vega import Spec
    from isoscope.results.result import Result, Row

SPACES = "spaces"
"""Table with the score and the measures of every space."""

OWN_FIELDS = ("task", "score", "model", "layer", "correction", "value", "low", "high")
POWER = "_log10"
OTHERS = "others"
MOST_PANELS = 8
PANEL_HEIGHT = 200
WAYS = {"lower": "lower is more isotropic", "higher": "higher is more isotropic"}


def isotropy_figures(result: Result) -> list[Figure]:
    """Draw correlations, then for every score all spaces."""
    if not is_relation(result):
        return []
    rows = [
        row for row in result.rows if SCORE in row.extra and ISOTROPY in row.extra
    ]  # fmt: skip
    spaces = [row for table in result.tables if table.measure == SPACES for row in table.rows]
    scores = list(dict.fromkeys(str(row.get("score")) for row in spaces))
    found = correlation_figure(rows)
    for score in scores:
        own = [row for row in spaces if str(row.get("score")) == score]
        found += space_figure(score, own, [row for row in rows if str(row.extra[SCORE]) == score])
    return found


def space_figure(score: str, spaces: Sequence[dict[str, Any]], rows: Sequence[Row]) -> list[Figure]:
    """Draw one score against every measure."""
    names = [name for name in measures_of(spaces) if values_of(spaces, name)]
    corrections = few(str(row.get("correction")) for row in spaces)
    models = few(str(row.get("model")) for row in spaces)
    every = [
        mark
        for measure in names[:MOST_PANELS]
        for mark in space_marks(measure, spaces, corrections, models, rows)
    ]
    marks = evenly(every, MOST_POINTS)
    if not marks:
        return []
    cut = f" Of {len(every):,} marks, {len(marks):,} are drawn." if len(marks) < len(every) else ""
    more = len(names) - MOST_PANELS
    cut += left_words(max(more, 0), "measure", "of isotropy")
    title = f"{score} against isotropy"
    return [
        Figure(
            file_name("score-against-isotropy", score),
            title,
            f"The score {score} of {len(spaces):,} spaces (models, layers and corrections) against "
            f"{', '.join(names[:MOST_PANELS])}. {across_words(rows)}{cut}",
            scatter(marks, corrections),
            ["model", "layer", "correction", score, *names],
            [
                [
                    *(str(space.get(field, "")) for field in ("model", "layer", "correction")),
                    shown(finite(space.get("value"))),
                    *(shown(finite(space.get(measure))) for measure in names),
                ]
                for space in spaces
            ],
        )
    ]  # fmt: skip


def measures_of(spaces: Sequence[dict[str, Any]]) -> list[str]:
    """Return what spaces were measured by; the logarithm of a measure is none of its own."""
    keys = dict.fromkeys(key for row in spaces for key in row if key not in OWN_FIELDS)
    return [key for key in keys if not (key.endswith(POWER) and key.removesuffix(POWER) in keys)]


def values_of(
    spaces: Sequence[dict[str, Any]], measure: str
) -> list[tuple[dict[str, Any], float, float]]:
    """Return spaces with measure and score; by power of ten where all have one."""
    by_power = all(
        finite(row.get(measure + POWER)) is not None
        for row in spaces
        if row.get(measure) is not None
    )
    key = measure + POWER if by_power else measure
    both = [(row, finite(row.get(key)), finite(row.get("value"))) for row in spaces]
    return [(row, x, y) for row, x, y in both if x is not None and y is not None]


def space_marks(
    measure: str,
    spaces: Sequence[dict[str, Any]],
    corrections: Sequence[str],
    models: Sequence[str],
    rows: Sequence[Row],
) -> list[Point]:
    """Return the marks of one panel; what has no colour or shape of its own is with others."""
    by_power = any(finite(row.get(measure + POWER)) is not None for row in spaces)
    ways = [str(row.extra.get(DIRECTION)) for row in rows if row.extra[ISOTROPY] == measure]
    way = WAYS.get(ways[0], "") if ways else ""
    panel = f"log10 of {measure}" if by_power else measure
    return [
        {
            "panel": f"{panel} ({way})" if way else panel,
            "place": x,
            "value": y,
            "model": str(row.get("model")),
            "layer": str(row.get("layer")),
            "correction": str(row.get("correction")),
            "series": one_of(corrections, row.get("correction")),
            "family": one_of(models, row.get("model")),
        }
        for row, x, y in values_of(spaces, measure)
    ]


def few(names: Iterable[str]) -> list[str]:
    """Return the names that colours and shapes reach for; the rest is with others."""
    every = list(dict.fromkeys(names))
    return every if len(every) <= MOST_SERIES else every[: MOST_SERIES - 1]


def one_of(names: Sequence[str], text: Any) -> str:
    """Return a name, or others where it is none of a few."""
    return str(text) if str(text) in names else OTHERS


def evenly(marks: Sequence[Point], most: int) -> list[Point]:
    """Draw evenly from marks."""
    if len(marks) <= most:
        return list(marks)
    return [marks[k * len(marks) // most] for k in range(most)]


def across_words(rows: Sequence[Row]) -> str:
    """Say the correlations over all spaces, which come first."""
    said = [
        f"{row.extra[ISOTROPY]} {with_interval(point('', '', row.value, row.low, row.high))}"
        for row in rows
        if row.subject == rows[0].subject and finite(row.value) is not None
    ]
    if not said:
        return "No correlation is known."
    return f"Rank correlations with isotropy over {rows[0].subject}: {'; '.join(said)}."


def scatter(marks: Sequence[Point], corrections: Sequence[str]) -> Spec:
    """Return a mark for every space; colours are corrections, shapes models if there are some."""
    families = list(dict.fromkeys(mark["family"] for mark in marks))
    style = told_apart([*corrections, OTHERS], marks, "correction", ("color", "shape"))
    if len(families) > 1:
        style["shape"] = name("family", "model", legend={"symbolFillColor": BEFORE})
    encoding = {
        "x": number("place", "measure", scale={"zero": False}),
        "y": number("value", "score", scale={"zero": False}),
        **style,
        "tooltip": told(
            {"model": "model", "layer": "layer", "correction": "correction", "panel": "measure"},
            {"place": "measured", "value": "score"},
        ),
    }
    mark = {"type": "point", "opacity": 0.8}
    spec = {"mark": mark, "encoding": encoding, "width": PANEL_WIDTH, "height": PANEL_HEIGHT}
    found = in_panels(marks, spec, "measure of isotropy")
    found["resolve"] = {"scale": {"x": "independent"}}
    return found
