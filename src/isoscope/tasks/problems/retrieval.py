"""Retrieval: do queries find the documents that people find relevant?

Every query searches all documents by cosine, exactly. Figures are those of trec_eval, which BEIR
prints, for every query whose relevant documents are known:

    nDCG@10 = Σ_{r ≤ 10} rel(r) / log₂(r + 1), divided by the same sum for the best order
    recall@k = relevant documents among the first k / all relevant documents
    MRR@10 = 1 / rank of the first relevant document, 0 beyond rank 10

The gain is the grade itself, not 2^grade − 1, and grades below 0 count as 0. Ties go to the
document whose id comes last in the order of strings, as in trec_eval. A document with the id of the
query is not searched, as in BEIR, some of whose corpora hold the queries; it is where people judged
it relevant, as documents and queries are then only numbered alike. A judged query without a
relevant document has no score and is left out (trec_eval gives it 0).

References
----------
Järvelin & Kekäläinen (2002), Cumulated gain-based evaluation of IR techniques, ACM TOIS 20(4).
Thakur et al. (2021), BEIR: A heterogeneous benchmark for zero-shot evaluation of information
retrieval models, NeurIPS.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isoscope.compute.nearest_neighbours import NONE, nearest_documents
from isoscope.compute.stats.estimates import Score, mean_score
from isoscope.data.arrays import numbered
from isoscope.errors import DataError
from isoscope.tasks.datasets.beir import LAYOUT, RetrievalSet, has_texts, read_retrieval
from isoscope.tasks.problem import Items, Problem
from isoscope.tasks.protocol import FitTexts, SentenceProtocol, TaskPlan, without_training
from isoscope.tasks.registry import DataFile, Task, register_opener
from isoscope.typing import Vector

METRICS = ("ndcg@10", "recall@1", "recall@10", "recall@100", "mrr@10")
CUT = 10
DEEPEST = 100


@dataclass(frozen=True)
class RetrievalProblem(Problem):
    """Queries, documents, and how relevant they are.

    Attributes
    ----------
    texts : tuple of str
        Every distinct text, documents before queries; empty where vectors are given.
    document_rows, query_rows : array of int
        The row of the vectors of every document, and of every judged query.
    order : array of int
        The documents in the order in which ties are broken.
    own : array of int
        For every query the document that it must not find, or -1.
    relevant : tuple of mapping of int to int
        For every query its relevant documents and their grades, above 0.
    """

    task: str
    texts: tuple[str, ...]
    document_rows: NDArray[np.intp]
    query_rows: NDArray[np.intp]
    order: NDArray[np.intp]
    own: NDArray[np.intp]
    relevant: tuple[Mapping[int, int], ...]
    unit: str = "queries"
    main: str = METRICS[0]

    @classmethod
    def of_texts(cls, task: str, data: RetrievalSet) -> RetrievalProblem:
        """Take texts; row k of the vectors is text k. Queries without judgements are left out."""
        documents, queries = data.documents.texts, data.queries.texts
        if documents is None or queries is None:
            missing = "documents" if documents is None else "queries"
            raise DataError(f"{task} has ids and no texts of its {missing}; give it vectors")
        asked = [
            text
            for name, text in zip(data.queries.ids, queries, strict=True)
            if name in data.judgements
        ]
        texts, rows = numbered([*documents, *asked])
        count = len(documents)
        return cls._of(task, data, tuple(texts), rows[:count], rows[count:])

    @classmethod
    def of_vectors(cls, task: str, data: RetrievalSet, rows: int) -> RetrievalProblem:
        """Take vectors: a row for every document, then one for every query, in the files' order."""
        documents, queries = len(data.documents.ids), len(data.queries.ids)
        if rows != documents + queries:
            raise DataError(
                f"{task} has {documents:,} documents and {queries:,} queries, but there are "
                f"{rows:,} vectors; they should be those of the documents, then of the queries"
            )
        judged = [
            documents + k for k, name in enumerate(data.queries.ids) if name in data.judgements
        ]
        return cls._of(task, data, (), np.arange(documents), np.array(judged, np.intp))

    @classmethod
    def _of(
        cls,
        task: str,
        data: RetrievalSet,
        texts: tuple[str, ...],
        document_rows: NDArray[np.intp],
        query_rows: NDArray[np.intp],
    ) -> RetrievalProblem:
        names = data.documents.ids
        places = {name: place for place, name in enumerate(names)}
        # As trec_eval breaks ties: of equal scores, the document whose id is last comes first.
        order = sorted(range(len(names)), key=names.__getitem__, reverse=True)
        own, relevant = [], []
        for query in data.queries.ids:
            if query not in data.judgements:
                continue
            grades = {places[d]: grade for d, grade in data.judgements[query].items() if grade > 0}
            same = places.get(query, NONE)
            own.append(NONE if same in grades else same)
            relevant.append(grades)
        return cls(
            task,
            texts,
            document_rows,
            query_rows,
            np.array(order, np.intp),
            np.array(own, np.intp),
            tuple(relevant),
        )

    def __len__(self) -> int:
        return len(self.query_rows)

    def ties_of(self, item: int) -> Items:
        """Return the query: all queries share the documents, which are known beforehand."""
        return self.query_rows[[item]]

    def rows_of(self, items: Items) -> Items:
        """Return the rows of some queries, and of all documents, which every query searches."""
        return np.union1d(self.document_rows, self.query_rows[items])

    def held_out(self, items: Items) -> Items:
        """Return no row: documents are known before anything is asked of them."""
        del items
        return np.empty(0, np.intp)

    def fit_rows(self) -> Items:
        """Return the rows of the documents."""
        return self.document_rows

    def outputs(self, vectors: NDArray[Any], learn: Items, held: Items) -> Vector:
        """Return the figures of some queries, in the order of ``METRICS``; nothing is learned."""
        del learn
        asked = vectors[self.query_rows[held]]
        # A view where rows are in order already, as those of given vectors are: no second copy.
        stretch = slice(0, len(self.document_rows))
        in_order = np.array_equal(self.document_rows, np.arange(stretch.stop))
        documents = vectors[stretch] if in_order else vectors[self.document_rows]
        found = nearest_documents(asked, documents, self.order, self.own[held], DEEPEST)
        figures = np.full((len(held), len(METRICS)), np.nan)
        for row, (item, places) in enumerate(zip(held, found, strict=True)):
            # A query that finds nothing has no direction, so no score.
            if self.relevant[item] and places[0] != NONE:
                figures[row] = query_figures(places, self.relevant[item])
        return figures

    def scores(self, outputs: Vector, items: Items, level: float) -> dict[str, Score]:
        """Take the mean of every figure over queries."""
        del items
        return {
            name: mean_score(values, level) for name, values in zip(METRICS, outputs.T, strict=True)
        }


def query_figures(found: NDArray[np.intp], relevant: Mapping[int, int]) -> tuple[float, ...]:
    """Score one query, in the order of ``METRICS``.

    Parameters
    ----------
    found : array of int
        Its documents, the nearest first.
    relevant : mapping of int to int
        Its relevant documents and their grades, one at least.
    """
    gains = np.array([relevant.get(int(document), 0) for document in found], np.float64)
    # The best order is that of all relevant documents, also of those that were not found.
    ideal = np.array(sorted(relevant.values(), reverse=True), np.float64)
    hits = np.flatnonzero(gains)  # ranks from 0
    recall = [float(np.sum(hits < k)) / len(relevant) for k in (1, CUT, DEEPEST)]
    first = hits[0] if len(hits) else CUT
    return (discounted(gains) / discounted(ideal), *recall, 1 / (first + 1) if first < CUT else 0.0)


def discounted(gains: Vector) -> float:
    """Return the discounted gain of the first ten ranks."""
    counted = gains[:CUT]
    return float(np.sum(counted / np.log2(np.arange(2, len(counted) + 2))))


@dataclass(frozen=True)
class RetrievalTask(Task):
    """Queries, documents and judgements in a folder of the user's own."""

    def load(self, folder: Path | None = None, split: str = "test") -> RetrievalSet:
        """Read the folder that the user named; that of the benchmarks is of no use."""
        del folder
        return read_retrieval(self.file, split)

    @property
    def of_vectors(self) -> bool:
        """Whether the folder names rows of vectors instead of texts."""
        return not has_texts(self.file)

    def find(self, folder: Path | None) -> Path:
        """Return the folder, which the user named."""
        del folder
        return Path(self.file)

    def plan(self, folder: Path | None, protocol: SentenceProtocol, *, fits: bool) -> TaskPlan:
        """Score all queries; corrections are fitted on the documents, which one has beforehand."""
        del protocol, fits
        data = self.load(folder)
        problem = RetrievalProblem.of_texts(self.name, data)
        documents = tuple(problem.texts[row] for row in np.unique(problem.document_rows))
        fit = FitTexts(documents, "the documents, queries apart,", together=True)
        return without_training(problem, fit)


def retrieval_task(folder: str) -> RetrievalTask:
    """Make a task of a folder in BEIR's layout."""
    return RetrievalTask(
        f"retrieval:{Path(folder).resolve().name}", "retrieval", (DataFile(folder, None),), LAYOUT,
        "queries", "yours", "",
        "exact search by cosine over all documents; figures as trec_eval has them, with the grade "
        "as gain; a document with the id of the query is not searched unless judged relevant",
        METRICS,
    )  # fmt: skip


register_opener(
    "retrieval", retrieval_task, "FOLDER", f"queries and documents of your own: {LAYOUT}"
)
