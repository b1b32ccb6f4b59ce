"""What is scored of each family of tasks on texts, and on which splits."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isoscope.errors import UsageError
from isoscope.tasks.class_splits import with_splits
from isoscope.tasks.classification import sense_problem
from isoscope.tasks.clustering import ClusteringProblem, ClusteringTask
from isoscope.tasks.own_pair_problem import OwnPairProblem, OwnPairTask
from isoscope.tasks.preparing import (
    TRAIN,
    FitSource,
    Prepared,
    cross_fitted,
    nothing_learned,
    prepare,
)
from isoscope.tasks.retrieval import RetrievalProblem, RetrievalTask
from isoscope.tasks.text_tasks import WordSense
from isoscope.tasks.word_senses import WordSenseProblem

if TYPE_CHECKING:
    from pathlib import Path

    from isoscope.tasks.sentence_protocol import SentenceProtocol


@prepare.register(OwnPairTask)
def prepare_own_pairs(
    task: OwnPairTask, folder: Path | None, protocol: SentenceProtocol, fits: bool
) -> Prepared:
    """Score pairs of texts; corrections are cross-fitted unless the user names texts for them."""
    pairs = task.load(folder)
    if pairs.kind != "texts":
        raise UsageError(
            f"{pairs.path} holds no texts but {pairs.kind}: it is scored with a file of vectors, "
            "not with a model"
        )
    problem = OwnPairProblem.of_texts(task.name, pairs)
    if fits and not protocol.names_fit:
        return cross_fitted(problem, protocol.seed)
    return Prepared(problem, (nothing_learned(problem),))


@prepare.register(RetrievalTask)
def prepare_retrieval(
    task: RetrievalTask, folder: Path | None, protocol: SentenceProtocol, fits: bool
) -> Prepared:
    """Score all queries; corrections are fitted on the documents, which one has beforehand."""
    del protocol, fits
    data = task.load(folder)
    problem = RetrievalProblem.of_texts(task.name, data)
    documents = tuple(problem.texts[row] for row in np.unique(problem.document_rows))
    fit = FitSource(documents, "the documents, queries apart,", together=True)
    return Prepared(problem, (nothing_learned(problem),), fit)


@prepare.register(ClusteringTask)
def prepare_clusters(
    task: ClusteringTask, folder: Path | None, protocol: SentenceProtocol, fits: bool
) -> Prepared:
    """Cluster one part; corrections are fitted on the train part where that is another one."""
    problem = ClusteringProblem.of(task.name, task.load(folder), task.unit)
    fit = None
    if fits and not protocol.names_fit:
        if TRAIN not in task.source.parts or TRAIN in task.scored:
            raise UsageError(
                f"{task.name} has no train split to fit corrections on; name texts with --fit-on "
                "(fit_on=), or fit on the scored texts with --transductive (transductive=True)"
            )
        learned = tuple(one.first for one in task.load(folder, (TRAIN,)))
        fit = FitSource(learned, f"{task.source.name} {TRAIN}")
    return Prepared(problem, (nothing_learned(problem),), fit)


@prepare.register(WordSense)
def prepare_senses(
    task: WordSense, folder: Path | None, protocol: SentenceProtocol, fits: bool
) -> Prepared:
    """Choose the threshold on the train split, and score the others; or classify with a probe."""
    del fits
    examples = task.load(folder)
    if protocol.probe is not None:
        return with_splits(
            sense_problem(task.name, examples, protocol.classifier), seed=protocol.seed
        )
    problem = WordSenseProblem.of(task.name, examples)
    learned = np.array([one.split == TRAIN for one in examples])
    if learned.all() or not learned.any():
        raise UsageError(
            f"{task.name} needs a {TRAIN} split to choose its threshold on, and another to score"
        )
    splits = ((np.flatnonzero(learned), np.flatnonzero(~learned)),)
    how = (
        f"threshold chosen on {TRAIN} ({int(learned.sum()):,} pairs), "
        f"scored on the rest ({int((~learned).sum()):,})"
    )
    return Prepared(problem, splits, how=how)
