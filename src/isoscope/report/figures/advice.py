"""What every correction would gain on one's own task, against leaving vectors alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoscope.report.figure import Figure, file_name, shown
from isoscope.report.figures.dots import LINE_STEP, LONG_LABEL, Point, finite, point, with_interval
from isoscope.report.theme import CATEGORIES
from isoscope.report.vega import layered, name, number, told
from isoscope.results.advised import DIFFERENCE, is_advice

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoscope.report.vega import Spec
    from isoscope.results.result import Result, Row

USE, MORE, LESS, UNCLEAR = GROUPS = (
    "recommended", "gains, beyond chance", "loses, beyond chance", "could be chance",
)  # fmt: skip
COLOURS = (CATEGORIES[0], CATEGORIES[5], CATEGORIES[1], CATEGORIES[-1])
SHAPES = ("diamond", "circle", "triangle-down", "square")
ALPHA = 0.05
"""What is beyond chance where a result does not say it."""

ALONE = "leave it alone"


def advice_figures(result: Result) -> list[Figure]:
    """Draw gains with their intervals, best first, as the advice has them."""
    if not is_advice(result):
        return []
    found = result.extra.get("recommendation")
    asked = found if isinstance(found, dict) else {}
    recommended = {row.correction for row in result.rows if row.extra.get("recommended")}
    alpha = finite(asked.get("alpha")) or ALPHA
    changes = [row for row in result.rows if row.measure.endswith(DIFFERENCE)]
    points = [gain(row, recommended, alpha) for row in changes]
    known = [mark for mark in points if mark["value"] is not None]
    if not known:
        return []
    worth = finite(asked.get("worthwhile"))
    first = changes[0]
    score = first.measure.removesuffix(DIFFERENCE)
    title = f"What corrections gain: {first.subject}, {score}"
    undefined = len(points) - len(known)
    return [
        Figure(
            file_name("advice", first.subject, score),
            title,
            f"Differences of {score} to none with their intervals, a dot for each of "
            f"{len(known)} corrections; 0 is to leave it alone. {words(known)}"
            + (f" {undefined} undefined." if undefined else ""),
            gains(known, worth),
            ["correction", "gain", "low", "high", "p (Holm)", "outcome"],
            [
                [
                    mark["label"], shown(mark["value"]),
                    *("" if mark[end] is None else shown(mark[end]) for end in ("low", "high")),
                    "" if mark["p"] is None else f"{mark['p']:.2g}", mark["series"],
                ]
                for mark in points
            ],
        )
    ]  # fmt: skip


def gain(row: Row, recommended: set[str], alpha: float) -> Point:
    """Return the gain of a correction, and what it comes to."""
    chance, value = finite(row.extra.get("p_holm")), finite(row.value)
    outcome = UNCLEAR
    if row.correction in recommended:
        outcome = USE
    elif chance is not None and chance < alpha and value:
        outcome = MORE if value > 0 else LESS
    mark = point(row.correction, outcome, row.value, row.low, row.high)
    return {**mark, "p": chance}


def words(points: Sequence[Point]) -> str:
    """Say what is recommended, and the two ends."""
    use = [mark for mark in points if mark["series"] == USE]
    said = [f"Recommended: {mark['label']}, {with_interval(mark)}" for mark in use]
    said = said or ["Nothing is recommended: leave it alone"]
    most = max(points, key=lambda mark: float(mark["value"]))
    least = min(points, key=lambda mark: float(mark["value"]))
    return (
        f"{'; '.join(said)}. Highest: {most['label']}, {with_interval(most)}; lowest: "
        f"{least['label']}, {with_interval(least)}."
    )


def gains(points: Sequence[Point], worth: float | None) -> Spec:
    """Return dots with intervals, a line at 0, and one where a change begins to be worth it."""
    title = f"gain (0: {ALONE})"
    down = name("label", "correction", axis={"labelLimit": LONG_LABEL})
    present = [place for place, one in enumerate(GROUPS) if any(p["series"] == one for p in points)]
    style = {
        kind: name(
            "series", "outcome",
            scale={"domain": [GROUPS[k] for k in present], "range": [looks[k] for k in present]},
        )
        for kind, looks in (("color", COLOURS), ("shape", SHAPES))
    }  # fmt: skip
    hover = told(
        {"label": "correction", "series": "outcome"},
        {"value": "gain", "low": "interval from", "high": "to", "p": "p (Holm)"},
    )

    def line(place: float, words: str) -> Spec:
        across = {"datum": place, "type": "quantitative", "title": title}
        return {"x": across, "tooltip": {"value": words}}

    lines: list[Spec] = [{"mark": "rule", "encoding": line(0.0, ALONE)}]
    if worth:
        lines.append(
            {
                "mark": {"type": "rule", "strokeDash": [4, 3], "opacity": 0.7},
                "encoding": line(worth, f"from {worth:g} on a gain is worth a change"),
            }
        )  # fmt: skip
    return layered(
        list(points),
        [
            *lines,
            {
                "mark": {"type": "rule", "strokeWidth": 1.5},
                "transform": [{"filter": {"field": "low", "valid": True}}],
                "encoding": {
                    "y": down, "x": number("low", title), "x2": {"field": "high"},
                    "color": style["color"], "tooltip": hover,
                },
            },
            {
                "mark": {"type": "point", "size": 80, "opacity": 1},
                "encoding": {"y": down, "x": number("value", title), **style, "tooltip": hover},
            },
        ],
        height={"step": LINE_STEP},
    )  # fmt: skip
