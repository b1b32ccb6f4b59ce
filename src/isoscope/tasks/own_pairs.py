"""Pairs of the user's own, with a score or a yes/no label.

A pair is two texts, or two rows of a source of vectors, or the same row of two files of vectors:
then the file holds nothing but scores.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from isoscope.errors import DataError, UsageError
from isoscope.tasks.examples import TextPair
from isoscope.tasks.own_columns import KNOWN, PairColumns, PairKind, choose_columns
from isoscope.tasks.own_table import read_table
from isoscope.tasks.text_file import as_number, check_texts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

YES_NO = {
    "1": 1.0, "true": 1.0, "yes": 1.0, "t": 1.0, "y": 1.0,
    "0": 0.0, "false": 0.0, "no": 0.0, "f": 0.0, "n": 0.0,
}  # fmt: skip


@dataclass(frozen=True)
class OwnPairs:
    """What a file of pairs holds.

    Attributes
    ----------
    path : Path
        The file.
    kind : {"texts", "rows", "scores"}
        What a pair is: two texts, two rows of a source, or row k of two files of vectors.
    yes_no : bool
        Whether every score is 0 or 1: a label.
    first, second : tuple of str
        Texts, or rows as they are written; empty for ``scores``.
    scores : tuple of float
        A score, or 1 for yes and 0 for no.
    lines : tuple of int
        The line of every pair.
    queries : bool
        Whether the first row of a pair is one of queries, and the second one of documents.
    """

    path: Path
    kind: PairKind
    yes_no: bool
    first: tuple[str, ...]
    second: tuple[str, ...]
    scores: tuple[float, ...]
    lines: tuple[int, ...]
    queries: bool = False

    def __len__(self) -> int:
        return len(self.scores)

    def text_pairs(self) -> list[TextPair]:
        """Return the pairs of texts; their subset is the file."""
        self._must_be("texts")
        return [
            TextPair(first, second, score, self.path.stem)
            for first, second, score in zip(self.first, self.second, self.scores, strict=True)
        ]

    def row_numbers(
        self, rows: int, ids: Sequence[str] | None = None
    ) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Find the two rows of every pair.

        Parameters
        ----------
        rows : int
            How many rows the source has.
        ids : sequence of str, optional
            The name of every row; without it, pairs name rows by number, from 0.
        """
        self._must_be("rows")
        if self.queries:
            raise UsageError(
                f"{self.path} names rows of queries and of documents; name the vectors of the "
                "queries with --queries"
            )
        named = None if ids is None else places(ids)
        first, second = (
            np.array(
                [
                    self._row(name, line, rows, named)
                    for name, line in zip(side, self.lines, strict=True)
                ],
                dtype=np.intp,
            )
            for side in (self.first, self.second)
        )
        return first, second

    def check_rows(self, first: int, second: int) -> None:
        """Refuse two files of vectors that have not a row each for every score."""
        self._must_be("scores")
        if not first == second == len(self):
            raise DataError(
                f"{self.path} has {len(self):,} scores, but the files of vectors have {first:,} "
                f"and {second:,} rows"
            )

    def _must_be(self, kind: PairKind) -> None:
        if self.kind != kind:
            raise UsageError(f"{self.path} holds {KNOWN[self.kind]}, not {KNOWN[kind]}")

    def _row(self, name: str, line: int, rows: int, named: Mapping[str, int] | None) -> int:
        where = f"{self.path}: line {line}"
        if named is not None:
            row = named.get(name)
            if row is None:
                raise DataError(f"{where}: no row of the source is called {name!r}")
            if row == TWICE:
                raise DataError(f"{where}: several rows of the source are called {name!r}")
            return row
        if not name.isdecimal():
            raise DataError(f"{where}: a row should be a number from 0, not {name!r}")
        if int(name) >= rows:
            raise DataError(
                f"{where}: there is no row {int(name):,}; the source has {rows:,}, from 0"
            )
        return int(name)


TWICE = -1
"""In place of a row whose name is not its own."""


def places(ids: Sequence[str]) -> dict[str, int]:
    """Tell which row has which name."""
    found: dict[str, int] = {}
    for row, name in enumerate(ids):
        found[name] = TWICE if name in found else row
    return found


def read_own_pairs(
    path: str | Path,
    kind: PairKind | None = None,
    *,
    first: str | None = None,
    second: str | None = None,
    score: str | None = None,
) -> OwnPairs:
    """Read pairs out of TSV, CSV or JSON lines.

    A header is recognised by its names, or because its score is none.

    Parameters
    ----------
    path : str or Path
        The file. ``.jsonl``, ``.ndjson`` and ``.json`` hold an object a line; ``.csv`` has commas
        and quotes, or tabs and no quotes if its first line has a tab; all others have tabs.
    kind : {"texts", "rows", "scores"}, optional
        What a pair is. By default what the columns' names say (``text1`` and ``text2``, ``row1``
        and ``row2``), ``scores`` for a single column, else ``texts``.
    first, second, score : str, optional
        Names of columns, or their numbers from 1. By default usual names such as ``sentence1`` and
        ``label``; three columns without such names are first, second and score.
    """
    path = Path(path)
    if not path.is_file():
        raise UsageError(f"there is no file {path}; it should hold pairs and their scores")
    table = read_table(path)
    top = table.rows[0][1] if table.names is None else list(table.names)
    columns = choose_columns(top, kind, (first, second, score), str(path), is_value)
    header = table.names is None and columns.header
    rows = table.rows[1:] if header else table.rows
    if not rows:
        raise DataError(f"{path} holds no pairs")
    return pairs_of(path, rows, columns)


def pairs_of(path: Path, rows: list[tuple[int, list[str]]], columns: PairColumns) -> OwnPairs:
    """Take texts or rows, and scores, out of the rows of a table."""
    values = [(line, fields[columns.score]) for line, fields in rows]
    yes_no, scores = as_scores(values, path)
    first: list[str] = []
    second: list[str] = []
    if columns.sides is not None:
        here, there = columns.sides
        for line, fields in rows:
            check_texts((fields[here], fields[there]), f"{path}: line {line}")
            first.append(fields[here])
            second.append(fields[there])
    lines = tuple(line for line, _ in rows)
    return OwnPairs(
        path, columns.kind, yes_no, tuple(first), tuple(second), scores, lines, columns.queries
    )


def as_scores(values: list[tuple[int, str]], path: Path) -> tuple[bool, tuple[float, ...]]:
    """Tell whether values are labels, and return them as numbers; the first one sets the rule."""
    if all(value.lower() in YES_NO for _, value in values):
        return True, tuple(YES_NO[value.lower()] for _, value in values)
    numbers = as_number(values[0][1]) is not None
    scores = []
    for line, value in values:
        score = as_number(value) if numbers else YES_NO.get(value.lower())
        if score is None or not math.isfinite(score):
            wanted = "a number" if numbers else "a number, or yes or no"
            raise DataError(f"{path}: line {line}: the score should be {wanted}, not {value!r}")
        scores.append(score)
    return False, tuple(scores)


def is_value(field: str) -> bool:
    """Tell whether a field could be a score or a label."""
    return field.lower() in YES_NO or as_number(field) is not None
