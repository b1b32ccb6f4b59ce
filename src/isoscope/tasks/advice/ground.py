"""What advice stands on: a problem with its vectors, and which of them no fit may see."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.tasks.advice.fitting import FoldedRows, parts_of
from isoscope.tasks.class_problem import ClassProblem
from isoscope.tasks.retrieval import RetrievalProblem

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from isoscope.corrections.named import NamedCorrection
    from isoscope.tasks.advice.fitting import Background
    from isoscope.tasks.problem import Items, Problem


@dataclass(frozen=True)
class Ground:
    """What advice stands on.

    Attributes
    ----------
    problem : Problem
        What is scored.
    vectors : array
        A row for everything that it names.
    name : str
        What results call the space.
    protocol : str
        How the vectors were made.
    background : Background, optional
        Vectors of the same space that are not scored.
    query_rows : array of int, optional
        Which vectors are queries, where the others are documents: corrections are fitted on
        documents.
    """

    problem: Problem
    vectors: NDArray[Any]
    name: str
    protocol: str
    background: Background | None = None
    query_rows: NDArray[np.intp] | None = None


def folded_rows(
    ground: Ground, folds: Sequence[NDArray[np.intp]], corrections: Sequence[NamedCorrection]
) -> FoldedRows:
    """Say which rows no fit may see; documents are known before anything is asked of them."""
    problem = ground.problem
    usable = np.ones(len(ground.vectors), np.bool_)
    held = [rows_to_hold_out(problem, fold) for fold in folds]
    if ground.query_rows is not None:
        usable[ground.query_rows] = False
    if isinstance(problem, RetrievalProblem):
        usable[:] = False
        usable[problem.document_rows] = True
        held = [np.empty(0, np.intp) for _ in folds]
    return FoldedRows(ground.vectors, held, usable, parts_of(corrections), ground.background)


def rows_to_hold_out(problem: Problem, items: Items) -> Items:
    """Return the rows that no fit for some items may see: for words, all words of their texts."""
    if isinstance(problem, ClassProblem) and problem.documents is not None:
        same = np.isin(problem.documents, problem.documents[items])
        return problem.rows_of(np.flatnonzero(same))
    rows = problem.rows_of(items)
    if problem.mentions is None:
        return rows
    texts = np.array([mention.text for mention in problem.mentions], np.intp)
    return np.flatnonzero(np.isin(texts, texts[rows]))


def fit_words(ground: Ground, rows: FoldedRows, folds: int, *, transductive: bool = False) -> str:
    """Say what corrections are fitted on, for a protocol."""
    if isinstance(ground.problem, RetrievalProblem):
        return f"corrections fitted on all {rows.count():,} documents, queries apart"
    if transductive:
        return f"corrections fitted on all {rows.count():,} vectors, transductive"
    return (
        f"cross-fitted in {folds} folds: corrections fitted on {rows.count():,} vectors less those "
        "of a fold"
    )
