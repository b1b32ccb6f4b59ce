"""How evenly tokens of like frequency fill their space, band by band."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from isoscope.report.figure import Figure, file_name, shown
from isoscope.report.figures.panels import MOST_SERIES, cloud_of, evenly, told_of
from isoscope.report.vega import SCHEMA, Spec, name, number, told

if TYPE_CHECKING:
    from isoscope.results.result import Result, Row

TITLES = {
    "mean_cosine": "mean cosine", "i1_scaled": "I1, scaled (1 is even)",
    "mean_norm": "mean norm",
}  # fmt: skip
BAND = re.compile(r"(?P<where>.*), (ranks (?P<ranks>\S.*)|(?P<none>not in the text))", re.DOTALL)
WIDTH, STEP = 240, 26


def frequency_band_figures(result: Result) -> list[Figure]:
    """Draw a figure per subject: a small chart per measure, a row per band."""
    subjects: dict[str, list[Row]] = {}
    for row in result.rows:
        if row.measure in TITLES and row.correction == "none" and BAND.fullmatch(row.part):
            subjects.setdefault(cloud_of(row)[0], []).append(row)
    return [
        drawn(subject or "the vectors", rows)
        for subject, rows in subjects.items()
        if any(row.value is not None for row in rows)
    ]


def point_of(row: Row) -> dict[str, Any]:
    """Return a row as a point."""
    match = BAND.fullmatch(row.part)
    assert match
    point: dict[str, Any] = {
        "where": match["where"], "band": match["ranks"] or match["none"], "measure": row.measure,
        "value": row.value, "count": row.n,
    }  # fmt: skip
    if row.low is not None and row.high is not None:
        point |= {"low": row.low, "high": row.high}
    return point


def drawn(subject: str, rows: list[Row]) -> Figure:
    """Draw one figure."""
    every = [point_of(row) for row in rows]
    places = list(dict.fromkeys(point["where"] for point in every))
    kept = evenly(places, MOST_SERIES)
    every = [point for point in every if point["where"] in kept]
    points = [point for point in every if point["value"] is not None]
    bands = list(dict.fromkeys(point["band"] for point in points))
    measures = [one for one in TITLES if any(point["measure"] == one for point in points)]
    said = told_of([sentence(points, where) for where in kept])
    undefined = len(every) - len(points)
    notes = f" {undefined} values are undefined: bands with few vectors." if undefined else ""
    if len(kept) < len(places):
        notes += f" Drawn are {len(kept)} of {len(places)} parts."
    return Figure(
        file_name("frequency-bands", subject),
        f"Tokens of {subject} by how frequent they are",
        f"{', '.join(TITLES[one] for one in measures)} of tokens of {subject} by bands of "
        f"frequency, the most frequent on top. {said}.{notes}",
        {
            "$schema": SCHEMA, "data": {"values": points}, "columns": 1,
            "concat": [small_chart(measure, bands, kept) for measure in measures],
        },
        ["part", "frequency rank", "measure", "value", "low", "high", "tokens"],
        [
            [p["where"], p["band"], p["measure"], shown(p["value"]),
             *(shown(p[one]) if one in p else "" for one in ("low", "high")), shown(p["count"])]
            for p in every
        ],
    )  # fmt: skip


def small_chart(measure: str, bands: list[str], places: list[str]) -> Spec:
    """Return the chart of one measure: bands down, a shape and colour per part."""
    title = TITLES[measure]
    scale = {"domain": places}
    place = {
        "y": name("band", "frequency rank", sort=bands, scale={"paddingInner": 0.4}),
        "color": name("where", "part", scale=scale),
        "yOffset": name("where", "part", scale=scale),
    }
    hover = told(
        {"where": "part", "band": "frequency rank"},
        {"value": title, "low": "interval from", "high": "to", "count": "tokens"},
    )
    axis = number("value", title, scale={"zero": True}, axis={"tickCount": 5})
    return {
        "width": WIDTH, "height": {"step": STEP, "for": "position"},
        "transform": [{"filter": {"field": "measure", "equal": measure}}],
        "layer": [
            {"mark": "rule",
             "encoding": {**place, "x": number("low", title), "x2": {"field": "high"},
                          "tooltip": hover}},
            {"mark": {"type": "point", "size": 60, "opacity": 1},
             "encoding": {**place, "x": axis, "shape": name("where", "part", scale=scale),
                          "tooltip": hover}},
        ],
    }  # fmt: skip


def sentence(points: list[dict[str, Any]], where: str) -> str:
    """Say how measures change from the most frequent band to the last."""
    said = []
    for measure, title in TITLES.items():
        mine = [p for p in points if p["where"] == where and p["measure"] == measure]
        if mine:
            said.append(f"{title} {shown(mine[0]['value'])} to {shown(mine[-1]['value'])}")
    return f"{where}, from the first band to the last: {', '.join(said) or 'undefined'}"
