"""What the page asks for, as plain dictionaries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from isoscope.corrections.registry import all_corrections
from isoscope.errors import UsageError, cut, unknown_name
from isoscope.measures.registry import find_measure
from isoscope.measures.views import NONE
from isoscope.verbs.explore.session import CORRECTIONS, MEASURES, Neighbour, Space, Spaces, nearest
from isoscope.version import __version__

# Colours that every space has.
PLAIN, LENGTH = "nothing", "length"

NEIGHBOURS, MOST_NEIGHBOURS = 10, 50


class Answers:
    """Answers by name of parameter, as the address gives them.

    Parameters
    ----------
    spaces : Spaces
        What is explored.
    """

    def __init__(self, spaces: Spaces) -> None:
        self._spaces, self._explored = spaces, spaces.explored

    def about(self, query: Mapping[str, str]) -> dict[str, Any]:
        """Say what there is, and which rows are drawn."""
        del query
        kinds = all_corrections()
        return {
            "name": self._explored.name,
            "protocol": self._explored.protocol,
            "version": __version__,
            "rows": len(self._explored),
            "layers": [
                {"name": name, "width": vectors.shape[1]}
                for name, vectors in self._explored.layers.items()
            ],
            "layer": self._spaces.last_layer,
            "corrections": [
                {"name": name, "summary": first_line(kinds.get(name))} for name in CORRECTIONS
            ],
            "colours": [PLAIN, LENGTH, *self._explored.colourings],
            "shown": {
                "rows": self._spaces.shown.tolist(),
                "labels": self._explored.labels[self._spaces.shown].tolist(),
            },
        }

    def points(self, query: Mapping[str, str]) -> dict[str, Any]:
        """Say where the rows are drawn in one space, and in which colour."""
        layer, correction = self._names(query)
        colour = query.get("colour", PLAIN)
        space = self._spaces.get(layer, correction)
        x, y = space.points(self._spaces.shown).T
        return {
            "layer": layer,
            "correction": correction,
            "x": rounded(x),
            "y": rounded(y),
            "origin": rounded(space.origin),
            "shares": list(space.plane.shares),
            "colour": self._colour(space, colour),
        }

    def neighbours(self, query: Mapping[str, str]) -> dict[str, Any]:
        """Name the neighbours of a word, or of a row, without and with a correction."""
        layer, correction = self._names(query)
        k = whole_number(query, "k", NEIGHBOURS, 1, MOST_NEIGHBOURS)
        row, occurrence, of = self._row(query)
        spaces = {name: self._spaces.get(layer, name) for name in (NONE, correction)}
        found = {name: nearest(space, row, k) for name, space in spaces.items()}
        before, after = found[NONE], found[correction]
        drawn = spaces[correction]
        return {
            "layer": layer,
            "correction": correction,
            "word": str(self._explored.words[row]),
            "occurrence": occurrence,
            "occurrences": of,
            "asked": self._place(drawn, row),
            "before": self._listed(drawn, before),
            "after": self._listed(drawn, after),
            "kept": len({one.row for one in before} & {one.row for one in after}),
        }

    def measures(self, query: Mapping[str, str]) -> dict[str, Any]:
        """Give the measures of a layer without and with a correction."""
        layer, correction = self._names(query)
        before = self._spaces.measures(layer, NONE)
        after = self._spaces.measures(layer, correction)
        some = len(self._spaces.measured)
        of = "" if some == len(self._explored) else f" of {len(self._explored):,}"
        drawn = f", drawn at random (seed {self._spaces.seed})" if of else ""
        return {
            "layer": layer,
            "correction": correction,
            "protocol": f"on {some:,}{of} rows{drawn}; corrections are fitted on all",
            "rows": [
                {
                    "measure": name,
                    "summary": find_measure(name).summary,
                    "direction": find_measure(name).direction,
                    "before": one.value,
                    "after": other.value,
                    "note": other.note or one.note,
                }
                for name, one, other in zip(MEASURES, before, after, strict=True)
            ],
        }

    def _names(self, query: Mapping[str, str]) -> tuple[str, str]:
        """Return layer and correction, which must exist."""
        layer = query.get("layer", self._spaces.last_layer)
        correction = query.get("correction", NONE)
        self._spaces.check(layer, correction)
        return layer, correction

    def _row(self, query: Mapping[str, str]) -> tuple[int, int, int]:
        """Return the row that is asked for, and which of how many with its word it is."""
        if "row" in query:
            row = whole_number(query, "row", 0, 0, len(self._explored) - 1)
            rows = self._explored.rows_of(str(self._explored.words[row]))
            return row, rows.index(row), len(rows)
        word = query.get("word", "").strip()
        if not word:
            raise UsageError("name a word")
        rows = self._explored.rows_of(word)
        which = whole_number(query, "occurrence", 0, 0, len(rows) - 1)
        return rows[which], which, len(rows)

    def _listed(self, drawn: Space, found: Iterable[Neighbour]) -> list[dict[str, Any]]:
        return [{**self._place(drawn, one.row), "cosine": one.cosine} for one in found]

    def _place(self, drawn: Space, row: int) -> dict[str, Any]:
        """Say what a row is and where it is drawn."""
        around = self._explored.context
        x, y = rounded(drawn.points(np.array([row]))[0])
        return {
            "row": row,
            "label": str(self._explored.labels[row]),
            "context": "" if around is None else around(row),
            "x": x,
            "y": y,
        }

    def _colour(self, space: Space, name: str) -> dict[str, Any] | None:
        """Return a number for every point that is drawn; None for points of one colour."""
        if name == PLAIN:
            return None
        rows, logarithmic = self._spaces.shown, False
        if name == LENGTH:
            values = space.lengths[rows]
        elif name in self._explored.colourings:
            chosen = self._explored.colourings[name]
            values, logarithmic = chosen.values[rows], chosen.logarithmic
        else:
            raise unknown_name("colour", name, (PLAIN, LENGTH, *self._explored.colourings))
        return {"name": name, "values": rounded(values), "logarithmic": logarithmic}


def whole_number(query: Mapping[str, str], name: str, default: int, least: int, most: int) -> int:
    """Return a parameter that is a whole number within bounds."""
    text = query.get(name, str(default))
    if not (text.isascii() and text.isdecimal() and len(text) < 16 and least <= int(text) <= most):
        raise UsageError(f"{name} must be a whole number from {least} to {most}, got {cut(text)!r}")
    return int(text)


def rounded(values: Any) -> list[float]:
    """Return numbers with as many digits as a picture shows: half the bytes, all the points."""
    return [float(f"{value:.5g}") for value in values.tolist()]


def first_line(kind: type | None) -> str:
    """Say what a correction does: the first line of its class."""
    return "The vectors as they are." if kind is None else (kind.__doc__ or "").splitlines()[0]
