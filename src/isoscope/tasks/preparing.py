"""What is scored of a task, on which splits, and what corrections are fitted on."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import singledispatch
from typing import TYPE_CHECKING

import numpy as np

from isoscope.data.texts.open import open_texts
from isoscope.errors import UsageError
from isoscope.tasks.fit_texts import FitTexts
from isoscope.tasks.folds import FOLDS, dealt
from isoscope.tasks.registry import Task
from isoscope.tasks.sts import ScoredPairs
from isoscope.tasks.text_tasks import SentenceSimilarity

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from isoscope.tasks.problem import Items, Problem
    from isoscope.tasks.sentence_protocol import SentenceProtocol


TRAIN = "train"


@dataclass(frozen=True)
class FitSource:
    """Texts to fit corrections on unless the user names others, and what they are called."""

    texts: tuple[str, ...]
    name: str
    together: bool = False
    """Whether they belong to what is scored and are known before anything is asked of it, as the
    documents of a search are."""


@dataclass(frozen=True)
class Prepared:
    """A problem with the splits that it is scored on.

    Attributes
    ----------
    problem : Problem
        What is scored.
    splits : tuple of (array, array)
        For each, the items that may be learned from and those that are scored.
    fit : FitSource, optional
        What corrections are fitted on by default; otherwise on the items that may be learned from.
    how : str
        What the protocol says of the splits.
    """

    problem: Problem
    splits: tuple[tuple[Items, Items], ...]
    fit: FitSource | None = None
    how: str = ""


@dataclass(frozen=True)
class Split:
    """Items to learn from, items to score, and texts to fit corrections on."""

    learn: Items
    held: Items
    fit: FitTexts | None


@dataclass(frozen=True)
class Job:
    """One task, ready to run."""

    problem: Problem
    splits: tuple[Split, ...]
    words: tuple[str, ...] = field(default=())
    """What the protocol says of splits and fits."""

    @property
    def items(self) -> Items:
        """All that is scored."""
        return np.sort(np.concatenate([split.held for split in self.splits]))


@singledispatch
def prepare(task: Task, folder: Path | None, protocol: SentenceProtocol, fits: bool) -> Prepared:
    """Read a task's data, and choose the splits; ``fits`` says whether corrections need some."""
    del folder, protocol, fits
    raise UsageError(
        f"{task.name} cannot be scored with the vectors of texts: its family is {task.family}"
    )


@prepare.register(SentenceSimilarity)
def prepare_pairs(
    task: SentenceSimilarity, folder: Path | None, protocol: SentenceProtocol, fits: bool
) -> Prepared:
    """Score all pairs at once; without a train split corrections are cross-fitted."""
    problem = ScoredPairs.of(task.name, task.load(folder))
    learned: tuple[str, ...] = ()
    if fits and not protocol.names_fit:
        if TRAIN in task.parts and task.scored and TRAIN not in task.scored:
            pairs = task.load(folder, (TRAIN,))
            learned = tuple(text for pair in pairs for text in (pair.first, pair.second))
        elif protocol.correct_at == "token":
            raise UsageError(
                f"{task.name} has no train split to fit corrections of tokens on; name texts with "
                "--fit-on (fit_on=), or fit on the scored texts with --transductive "
                "(transductive=True)"
            )
        else:
            return cross_fitted(problem, protocol.seed)
    fit = FitSource(learned, f"{task.name} {TRAIN}") if learned else None
    return Prepared(problem, (nothing_learned(problem),), fit)


def nothing_learned(problem: Problem) -> tuple[Items, Items]:
    """Score all items, and learn from none."""
    return np.arange(0), np.arange(len(problem))


def cross_fitted(problem: Problem, seed: int, folds: int = FOLDS) -> Prepared:
    """Score every fold with what was learned from the others."""
    several = dealt(problem, folds, seed)
    everything = np.arange(len(problem))
    splits = tuple((np.setdiff1d(everything, held), held) for held in several)
    return Prepared(problem, splits, how=f"cross-fitted in {folds} folds")


def job_of(task: Task, folder: Path | None, protocol: SentenceProtocol, *, fits: bool) -> Job:
    """Prepare a task, and find out what its corrections are fitted on."""
    ready = prepare(task, folder, protocol, fits)
    problem = ready.problem
    named = None
    if fits and protocol.fit_on is not None:
        source = open_texts(protocol.fit_on)
        named = FitSource(tuple(text.text for text in source.texts()), source.name)
    splits = []
    for learn, held in ready.splits:
        fit = None
        if fits:
            fit = fit_texts(ready, learn, held, named, transductive=protocol.transductive)
        splits.append(Split(learn, held, fit))
    words = [ready.how] if ready.how else []
    if splits[0].fit is not None:
        level = "token" if problem.mentions is not None else protocol.correct_at
        words.append(splits[0].fit.describe(level, folds=len(splits)))
    return Job(problem, tuple(splits), tuple(words))


def fit_texts(
    ready: Prepared,
    learn: Items,
    held: Items,
    named: FitSource | None,
    *,
    transductive: bool,
) -> FitTexts:
    """Return the texts to fit on for one split: never those that are scored, unless asked to."""
    problem = ready.problem
    scored = texts_of(problem, held)
    if transductive:
        return FitTexts.scored(scored, problem.unit)
    source = named if named is not None else ready.fit
    if source is None:
        name = f"the {problem.unit} to learn from" if len(ready.splits) == 1 else "the other folds"
        source = FitSource(tuple(texts_of(problem, learn)), name)
    if source.together:
        return FitTexts(tuple(dict.fromkeys(source.texts)), source.name, together=True)
    return FitTexts.apart(source.texts, source.name, scored)


def texts_of(problem: Problem, items: Items) -> Sequence[str]:
    """Return the texts that some items stand on."""
    rows = problem.rows_of(items)
    if problem.mentions is not None:
        rows = np.unique([problem.mentions[row].text for row in rows]).astype(np.intp)
    return [problem.texts[row] for row in rows]
