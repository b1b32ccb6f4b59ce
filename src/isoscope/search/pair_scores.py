"""The score of labelled pairs of rows, whose similarity is taken from codes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from isoscope.search.codes import Int8
from isoscope.search.spaces import SHORTEST, lengths_of, unit_rows
from isoscope.tasks.own_pair_problem import OwnPairProblem, own_pair_task

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    from isoscope.compute.stats.estimates import Score
    from isoscope.search.shortened import Code
    from isoscope.typing import Mask, Matrix


UNKNOWN_ROWS = 2**62
"""In place of the number of rows where only reading tells: reading then finds rows missing."""

DECIMALS = 12
"""Cosines are rounded to these: of codes of bits many are equal, which rounding must not order."""


@dataclass(frozen=True)
class LabelledRows:
    """Pairs of rows of a cloud.

    Attributes
    ----------
    problem : OwnPairProblem
        Its rows are numbered among ``wanted``.
    wanted : array of int
        The rows of the cloud that pairs name, rising.
    """

    problem: OwnPairProblem
    wanted: NDArray[np.int64]

    @classmethod
    def of(cls, path: str | Path, rows: int | None) -> LabelledRows:
        """Read a file of pairs of rows (row1, row2, score)."""
        task = own_pair_task(str(path))
        known = UNKNOWN_ROWS if rows is None else rows
        problem = OwnPairProblem.of_rows(task.name, task.load(), known)
        sides = np.concatenate([problem.first, problem.second])
        wanted, places = np.unique(sides, return_inverse=True)
        first, second = places[: len(problem)], places[len(problem) :]
        return cls(replace(problem, first=first, second=second), wanted.astype(np.int64))

    def usable(self, vectors: Mapping[str, Matrix]) -> Mask:
        """Tell which pairs have two directions in every space."""
        has = np.ones(len(self.wanted), np.bool_)
        for rows in vectors.values():
            lengths = np.nan_to_num(lengths_of(rows))
            has &= lengths > SHORTEST * float(np.median(lengths))
        return np.asarray(has[self.problem.first] & has[self.problem.second])

    def score(self, coded: Matrix, usable: Mask) -> Score:
        """Compare cosines of what codes say of the rows with what the user says of the pairs."""
        items = np.flatnonzero(usable)
        outputs = np.round(self.problem.outputs(coded, items, items), DECIMALS)
        return self.problem.scores(outputs, items, 0.95)[self.problem.main]


def coded_rows(rows: Matrix, base: Matrix, code: Code) -> Matrix:
    """Return what a code keeps of some rows of a space; ranges of int8 are those of the base.

    The cosine of two rows of signs, 1 and −1, is 1 − 2h/m with their Hamming distance h.
    """
    units = as_units(np.nan_to_num(rows))
    if code == "binary":
        return np.where(units > 0, 1.0, -1.0)
    if code == "int8":
        rounded = Int8(as_units(base).astype(np.float32)).rounded(units.astype(np.float32))
        return rounded.astype(np.float64)
    return units.astype(np.float32).astype(np.float64)


def as_units(vectors: Matrix) -> Matrix:
    """Divide rows by their lengths; zero stays zero."""
    return unit_rows(vectors, lengths_of(vectors), 0.0)[0]
