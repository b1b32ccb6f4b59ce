"""Pairs of the user's own as a problem: do vectors find those alike that the user finds alike?

The output of a pair is the cosine of its two vectors. Numbers are met by correlations, yes/no
labels by the area under the ROC curve: how often a yes has the higher cosine than a no.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from isoscope.compute.stats.class_scores import auc
from isoscope.compute.stats.estimates import Score, pearson, spearman
from isoscope.errors import DataError
from isoscope.tasks.own_pairs import OwnPairs, read_own_pairs
from isoscope.tasks.registry import DataFile, OwnFileTask, register_opener
from isoscope.tasks.sts import SCORE, ScoredPairs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from isoscope.tasks.problem import Items
    from isoscope.typing import Vector


AUC, SPEARMAN, PEARSON = (f"{SCORE}/{metric}" for metric in ("auc", "spearman", "pearson"))


@dataclass(frozen=True)
class OwnPairProblem(ScoredPairs):
    """The pairs of a file of the user's own.

    Attributes
    ----------
    yes_no : bool
        Whether every score is a label, 1 for yes and 0 for no.
    """

    yes_no: bool = False

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

        Parameters
        ----------
        task : str
            What results call it.
        pairs : OwnPairs
            Pairs that name rows.
        rows : int
            How many rows the source has.
        ids : sequence of str, optional
            The name of every row; without it, pairs name rows by number, from 0.
        """
        first, second = pairs.row_numbers(rows, ids)
        same = np.flatnonzero(first == second)
        if len(same):
            raise DataError(
                f"{pairs.path}: line {pairs.lines[same[0]]}: a row is paired with itself; where "
                "the first of a pair is a row of queries, name their vectors with --queries"
            )
        return cls._of(task, pairs, first, second)

    @classmethod
    def of_queries(
        cls,
        task: str,
        pairs: OwnPairs,
        rows: tuple[int, int],
        ids: tuple[Sequence[str] | None, Sequence[str] | None] = (None, None),
    ) -> OwnPairProblem:
        """Take pairs of a query and a document; the vectors are those of documents, then queries.

        Parameters
        ----------
        task : str
            What results call it.
        pairs : OwnPairs
            Pairs that name a row of the queries, then a row of the documents.
        rows : tuple of int
            How many documents and queries there are.
        ids : tuple of sequence of str, optional
            The names of all documents, and of all queries.
        """
        documents, queries = rows
        of_documents = replace(pairs, first=pairs.second, queries=False)
        of_queries = replace(pairs, second=pairs.first, queries=False)
        second, _ = of_documents.row_numbers(documents, ids[0])
        first, _ = of_queries.row_numbers(queries, ids[1])
        return cls._of(task, pairs, documents + first, second)

    @classmethod
    def of_two_files(
        cls, task: str, pairs: OwnPairs, first_rows: int, second_rows: int
    ) -> OwnPairProblem:
        """Take row k of two files of vectors; the vectors are those of the first, then the second.

        Parameters
        ----------
        task : str
            What results call it.
        pairs : OwnPairs
            Scores alone.
        first_rows, second_rows : int
            How many rows the files have; both should have one for every score.
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
