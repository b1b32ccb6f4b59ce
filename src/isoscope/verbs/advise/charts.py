"""What every correction would gain on one's own task, against leaving vectors alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoscope.results.charts.chart import INTERVAL, Figure
from isoscope.results.charts.forms import DASHED, LINE_STEP, LONG_LABEL, rule_at
from isoscope.results.charts.marks import Marks, finite, mark_of, with_interval
from isoscope.results.charts.vega import CATEGORIES, layer, layered, name, number, tooltip
from isoscope.results.fields import DIFFERENCE
from isoscope.verbs.advise.text import is_advice

if TYPE_CHECKING:
    from isoscope.results.charts.marks import Mark
    from isoscope.results.charts.vega import Spec
    from isoscope.results.result import Result, Row


USE, MORE, SMALL, LESS, UNCLEAR = GROUPS = (
    "recommended", "significant gain", "significant, negligible", "significant loss",
    "not significant",
)  # fmt: skip
COLOURS = (CATEGORIES[0], CATEGORIES[5], CATEGORIES[2], CATEGORIES[1], CATEGORIES[-1])
SHAPES = ("diamond", "circle", "cross", "triangle-down", "square")
# The level of significance where a result does not say it.
ALPHA = 0.05

AS_IT_IS = "no correction"


def advice_figures(result: Result) -> list[Figure]:
    """Draw gains with their intervals, best first, as the advice has them."""
    if not is_advice(result):
        return []
    found = result.extra.get("recommendation")
    asked = found if isinstance(found, dict) else {}
    recommended = {row.correction for row in result.rows if row.extra.get("recommended")}
    alpha = finite(asked.get("alpha")) or ALPHA
    changes = [row for row in result.rows if row.measure.endswith(DIFFERENCE)]
    worth = finite(asked.get("worthwhile"))
    points = Marks(gain(row, recommended, alpha, worth or 0.0) for row in changes)
    known = points.known
    if not known:
        return []
    first = changes[0]
    score = first.measure.removesuffix(DIFFERENCE)
    return [
        Figure.of(
            ("advice", first.subject, score),
            f"What corrections gain: {first.subject}, {score}",
            f"Differences of {score} to none with their intervals, a dot for each of "
            f"{len(known)} corrections; 0 is {AS_IT_IS}. {words(known, asked.get('outcome'))}"
            f"{points.omitted(known)}",
            gains(known, worth),
            ({**mark, "p": "" if mark["p"] is None else f"{mark['p']:.2g}"} for mark in points),
            {"label": "correction", "value": "gain", **INTERVAL, "p": "p (Holm)",
             "series": "outcome"},
        )
    ]  # fmt: skip


def gain(row: Row, recommended: set[str], alpha: float, worth: float) -> Mark:
    """Return the gain of a correction, and what it comes to."""
    chance, value = finite(row.extra.get("p_holm")), finite(row.value)
    outcome = UNCLEAR
    if row.correction in recommended:
        outcome = USE
    elif chance is not None and chance <= alpha and value:
        outcome = SMALL if abs(value) < worth else MORE if value > 0 else LESS
    return {**mark_of(row, row.correction, outcome), "p": chance}


def words(points: Marks, outcome: object) -> str:
    """Describe what is recommended, and the two ends."""
    use = [mark for mark in points if mark["series"] == USE]
    said = [f"Recommended: {mark['label']}, {with_interval(mark)}" for mark in use]
    excluded = outcome in ("leave it alone", "negligible")
    why = "a worthwhile gain is excluded" if excluded else "a worthwhile gain is not excluded"
    said = said or [f"Nothing is recommended: {why}" if outcome else "Nothing is recommended"]
    most, least = points.highest, points.lowest
    return (
        f"{'; '.join(said)}. Highest: {most['label']}, {with_interval(most)}; lowest: "
        f"{least['label']}, {with_interval(least)}."
    )


def gains(points: Marks, worth: float | None) -> Spec:
    """Return dots with intervals, a line at 0, and one where a change begins to be worth it."""
    title = f"gain (0: {AS_IT_IS})"
    down = name("label", "correction", axis={"labelLimit": LONG_LABEL})
    # Colours and shapes stay with their outcome where others are missing.
    present = [place for place, one in enumerate(GROUPS) if one in points.names("series")]
    style = {
        kind: name(
            "series", "outcome",
            scale={"domain": [GROUPS[k] for k in present], "range": [looks[k] for k in present]},
        )
        for kind, looks in (("color", COLOURS), ("shape", SHAPES))
    }  # fmt: skip
    hover = tooltip(
        {"label": "correction", "series": "outcome"},
        {"value": "gain", "low": "interval from", "high": "to", "p": "p (Holm)"},
    )

    lines = [rule_at(0.0, title, AS_IT_IS, "rule")]
    if worth:
        lines.append(rule_at(worth, title, f"from {worth:g} on, a gain is worthwhile", DASHED))
    interval = layer(
        {"type": "rule", "strokeWidth": 1.5}, y=down, x=number("low", title),
        x2={"field": "high"}, color=style["color"], tooltip=hover,
    )  # fmt: skip
    # Gains without an interval are dots alone.
    interval["transform"] = [{"filter": {"field": "low", "valid": True}}]
    dot = {"type": "point", "size": 80, "opacity": 1}
    dots = layer(dot, y=down, x=number("value", title), **style, tooltip=hover)
    return layered(points, [*lines, interval, dots], height={"step": LINE_STEP})
