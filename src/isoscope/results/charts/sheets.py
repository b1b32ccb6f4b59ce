"""Which clouds of a result share a figure, and how its small charts are laid out.

A result may hold one cloud, the layers of a model, many models, or the checkpoints of a training.
A figure holds what belongs together: the parts of one subject, or one part of many subjects,
whichever makes fewer figures.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

from isoscope.results.charts.forms import PANEL_WIDTH, facet
from isoscope.results.charts.marks import MOST_SERIES, Mark, Marks, of
from isoscope.results.charts.vega import Spec, layered, name
from isoscope.results.result import Row, Table

# Small charts of a figure: more are not looked at.
MOST_PANELS = 8

# A dash for every line of a chart, so that colour is never the only difference.
LINE_DASHES = ([1, 0], [6, 3], [2, 2], [8, 3, 2, 3], [12, 4], [4, 1], [8, 2, 2, 2, 2, 2])

LINE_PANEL_HEIGHT = 160

# Letters of a legend in a row on a page of 360 pixels, and what a symbol takes of them.
LEGEND_LETTERS, SYMBOL_LETTERS = 45, 6

# Subject and part.
Cloud: TypeAlias = tuple[str, str]

Kind = TypeVar("Kind", bound=Hashable)
Found = TypeVar("Found")


@dataclass(frozen=True)
class Sheet:
    """What one figure shows.

    Attributes
    ----------
    of : str
        What it is of, for titles and alt texts.
    apart : str
        In what its clouds differ: a part, a model or a checkpoint.
    panels : dict
        The name of every cloud that is drawn.
    spaces : tuple of str
        The corrections that are drawn.
    left_out : str
        A sentence about what is not drawn; nothing where all is.
    """

    of: str
    apart: str
    panels: dict[Cloud, str]
    spaces: tuple[str, ...]
    left_out: str = ""

    @property
    def together(self) -> bool:
        """Whether all clouds fit into one chart: a line each, as there is one space only."""
        return len(self.spaces) == 1 and len(self.panels) <= MOST_SERIES

    @property
    def legend(self) -> str:
        """What lines of a chart differ in."""
        return self.apart if self.together and len(self.panels) > 1 else "correction"

    def shows(self, cloud: Cloud, space: str) -> bool:
        """Whether a space of a cloud is drawn."""
        return cloud in self.panels and space in self.spaces

    def place(self, cloud: Cloud, space: str) -> Mark:
        """Return the fields that say in which chart and on which line a point is."""
        panel = self.panels[cloud]
        return {"panel": panel, "series": panel if self.legend == self.apart else space}

    def named(self, cloud: Cloud, space: str) -> str:
        """Return what a sentence calls a line."""
        several = len(self.panels) > 1
        words = [self.panels[cloud]] * several + [space] * (not several or len(self.spaces) > 1)
        return ", ".join(words)

    def marks(
        self,
        found: Mapping[tuple[Cloud, str], Found],
        marks_of: Callable[[Found, str], Iterable[Mark]],
    ) -> Marks:
        """Return the marks of all that is drawn, each with its panel and series.

        ``marks_of`` gets what was found, and the correction of its space.
        """
        return Marks(
            {**self.place(*key), **mark}
            for key, item in found.items()
            if self.shows(*key)
            for mark in marks_of(item, key[1])
        )

    def words(
        self, found: Mapping[tuple[Cloud, str], Found], sentence: Callable[[Found], str]
    ) -> str:
        """Say something about each of some that are drawn."""
        return some_of(
            [
                f"{self.named(*key)}: {sentence(item)}"
                for key, item in found.items()
                if self.shows(*key)
            ]
        )

    def spec(self, points: Marks, layers: list[Spec], own_axes: Sequence[str] = ("x",)) -> Spec:
        """Return one chart, or a small one per cloud."""
        if self.together or len(self.panels) == 1:
            return layered(points, layers)
        return faceted(points, layers, "panel", self.apart, own_axes)


def faceted(
    points: Marks,
    layers: list[Spec],
    field: str,
    title: str,
    own_axes: Sequence[str] = ("x",),
    height: int = LINE_PANEL_HEIGHT,
) -> Spec:
    """Return small charts side by side; axes that are not their own are the same in all.

    A shared axis is drawn at the foot of every column, also below places without a chart. So x axes
    are each chart's own, and those that should be the same need a domain: ``reach``.
    """
    # Facets would come in the order of the alphabet.
    by = name(field, title, sort=points.names(field), header={"labelLimit": PANEL_WIDTH})
    spec = {"width": PANEL_WIDTH, "height": height, "layer": layers}
    return facet(points, by, spec, own_axes)


def reach(values: Iterable[float], step: float) -> list[float]:
    """Return the domain of an axis: from the lowest value to the highest, in whole steps."""
    found = list(values)
    low, high = math.floor(min(found) / step) * step, math.ceil(max(found) / step) * step
    # Products such as 3 × 0.1 would end in …04, and ticks with them.
    return [round(low, 9), round(max(high, low + step), 9)]


def line_style(points: Marks, field: str, title: str) -> dict[str, Spec]:
    """Return colours and dashes of lines, both in one legend.

    Legends of several layers become one only where their names are given.
    """
    names = points.names(field)
    legend = {
        "symbolType": "stroke", "symbolSize": 700, "symbolStrokeWidth": 2,
        "columns": columns_for(names),
    }  # fmt: skip
    return {
        "color": name(field, title, scale={"domain": names}, legend=legend),
        "strokeDash": name(
            field, title, scale={"domain": names, "range": list(LINE_DASHES[: len(names)])},
            legend=legend,
        ),
    }  # fmt: skip


def columns_for(names: Iterable[str]) -> int:
    """Return into how many columns of a legend names fit on the narrowest page."""
    longest = max(map(len, names), default=0)
    return max(1, min(4, LEGEND_LETTERS // (longest + SYMBOL_LETTERS)))


def cloud_of(item: Row | Table) -> Cloud:
    """Return what a row or table is of; checkpoints under one name are told apart."""
    revision = item.extra.get("revision")
    if not isinstance(revision, str) or not revision or item.subject.endswith(f"@{revision}"):
        return item.subject, item.part
    return f"{item.subject}@{revision}", item.part


def sheets(found: Iterable[tuple[Cloud, str]]) -> list[Sheet]:
    """Sort clouds, each with a space, into figures."""
    known = list(dict.fromkeys(found))
    clouds = list(dict.fromkeys(cloud for cloud, _ in known))
    subjects = list(dict.fromkeys(subject for subject, _ in clouds))
    parts = list(dict.fromkeys(part for _, part in clouds))
    # Whichever makes fewer figures; of equals the parts of one subject, as in a single profile.
    by_part = len(parts) < len(subjects)
    key = 1 if by_part else 0
    return [
        sheet_of([one for one in known if one[0][key] == common], by_part)
        for common in (parts if by_part else subjects)
    ]


def sheet_of(known: list[tuple[Cloud, str]], by_part: bool) -> Sheet:
    """Choose what a figure shows of clouds that have their part or their subject in common."""
    clouds = list(dict.fromkeys(cloud for cloud, _ in known))
    spaces = list(dict.fromkeys(space for _, space in known))
    drawn = evenly(clouds, MOST_PANELS)
    subject, part = clouds[0]
    names = {cloud: cloud[0 if by_part else 1] or "the whole" for cloud in drawn}
    apart = "model" if by_part else "part"
    if len(clouds) == 1:
        about = of(subject, part)
    elif by_part:
        models = list(dict.fromkeys(one.rpartition("@")[0] for one, _ in clouds))
        if models != [""] and len(models) == 1:
            apart = "checkpoint"
            names = {cloud: cloud[0].rpartition("@")[2] for cloud in drawn}
        else:
            models = [one for one, _ in clouds]
        about = ", ".join(filter(None, (and_more(models), part)))
    else:
        about = subject
    left = []
    if len(drawn) < len(clouds):
        left.append(f"{len(drawn)} of {len(clouds)} {apart}s")
    if len(spaces) > MOST_SERIES:
        left.append(f"{MOST_SERIES} of {len(spaces)} corrections")
    return Sheet(
        about or "the vectors",
        apart,
        names,
        tuple(spaces[:MOST_SERIES]),
        f" Drawn are {' and '.join(left)}." if left else "",
    )


def some_of(lines: Sequence[str], most: int = 4) -> str:
    """Return what is said of lines in an alt text: of many, that of the first and the last."""
    if len(lines) <= most:
        return "; ".join(lines)
    half = most // 2
    return "; ".join([*lines[:half], "…", *lines[-half:]])


def and_more(names: Sequence[str], most: int = 3) -> str:
    """Return some names in a sentence."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def evenly(items: Sequence[Kind], most: int) -> list[Kind]:
    """Return at most so many, evenly spread from the first to the last."""
    if len(items) <= most:
        return list(items)
    return [items[round(k * (len(items) - 1) / (most - 1))] for k in range(most)]
