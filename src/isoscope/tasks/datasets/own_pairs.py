"""Pairs of the user's own, with a score or a yes/no label: do vectors find the same pairs alike?

A pair is two texts, two rows of a source of vectors, or the same row of two files of vectors: then
the file of pairs contains nothing but scores. Columns are found by the names or numbers that the
user gives, else by usual names.

The output of a pair is the cosine of its two vectors. Numbers are compared by correlation, yes/no
labels by the area under the ROC curve: how often a match has a higher cosine than a non-match.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, Self

import numpy as np
from numpy.typing import NDArray

from isoscope.compute.stats.class_scores import auc
from isoscope.compute.stats.estimates import Score, pearson, spearman
from isoscope.errors import DataError, UsageError, check_name, unknown_name
from isoscope.tasks.datasets.lines import as_count, as_number, check_texts, read_table
from isoscope.tasks.problem import Items
from isoscope.tasks.problems.pairs import SCORE, ScoredPairs
from isoscope.tasks.protocol import SentenceProtocol, TaskPlan, cross_fitted, without_training
from isoscope.tasks.registry import DataFile, OwnFileTask, TextPair, register_opener
from isoscope.typing import Mask, Vector
from isoscope.wording import counted

PairKind = Literal["texts", "rows", "scores"]
KNOWN: dict[PairKind, str] = {
    "texts": "pairs of texts",
    "rows": "pairs of rows",
    "scores": "scores alone",
}

# Names that tell a row of queries from one of documents.
QUERY_SIDES = (
    ("query_row", "document_row"), ("query_id", "document_id"), ("query-id", "corpus-id"),
)  # fmt: skip

SIDES: dict[PairKind, tuple[tuple[str, str], ...]] = {
    "texts": (
        ("first", "second"), ("text1", "text2"), ("text_a", "text_b"),
        ("sentence1", "sentence2"), ("sentence_a", "sentence_b"), ("question1", "question2"),
    ),
    "rows": (
        ("row1", "row2"), ("row_a", "row_b"), ("id1", "id2"), ("id_a", "id_b"),
        *QUERY_SIDES,
    ),
    "scores": (),
}  # fmt: skip
SCORES = (
    "score", "label", "similarity", "similarity_score", "relatedness_score", "gold",
    "is_duplicate", "same",
)  # fmt: skip
SHOWN = 30


@dataclass(frozen=True)
class PairColumns:
    """Where a row has what.

    Attributes
    ----------
    kind : str
        What a pair is.
    sides : tuple of int or None
        Columns of the two texts or rows; None where there are only scores.
    score : int
        Column of the score.
    header : bool
        Whether the first row names the columns.
    queries : bool
        Whether the first of a pair is a query, and the second a document.
    """

    kind: PairKind
    sides: tuple[int, int] | None
    score: int
    header: bool
    queries: bool = False


def choose_columns(
    top: Sequence[str],
    kind: PairKind | None,
    asked: tuple[str | None, str | None, str | None],
    where: str,
) -> PairColumns:
    """Find the columns in the first row of a table, which may be its header.

    Parameters
    ----------
    top : sequence of str
        The first row, or the names of a table that has them.
    kind : str or None
        What a pair is, if the user says so.
    asked : tuple of (str or None)
        The user's columns for first, second and score: names, or numbers from 1.
    where : str
        The file, for errors.
    """
    if kind is not None:
        check_name("kind of pairs", kind, KNOWN)
    names = [name.lower() for name in top]
    first, second, score = asked
    if kind is None:
        kind = usual_kind(names, first, second)
    sides = None
    if kind != "scores":
        usual = usual_sides(kind, names)
        sides = (
            position(first, usual[0], top, where, "the first of a pair"),
            position(second, usual[1], top, where, "the second of a pair"),
        )
    habit = next((names.index(name) for name in SCORES if name in names), None)
    if habit is None and len(top) == (1 if kind == "scores" else 3):
        habit = len(top) - 1
    at = position(score, habit, top, where, "the score")
    queries = sides is not None and (names[sides[0]], names[sides[1]]) in QUERY_SIDES
    # A first row whose score could be none is a header.
    return PairColumns(kind, sides, at, header=not is_value(top[at]), queries=queries)


def usual_kind(names: Sequence[str], first: str | None, second: str | None) -> PairKind:
    """Tell what the names of the columns, or their number, say that a pair is."""
    if first is not None or second is not None:
        chosen = tuple(str(name).lower() for name in (first, second))
        return "rows" if chosen in SIDES["rows"] else "texts"
    for kind in ("texts", "rows"):
        if any(one in names and other in names for one, other in SIDES[kind]):
            return kind
    return "scores" if len(names) == 1 else "texts"


def usual_sides(kind: PairKind, names: Sequence[str]) -> tuple[int | None, int | None]:
    """Find the two columns of a pair by their usual names, else by their place among three."""
    for one, other in SIDES[kind]:
        if one in names and other in names:
            return names.index(one), names.index(other)
    return (0, 1) if len(names) == 3 else (None, None)


def position(
    asked: str | None, usual: int | None, top: Sequence[str], where: str, what: str
) -> int:
    """Return the place of a column that the user names or numbers, else the usual one."""
    if asked is None:
        if usual is None:
            raise UsageError(
                f"{where} has {len(top)} columns, and it is not clear which holds {what}; name it, "
                f"or give its number from 1: {', '.join(shortened(top))}"
            )
        return usual
    if asked in top:
        return top.index(asked)
    number = as_count(asked)
    if number is not None and 1 <= number <= len(top):
        return number - 1
    raise unknown_name(f"column of {where}", asked, shortened(top))


def shortened(fields: Sequence[str]) -> list[str]:
    """Cut long fields, as the first row may hold texts instead of names."""
    return [field if len(field) <= SHOWN else f"{field[:SHOWN]}…" for field in fields]


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
    named : bool
        Whether the file names its columns, in a header or in its objects.
    """

    path: Path
    kind: PairKind
    yes_no: bool
    first: tuple[str, ...]
    second: tuple[str, ...]
    scores: tuple[float, ...]
    lines: tuple[int, ...]
    queries: bool = False
    named: bool = True

    def __len__(self) -> int:
        return len(self.scores)

    def check_header(self) -> None:
        """Refuse what was taken for texts, for want of a header, although it looks like rows."""
        sides = (*self.first, *self.second)
        if self.kind != "texts" or self.named or any(as_count(one) is None for one in sides):
            return
        between = "," if self.path.suffix.lower() == ".csv" else "<TAB>"
        raise UsageError(
            f"{self.path} has no header, so its first two columns, which are whole numbers, are "
            "read as texts; if they are rows of the vectors, counted from 0, make its first line "
            f"{between.join(('row1', 'row2', 'score'))}"
        )

    def text_pairs(self) -> list[TextPair]:
        """Return the pairs of texts; their subset is the file."""
        self.must_be("texts")
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
        self.must_be("rows")
        if self.queries:
            raise UsageError(
                f"{self.path} names rows of queries and of documents; name the vectors of the "
                "queries with --queries"
            )
        return self.side_rows(self.first, rows, ids), self.side_rows(self.second, rows, ids)

    def side_rows(
        self, side: Sequence[str], rows: int, ids: Sequence[str] | None
    ) -> NDArray[np.intp]:
        """Find the rows that one side of all pairs names, as in ``row_numbers``."""
        named = None if ids is None else places(ids)
        lines = zip(side, self.lines, strict=True)
        return np.array([self._row(name, line, rows, named) for name, line in lines], np.intp)

    def check_rows(self, first: int, second: int) -> None:
        """Refuse two files of vectors that have not a row each for every score."""
        self.must_be("scores")
        if not first == second == len(self):
            raise DataError(
                f"{self.path} has {len(self):,} scores, but the files of vectors have {first:,} "
                f"and {second:,} rows"
            )

    def must_be(self, kind: PairKind) -> None:
        """Refuse pairs of another kind."""
        if self.kind != kind:
            if kind == "rows":
                self.check_header()
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
        number = as_count(name)
        if number is None:
            raise DataError(f"{where}: a row should be a number from 0, not {name!r:.60}")
        if number >= rows:
            raise DataError(f"{where}: there is no row {number:,}; the source has {rows:,}, from 0")
        return number


# In place of a row whose name is not its own.
TWICE = -1


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
    columns = choose_columns(top, kind, (first, second, score), str(path))
    header = table.names is None and columns.header
    rows = table.rows[1:] if header else table.rows
    if not rows:
        raise DataError(f"{path} holds no pairs")
    return replace(pairs_of(path, rows, columns), named=header or table.names is not None)


def pairs_of(path: Path, rows: list[tuple[int, list[str]]], columns: PairColumns) -> OwnPairs:
    """Take texts or rows, and scores, out of the rows of a table."""
    values = [(line, fields[columns.score]) for line, fields in rows]
    yes_no, scores = as_scores(values, path)
    first: tuple[str, ...] = ()
    second: tuple[str, ...] = ()
    if columns.sides is not None:
        for line, fields in rows:
            check_texts([fields[column] for column in columns.sides], f"{path}: line {line}")
        first, second = (tuple(fields[column] for _, fields in rows) for column in columns.sides)
    lines = tuple(line for line, _ in rows)
    return OwnPairs(path, columns.kind, yes_no, first, second, scores, lines, columns.queries)


def as_scores(values: list[tuple[int, str]], path: Path) -> tuple[bool, tuple[float, ...]]:
    """Tell whether values are labels, and return them as numbers; the first one sets the rule."""
    if all(value.lower() in YES_NO for _, value in values):
        return True, tuple(YES_NO[value.lower()] for _, value in values)
    # The first value tells what the file is meant to hold, and so what is wrong with another one.
    numbers = as_number(values[0][1]) is not None
    scores = []
    for line, value in values:
        score = as_number(value) if numbers else YES_NO.get(value.lower())
        if score is None or not math.isfinite(score):
            wanted = "a number" if numbers else "a number, or yes or no"
            raise DataError(f"{path}: line {line}: the score should be {wanted}, not {value!r:.60}")
        scores.append(score)
    return False, tuple(scores)


def is_value(field: str) -> bool:
    """Tell whether a field could be a score or a label."""
    return field.lower() in YES_NO or as_number(field) is not None


AUC, SPEARMAN, PEARSON = (f"{SCORE}/{metric}" for metric in ("auc", "spearman", "pearson"))


@dataclass(frozen=True)
class OwnPairProblem(ScoredPairs):
    """The pairs of a file of the user's own.

    Attributes
    ----------
    yes_no : bool
        Whether every score is a label, 1 for yes and 0 for no.
    lines : tuple of int
        The line of every pair in the file; empty where there is no file.
    left_out : str
        Which pairs of the file are not among these, and why; empty where all are.
    """

    yes_no: bool = False
    lines: tuple[int, ...] = ()
    left_out: str = ""

    @classmethod
    def of_texts(cls, task: str, pairs: OwnPairs) -> OwnPairProblem:
        """Take pairs of texts; row k of the vectors is text k."""
        numbered = ScoredPairs.of(task, pairs.text_pairs())
        return cls._of(task, pairs, numbered.first, numbered.second, numbered.texts)

    @classmethod
    def of_rows(
        cls, task: str, pairs: OwnPairs, rows: int, ids: Sequence[str] | None = None
    ) -> OwnPairProblem:
        """Take pairs of rows of a source of vectors; row k of the vectors is row k of the source.

        ``rows`` and ``ids`` are as in ``OwnPairs.row_numbers``. A row paired with itself has a
        cosine of 1 in every space, so that the pair says nothing: it is left out and counted.
        """
        first, second = pairs.row_numbers(rows, ids)
        whole = cls._of(task, pairs, first, second)
        same = first == second
        if same.all():
            raise DataError(
                f"{pairs.path}: in every pair a row is paired with itself; where the first of a "
                "pair is a row of queries, name their vectors with --queries"
            )
        return whole.without(same, "of a row with itself")

    def without(self, unwanted: Mask, kind: str) -> Self:
        """Leave some pairs out, and say how many there are of what kind and where the first is."""
        if not unwanted.any():
            return self
        kept = np.flatnonzero(~unwanted)
        place = int(np.argmax(unwanted))
        where = f"line {self.lines[place]}" if self.lines else f"pair {place + 1}"
        first = where if unwanted.sum() == 1 else f"first: {where}"
        told = f"{counted(int(unwanted.sum()), 'pair')} {kind} left out ({first})"
        return replace(
            self,
            first=self.first[kept],
            second=self.second[kept],
            human=self.human[kept],
            subsets=self.subsets[kept],
            lines=tuple(self.lines[k] for k in kept) if self.lines else (),
            left_out="; ".join(filter(None, (self.left_out, told))),
        )

    @classmethod
    def of_queries(
        cls,
        task: str,
        pairs: OwnPairs,
        rows: tuple[int, int],
        ids: tuple[Sequence[str] | None, Sequence[str] | None] = (None, None),
    ) -> OwnPairProblem:
        """Take pairs of a query and a document; the vectors are those of documents, then queries.

        Pairs name a row of the queries, then a row of the documents. ``rows`` says how many
        documents and queries there are, and ``ids`` what they are called.
        """
        pairs.must_be("rows")
        documents, queries = rows
        second = pairs.side_rows(pairs.second, documents, ids[0])
        first = pairs.side_rows(pairs.first, queries, ids[1])
        return cls._of(task, pairs, documents + first, second)

    @classmethod
    def of_two_files(
        cls, task: str, pairs: OwnPairs, first_rows: int, second_rows: int
    ) -> OwnPairProblem:
        """Take row k of two files of vectors; the vectors are those of the first, then the second.

        Both files should have a row for every score.
        """
        pairs.check_rows(first_rows, second_rows)
        return cls._of(task, pairs, np.arange(len(pairs)), len(pairs) + np.arange(len(pairs)))

    @classmethod
    def _of(
        cls,
        task: str,
        pairs: OwnPairs,
        first: NDArray[np.intp],
        second: NDArray[np.intp],
        texts: tuple[str, ...] = (),
    ) -> OwnPairProblem:
        return cls(
            task,
            texts,
            first,
            second,
            np.array(pairs.scores, np.float64),
            np.full(len(pairs), "", object),
            main=AUC if pairs.yes_no else SPEARMAN,
            yes_no=pairs.yes_no,
            lines=pairs.lines,
        )

    def scores(self, outputs: Vector, items: Items, level: float) -> dict[str, Score]:
        """Compare cosines with the user's scores or labels."""
        human = self.human[items]
        ranked = spearman(outputs, human, level=level)
        if self.yes_no:
            return {AUC: auc(human, outputs, level), SPEARMAN: ranked}
        return {SPEARMAN: ranked, PEARSON: pearson(outputs, human, level=level)}


@dataclass(frozen=True)
class OwnPairTask(OwnFileTask):
    """Pairs in a file of the user's own."""

    def load(self, folder: Path | None = None) -> OwnPairs:
        """Read the pairs; the folder of the benchmarks is of no use."""
        return read_own_pairs(self.find(folder))

    def plan(self, folder: Path | None, protocol: SentenceProtocol, *, fits: bool) -> TaskPlan:
        """Score pairs of texts; corrections are cross-fitted unless the user names other texts."""
        pairs = self.load(folder)
        if pairs.kind != "texts":
            raise UsageError(
                f"{pairs.path} holds no texts but {pairs.kind}: it is scored with a file of "
                "vectors, not with a model"
            )
        problem = OwnPairProblem.of_texts(self.name, pairs)
        if fits and not protocol.names_fit:
            return cross_fitted(problem, protocol.seed)
        return without_training(problem)


def own_pair_task(file: str) -> OwnPairTask:
    """Make a task of a file of pairs."""
    return OwnPairTask(
        f"pairs:{Path(file).stem}", "pairs", (DataFile(file, None),),
        "TSV, CSV or JSON lines with two texts (text1, text2), two rows of a source (row1, row2) "
        "or nothing, and a score or a yes/no label (score)",
        "pairs", "yours", "",
        "cosine of the two vectors of a pair against its score, or its label",
        (SPEARMAN, PEARSON, AUC),
    )  # fmt: skip


register_opener(
    "pairs", own_pair_task,
    about="pairs of your own (TSV, CSV or JSON lines): text1, text2 and score for a model; row1, "
    "row2 and score for rows of a file of vectors, by number from 0 or by label; score alone for "
    "row k of two files (--second). Scores are numbers, or yes and no",
)  # fmt: skip


def left_out_sentences(left_out: str) -> list[str]:
    """Say which pairs of the file are not judged."""
    if not left_out:
        return []
    hint = ""
    if "of a row with itself" in left_out:
        hint = " Where the first of a pair is a row of queries, name their vectors with --queries."
    return [f"{left_out}: such a pair has a cosine of 1 in every space.{hint}"]
