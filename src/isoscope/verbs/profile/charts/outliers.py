"""Outlier dimensions by layers: how often each is the minimum or the maximum of a vector."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from isoscope.models.layer_names import in_order, side_of_layer
from isoscope.results.charts.chart import Figure
from isoscope.results.charts.forms import heat_map
from isoscope.results.charts.layer_axis import depth_axis
from isoscope.results.charts.marks import (
    Marks,
    entries_of,
    left_out_words,
    of,
    standing_rows,
    standing_tables,
)
from isoscope.results.charts.vega import AROUND_ZERO, name, number, tooltip

if TYPE_CHECKING:
    from collections.abc import Iterator

    from isoscope.results.charts.vega import Spec
    from isoscope.results.result import Result


PER_LAYER, OUTLIERS, PERSISTENCE = "outlier_dimensions", "outliers", "persistence"
MINIMUM, MAXIMUM = "share_minimum", "share_maximum"
AS_MINIMUM, AS_MAXIMUM = "largest_share_as_minimum", "largest_share_as_maximum"
MOST_DIMENSIONS = 16
# Of the vectors: a dimension that is nowhere an extreme in as many needs no line of a map.
LEAST_SHARE = 0.01

EXTREMES = {"minimum": "share as minimum", "maximum": "share as maximum"}


@dataclass(frozen=True)
class Cell:
    """How often a dimension is an extreme in a layer."""

    layer: str
    dimension: int
    minimum: float
    maximum: float

    @property
    def signed(self) -> float:
        """The larger share, negative where it is that of minima."""
        return self.maximum if self.maximum >= self.minimum else -self.minimum


def outlier_figures(result: Result) -> list[Figure]:
    """Draw a map per model."""
    ranked = {
        table.subject: [row["dimension"] for row in entries_of(table, ["dimension"])]
        for table in standing_tables(result, PERSISTENCE)
    }
    figures = []
    for subject, cells in cells_of(result).items():
        figures += draw(subject, cells, ranked.get(subject, []))
    return figures


def cells_of(result: Result) -> dict[str, list[Cell]]:
    """Return what is known of every model's dimensions, from any of three kinds of results.

    Profiles have a table for each layer, explanations one for all, and studies rows about the
    single dimension that is most often the minimum or the maximum.
    """
    found: dict[str, dict[tuple[str, int], Cell]] = {}
    for subject, cell in known_cells(result):
        cells = found.setdefault(subject, {})
        # A dimension may be the most frequent minimum and maximum of a layer, in two rows.
        other = cells.get((cell.layer, cell.dimension), cell)
        both = max(cell.minimum, other.minimum), max(cell.maximum, other.maximum)
        cells[cell.layer, cell.dimension] = Cell(cell.layer, cell.dimension, *both)
    return {subject: list(cells.values()) for subject, cells in found.items()}


def known_cells(result: Result) -> Iterator[tuple[str, Cell]]:
    """Yield models with their cells, in the order of the tables and rows of the result."""
    shares = ["dimension", MINIMUM, MAXIMUM]
    for table in standing_tables(result, PER_LAYER):
        if side_of_layer(table.part) is not None:
            for row in entries_of(table, shares):
                yield table.subject, Cell(table.part, *(row[name] for name in shares))
    for table in standing_tables(result, OUTLIERS):
        for row in entries_of(table, shares, ["layer"]):
            yield table.subject, Cell(str(row["layer"]), *(row[name] for name in shares))
    for one in standing_rows(result):
        dimension, value = one.extra.get("dimension"), one.value or 0.0
        if side_of_layer(one.part) is None or not isinstance(dimension, int):
            continue
        if one.measure == AS_MINIMUM:
            yield one.subject, Cell(one.part, dimension, value, 0.0)
        elif one.measure == AS_MAXIMUM:
            yield one.subject, Cell(one.part, dimension, 0.0, value)


def draw(subject: str, cells: list[Cell], ranked: list[int]) -> list[Figure]:
    """Draw the map of a model; nothing where it has a single layer, or no dimension to show."""
    layers = in_order(cell.layer for cell in cells)
    dimensions, more = chosen(cells, ranked)
    if len(layers) < 2 or not dimensions:
        return []
    shares = Marks(
        {
            "layer": cell.layer, "depth": layers.index(cell.layer),
            "dimension": str(cell.dimension), "place": dimensions.index(cell.dimension),
            "share": cell.signed, "minimum": cell.minimum, "maximum": cell.maximum,
        }
        for cell in cells
        if cell.dimension in dimensions
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
            f"{left_out_words(more, 'dimensions')}",
            extremes_map(shares, abs(top["share"]) or 1.0),
            shares,
            {"dimension": "dimension", "layer": "layer", **EXTREMES},
            "{:.2%}".format,
        )
    ]


def chosen(cells: list[Cell], ranked: list[int]) -> tuple[list[int], int]:
    """Return the dimensions to show, and how many more there are."""
    largest: dict[int, float] = {}
    for cell in cells:
        largest[cell.dimension] = max(largest.get(cell.dimension, 0.0), abs(cell.signed))
    order = [k for k in dict.fromkeys(ranked) if k in largest]
    if not order:
        order = sorted(largest, key=lambda k: -largest[k])
        order = [k for k in order if largest[k] >= LEAST_SHARE]
    return order[:MOST_DIMENSIONS], max(len(order) - MOST_DIMENSIONS, 0)


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
