"""How much of a text its most frequent words cover, with the points that people quote."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from isoscope.report.figure import Figure, file_name, shown
from isoscope.report.figures.panels import (
    MOST_SERIES,
    cloud_of,
    evenly,
    telling_apart,
    told_of,
)
from isoscope.report.vega import Spec, layered, logarithmic, name, number, told

if TYPE_CHECKING:
    from isoscope.results.result import Result, Row

COVERAGE = "coverage"
FIRST = re.compile(r"share_of_first_(\d+)")
ASKED_NUMBER, ASKED_SHARE = "first so many words", "words for a share"
SHAPES = {"domain": [ASKED_NUMBER, ASKED_SHARE], "range": ["diamond", "triangle-up"]}
NEEDED = re.compile(r"needed_for_(0?\.\d+|1)")


def coverage_figures(result: Result) -> list[Figure]:
    """Draw one chart: a curve per subject and part, with named points on it."""
    curves = {
        " ".join(filter(None, cloud_of(table))) or "words": table.rows
        for table in result.tables
        if table.measure == COVERAGE and table.rows
    }
    if not curves:
        return []
    kept = evenly(list(curves), MOST_SERIES)
    points = [
        {"of": of, "words": row["words"], "percent": float(f"{100 * row['share']:.5g}")}
        for of in kept
        for row in curves[of]
        if row.get("words") and row.get("share") is not None
    ]
    if not points:
        return []
    named = [point for point in map(named_point, result.rows) if point and point["of"] in kept]
    left = f" Drawn are {len(kept)} of {len(curves)} curves." if len(kept) < len(curves) else ""
    said = told_of([f"{p['of']}: {p['said']}" for p in named], most=8)
    marked = " Diamonds mark numbers of words, triangles shares of the text." if named else ""
    called = ", ".join(kept[:3]) + (" and more" if len(kept) > 3 else "")
    return [
        Figure(
            file_name(COVERAGE, called),
            f"How much of a text its most frequent words cover: {called}",
            f"The share of a text that its most frequent words or tokens cover rises with their "
            f"number, on a logarithmic axis. {said or ends(points)}.{marked}{left}",
            layered([*points, *named], layers_of(points, named)),
            ["curve", "most frequent words", "share of the text (%)"],
            [[p["of"], shown(p["words"]), shown(p["percent"])] for p in [*points, *named]],
        )
    ]


def named_point(row: Row) -> dict[str, Any] | None:
    """Return a row that is a point of the curve; None where it is not."""
    first, needed = FIRST.fullmatch(row.measure), NEEDED.fullmatch(row.measure)
    if row.value is None or not (first or needed):
        return None
    of = " ".join(filter(None, cloud_of(row))) or "words"
    if first:
        words, percent = float(first[1]), 100 * row.value
        said = f"the first {shown(words)} cover {percent:.3g} %"
        return {"of": of, "words": words, "percent": percent, "said": said, "kind": ASKED_NUMBER}
    assert needed
    words, percent = row.value, 100 * float(needed[1])
    said = f"{percent:g} % take {shown(words)}"
    return {"of": of, "words": words, "percent": percent, "said": said, "kind": ASKED_SHARE}


def layers_of(points: list[dict[str, Any]], named: list[dict[str, Any]]) -> list[Spec]:
    """Return curves, and named points with rules at the numbers of words that were asked for."""
    line = telling_apart(points, "of", "curve")
    axes = {
        "x": number("words", "most frequent words (logarithmic)",
                    scale=logarithmic(nice=False), axis={"format": "~s", "labelFlush": False}),
        "y": number("percent", "share of the text (%)", scale={"domain": [0, 100]}),
        "color": line["color"],
    }  # fmt: skip
    numbers = {"words": "most frequent words", "percent": "share of the text (%)"}
    chosen = [{"filter": "!isValid(datum.said)"}]
    layers: list[Spec] = [
        {"transform": chosen, "mark": "line",
         "encoding": {**axes, "strokeDash": line["strokeDash"]}},
        # Lines tell only their first point: unseen points along them tell theirs.
        {"transform": chosen, "mark": {"type": "point", "size": 120, "opacity": 0},
         "encoding": {**axes, "tooltip": told({"of": "curve"}, numbers)}},
    ]  # fmt: skip
    if not named:
        return layers
    hover = told({"of": "curve", "said": "named point"}, numbers)
    # Without a legend: rules name the numbers, the axis the shares, and hovering tells both.
    shape = name("kind", "named point", scale=SHAPES, legend=None)
    layers.append(
        {"transform": [{"filter": "isValid(datum.said)"}],
         "mark": {"type": "point", "size": 90, "opacity": 1},
         "encoding": {**axes, "shape": shape, "tooltip": hover}}
    )  # fmt: skip
    asked = sorted({point["words"] for point in named if point["kind"] == ASKED_NUMBER})
    if asked:
        rules = {"values": [{"words": words, "label": f"first {shown(words)}"} for words in asked]}
        place = {"x": axes["x"], "tooltip": told({"label": "most frequent words"})}
        words = {"type": "text", "align": "left", "dx": 4, "dy": -8}
        label = {"y": {"datum": 0}, "text": {"field": "label", "type": "nominal"}}
        layers += [
            {"data": rules, "mark": {"type": "rule", "strokeDash": [2, 3]}, "encoding": place},
            {"data": rules, "mark": words, "encoding": {**place, **label}},
        ]
    return layers


def ends(points: list[dict[str, Any]]) -> str:
    """Say where the first curve begins and ends."""
    first, last = points[0], [p for p in points if p["of"] == points[0]["of"]][-1]
    return (
        f"{first['of']}: {shown(first['words'])} cover {first['percent']:.3g} %, "
        f"{shown(last['words'])} cover {last['percent']:.3g} %"
    )
