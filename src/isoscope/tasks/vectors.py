"""The vectors of a problem: those of a model's texts, or rows of a source of vectors.

Rows of a source that no item stands on are summed up while the others are read: they belong to the
same space, and corrections are fitted on them in every fold.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isoscope.compute.memory import check_held
from isoscope.corrections.named import NamedCorrection
from isoscope.data.arrays import is_tensor
from isoscope.data.base import CloudGroup
from isoscope.data.combine import label_of
from isoscope.data.formats.registry import FORMATS
from isoscope.data.sampling import TokenSample
from isoscope.data.selection import RowSelection, count_rows
from isoscope.data.texts.open import open_texts
from isoscope.errors import DataError, UsageError
from isoscope.measures.kernels import MomentsKernel, moments_kernel_for
from isoscope.measures.reads.moments import MomentParts
from isoscope.models.model import Model
from isoscope.progress import Progress, report
from isoscope.results.fields import FITTED_ON
from isoscope.tasks.datasets.beir import RetrievalSet
from isoscope.tasks.datasets.own_pairs import OwnPairProblem, OwnPairs, OwnPairTask
from isoscope.tasks.encoding import one_layer_encoder, open_source
from isoscope.tasks.fits import MOST_ROWS, Background, FoldedRows, moments_of, parts_of
from isoscope.tasks.problem import Problem
from isoscope.tasks.problems.retrieval import RetrievalProblem, RetrievalTask
from isoscope.tasks.prompts import refuse_prompts, with_prompts
from isoscope.tasks.protocol import SentenceProtocol
from isoscope.tasks.registry import Task


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
    usable = np.ones(len(ground.vectors), np.bool_)
    if ground.query_rows is not None:
        usable[ground.query_rows] = False
    known = ground.problem.fit_rows()
    if known is not None:
        usable[:] = False
        usable[known] = True
    held = [ground.problem.held_out(fold) for fold in folds]
    return FoldedRows(ground.vectors, held, usable, parts_of(corrections), ground.background)


def fit_words(ground: Ground, rows: FoldedRows, folds: int, *, transductive: bool = False) -> str:
    """Say what corrections are fitted on, for a protocol."""
    if ground.problem.fit_rows() is not None:
        return f"{FITTED_ON} all {rows.count():,} documents, queries apart"
    if transductive:
        return f"{FITTED_ON} all {rows.count():,} vectors, transductive"
    return (
        f"cross-fitted in {folds} folds: {FITTED_ON} {rows.count():,} vectors less those of a fold"
    )


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
        problem = task.plan(folder, protocol, fits=False).problem
        return texts_ground(source, problem, parts, protocol, progress)
    if protocol.fit_on is not None:
        raise UsageError(
            "--fit-on names texts; corrections of vectors are fitted on the rows of the source"
        )
    refuse_prompts(protocol)
    if protocol.layers not in ("last", "all"):
        raise UsageError(f"vectors have no layer {protocol.layers!r}; layers are those of a model")
    other = queries if second is None else second
    given = VectorSource(source, other, parts, column, ids, drop_invalid, protocol.seed, progress)
    if isinstance(task, RetrievalTask):
        return given.search(task.name, task.load())
    assert isinstance(task, OwnPairTask)
    pairs = task.load()
    if pairs.kind != "rows":
        return given.pairs_of_two_files(task.name, pairs)
    if queries is not None:
        return given.pairs_with_queries(task.name, pairs)
    return given.pairs_of_rows(task.name, pairs)


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
        if isinstance(task, OwnPairTask):
            task.load().check_header()
        raise UsageError(
            f"{task.name} is about texts, which a model reads: name a model instead of vectors. "
            "Vectors are for pairs of rows (row1, row2, score), for scores alone with --second, "
            "and for searches with corpus.ids and queries.ids instead of .jsonl files"
        )


@dataclass(frozen=True)
class VectorSource:
    """Vectors with what the user said of them.

    Attributes
    ----------
    source : str, Path, array, tensor or CloudGroup
        Anything that ``open_cloud`` takes.
    second : str, Path, array, tensor or CloudGroup, optional
        The other vectors: those of queries, or of the other sides of pairs.
    parts : MomentParts
        What is summed over the rows that no item stands on.
    column : str, optional
        Which array of files that hold several.
    ids : str, optional
        The label by which pairs name rows.
    drop_invalid : bool
        Leave rows that are not finite out of the sums, and items that stand on one without a
        score, instead of stopping.
    seed : int
        Of the sample of the rows that no item stands on.
    progress : callable, optional
        Called with the name of the read, rows done, and rows in all.
    """

    source: Any
    second: Any
    parts: MomentParts
    column: str | None = None
    ids: str | None = None
    drop_invalid: bool = False
    seed: int = 0
    progress: Progress | None = None

    def pairs_of_rows(self, task: str, pairs: OwnPairs) -> Ground:
        """Find the rows that pairs name; all others are fitted on in every fold."""
        if self.second is not None:
            raise UsageError(
                f"{task} names rows of one source; leave the second file out, or name it as "
                "--queries where the first row of a pair is one of its rows, or let the file of "
                "pairs hold scores alone: row k of both files then belongs together"
            )
        group = open_source(self.source, column=self.column)
        labels, rows = self._named(group, (*pairs.first, *pairs.second))
        whole = OwnPairProblem.of_rows(task, pairs, rows, labels)
        used = np.union1d(whole.first, whole.second)
        vectors, background = self._read(group, used)
        # Only the rows in pairs are in memory: their numbers become places among these.
        problem = replace(
            whole,
            first=np.searchsorted(used, whole.first),
            second=np.searchsorted(used, whole.second),
        )
        others = 0 if background.moments is None else background.moments.rows
        words = f"{len(used):,} rows in pairs{by_name(labels)}, {others:,} other rows"
        if problem.left_out:
            words += f", {problem.left_out}"
        return Ground(problem, vectors, group.names[0], words, background)

    def pairs_with_queries(self, task: str, pairs: OwnPairs) -> Ground:
        """Find the query and the document of every pair; all queries have a vector here.

        Those that no pair names still count for the mean of the queries.
        """
        group, asking = self._both()
        names, documents = self._named(group, pairs.second)
        asked, queries = self._named(asking, pairs.first)
        whole = OwnPairProblem.of_queries(task, pairs, (documents, queries), (names, asked))
        used = np.unique(whole.second)
        vectors, background = self._read(group, used)
        together, query_rows = self._stacked(vectors, self._all(asking))
        problem = replace(
            whole,
            first=len(used) + whole.first - documents,
            second=np.searchsorted(used, whole.second),
        )
        words = f"{documents:,} documents{by_name(names)}, {queries:,} queries{by_name(asked)}"
        return Ground(problem, together, group.names[0], words, background, query_rows)

    def pairs_of_two_files(self, task: str, pairs: OwnPairs) -> Ground:
        """Put row k of two files side by side."""
        name, vectors, second_rows = self._whole_files(
            f"{pairs.path} holds scores alone: name the other file of vectors with --second "
            "(second=), whose row k belongs to row k of the source"
        )
        first = len(vectors) - len(second_rows)
        problem = OwnPairProblem.of_two_files(task, pairs, first, len(second_rows))
        return Ground(problem, vectors, name, "row k of two files")

    def search(self, task: str, data: RetrievalSet) -> Ground:
        """Take the documents' vectors from the source, and the queries' from the second file."""
        name, vectors, query_rows = self._whole_files(
            f"{task} has ids and no texts: the source should hold the vectors of the documents,"
            " and the file named with --queries (queries=) those of the queries"
        )
        problem = RetrievalProblem.of_vectors(task, data, len(vectors))
        words = f"{len(vectors) - len(query_rows):,} documents"
        return Ground(problem, vectors, name, words, query_rows=query_rows)

    def _whole_files(self, missing: str) -> tuple[str, NDArray[Any], NDArray[np.intp]]:
        """Return the source's name, all rows of both files, and which of them are the second's.

        ``missing`` is what is said where there is no second file.
        """
        if self.second is None:
            raise UsageError(missing)
        group, others = self._both()
        return group.names[0], *self._stacked(self._all(group), self._all(others))

    def _both(self) -> tuple[CloudGroup, CloudGroup]:
        """Open both, with all their rows: pairs name them by number."""
        return (
            open_source(self.source, column=self.column),
            open_source(self.second, column=self.column),
        )

    def _named(self, group: CloudGroup, names: Sequence[str]) -> tuple[list[str] | None, int]:
        """Return what rows are called, if pairs call them by more than a number, and how many."""
        labels = None
        numbers = all(map(str.isdecimal, names))
        if self.ids is not None or (not numbers and has_labels(group)):
            labels = row_names(group, self.ids)
        return labels, len(labels) if labels is not None else count_rows(group)

    def _all(self, group: CloudGroup) -> NDArray[Any]:
        """Read all rows."""
        return self._read(group, np.arange(count_rows(group)))[0]

    def _read(self, group: CloudGroup, wanted: NDArray[np.intp]) -> tuple[NDArray[Any], Background]:
        """Read a cloud once: keep the rows with these numbers, and sum up the others."""
        check_held(
            len(wanted),
            group.widths[0],
            f"scoring rows of {group.names[0]}",
            "name fewer rows in the pairs, or reduce the dimensions first",
        )
        kept: list[NDArray[Any]] = []
        kernel: MomentsKernel | None = None
        sample = TokenSample(MOST_ROWS, self.seed)
        found = read = 0
        for batches in group.batches():
            (batch,) = batches.values()
            rows = batch.vectors
            rows = rows.float().cpu().numpy() if is_tensor(rows) else rows
            first, read = batch.first_row, batch.first_row + len(rows)
            here = wanted[(wanted >= first) & (wanted < read)] - first
            chosen = np.zeros(len(rows), np.bool_)
            chosen[here] = True
            found += len(here)
            finite = np.asarray(np.isfinite(rows).all(axis=1))
            if not finite.all() and not self.drop_invalid:
                for _ in RowSelection(group).batches():
                    pass  # which names the first such row
            # NaN stands for a row without a vector, as for a text without a token.
            kept.append(np.where(finite[here, None], rows[here], np.nan).astype(rows.dtype))
            others = np.asarray(rows[~chosen & finite])
            if len(others):
                if kernel is None:
                    kernel = moments_kernel_for(others, self.parts, double=False)
                kernel.add(others)
                sample.add_rows(others)
            report(self.progress, "read vectors", read, group.rows)
        if found < len(wanted):
            raise DataError(
                f"{group.names[0]} has {read:,} rows, from 0; there is no row {int(wanted.max()):,}"
            )
        moments = None if kernel is None else kernel.result()
        return np.concatenate(kept), Background(moments, sample.rows(), group.dtypes[0])

    def _stacked(
        self, first: NDArray[Any], second: NDArray[Any]
    ) -> tuple[NDArray[Any], NDArray[np.intp]]:
        """Put vectors of two files below each other, and return where those of the second are."""
        if first.shape[1] != second.shape[1]:
            raise UsageError(
                f"the two files hold vectors of {first.shape[1]:,} and {second.shape[1]:,} "
                "dimensions; both should come from one model"
            )
        return np.concatenate([first, second]), len(first) + np.arange(len(second))


def texts_ground(
    source: Any,
    problem: Problem,
    parts: MomentParts,
    protocol: SentenceProtocol,
    progress: Progress | None,
) -> Ground:
    """Encode the texts of a problem in one layer of a model."""
    encoder, layers = one_layer_encoder(source, protocol, "advice is about")
    encoder, problem, asked = with_prompts(encoder, protocol, problem)
    found = encoder.encode(
        problem.texts, layers, mentions=problem.mentions, queries=asked, progress=progress
    )
    query_rows = asked
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
        scored = set(problem.texts_of(np.arange(len(problem))))
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


def has_labels(group: CloudGroup) -> bool:
    """Whether the rows of a source have names of any kind."""
    first = next(iter(group.batches()), None)
    return first is not None and any(bool(batch.labels) for batch in first.values())


def row_names(group: Any, label: str | None) -> list[str]:
    """Return what the rows of a source are called."""
    names: list[str] = []
    for batches in group.batches():
        (batch,) = batches.values()
        names += [str(name) for name in batch.labels[label_of(batch, label, group.names[0])]]
    return names
