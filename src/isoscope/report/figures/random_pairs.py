"""What a score means: the share of random pairs above each cosine, with thresholds as rules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from isoscope.report.figure import Figure, file_name, shown
from isoscope.report.figures.panels import (
    MOST_PANELS,
    MOST_SERIES,
    cloud_of,
    faceted,
    reach,
    telling_apart,
    told_of,
)
from isoscope.report.theme import CATEGORIES
from isoscope.report.vega import Spec, layered, logarithmic, number, told

if TYPE_CHECKING:
    from collections.abc import Iterable

    from isoscope.results.result import Result, Row

RANDOM = "random-pairs/"
THRESHOLD = "/threshold"
TICKS = [100, 50, 10, 1, 0.1, 0.01, 0.001]
AXIS = {"tickCount": 6, "labelFlush": False}
NAMED = "99%"
"""The percentile that the sentence tells."""


def random_pair_figures(result: Result) -> list[Figure]:
    """Draw a chart per source: a curve per space, a rule per threshold or score asked for."""
    clouds: dict[tuple[str, str], list[Row]] = {}
    for row in result.rows:
        if row.measure.startswith(RANDOM) or row.measure.endswith(THRESHOLD):
            clouds.setdefault(cloud_of(row), []).append(row)
    figures = []
    for (subject, part), rows in clouds.items():
        of = " ".join(filter(None, (subject, part))) or "the vectors"
        points = points_of(rows)
        if points:
            figures.append(drawn(of, points, rules_of(rows)))
    return figures


def points_of(rows: Iterable[Row]) -> list[dict[str, Any]]:
    """Return percentiles as points, the lowest cosine of each space first."""
    points = [
        {"space": row.correction, "cosine": row.value, "above": 100 * row.extra["share_above"],
         "matches": row.extra.get("matches_per_query"), "called": called(row)}
        for row in rows
        if row.measure.startswith(RANDOM) and row.value is not None
        and "score" not in row.extra and row.extra.get("share_above")
    ]  # fmt: skip
    spaces = list(dict.fromkeys(point["space"] for point in points))
    return sorted(points, key=lambda point: (spaces.index(point["space"]), -point["above"]))


def called(row: Row) -> str:
    """Return how people say which percentile a row is."""
    what = row.measure.removeprefix(RANDOM)
    return f"{what} below" if what.endswith("%") else what.replace("-per-query", " a query above")


def rules_of(rows: Iterable[Row]) -> list[dict[str, Any]]:
    """Return thresholds of labelled pairs, and scores that were asked for."""
    rules = []
    for row in rows:
        if row.measure.endswith(THRESHOLD) and row.value is not None:
            goal = str(row.extra.get("goal", row.measure.removesuffix(THRESHOLD)))
            rules.append({"space": row.correction, "goal": goal, "threshold": row.value})
        elif row.measure.startswith(RANDOM) and "score" in row.extra:
            rules.append(
                {"space": row.correction, "goal": f"score {row.extra['score']:g}",
                 "threshold": row.extra["score"], "below": row.value}
            )  # fmt: skip
    return rules


def drawn(of: str, points: list[dict[str, Any]], rules: list[dict[str, Any]]) -> Figure:
    """Draw one figure: small charts where thresholds differ by space, else one chart."""
    every = list(dict.fromkeys(point["space"] for point in points))
    apart = len(every) > 1 and (len(every) > MOST_SERIES or any("below" not in r for r in rules))
    spaces = every[: MOST_PANELS if apart else MOST_SERIES]
    goals = list(dict.fromkeys(rule["goal"] for rule in rules))[:MOST_SERIES]
    points = [point for point in points if point["space"] in spaces]
    rules = [rule for rule in rules if rule["space"] in spaces and rule["goal"] in goals]
    # One chart of all spaces needs each score once: it is the same in all of them.
    marked = rules if apart else list({rule["goal"]: rule for rule in rules}.values())
    values = [*points, *marked]
    cosines = [p["cosine"] for p in points] + [r["threshold"] for r in marked]
    domain = reach(cosines, 0.1)
    layers = curve_layers(points, domain, not apart)
    layers += rule_layers(marked, apart) if marked else []
    left = "" if len(spaces) == len(every) else f" Drawn are {len(spaces)} of {len(every)} spaces."
    return Figure(
        file_name("random-pairs", of),
        f"What a cosine means among random pairs of {of}",
        f"Share of random pairs of {of} above each cosine, on a logarithmic axis."
        f"{sentence(points)}{rule_sentence(rules)}{left}",
        faceted(values, layers, "space", "correction") if apart else layered(values, layers),
        ["correction", "what", "cosine", "random pairs above (%)"],
        [[p["space"], p["called"], shown(p["cosine"]), shown(p["above"])] for p in points]
        + [[r["space"], r["goal"], shown(r["threshold"]), above(r)] for r in rules],
    )


def curve_layers(points: list[dict[str, Any]], domain: list[float], coloured: bool) -> list[Spec]:
    """Return a line through the percentiles of each space; coloured where it is one of many."""
    axes: Spec = {
        "x": number("cosine", "cosine", scale={"domain": domain}, axis=AXIS),
        "y": number("above", "random pairs above (%)", scale=logarithmic(nice=False),
                    axis={"format": "~g", "values": TICKS}),
        "color": {"value": CATEGORIES[0]},
    }  # fmt: skip
    lines, dots = dict(axes), dict(axes)
    if coloured:
        apart = telling_apart(points, "space", "correction")
        lines |= apart
        dots["color"] = apart["color"]
    lines["order"] = number("above", "random pairs above (%)")
    dots["tooltip"] = told(
        {"space": "correction", "called": "random pairs"},
        {"cosine": "cosine", "above": "random pairs above (%)", "matches": "matches a query"},
    )
    chosen = [{"filter": "isValid(datum.above)"}]
    return [
        {"transform": chosen, "mark": "line", "encoding": lines},
        {"transform": chosen, "mark": "point", "encoding": dots},
    ]


def rule_layers(rules: list[dict[str, Any]], dashed: bool) -> list[Spec]:
    """Return an upright rule per threshold: told apart by dashes, or by words beside it."""
    hover = told({"space": "correction", "goal": "threshold for"}, {"threshold": "cosine"})
    chosen = [{"filter": "isValid(datum.threshold)"}]
    place = {"x": number("threshold", "cosine"), "tooltip": hover}
    if dashed:
        dash = telling_apart(rules, "goal", "threshold for")["strokeDash"]
        return [{"transform": chosen, "mark": "rule", "encoding": {**place, "strokeDash": dash}}]
    words = {"type": "text", "angle": 270, "align": "right", "dy": -6, "dx": -4}
    return [
        {"transform": chosen, "mark": "rule", "encoding": place},
        {"transform": chosen, "mark": words,
         "encoding": {**place, "y": {"value": 0}, "text": {"field": "goal", "type": "nominal"}}},
    ]  # fmt: skip


def above(rule: dict[str, Any]) -> str:
    """Return the share of random pairs above a score, where it was looked up."""
    below = rule.get("below")
    return "" if below is None else shown(100 - below)


def sentence(points: list[dict[str, Any]]) -> str:
    """Say which cosine one random pair in a hundred exceeds."""
    known = [point for point in points if point["called"].startswith(NAMED)]
    said = told_of([f"{point['space']} {shown(point['cosine'])}" for point in known])
    return f" One pair in a hundred exceeds: {said}." if said else ""


def rule_sentence(rules: list[dict[str, Any]]) -> str:
    """Say where the rules are, goal by goal."""
    goals: dict[str, list[str]] = {}
    for rule in rules:
        where = f"{above(rule)} % above" if "below" in rule else shown(rule["threshold"])
        goals.setdefault(rule["goal"], []).append(f"{rule['space']} {where}")
    said = "; ".join(
        f"{goal}: {told_of(spaces).replace(';', ',')}" for goal, spaces in goals.items()
    )
    return f" Rules stand at {said}." if said else ""
