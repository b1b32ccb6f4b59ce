"""Scores and isotropy of the same spaces, out of the rows of evaluations."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.errors import UsageError
from isoscope.measures.registry import all_measures
from isoscope.results.render import base_name
from isoscope.results.scored import MAIN, PART_OF_TASK

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray

    from isoscope.measures.registry import Direction
    from isoscope.results.result import Result, Row

    Key = tuple[str, str, str]

SECONDS, DIFFERENCE = "/seconds", "/difference"


@dataclass(frozen=True)
class ScoredSpaces:
    """All spaces that one task was scored in.

    Attributes
    ----------
    task : str
        Its name.
    score : str
        The score that decides, as results name it: ``sts-b/cosine/spearman``.
    scores : mapping
        The row of that score, by model, layer and correction.
    isotropy : mapping
        For every measure of these spaces, its row by model, layer and correction.
    """

    task: str
    score: str
    scores: Mapping[Key, Row]
    isotropy: Mapping[str, Mapping[Key, Row]]

    def score_values(self) -> NDArray[np.float64]:
        """Return the score of every space, NaN where it is undefined."""
        return np.array([number(row.value) for row in self.scores.values()])

    def isotropy_values(self, measure: str) -> NDArray[np.float64]:
        """Return how isotropic every space is by a measure: the higher, the more; NaN if undefined.

        Measures that fall as a space fills more evenly are turned around. Those that may be below
        the smallest double are taken by their logarithm, which has the same ranks.
        """
        rows = [self.isotropy[measure].get(key) for key in self.scores]
        by_power = all(row.log10 is not None for row in rows if row is not None)
        values = [
            math.nan if row is None else number(row.log10 if by_power else row.value)
            for row in rows
        ]
        return np.array(values) * (-1.0 if direction(measure) == "lower" else 1.0)

    def table_rows(self) -> list[dict[str, Any]]:
        """Return a dictionary for every space, with its score and all measures as they are."""
        found = []
        for key, row in self.scores.items():
            beside = {name: rows.get(key) for name, rows in self.isotropy.items()}
            values: dict[str, Any] = {}
            for name, one in beside.items():
                values[name] = one.value if one else None
                values[f"{name}_log10"] = one.log10 if one else None
            found.append(
                {
                    "task": self.task, "score": self.score, "model": key[0], "layer": key[1],
                    "correction": key[2], "value": row.value, "low": row.low, "high": row.high,
                    **values,
                }
            )  # fmt: skip
        return found


def number(value: float | None) -> float:
    """Return a finite number, or NaN: what is infinite does not survive being saved."""
    return value if value is not None and math.isfinite(value) else math.nan


def direction(measure: str) -> Direction:
    """Return which way a more evenly filled space moves a measure."""
    return next(item.direction for item in all_measures() if item.name == base_name(measure))


def scored_spaces(results: Iterable[Result]) -> list[ScoredSpaces]:
    """Put the main score of every task beside the isotropy of the same spaces."""
    rows = distinct_rows(row for result in results for row in result.rows)
    measures = {item.name for item in all_measures()}
    isotropy: dict[str, dict[str, dict[Key, Row]]] = {}
    for row in rows:
        task, name = task_and_measure(row.measure, measures)
        if "unit" not in row.extra and name:
            isotropy.setdefault(task, {}).setdefault(name, {})[key_of(row)] = row
    scores: dict[str, list[Row]] = {task: [] for task in isotropy}
    for row in rows:
        owner = max((t for t in isotropy if row.measure.startswith(f"{t}/")), key=len, default=None)
        if owner is not None and is_score(row):
            scores[owner].append(row)
    found = []
    for task, many in scores.items():
        # What was saved without a mark has the score that decides first.
        main = next((row.measure for row in many if row.extra.get(MAIN)), None)
        main = main or next((row.measure for row in many), None)
        if main is not None:
            of_main = {key_of(row): row for row in many if row.measure == main}
            found.append(ScoredSpaces(task, main, of_main, isotropy[task]))
    if not found:
        raise UsageError(
            "there are no scores with isotropy beside them; relate takes results of evaluate on "
            "texts, with --isotropy (isotropy=) naming at least one measure"
        )
    return found


def distinct_rows(rows: Iterable[Row]) -> list[Row]:
    """Return every row once; two numbers for one thing cannot both count."""
    known: dict[tuple[str, ...], Row] = {}
    for row in rows:
        if row.measure.endswith(SECONDS):
            continue
        other = known.setdefault((*key_of(row), row.measure), row)
        if (other.value, other.log10) != (row.value, row.log10):
            where = ", ".join(word for word in key_of(row) if word)
            raise UsageError(
                f"there are two values of {row.measure} for {where}; they come from two results: "
                "name one of them"
            )
    return list(known.values())


def key_of(row: Row) -> Key:
    """Return model, layer and correction."""
    return row.subject, row.part, row.correction


def is_score(row: Row) -> bool:
    """Whether a row is a score of a whole task, neither of a subset nor a difference."""
    return (
        "unit" in row.extra
        and PART_OF_TASK not in row.extra
        and not row.measure.endswith(DIFFERENCE)
    )


def task_and_measure(name: str, measures: set[str]) -> tuple[str, str]:
    """Split ``sts-b/i1_scaled`` into the task and the measure of isotropy; "" where it is none."""
    words = name.split("/")
    for place in range(1, len(words)):
        if base_name(words[place]) in measures:
            return "/".join(words[:place]), "/".join(words[place:])
    return name, ""
