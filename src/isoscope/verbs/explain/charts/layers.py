"""Charts from layer to layer: the entries of dimensions, and positions.

- Entries of dimensions, such as those of mean vectors. A few dimensions have a colour and a line,
  which breaks where a layer does not list them; all others are grey, and the largest of each layer
  has its number beside it.
- How well a linear probe reads positions, beside what is possible without vectors.
- Which dimensions contribute to this, and the ranks of outlier dimensions among them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoscope.models.layer_names import in_order, side_of_layer
from isoscope.results.charts.chart import INTERVAL, Figure
from isoscope.results.charts.forms import interval_lines
from isoscope.results.charts.layer_axis import FITTED, layer_axis
from isoscope.results.charts.marks import (
    COLOURS,
    MOST_SERIES,
    Mark,
    Marks,
    colour_scale,
    entries_of,
    interval_of,
    is_number,
    left_out_words,
    of,
    own_colour,
    series_colours,
    standing_rows,
    standing_tables,
)
from isoscope.results.charts.vega import Spec, layer, layered, logarithmic, name, number, tooltip
from isoscope.results.numbers import shown
from isoscope.results.tables import grouped
from isoscope.verbs.explain.names import ACCURACY, BY_TOKEN, MAJORITY, RANK

if TYPE_CHECKING:
    from isoscope.results.result import Result, Row


OTHERS = "others"
# Layers whose largest entry is put into words.
MOST_TOLD = 8


def size_of(entry: Mark) -> float:
    """Return how large an entry is, whatever its sign."""
    return abs(float(entry["value"]))


def largest_of_layers(entries: Marks) -> list[Mark]:
    """Return the largest entry of each layer."""
    return [max(own, key=size_of) for own in entries.by("layer").values()]


def dimension_marks(entries: Marks) -> Marks:
    """Return a mark for every entry, layers in the order of the entries."""
    sizes = {which: max(map(size_of, own)) for which, own in entries.by("dimension").items()}
    # The dimensions with the largest entries have a name, as many as there are colours.
    names = sorted(sizes, key=lambda which: -sizes[which])[: len(COLOURS)]
    depths = {layer: depth for depth, layer in enumerate(entries.names("layer"))}
    largest = largest_of_layers(entries)
    colours = series_colours([*names, OTHERS], OTHERS)
    there = {(one["dimension"], depths[one["layer"]]) for one in entries}
    marks = Marks()
    # A legend has the dimensions with a name in their order, and the others at its end.
    places = {which: place for place, which in enumerate(names)}
    for one in sorted(entries, key=lambda one: places.get(one["dimension"], len(names))):
        depth = start = depths[one["layer"]]
        while (one["dimension"], start - 1) in there:
            start -= 1
        named = one["dimension"] in names
        label = one["dimension"] if named else OTHERS
        marks.append(
            {
                **one, "depth": depth, "shown": label, "colour": colours[label], "named": named,
                "largest": largest[depth] is one, "run": start,
            }
        )  # fmt: skip
    return marks


def dimension_spec(marks: Marks, title: str) -> Spec:
    """Draw marks; the title is that of the vertical axis."""
    colours = {mark["shown"]: mark["colour"] for mark in marks}
    by_name = {
        "color": name("shown", "dimension", **colour_scale(colours)),
        "shape": name("shown", "dimension"),
    }
    y = number("value", title)
    return layered(
        marks,
        [
            {
                "transform": [{"filter": {"field": "named", "equal": True}}],
                **layer({"type": "line", "strokeWidth": 1}, y=y, stroke=own_colour(),
                        detail=[{"field": "dimension"}, {"field": "run"}]),
            },
            layer({"type": "point", "size": 50, "opacity": 1}, y=y, **by_name),
            {
                "transform": [{"filter": {"field": "largest", "equal": True}}],
                **layer({"type": "text", "align": "left", "dx": 7}, y=y,
                        text={"field": "dimension", "type": "nominal"}),
            },
        ],
        encoding={
            "x": layer_axis(len(marks.names("layer"))),
            "tooltip": tooltip({"layer": "layer", "dimension": "dimension"}, {"value": title}),
        },
        **FITTED,
    )  # fmt: skip


def largest_words(entries: Marks) -> str:
    """Name the largest entry of each layer; of many layers, those with the largest ones."""
    largest = largest_of_layers(entries)
    some_of = sorted(largest, key=size_of, reverse=True)[:MOST_TOLD]
    return "; ".join(
        f"{one['layer']} {one['dimension']} ({shown(one['value'])})"
        for one in largest
        if one in some_of
    )


def dimension_figures(
    result: Result, measure: str, field: str, axis: str, file: str, title: str, sentence: str
) -> list[Figure]:
    """Draw the entries of dimensions in each table of a measure that has some.

    Parameters
    ----------
    result : Result
        What is drawn.
    measure, field : str
        The tables, and the field of their rows that is drawn.
    axis : str
        What the numbers are called.
    file, title, sentence : str
        How the names of files begin, what stands above a figure before its subject, and what is
        said of it, with ``{}`` for the subject.
    """
    figures = []
    for table in standing_tables(result, measure):
        entries = Marks(
            {"layer": str(row["layer"]), "dimension": str(row["dimension"]), "value": row[field]}
            for row in entries_of(table, ["dimension", field], ["layer"])
        )
        if entries:
            subject = of(table.subject, table.part)
            note = f" Listed are {table.note}." if table.note else ""
            alt = f"{sentence.format(subject)} {largest_words(entries)}.{note}"
            spec = dimension_spec(dimension_marks(entries), axis)
            columns = {"layer": "layer", "dimension": "dimension", "value": axis.split(",")[0]}
            files = (file, table.subject, table.part)
            figures.append(Figure.of(files, of(title, subject), alt, spec, entries, columns))
    return figures


def mean_vector_figures(result: Result) -> list[Figure]:
    """Draw the mean vectors of every model."""
    return dimension_figures(
        result,
        "mean_vectors",
        "mean",
        "mean entry",
        "mean_vectors",
        "Largest entries of the mean vectors of",
        "Mean entries per layer of {}. The dimension with the largest one in each layer:",
    )


PROBE = "linear probe"
BASELINES = {MAJORITY: "commonest position", BY_TOKEN: "the token alone"}
FEWEST_LAYERS = 2


def probe_figures(result: Result) -> list[Figure]:
    """Draw the accuracies of each model with several layers."""
    return [
        draw_probes(subject, rows, baselines_of(result, subject))
        for subject, rows in rows_of_layers(result, ACCURACY).items()
        if len(rows) >= FEWEST_LAYERS
    ]


def rows_of_layers(result: Result, measure: str) -> dict[str, list[Row]]:
    """Return the rows of layers of a measure, or of what is named behind it, by model.

    They are in order of depth. A measure that ends in ``/`` stands for all that begin with it.
    """
    wanted = (
        row
        for row in standing_rows(result)
        if (row.measure == measure or (measure.endswith("/") and row.measure.startswith(measure)))
        and side_of_layer(row.part) is not None
    )
    models = grouped(wanted, lambda row: row.subject)
    for rows in models.values():
        order = in_order(row.part for row in rows)
        rows.sort(key=lambda row: order.index(row.part))
    return models


def baselines_of(result: Result, subject: str) -> dict[str, dict[str, float]]:
    """Return the baselines of a model by layer; those of no layer are for all."""
    found: dict[str, dict[str, float]] = {}
    for row in standing_rows(result):
        if row.measure in BASELINES and row.subject == subject and is_number(row.value):
            found.setdefault(BASELINES[row.measure], {})[row.part] = row.value
    return found


def draw_probes(subject: str, rows: list[Row], baselines: dict[str, dict[str, float]]) -> Figure:
    """Draw the accuracies of one model."""
    layers = {row.part for row in rows}
    baselines = {what: own for what, own in baselines.items() if own.keys() & {"", *layers}}
    colours = series_colours([PROBE, *baselines])
    points = Marks(
        {"layer": row.part, "depth": depth, "what": PROBE, "value": row.value, **interval_of(row)}
        for depth, row in enumerate(rows)
    )
    points += [
        {"layer": row.part, "depth": depth, "what": what, "value": value}
        for what, values in baselines.items()
        for depth, row in enumerate(rows)
        if (value := values.get(row.part, values.get(""))) is not None
    ]
    best = max(rows, key=lambda row: row.value or 0.0)
    said = ", ".join(
        f"{what} at most {shown(max(values.values()))}" for what, values in baselines.items()
    )
    beside = f" Without vectors: {said}." if said else ""
    return Figure.of(
        ("position-probe", subject),
        of("How well positions are read from the layers of", subject),
        f"Accuracy of a linear probe for positions, per layer of {subject}: best "
        f"{written(best)} at {best.part}, {written(rows[-1])} at {rows[-1].part}.{beside}",
        interval_lines(
            points.coloured("what", colours), ("what", "read from"), colours,
            "accuracy of positions", layer_axis(len(rows)),
            tooltip({"layer": "layer", "what": "read from"}, {"value": "accuracy", **INTERVAL}),
            scale={"domain": [0, 1]}, axis={"format": ".0%"},
        ),
        points,
        {"layer": "layer", "what": "read from", "value": "accuracy", **INTERVAL},
    )  # fmt: skip


def written(row: Row) -> str:
    """Write an accuracy with its interval."""
    ends = interval_of(row)
    return shown(row.value) + (
        f" (95 % interval {shown(ends['low'])} to {shown(ends['high'])})" if ends else ""
    )


RANKS = f"{RANK}/"
TICKS = (1, 3, 10, 30, 100, 300, 1_000, 3_000, 10_000, 30_000)


def contribution_figures(result: Result) -> list[Figure]:
    """Draw the largest contributions, and the ranks of outlier dimensions, per model."""
    return [
        *dimension_figures(
            result,
            "position_contributions",
            "contribution",
            "contribution, mean of |w·v|",
            "position-contributions",
            "Dimensions that encode positions in",
            "Largest contributions of dimensions to reading positions, per layer of {}. The first "
            "of each layer:",
        ),
        *(
            ranks_drawn(subject, rows)
            for subject, rows in rows_of_layers(result, RANKS).items()
            if len({row.part for row in rows}) >= FEWEST_LAYERS
        ),
    ]


def ranks_drawn(subject: str, rows: list[Row]) -> Figure:
    """Draw the ranks of one model's outlier dimensions; of many, those with the best ranks."""
    by_dimension = grouped(rows, lambda row: row.measure.removeprefix(RANKS))
    best = {
        dimension: min(row.value or 0.0 for row in own) for dimension, own in by_dimension.items()
    }
    dimensions = sorted(best, key=lambda dimension: best[dimension])[:MOST_SERIES]
    colours = series_colours(dimensions)
    depths = {layer: k for k, layer in enumerate(dict.fromkeys(row.part for row in rows))}
    marks = Marks(
        {"layer": row.part, "depth": depths[row.part], "dimension": dimension, "value": row.value}
        for dimension in dimensions
        for row in by_dimension[dimension]
    )
    width = max(row.n or 0 for row in rows)
    among = f" of {width:,}" if width else ""
    last = max(width, *(int(row.value or 0) for row in rows))
    said = "; ".join(f"{dimension}: {shown(best[dimension])}" for dimension in dimensions)
    left = left_out_words(len(best) - len(dimensions), "dimensions, of lower ranks,")
    return Figure.of(
        ("position-contribution-ranks", subject),
        of("Ranks of outlier dimensions in encoding positions in", subject),
        "Rank of each outlier dimension by its contribution to reading positions, per layer of "
        f"{subject}. Best ranks{among}: {said}.{left}",
        interval_lines(
            marks.coloured("dimension", colours), ("dimension", "outlier dimension"), colours,
            f"rank by contribution{among} (1 is first)", layer_axis(len(depths)),
            tooltip({"dimension": "dimension", "layer": "layer"}, {"value": "rank"}),
            scale=logarithmic(reverse=True, domain=[1, max(last, 2)]),
            axis={"format": ",d", "values": [tick for tick in TICKS if tick <= last]},
        ),
        marks,
        {"layer": "layer", "dimension": "dimension", "value": "rank"},
    )  # fmt: skip
