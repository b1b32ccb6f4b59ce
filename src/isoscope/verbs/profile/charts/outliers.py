"""Charts of outlier dimensions and of norms.

- How often each outlier dimension is the minimum or the maximum of a vector, by layers.
- Gains and biases of the norms of a model.
- The ranks that outlier dimensions have in the gains and biases.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from isoscope.models.layer_names import in_order, side_of_layer
from isoscope.results.charts.chart import Figure
from isoscope.results.charts.forms import heat_map, interval_lines
from isoscope.results.charts.layer_axis import depth_axis
from isoscope.results.charts.marks import (
    Marks,
    entries_of,
    is_number,
    is_standing,
    left_out_words,
    of,
    series_colours,
    standing_rows,
    standing_tables,
)
from isoscope.results.charts.vega import AROUND_ZERO, Spec, logarithmic, name, number, tooltip
from isoscope.results.numbers import shown

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from isoscope.results.result import Result


PER_LAYER, OUTLIERS, PERSISTENCE = "outlier_dimensions", "outliers", "persistence"
MINIMUM, MAXIMUM = "share_minimum", "share_maximum"
AS_MINIMUM, AS_MAXIMUM = "largest_share_as_minimum", "largest_share_as_maximum"
MOST_DIMENSIONS = 16
# Of the vectors: a dimension that is nowhere an extreme in as many needs no line of a map.
LEAST_SHARE = 0.01

EXTREMES = {"minimum": "share as minimum", "maximum": "share as maximum"}


def outlier_figures(result: Result) -> list[Figure]:
    """Draw a map per model."""
    ranked = {
        table.subject: [row["dimension"] for row in entries_of(table, ["dimension"])]
        for table in standing_tables(result, PERSISTENCE)
    }
    figures = []
    for subject, shares in shares_of(result).items():
        figures += draw(subject, shares, ranked.get(subject, []))
    return figures


def shares_of(result: Result) -> dict[str, dict[tuple[str, int], tuple[float, float]]]:
    """Return the shares of minima and maxima of every model's layers and dimensions.

    They come from any of three kinds of results: profiles have a table for each layer, explanations
    one for all, and studies rows about the single dimension that is most often the minimum or the
    maximum.
    """
    found: dict[str, dict[tuple[str, int], tuple[float, float]]] = {}
    for subject, layer, dimension, minimum, maximum in known_shares(result):
        shares = found.setdefault(subject, {})
        # A dimension may be the most frequent minimum and maximum of a layer, in two rows.
        other = shares.get((layer, dimension), (minimum, maximum))
        shares[layer, dimension] = max(minimum, other[0]), max(maximum, other[1])
    return found


def known_shares(result: Result) -> Iterator[tuple[str, str, int, float, float]]:
    """Yield model, layer, dimension and both shares, in the order of the tables and rows."""
    fields = ["dimension", MINIMUM, MAXIMUM]
    for table in standing_tables(result, PER_LAYER):
        if side_of_layer(table.part) is not None:
            for row in entries_of(table, fields):
                yield table.subject, table.part, row["dimension"], row[MINIMUM], row[MAXIMUM]
    for table in standing_tables(result, OUTLIERS):
        for row in entries_of(table, fields, ["layer"]):
            yield table.subject, str(row["layer"]), row["dimension"], row[MINIMUM], row[MAXIMUM]
    for one in standing_rows(result):
        dimension, value = one.extra.get("dimension"), one.value or 0.0
        if side_of_layer(one.part) is not None and isinstance(dimension, int):
            if one.measure == AS_MINIMUM:
                yield one.subject, one.part, dimension, value, 0.0
            elif one.measure == AS_MAXIMUM:
                yield one.subject, one.part, dimension, 0.0, value


def draw(
    subject: str, known: dict[tuple[str, int], tuple[float, float]], ranked: list[int]
) -> list[Figure]:
    """Draw the map of a model; nothing where it has a single layer, or no dimension to show."""
    layers = in_order(layer for layer, _ in known)
    largest: dict[int, float] = {}
    for (_, dimension), both in known.items():
        largest[dimension] = max(largest.get(dimension, 0.0), *both)
    order = [k for k in dict.fromkeys(ranked) if k in largest]
    if not order:
        order = sorted(largest, key=lambda k: -largest[k])
        order = [k for k in order if largest[k] >= LEAST_SHARE]
    dimensions = order[:MOST_DIMENSIONS]
    if len(layers) < 2 or not dimensions:
        return []
    shares = Marks(
        {
            "layer": layer, "depth": layers.index(layer), "dimension": str(dimension),
            "place": dimensions.index(dimension),
            # The larger share, negative where it is that of minima.
            "share": maximum if maximum >= minimum else -minimum,
            "minimum": minimum, "maximum": maximum,
        }
        for (layer, dimension), (minimum, maximum) in known.items()
        if dimension in dimensions
    )  # fmt: skip
    shares.sort(key=lambda cell: (cell["place"], cell["depth"]))
    top = max(shares, key=lambda cell: abs(cell["share"]))
    extreme = "minimum" if top["share"] < 0 else "maximum"
    return [
        Figure.of(
            ("outlier-heat-map", subject),
            of("Dimensions that are extremes of many vectors of", subject),
            f"Map of {len(dimensions)} dimensions by {len(layers)} layers of {subject}. Most "
            f"often, dimension {top['dimension']} is the {extreme} in {abs(top['share']):.1%} of "
            f"the vectors of {top['layer']}. Where a cell is empty or a layer is missing, the "
            "result does not list the dimension there."
            f"{left_out_words(len(order) - len(dimensions), 'dimensions')}",
            extremes_map(shares, abs(top["share"]) or 1.0),
            shares,
            {"dimension": "dimension", "layer": "layer", **EXTREMES},
            "{:.2%}".format,
        )
    ]


def extremes_map(shares: Marks, limit: float) -> Spec:
    """Return the map: blue where a dimension is the minimum, orange where it is the maximum."""
    # Symmetric, so that no share at all is the neutral colour in the middle.
    scale = {"scheme": AROUND_ZERO, "domain": [-limit, limit]}
    return heat_map(
        shares,
        depth_axis("layer", "layer", len(shares.names("layer"))),
        name("dimension", "dimension", sort={"field": "place", "op": "min"}),
        number("share", "share as minimum (−) or maximum (+)", scale=scale),
        ".0%",
        tooltip({"dimension": "dimension", "layer": "layer"}, EXTREMES),
    )


SIZES = {"gain_avgnorm": "gain", "bias_avgnorm": "bias"}
AXIS = "‖·‖ / √d"
FEWEST_NORMS = 2


def norm_figures(result: Result) -> list[Figure]:
    """Draw gains and biases of each model with several norms."""
    models: dict[str, Marks] = {}
    without: Counter[str] = Counter()
    for row in result.rows:
        if row.measure not in SIZES or row.extra.get("parts") != "norm" or not is_standing(row):
            continue
        if is_number(row.value):
            marks = models.setdefault(row.subject, Marks())
            marks.append({"norm": row.part, "of": SIZES[row.measure], "value": row.value})
        else:
            without[row.subject] += 1
    return [
        draw_weights(subject, with_places(marks), without[subject])
        for subject, marks in models.items()
        if len({mark["norm"] for mark in marks}) >= FEWEST_NORMS
    ]


def with_places(marks: Marks) -> Marks:
    """Add the place of each norm, and a name that is short enough for an axis."""
    norms = marks.names("norm")
    labels = short_names(norms)
    return Marks(
        {**mark, "label": labels[mark["norm"]], "depth": norms.index(mark["norm"])}
        for mark in marks
    )


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


def norm_axis(marks: Marks, **more: Any) -> Spec:
    """Return an axis of norms; marks need ``label`` and ``depth``."""
    return depth_axis("label", "norm, in order of depth", len(marks.names("depth")), **more)


def draw_weights(subject: str, marks: Marks, without: int) -> Figure:
    """Draw the norms of one model."""
    kinds = marks.names("of")
    colours = series_colours([kind for kind in SIZES.values() if kind in kinds])
    marks.sort(key=lambda mark: int(mark["depth"]))
    marks = marks.coloured("of", colours)
    said = "; ".join(summary(kind, of_kind) for kind, of_kind in marks.by("of").items())
    missing = f" {without:,} gains or biases are not there." if without else ""
    return Figure.of(
        ("norm-weights", subject),
        of("Gains and biases of the norms of", subject),
        f"Root mean square of the gains and biases of each norm of {subject}: {said}.{missing}",
        interval_lines(
            marks,
            ("of", "weights"),
            colours,
            f"size of the weights, {AXIS}",
            norm_axis(marks, scale={"type": "point", "padding": 0.5}),
            tooltip({"norm": "norm", "of": "weights"}, {"value": AXIS}),
        ),
        marks,
        {"norm": "norm", "of": "weights", "value": AXIS},
    )


def summary(kind: str, marks: Marks) -> str:
    """Describe the range of gains or biases, and their size in the last norm."""
    low, high = marks.lowest, marks.highest
    return (
        f"{kind} from {shown(low['value'])} ({low['norm']}) to {shown(high['value'])} "
        f"({high['norm']}), {shown(marks[-1]['value'])} in the last norm"
    )


RANKS, RANK = "outlier_ranks_in_norms", "rank"
KINDS = {"gain": "gains", "bias": "biases"}


def norm_rank_figures(result: Result) -> list[Figure]:
    """Draw a map of gains and one of biases for each model whose outliers are ranked."""
    groups: dict[tuple[str, str], Marks] = {}
    for table in standing_tables(result, RANKS):
        for entry in entries_of(table, ["dimension", "rank"], ["norm", "of"]):
            marks = groups.setdefault((table.subject, str(entry["of"])), Marks())
            norm, dimension = str(entry["norm"]), str(entry["dimension"])
            marks.append({"norm": norm, "dimension": dimension, "rank": entry["rank"]})
    for row in standing_rows(result):
        parts = row.measure.split("/")  # such as rank/first gain/557, of a numbered layer
        if parts[0] == RANK and len(parts) == 3:
            which, _, kind = parts[1].partition(" ")
            marks = groups.setdefault((row.subject, kind), Marks())
            norm = f"{row.part}, {which}"
            marks.append({"norm": norm, "dimension": parts[2], "rank": row.value})
    return [
        draw_ranks(subject, kind, marks)
        for (subject, kind), marks in groups.items()
        if kind in KINDS and len({mark["norm"] for mark in marks}) >= FEWEST_NORMS
    ]


def draw_ranks(subject: str, kind: str, marks: Marks) -> Figure:
    """Draw which ranks dimensions have in the gains, or in the biases, of one model."""
    every = marks.names("dimension")
    dimensions = every[:MOST_DIMENSIONS]
    marks = with_places(marks.only(dimension=dimensions))
    marks.sort(key=lambda mark: (dimensions.index(mark["dimension"]), mark["depth"]))
    norms = len(marks.names("norm"))
    rank = f"rank among the {KINDS[kind]}"
    # Ranks 1 and 2 differ more than 500 and 600.
    colour = number("rank", f"{rank} (1 is the largest)", scale=logarithmic(reverse=True))
    return Figure.of(
        ("norm-ranks", kind, subject),
        of(f"Ranks of outlier dimensions in the {KINDS[kind]} of the norms of", subject),
        f"Map of {len(dimensions)} outlier dimensions by {norms} norms of {subject}: the rank of "
        f"the dimension among the {KINDS[kind]}, 1 being the largest. {first_words(marks, norms)}"
        f"{left_out_words(len(every) - len(dimensions), 'dimensions')}",
        heat_map(
            marks,
            norm_axis(marks),
            name("dimension", "outlier dimension"),
            colour,
            ",d",
            tooltip({"dimension": "dimension", "norm": "norm"}, {"rank": "rank"}),
        ),
        marks,
        {"dimension": "dimension", "norm": "norm", "rank": rank},
    )


def first_words(marks: Marks, norms: int) -> str:
    """Describe which dimension is the first of most norms."""
    first = Counter(mark["dimension"] for mark in marks if mark["rank"] == 1)
    if not first:
        return "No dimension is the first of any norm."
    dimension, times = first.most_common(1)[0]
    return f"Dimension {dimension} is the first of {times} of {norms} norms."
