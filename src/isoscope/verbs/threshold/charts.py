"""What a score means: the share of random pairs above each cosine, with thresholds as rules."""

from __future__ import annotations

from collections.abc import Iterable

from isoscope.results.charts.chart import Figure
from isoscope.results.charts.marks import MOST_SERIES, Mark, Marks, of
from isoscope.results.charts.sheets import (
    MOST_PANELS,
    cloud_of,
    faceted,
    line_style,
    reach,
    some_of,
)
from isoscope.results.charts.vega import (
    CATEGORIES,
    Spec,
    layer,
    layered,
    logarithmic,
    number,
    tooltip,
)
from isoscope.results.numbers import shown
from isoscope.results.result import Result, Row
from isoscope.results.tables import grouped
from isoscope.verbs.threshold.names import PER_QUERY, RANDOM, SCORE, SHARE_ABOVE, THRESHOLD
from isoscope.verbs.threshold.text import words

TICKS = [100, 50, 10, 1, 0.1, 0.01, 0.001]
AXIS = {"tickCount": 6, "labelFlush": False}

# The percentile that the sentence tells.
NAMED = "99%"


def random_pair_figures(result: Result) -> list[Figure]:
    """Draw a chart per source: a curve per space, a rule per threshold or score asked for."""
    return [
        drawn(of(*cloud) or "the vectors", points, rules_of(rows))
        for cloud, rows in grouped(result.rows, cloud_of).items()
        if (points := points_of(rows))
    ]


def points_of(rows: Iterable[Row]) -> Marks:
    """Return percentiles as points, the lowest cosine of each space first."""
    points = Marks(
        {"space": row.correction, "cosine": row.value, "above": 100 * row.extra[SHARE_ABOVE],
         "matches": row.extra.get(PER_QUERY), "called": words(row)}
        for row in rows
        if row.measure.startswith(RANDOM) and row.value is not None
        and SCORE not in row.extra and row.extra.get(SHARE_ABOVE)
    )  # fmt: skip
    spaces = points.names("space")
    points.sort(key=lambda point: (spaces.index(point["space"]), -point["above"]))
    return points


def rules_of(rows: Iterable[Row]) -> Marks:
    """Return thresholds of labelled pairs, and scores that were asked for."""
    rules = Marks()
    for row in rows:
        if row.measure.endswith(THRESHOLD) and row.value is not None:
            goal = str(row.extra.get("goal", row.measure.removesuffix(THRESHOLD)))
            rules.append({"space": row.correction, "goal": goal, "threshold": row.value})
        elif row.measure.startswith(RANDOM) and SCORE in row.extra:
            rules.append(
                {"space": row.correction, "goal": f"score {row.extra[SCORE]:g}",
                 "threshold": row.extra[SCORE], "below": row.value}
            )  # fmt: skip
    return rules


def drawn(about: str, points: Marks, rules: Marks) -> Figure:
    """Draw one figure: small charts where thresholds differ by space, else one chart."""
    every = points.names("space")
    # Scores that were looked up are the same in all spaces, thresholds of labels are not.
    apart = len(every) > 1 and (len(every) > MOST_SERIES or any("below" not in r for r in rules))
    spaces = every[: MOST_PANELS if apart else MOST_SERIES]
    goals = rules.names("goal")[:MOST_SERIES]
    points = points.only(space=spaces)
    rules = rules.only(space=spaces, goal=goals)
    # One chart of all spaces needs each score once: it is the same in all of them.
    marked = rules if apart else Marks({rule["goal"]: rule for rule in rules}.values())
    values = Marks([*points, *marked])
    cosines = [p["cosine"] for p in points] + [r["threshold"] for r in marked]
    domain = reach(cosines, 0.1)
    layers = curve_layers(points, domain, not apart)
    layers += rule_layers(marked, apart) if marked else []
    left = "" if len(spaces) == len(every) else f" Drawn are {len(spaces)} of {len(every)} spaces."
    looked_up = [
        {**rule, "called": rule["goal"], "cosine": rule["threshold"], "above": above(rule)}
        for rule in rules
    ]
    return Figure.of(
        ("random-pairs", about),
        f"What a cosine means among random pairs of {about}",
        f"Share of random pairs of {about} above each cosine, on a logarithmic axis."
        f"{sentence(points)}{rule_sentence(rules)}{left}",
        faceted(values, layers, "space", "correction") if apart else layered(values, layers),
        [*points, *looked_up],
        {"space": "correction", "called": "what", "cosine": "cosine",
         "above": "random pairs above (%)"},
    )  # fmt: skip


def curve_layers(points: Marks, domain: list[float], coloured: bool) -> list[Spec]:
    """Return a line through the percentiles of each space; coloured where it is one of many."""
    axes: Spec = {
        "x": number("cosine", "cosine", scale={"domain": domain}, axis=AXIS),
        "y": number("above", "random pairs above (%)", scale=logarithmic(nice=False),
                    axis={"format": "~g", "values": TICKS}),
        "color": {"value": CATEGORIES[0]},
    }  # fmt: skip
    lines, dots = dict(axes), dict(axes)
    if coloured:
        apart = line_style(points, "space", "correction")
        lines |= apart
        dots["color"] = apart["color"]
    lines["order"] = number("above", "random pairs above (%)")
    dots["tooltip"] = tooltip(
        {"space": "correction", "called": "random pairs"},
        {"cosine": "cosine", "above": "random pairs above (%)", "matches": "matches a query"},
    )
    chosen: Spec = {"transform": [{"filter": "isValid(datum.above)"}]}
    return [chosen | layer("line", **lines), chosen | layer("point", **dots)]


def rule_layers(rules: Marks, dashed: bool) -> list[Spec]:
    """Return an upright rule per threshold: told apart by dashes, or by words beside it."""
    hover = tooltip({"space": "correction", "goal": "threshold for"}, {"threshold": "cosine"})
    chosen: Spec = {"transform": [{"filter": "isValid(datum.threshold)"}]}
    place = {"x": number("threshold", "cosine"), "tooltip": hover}
    if dashed:
        dash = line_style(rules, "goal", "threshold for")["strokeDash"]
        return [chosen | layer("rule", **place, strokeDash=dash)]
    beside = {"type": "text", "angle": 270, "align": "right", "dy": -6, "dx": -4}
    goal = {"field": "goal", "type": "nominal"}
    return [
        chosen | layer("rule", **place),
        chosen | layer(beside, **place, y={"value": 0}, text=goal),
    ]


def above(rule: Mark) -> str:
    """Return the share of random pairs above a score, where it was looked up."""
    below = rule.get("below")
    return "" if below is None else shown(100 - below)


def sentence(points: Marks) -> str:
    """Say which cosine one random pair in a hundred exceeds."""
    known = [point for point in points if point["called"].startswith(NAMED)]
    said = some_of([f"{point['space']} {shown(point['cosine'])}" for point in known])
    return f" One pair in a hundred exceeds: {said}." if said else ""


def rule_sentence(rules: Marks) -> str:
    """Say where the rules are, goal by goal."""
    said = "; ".join(
        f"{goal}: {some_of([place_of(rule) for rule in own]).replace(';', ',')}"
        for goal, own in rules.by("goal").items()
    )
    return f" Rules stand at {said}." if said else ""


def place_of(rule: Mark) -> str:
    """Say where a rule stands in its space."""
    where = f"{above(rule)} % above" if "below" in rule else shown(rule["threshold"])
    return f"{rule['space']} {where}"
