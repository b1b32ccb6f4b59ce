"""Gains and biases of norms, from the input on."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from isoscope.report.figure import Figure, file_name, shown
from isoscope.report.figures.interval_lines import interval_lines
from isoscope.report.figures.layer_order import FITTED, depth_axis
from isoscope.report.figures.space_colours import series_colours
from isoscope.report.figures.standing_records import is_number, is_standing, of
from isoscope.report.vega import layered, told

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoscope.report.vega import Spec
    from isoscope.results.result import Result

SIZES = {"gain_avgnorm": "gain", "bias_avgnorm": "bias"}
AXIS = "‖·‖ / √d"
FEWEST_NORMS = 2


def norm_figures(result: Result) -> list[Figure]:
    """Draw gains and biases of each model with several norms."""
    models: dict[str, list[dict[str, Any]]] = {}
    without: Counter[str] = Counter()
    for row in result.rows:
        if row.measure not in SIZES or row.extra.get("parts") != "norm" or not is_standing(row):
            continue
        if is_number(row.value):
            marks = models.setdefault(row.subject, [])
            marks.append({"norm": row.part, "of": SIZES[row.measure], "value": row.value})
        else:
            without[row.subject] += 1
    return [
        drawn(subject, with_places(marks), without[subject])
        for subject, marks in models.items()
        if len({mark["norm"] for mark in marks}) >= FEWEST_NORMS
    ]


def with_places(marks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Add the place of each norm, and a name that is short enough for an axis."""
    norms = list(dict.fromkeys(str(mark["norm"]) for mark in marks))
    labels = short_names(norms)
    return [
        {**mark, "label": labels[mark["norm"]], "depth": norms.index(mark["norm"])}
        for mark in marks
    ]


def short_names(norms: Sequence[str]) -> dict[str, str]:
    """Call the norms of a layer by their numbers: their paths would fill the chart."""
    homes = Counter(norm.partition(", ")[0] for norm in norms)
    met: Counter[str] = Counter()
    labels = {}
    for norm in norms:
        home = norm.partition(", ")[0]
        met[home] += 1
        labels[norm] = home if homes[home] == 1 else f"{home}, norm {met[home]}"
    return labels


def norm_axis(marks: list[dict[str, Any]], **more: Any) -> Spec:
    """Return an axis of norms; marks need ``label`` and ``depth``."""
    norms = len({mark["depth"] for mark in marks})
    return depth_axis("label", "norm, in order of depth", norms, **more)


def drawn(subject: str, marks: list[dict[str, Any]], without: int) -> Figure:
    """Draw the norms of one model."""
    colours = series_colours([kind for kind in SIZES.values() if kind in kinds_of(marks)])
    order = list(colours)
    marks = [{**mark, "colour": colours[mark["of"]]} for mark in marks]
    marks.sort(key=lambda mark: (order.index(mark["of"]), mark["depth"]))
    said = "; ".join(
        summary(kind, [mark for mark in marks if mark["of"] == kind]) for kind in order
    )
    missing = f" {without:,} gains or biases are not there." if without else ""
    return Figure(
        file_name("norm-weights", subject),
        of("Gains and biases of the norms of", subject),
        f"Root mean square of the gains and biases of each norm of {subject}: {said}.{missing}",
        layered(
            marks,
            interval_lines(marks, ("of", "weights"), colours, f"size of the weights, {AXIS}"),
            encoding={
                "x": norm_axis(marks, scale={"type": "point", "padding": 0.5}),
                "tooltip": told({"norm": "norm", "of": "weights"}, {"value": AXIS}),
            },
            **FITTED,
        ),
        ["norm", "weights", AXIS],
        [[mark["norm"], mark["of"], shown(mark["value"])] for mark in marks],
    )


def kinds_of(marks: list[dict[str, Any]]) -> set[str]:
    """Return whether there are gains, biases or both."""
    return {mark["of"] for mark in marks}


def summary(kind: str, marks: list[dict[str, Any]]) -> str:
    """Say between what gains or biases move, and where they end."""
    low, high = (end(marks, key=lambda mark: mark["value"]) for end in (min, max))
    return (
        f"{kind} from {shown(low['value'])} ({low['norm']}) to {shown(high['value'])} "
        f"({high['norm']}), {shown(marks[-1]['value'])} in the last norm"
    )
