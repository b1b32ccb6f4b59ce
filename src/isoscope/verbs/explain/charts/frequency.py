"""Charts of explanations by frequency.

- How much of a text its most frequent words cover, with the points that people quote.
- How evenly tokens of similar frequency fill their space, band by band.
- Which tokens the unused ones are close to: mean cosines by ids, raw and centred.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from isoscope.results.charts.chart import INTERVAL, Figure
from isoscope.results.charts.marks import MOST_SERIES, Mark, Marks, interval_of, of
from isoscope.results.charts.sheets import (
    Cloud,
    Sheet,
    cloud_of,
    evenly,
    line_style,
    reach,
    sheets,
    some_of,
)
from isoscope.results.charts.vega import (
    SCHEMA,
    Spec,
    layer,
    layered,
    logarithmic,
    name,
    number,
    tooltip,
)
from isoscope.results.numbers import shown
from isoscope.results.tables import grouped
from isoscope.verbs.explain.names import COSINE_WITH_UNUSED, DIFFERENCE

if TYPE_CHECKING:
    from isoscope.results.result import Result, Row, Table


COVERAGE = "coverage"
FIRST = re.compile(r"share_of_first_(\d+)")
ASKED_NUMBER, ASKED_SHARE = "first so many words", "words for a share"
SHAPES = {"domain": [ASKED_NUMBER, ASKED_SHARE], "range": ["diamond", "triangle-up"]}
NUMBERS = {"words": "most frequent words", "percent": "share of the text (%)"}
NEEDED = re.compile(r"needed_for_(0?\.\d+|1)")


def coverage_figures(result: Result) -> list[Figure]:
    """Draw one chart: a curve per subject and part, with named points on it."""
    curves = {
        curve_name(table): table.rows
        for table in result.tables
        if table.measure == COVERAGE and table.rows
    }
    kept = evenly(list(curves), MOST_SERIES)
    points = Marks(
        {"of": curve, "words": row["words"], "percent": float(f"{100 * row['share']:.5g}")}
        for curve in kept
        for row in curves[curve]
        if row.get("words") and row.get("share") is not None
    )
    if not points:
        return []
    named = Marks(filter(None, map(named_point, result.rows))).only(of=kept)
    left = f" Drawn are {len(kept)} of {len(curves)} curves." if len(kept) < len(curves) else ""
    said = some_of([f"{p['of']}: {p['said']}" for p in named], most=8)
    marked = " Diamonds mark numbers of words, triangles shares of the text." if named else ""
    called = ", ".join(kept[:3]) + (" and more" if len(kept) > 3 else "")
    return [
        Figure.of(
            (COVERAGE, called),
            f"How much of a text its most frequent words cover: {called}",
            f"The share of a text that its most frequent words or tokens cover rises with their "
            f"number, on a logarithmic axis. {said or ends(points)}.{marked}{left}",
            layered([*points, *named], layers_of(points, named)),
            [*points, *named],
            {"of": "curve", **NUMBERS},
        )
    ]


def curve_name(item: Row | Table) -> str:
    """Return what a curve is called."""
    return of(*cloud_of(item)) or "words"


def named_point(row: Row) -> Mark | None:
    """Return a row that is a point of the curve; None where it is not."""
    first, needed = FIRST.fullmatch(row.measure), NEEDED.fullmatch(row.measure)
    if row.value is None or not (first or needed):
        return None
    if first:
        words, percent, kind = float(first[1]), 100 * row.value, ASKED_NUMBER
        said = f"the first {shown(words)} cover {percent:.3g} %"
    else:
        assert needed
        words, percent, kind = row.value, 100 * float(needed[1]), ASKED_SHARE
        said = f"{percent:g} % take {shown(words)}"
    return {"of": curve_name(row), "words": words, "percent": percent, "said": said, "kind": kind}


def layers_of(points: Marks, named: Marks) -> list[Spec]:
    """Return curves, and named points with rules at the numbers of words that were asked for."""
    line = line_style(points, "of", "curve")
    axes = {
        "x": number("words", "most frequent words (logarithmic)",
                    scale=logarithmic(nice=False), axis={"format": "~s", "labelFlush": False}),
        "y": number("percent", "share of the text (%)", scale={"domain": [0, 100]}),
        "color": line["color"],
    }  # fmt: skip
    chosen = [{"filter": "!isValid(datum.said)"}]
    along, hover = tooltip({"of": "curve"}, NUMBERS), {"type": "point", "size": 120, "opacity": 0}
    layers = [
        {"transform": chosen, **layer("line", **axes, strokeDash=line["strokeDash"])},
        # Lines tell only their first point: unseen points along them tell theirs.
        {"transform": chosen, **layer(hover, **axes, tooltip=along)},
    ]
    if not named:
        return layers
    told = tooltip({"of": "curve", "said": "named point"}, NUMBERS)
    # Without a legend: rules name the numbers, the axis the shares, and hovering tells both.
    shape = name("kind", "named point", scale=SHAPES, legend=None)
    mark = {"type": "point", "size": 90, "opacity": 1}
    said = [{"filter": "isValid(datum.said)"}]
    layers.append({"transform": said, **layer(mark, **axes, shape=shape, tooltip=told)})
    asked = sorted({point["words"] for point in named if point["kind"] == ASKED_NUMBER})
    if asked:
        rules = {"values": [{"words": words, "label": f"first {shown(words)}"} for words in asked]}
        place = {"x": axes["x"], "tooltip": tooltip({"label": "most frequent words"})}
        words = {"type": "text", "align": "left", "dx": 4, "dy": -8}
        label = {"y": {"datum": 0}, "text": {"field": "label", "type": "nominal"}}
        layers += [
            {"data": rules, **layer({"type": "rule", "strokeDash": [2, 3]}, **place)},
            {"data": rules, **layer(words, **place, **label)},
        ]
    return layers


def ends(points: Marks) -> str:
    """Say where the first curve begins and ends."""
    first, last = points[0], [p for p in points if p["of"] == points[0]["of"]][-1]
    return (
        f"{first['of']}: {shown(first['words'])} cover {first['percent']:.3g} %, "
        f"{shown(last['words'])} cover {last['percent']:.3g} %"
    )


TITLES = {
    "mean_cosine": "mean cosine", "i1_scaled": "I1, scaled (1 is even)",
    "mean_norm": "mean norm",
}  # fmt: skip
BAND = re.compile(r"(?P<where>.*), (ranks (?P<ranks>\S.*)|(?P<none>not in the text))", re.DOTALL)
WIDTH, STEP = 240, 26


def frequency_band_figures(result: Result) -> list[Figure]:
    """Draw a figure per subject: a small chart per measure, a row per band."""
    found = (
        row
        for row in result.rows
        if row.measure in TITLES and row.correction == "none" and BAND.fullmatch(row.part)
    )
    return [
        draw_bands(subject or "the vectors", rows)
        for subject, rows in grouped(found, lambda row: cloud_of(row)[0]).items()
        if any(row.value is not None for row in rows)
    ]


def point_of(row: Row) -> Mark:
    """Return a row as a point."""
    match = BAND.fullmatch(row.part)
    assert match
    return {
        "where": match["where"], "band": match["ranks"] or match["none"], "measure": row.measure,
        "value": row.value, "count": row.n, **interval_of(row),
    }  # fmt: skip


def draw_bands(subject: str, rows: list[Row]) -> Figure:
    """Draw one figure."""
    every = Marks(map(point_of, rows))
    places = every.names("where")
    kept = evenly(places, MOST_SERIES)
    every = every.only(where=kept)
    points = every.known
    bands, measured = points.names("band"), points.names("measure")
    measures = [one for one in TITLES if one in measured]
    said = some_of([band_sentence(points, where) for where in kept])
    undefined = len(every) - len(points)
    notes = f" {undefined} values are undefined: bands with few vectors." if undefined else ""
    if len(kept) < len(places):
        notes += f" Drawn are {len(kept)} of {len(places)} parts."
    return Figure.of(
        ("frequency-bands", subject),
        f"Tokens of {subject} by how frequent they are",
        f"{', '.join(TITLES[one] for one in measures)} of tokens of {subject} by bands of "
        f"frequency, the most frequent on top. {said}.{notes}",
        {
            "$schema": SCHEMA, "data": {"values": points}, "columns": 1,
            "concat": [small_chart(measure, bands, kept) for measure in measures],
        },
        every,
        {"where": "part", "band": "frequency rank", "measure": "measure", "value": "value",
         **INTERVAL, "count": "tokens"},
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
    hover = tooltip(
        {"where": "part", "band": "frequency rank"},
        {"value": title, "low": "interval from", "high": "to", "count": "tokens"},
    )
    axis = number("value", title, scale={"zero": True}, axis={"tickCount": 5})
    return {
        "width": WIDTH, "height": {"step": STEP, "for": "position"},
        "transform": [{"filter": {"field": "measure", "equal": measure}}],
        "layer": [
            layer("rule", **place, x=number("low", title), x2={"field": "high"}, tooltip=hover),
            layer({"type": "point", "size": 60, "opacity": 1}, **place, x=axis,
                  shape=name("where", "part", scale=scale), tooltip=hover),
        ],
    }  # fmt: skip


def band_sentence(points: Marks, where: str) -> str:
    """Say how measures change from the most frequent band to the last."""
    said = []
    for measure, title in TITLES.items():
        mine = [p for p in points if p["where"] == where and p["measure"] == measure]
        if mine:
            said.append(f"{title} {shown(mine[0]['value'])} to {shown(mine[-1]['value'])}")
    return f"{where}, from the first band to the last: {', '.join(said) or 'undefined'}"


BIN = re.compile(r"ids ([\d,]+) to ([\d,]+)")
AXIS = {"format": ",d", "tickCount": 4, "labelFlush": False}

Found = dict[tuple[Cloud, str], list["Row"]]


def unused_bin_figures(result: Result) -> list[Figure]:
    """Draw a line per space through bins of ids in order, rare tokens last."""
    bins = (
        row
        for row in result.rows
        if row.measure == COSINE_WITH_UNUSED and BIN.fullmatch(row.part) and row.value is not None
    )
    found = grouped(bins, lambda row: ((cloud_of(row)[0], ""), row.correction))
    differences = {
        ((cloud_of(row)[0], ""), row.correction): row
        for row in result.rows
        if row.measure == DIFFERENCE and row.value is not None
    }
    return [draw_bins(sheet, found, differences) for sheet in sheets(found)]


def draw_bins(sheet: Sheet, found: Found, differences: dict[tuple[Cloud, str], Row]) -> Figure:
    """Draw one figure."""
    points = sheet.marks(found, points_of)
    line = line_style(points, "series", sheet.legend)
    axes = {
        "x": number(
            "middle", "token id, bins of 1,000", axis=AXIS,
            scale={"domain": reach([0, *(p["middle"] for p in points)], 1_000)},
        ),
        "y": number("cosine", "mean cosine with unused tokens"),
        "color": line["color"],
    }  # fmt: skip
    hover = tooltip(
        {"panel": sheet.apart, "space": "correction", "ids": "bin"},
        {"cosine": "mean cosine", "count": "tokens"},
    )
    plain, extra = ({"transform": [{"filter": rule}]} for rule in ("!datum.extra", "datum.extra"))
    diamond = {"type": "point", "shape": "diamond", "size": 110}
    layers = [
        {**plain, **layer("line", **axes, strokeDash=line["strokeDash"])},
        {**plain, **layer("point", **axes, tooltip=hover)},
        {**extra, **layer(diamond, **axes, tooltip=hover)},
    ]
    said = sheet.words(
        {key: (rows, differences.get(key)) for key, rows in found.items()}, bin_sentence
    )
    beside = " A diamond is a bin that lies across others." * any(p["extra"] for p in points)
    return Figure.of(
        ("unused-tokens", sheet.of),
        f"Cosine of unused tokens with others in {sheet.of}",
        f"Mean cosine of unused tokens with tokens of {sheet.of}, in bins of 1,000 ids. {said}."
        f"{beside}{sheet.left_out}",
        sheet.spec(points, layers),
        points,
        {"panel": sheet.apart, "space": "correction", "ids": "bin", "cosine": "mean cosine",
         "count": "tokens"},
    )  # fmt: skip


def points_of(rows: list[Row], space: str) -> Marks:
    """Return bins as points in their middle; one that lies across others is an extra."""
    found = Marks()
    end = -1
    for row in rows:
        low, high = ids_of(row.part)
        extra = low <= end
        end = max(end, high)
        found.append(
            {"space": space, "ids": row.part, "middle": (low + high) / 2, "cosine": row.value,
             "count": row.n, "extra": extra}
        )  # fmt: skip
    return found


def ids_of(part: str) -> tuple[int, int]:
    """Return the first and the last id of a bin."""
    match = BIN.fullmatch(part)
    assert match
    return int(match[1].replace(",", "")), int(match[2].replace(",", ""))


def bin_sentence(found: tuple[list[Row], Row | None]) -> str:
    """Say how much closer unused tokens are to rare than to frequent ones."""
    rows, difference = found
    if difference is None:
        first, last = rows[0], rows[-1]
        return f"{shown(first.value)} ({first.part}), {shown(last.value)} ({last.part})"
    return f"{difference.note or 'rare less frequent'} {shown(difference.value)}"
