"""Reads what a task stands on: vectors of a model's texts, or rows of a source."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.corrections.base import one_cloud
from isoscope.data.base import CloudGroup
from isoscope.data.open import FORMATS, open_cloud
from isoscope.data.texts.open import open_texts
from isoscope.errors import UsageError
from isoscope.models.model import Model
from isoscope.tasks.advice.fitting import MOST_ROWS, Background, moments_of
from isoscope.tasks.advice.ground import Ground
from isoscope.tasks.advice.vectors import source_rows
from isoscope.tasks.one_layer import one_layer_encoder
from isoscope.tasks.own_pair_problem import OwnPairProblem, OwnPairTask
from isoscope.tasks.preparing import prepare, texts_of
from isoscope.tasks.retrieval import RetrievalProblem, RetrievalTask
from isoscope.tasks.token_fits import TokenSample

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from isoscope.compute.stage import Progress
    from isoscope.measures.reads.moments import MomentParts
    from isoscope.tasks.own_pairs import OwnPairs
    from isoscope.tasks.problem import Problem
    from isoscope.tasks.registry import Task
    from isoscope.tasks.retrieval_data import RetrievalSet
    from isoscope.tasks.sentence_protocol import SentenceProtocol


def ground_of(
    source: Any,
    task: Task,
    parts: MomentParts,
    folder: Path | None,
    protocol: SentenceProtocol,
    *,
    second: Any = None,
    queries: Any = None,
    column: str | None = None,
    ids: str | None = None,
    drop_invalid: bool = False,
    progress: Progress | None = None,
) -> Ground:
    """Read what a task needs: the vectors of a source's rows, or those of a model's texts."""
    if second is not None and queries is not None:
        raise UsageError("name the other vectors as --queries or as --second, not both")
    if not is_about_vectors(task):
        check_model(source, queries if second is None else second, task)
        problem = prepare(task, folder, protocol, fits=False).problem
        return texts_ground(source, problem, parts, protocol, progress)
    if protocol.fit_on is not None:
        raise UsageError(
            "--fit-on names texts; corrections of vectors are fitted on the rows of the source"
        )
    if protocol.layers not in ("last", "all"):
        raise UsageError(f"vectors have no layer {protocol.layers!r}; layers are those of a model")
    if isinstance(task, RetrievalTask):
        other = queries if second is None else second
        given = Given(source, parts, other, column, ids, drop_invalid, protocol.seed, progress)
        return given.searched_vectors(task.name, task.load())
    assert isinstance(task, OwnPairTask)
    pairs = task.load()
    given = Given(
        source, parts, second if queries is None else queries, column, ids, drop_invalid,
        protocol.seed, progress,
    )  # fmt: skip
    if pairs.kind == "rows" and queries is not None:
        return given.pairs_with_queries(task.name, pairs)
    if pairs.kind == "rows":
        return given.pairs_of_rows(task.name, pairs)
    return given.pairs_of_two_files(task.name, pairs)


def is_about_vectors(task: Task) -> bool:
    """Whether a task names rows of vectors, rather than texts; a corpus is not read for that."""
    if isinstance(task, OwnPairTask):
        return task.load().kind != "texts"
    return isinstance(task, RetrievalTask) and task.of_vectors


def check_model(source: Any, second: Any, task: Task) -> None:
    """Refuse vectors where a task is about texts, which a model has to read."""
    ending = Path(source).suffix.lower() if isinstance(source, str | Path) else ""
    vectors = ending in FORMATS or not isinstance(source, str | Path | Model)
    if vectors or second is not None:
        raise UsageError(
            f"{task.name} is about texts, which a model reads: name a model instead of vectors. "
            "Vectors are for pairs of rows (row1, row2, score), for scores alone with --second, "
            "and for searches with corpus.ids and queries.ids instead of .jsonl files"
        )


class Given:
    """A source of vectors with what the user said of it."""

    def __init__(
        self,
        source: Any,
        parts: MomentParts,
        second: Any,
        column: str | None,
        ids: str | None,
        drop_invalid: bool,
        seed: int,
        progress: Progress | None,
    ) -> None:
        self.source, self.second, self.parts = source, second, parts
        self.how: dict[str, Any] = {
            "column": column,
            "drop_invalid": drop_invalid,
            "seed": seed,
            "progress": progress,
        }
        self.ids = ids

    def pairs_of_rows(self, task: str, pairs: OwnPairs) -> Ground:
        """Find the rows that pairs name; all others are fitted on in every fold."""
        if self.second is not None:
            raise UsageError(
                f"{task} names rows of one source; leave the second file out, or name it as "
                "--queries where the first row of a pair is one of its rows, or let the file of "
                "pairs hold scores alone: row k of both files then belongs together"
            )
        group = opened(self.source, self.how["column"])
        labels, rows = self._named(group, (*pairs.first, *pairs.second))
        whole = OwnPairProblem.of_rows(task, pairs, rows, labels)
        used = np.union1d(whole.first, whole.second)
        found = source_rows(group, used, self.parts, **{**self.how, "column": None})
        problem = replace(
            whole,
            first=np.searchsorted(used, whole.first),
            second=np.searchsorted(used, whole.second),
        )
        moments = found.background.moments
        others = 0 if moments is None else moments.rows
        words = f"{len(used):,} rows in pairs{by_name(labels)}, {others:,} other rows"
        return Ground(problem, found.vectors, found.name, words, found.background)

    def pairs_with_queries(self, task: str, pairs: OwnPairs) -> Ground:
        """Find the query and the document of every pair; all queries have a vector here.

        Those that no pair names still count for the mean of the queries.
        """
        group = opened(self.source, self.how["column"])
        asking = opened(self.second, self.how["column"])
        names, documents = self._named(group, pairs.second)
        asked, queries = self._named(asking, pairs.first)
        whole = OwnPairProblem.of_queries(task, pairs, (documents, queries), (names, asked))
        used = np.unique(whole.second)
        found = source_rows(group, used, self.parts, **{**self.how, "column": None})
        others = self._all(asking)
        check_widths(found.vectors, others)
        problem = replace(
            whole,
            first=len(used) + whole.first - documents,
            second=np.searchsorted(used, whole.second),
        )
        words = f"{documents:,} documents{by_name(names)}, {queries:,} queries{by_name(asked)}"
        return Ground(
            problem, np.concatenate([found.vectors, others]), found.name, words, found.background,
            len(used) + np.arange(len(others)),
        )  # fmt: skip

    def _named(self, group: CloudGroup, names: Sequence[str]) -> tuple[list[str] | None, int]:
        """Return what rows are called, if pairs call them by more than a number, and how many."""
        labels = None
        numbers = all(map(str.isdecimal, names))
        if self.ids is not None or (not numbers and has_labels(group)):
            labels = row_names(group, self.ids)
        return labels, len(labels) if labels is not None else row_count(group)

    def pairs_of_two_files(self, task: str, pairs: OwnPairs) -> Ground:
        """Put row k of two files side by side."""
        if self.second is None:
            raise UsageError(
                f"{pairs.path} holds scores alone: name the other file of vectors with --second "
                "(second=), whose row k belongs to row k of the source"
            )
        first, second = self._all(self.source), self._all(self.second)
        check_widths(first, second)
        problem = OwnPairProblem.of_two_files(task, pairs, len(first), len(second))
        name = opened(self.source, self.how["column"]).names[0]
        return Ground(problem, np.concatenate([first, second]), name, "row k of two files")

    def searched_vectors(self, task: str, data: RetrievalSet) -> Ground:
        """Take the documents' vectors from the source, and the queries' from the second file."""
        if self.second is None:
            raise UsageError(
                f"{task} has ids and no texts: the source should hold the vectors of the documents,"
                " and the file named with --queries (queries=) those of the queries"
            )
        documents, queries = self._all(self.source), self._all(self.second)
        check_widths(documents, queries)
        vectors = np.concatenate([documents, queries])
        problem = RetrievalProblem.of_vectors(task, data, len(vectors))
        name = opened(self.source, self.how["column"]).names[0]
        return Ground(
            problem, vectors, name, f"{len(documents):,} documents",
            query_rows=len(documents) + np.arange(len(queries)),
        )  # fmt: skip

    def _all(self, source: Any) -> NDArray[Any]:
        group = source if isinstance(source, CloudGroup) else opened(source, self.how["column"])
        everything = np.arange(row_count(group))
        return source_rows(group, everything, self.parts, **{**self.how, "column": None}).vectors


def texts_ground(
    source: Any,
    problem: Problem,
    parts: MomentParts,
    protocol: SentenceProtocol,
    progress: Progress | None,
) -> Ground:
    """Encode the texts of a problem in one layer of a model."""
    encoder, layers = one_layer_encoder(source, protocol, "advice is about")
    found = encoder.encode(problem.texts, layers, mentions=problem.mentions, progress=progress)
    query_rows = None
    if isinstance(problem, RetrievalProblem):
        # A text that is a document as well stays with the documents.
        query_rows = np.setdiff1d(problem.query_rows, problem.document_rows)
    background = None
    made = str(encoder) if problem.mentions is None else encoder.describe_words()
    words = f"{layers[0]}, {made}"
    if protocol.fit_on is not None:
        if problem.mentions is not None:
            raise UsageError("further texts to fit on are for vectors of texts, not of words")
        texts = open_texts(protocol.fit_on)
        scored = set(texts_of(problem, np.arange(len(problem))))
        others = [one.text for one in texts.texts() if one.text not in scored]
        background = behind(encoder.encode(others, layers, progress=progress)[layers[0]], parts)
        words += f", with {len(others):,} texts of {texts.name} to fit on"
    return Ground(problem, found[layers[0]], encoder.model.name, words, background, query_rows)


def behind(vectors: NDArray[Any], parts: MomentParts) -> Background:
    """Sum up vectors that are not scored."""
    rows = vectors[np.isfinite(vectors).all(axis=1)]
    if not len(rows):
        return Background(None, rows, str(vectors.dtype))
    sample = TokenSample(MOST_ROWS, 0)
    sample.add_rows(rows)
    return Background(moments_of(rows, parts), sample.rows(), str(vectors.dtype))


def by_name(labels: Sequence[str] | None) -> str:
    """Say how pairs name rows."""
    return " by number" if labels is None else " by label"


def opened(source: Any, column: str | None) -> CloudGroup:
    """Open one cloud, with all its rows: pairs name them by number."""
    group = open_cloud(source, column=column)
    one_cloud(group)  # which refuses several
    return group


def row_count(group: Any) -> int:
    """Return the number of rows; by reading where only that tells."""
    if group.rows is not None:
        return int(group.rows)
    return sum(len(next(iter(batches.values())).vectors) for batches in group.batches())


def has_labels(group: CloudGroup) -> bool:
    """Whether the rows of a source have names of any kind."""
    first = next(iter(group.batches()), None)
    return first is not None and any(bool(batch.labels) for batch in first.values())


def row_names(group: Any, label: str | None) -> list[str]:
    """Return what the rows of a source are called."""
    from isoscope.tasks.vocabulary import label_of

    names: list[str] = []
    for batches in group.batches():
        (batch,) = batches.values()
        names += [str(name) for name in batch.labels[label_of(batch, label, group.names[0])]]
    return names


def check_widths(first: NDArray[Any], second: NDArray[Any]) -> None:
    """Refuse two files of other widths."""
    if first.shape[1] != second.shape[1]:
        raise UsageError(
            f"the two files hold vectors of {first.shape[1]:,} and {second.shape[1]:,} dimensions; "
            "both should come from one model"
        )
