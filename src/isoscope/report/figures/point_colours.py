"""What the points of a scatter are coloured by: an ordered number, or the group they are in."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from isoscope.report.figures.panels import columns_for
from isoscope.report.theme import CATEGORIES, ORDERED
from isoscope.report.vega import Spec, name, number

if TYPE_CHECKING:
    from collections.abc import Iterable

TITLES = {
    "log10_frequency": "log₁₀ of frequency", "position": "position", "cluster": "cluster",
    "layer": "layer",
}  # fmt: skip
"""Fields that points may be coloured by, the first that they have, and what they are called."""

NAMES = ("cluster",)
"""Fields whose numbers are names: nothing lies between two of them."""

MOST_NAMED = 6
"""Groups with a colour of their own; the rest share the last."""


@dataclass(frozen=True)
class Colouring:
    """How points are coloured.

    Attributes
    ----------
    title : str
        What the colour means; nothing where there is one colour only.
    points : list of dict
        The points, with the field ``shade`` or ``group``.
    encoding : dict
        Colours, and shapes of groups.
    names, numbers : dict
        What hovering tells.
    said : str
        A sentence about groups.
    """

    title: str
    points: list[dict[str, Any]]
    encoding: Spec
    names: dict[str, str]
    numbers: dict[str, str]
    said: str = ""


def colour_field(rows: Iterable[dict[str, Any]]) -> str:
    """Return the field that all rows can be coloured by; nothing where there is none."""
    known = [set(row) for row in rows]
    return next((field for field in TITLES if all(field in one for one in known)), "")


def coloured(points: list[dict[str, Any]], values: list[Any], field: str) -> Colouring:
    """Colour points by the values of a field.

    Parameters
    ----------
    points : list of dict
        Without a colour.
    values : list
        Of every point; None where it is not known.
    field : str
        One of ``TITLES``, or nothing.
    """
    if not field:
        return Colouring("", points, {"color": {"value": CATEGORIES[0]}}, {}, {})
    title = TITLES[field]
    if field in NAMES or not all(is_number(value) for value in values if value is not None):
        return grouped(points, values, title)
    shades = [
        point if value is None else {**point, "shade": float(f"{value:.4g}")}
        for point, value in zip(points, values, strict=True)
    ]
    color = number("shade", title, scale={"scheme": ORDERED})
    return Colouring(title, shades, {"color": color}, {}, {"shade": title})


def grouped(points: list[dict[str, Any]], values: list[Any], title: str) -> Colouring:
    """Colour points by their group: the largest by themselves, all others as one."""
    called = ["unknown" if value is None else str(value) for value in values]
    sizes = Counter(called)
    largest = dict(sizes.most_common(MOST_NAMED))
    others = len(sizes) - len(largest)
    rest = f"{others} others"
    groups = [
        {**point, "group": one if one in largest else rest}
        for point, one in zip(points, called, strict=True)
    ]
    scale = {"domain": [*largest, *([rest] if others else [])]}
    legend = {"symbolOpacity": 1, "columns": columns_for(scale["domain"])}
    encoding = {
        channel: name("group", title, scale=scale, legend=legend) for channel in ("color", "shape")
    }
    first, size = next(iter(largest.items()))
    said = f" The largest {title} of {len(sizes)}, {first}, has {size:,} points"
    said += f"; the {len(largest)} largest have colours of their own." if others else "."
    return Colouring(title, groups, encoding, {"group": title}, {}, said)


def is_number(value: Any) -> bool:
    """Whether a value can lie on an ordered scale."""
    return isinstance(value, int | float) and not isinstance(value, bool)
