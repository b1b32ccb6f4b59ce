"""How texts become vectors, on which splits a task is scored, and what corrections are fitted on.

A correction sees no human score, but it does see the texts. Fitted on those that are scored
(*transductive*), it knows their mean and their spectrum, which a deployed correction does not.
Papers do it; here it has to be requested. By default corrections are fitted on a train split, or on
all folds but the one that is scored.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from isoscope.compute.vector_cache import VectorCache
from isoscope.data.texts.open import open_texts
from isoscope.errors import UsageError
from isoscope.results.fields import FITTED_ON
from isoscope.tasks.folds import FOLDS, dealt
from isoscope.tasks.probes import Probe, find_probe
from isoscope.tasks.problem import Items, Problem
from isoscope.tasks.registry import Task
from isoscope.wording import counted

DEFAULT_PROBE = "logistic"
ISOTROPY = ("mean_cosine", "i1_scaled")


@dataclass(frozen=True)
class SentenceProtocol:
    """All that decides a score on texts but model, task and correction.

    Attributes
    ----------
    layers : str or sequence of str
        ``last``, ``all``, or names of layers.
    pooling : {"mean", "cls", "last", "max"}, optional
        How the tokens of a text become one vector. By default the last layer of a
        sentence-transformers folder becomes what its ``modules.json`` makes of it; the mean is
        taken elsewhere.
    prompt : str, optional
        Text to put in front of every text, or the name of one of the model's prompts. By default
        what sentence-transformers would take, if the vectors are those of ``modules.json``.
    query_prompt : str, optional
        The same for queries: those of a search, or the first texts of pairs.
    special_tokens : bool
        Whether tokens that the tokenizer adds count.
    correct_at : {"sentence", "token"}
        Whether pooled vectors are corrected, or tokens before they are pooled.
    fit_on : str, Path or list of str, optional
        Texts to fit corrections on; by default the task's own train split. Texts that are scored
        are left out of them.
    transductive : bool
        Fit on the texts that are scored, as papers do.
    longest : int, optional
        Tokens of a text beyond this are cut off.
    cache : VectorCache or bool
        Where vectors are kept between calls; False keeps none.
    isotropy : sequence of str
        Measures of the sentence vectors that are given beside the scores.
    probe : {"logistic", "mlp"}, optional
        What learns to classify; ``logistic`` by default. Word senses are told apart by a threshold
        of the cosine unless a probe is named.
    epochs : bool
        Whether the score after every epoch is wanted, for a probe that learns in epochs.
    epoch_seeds : int
        Networks whose epochs are scored, each with a seed of its own: one after the other from the
        seed of the probe.
    revision, dtype, device
        As ``open_model`` takes them.
    seed : int
        Of the tokens that some corrections are fitted on.
    """

    layers: str | Sequence[str] = "last"
    pooling: str | None = None
    prompt: str | None = None
    query_prompt: str | None = None
    special_tokens: bool = True
    correct_at: Literal["sentence", "token"] = "sentence"
    fit_on: Any = None
    transductive: bool = False
    longest: int | None = None
    cache: VectorCache | bool = True
    isotropy: Sequence[str] = ISOTROPY
    probe: str | None = None
    epochs: bool = False
    epoch_seeds: int = 1
    revision: str | None = None
    dtype: Any = None
    device: Any = None
    seed: int = 0

    def __post_init__(self) -> None:
        if self.probe is not None:
            find_probe(self.probe)
        if self.epochs and self.probe != "mlp":
            raise UsageError("scores after every epoch need --probe mlp")
        if self.transductive and self.fit_on is not None:
            raise UsageError(
                "corrections are fitted on the scored texts (transductive) or on others (fit_on), "
                "not both"
            )

    @property
    def classifier(self) -> Probe:
        """What learns to classify."""
        return find_probe(self.probe or DEFAULT_PROBE, self.seed)

    @property
    def names_fit(self) -> bool:
        """Whether it says what corrections are fitted on, rather than the task."""
        return self.transductive or self.fit_on is not None


HOW = "name other texts to fit on, or allow it with --transductive (transductive=True)"


@dataclass(frozen=True)
class FitTexts:
    """Texts to fit on.

    Attributes
    ----------
    texts : tuple of str
        The distinct texts.
    source : str
        Where they come from, for the protocol.
    transductive : bool
        Whether they may be those that are scored.
    left_out : int
        Texts of the source that are not among them because they are scored.
    together : bool
        Whether they belong to what is scored and are known before anything is asked of it: the
        documents of a search, not its queries.
    """

    texts: tuple[str, ...]
    source: str
    transductive: bool = False
    left_out: int = 0
    together: bool = False

    @classmethod
    def scored(cls, texts: Iterable[str], unit: str = "pairs") -> FitTexts:
        """Fit on the texts that are scored."""
        return cls(tuple(dict.fromkeys(texts)), f"the texts of all scored {unit}", True)

    @classmethod
    def apart(cls, texts: Iterable[str], source: str, scored: Iterable[str]) -> FitTexts:
        """Fit on other texts; those of them that are scored are left out."""
        distinct, held_back = dict.fromkeys(texts), set(scored)
        kept = tuple(text for text in distinct if text not in held_back)
        if not kept:
            reason = "holds no text" if not distinct else "holds no text that is not scored"
            raise UsageError(f"{source} {reason}; {HOW}")
        return cls(kept, source, False, len(distinct) - len(kept))

    def check(self, scored: Sequence[str]) -> None:
        """Refuse a fit on what is scored, unless it was asked for."""
        if self.transductive or self.together:
            return
        shared = set(self.texts) & set(scored)
        if shared:
            raise UsageError(
                f"{counted(len(shared), 'text')} of {self.source} would be fitted on and scored; "
                f"{HOW}"
            )

    def describe(self, level: str, folds: int = 1) -> str:
        """Return what a protocol says of the fit, or of the first of several."""
        of = "all tokens" if level == "token" else "the sentence vectors"
        out = f", scored ones left out: {self.left_out:,}" if self.left_out else ""
        first = " in the first fold" if folds > 1 else ""
        how = ", transductive" if self.transductive else ""
        return (
            f"{FITTED_ON} {of} of {self.source} "
            f"({counted(len(self.texts), 'distinct text')}{first}{out}){how}"
        )


TRAIN = "train"


class Split(NamedTuple):
    """Items that may be learned from, items that are scored, and texts to fit corrections on."""

    learn: Items
    held: Items
    fit: FitTexts | None = None


@dataclass(frozen=True)
class TaskPlan:
    """A problem with the splits that it is scored on.

    Attributes
    ----------
    problem : Problem
        What is scored.
    splits : tuple of Split
        What is learned from, scored and fitted on.
    fit : FitTexts, optional
        What corrections are fitted on by default; otherwise on the items that may be learned from.
    words : tuple of str
        What the protocol says of splits and fits.
    """

    problem: Problem
    splits: tuple[Split, ...]
    fit: FitTexts | None = None
    words: tuple[str, ...] = ()

    @property
    def items(self) -> Items:
        """All that is scored."""
        return np.sort(np.concatenate([split.held for split in self.splits]))


def no_train_split(task: str, what: str = "corrections") -> UsageError:
    """Build the error for a task that has nothing to fit corrections on but what is scored."""
    return UsageError(
        f"{task} has no train split to fit {what} on; name texts with --fit-on (fit_on=), or fit "
        "on the scored texts with --transductive (transductive=True)"
    )


def without_training(problem: Problem, fit: FitTexts | None = None) -> TaskPlan:
    """Score all items at once, and learn from none."""
    return TaskPlan(problem, (Split(np.arange(0), np.arange(len(problem))),), fit)


def cross_fitted(problem: Problem, seed: int, folds: int = FOLDS) -> TaskPlan:
    """Score every fold with what was learned from the others."""
    several = dealt(problem, folds, seed)
    everything = np.arange(len(problem))
    splits = tuple(Split(np.setdiff1d(everything, held), held) for held in several)
    return TaskPlan(problem, splits, words=(f"cross-fitted in {folds} folds",))


def job_of(task: Task, folder: Path | None, protocol: SentenceProtocol, *, fits: bool) -> TaskPlan:
    """Plan a task, and find out what its corrections are fitted on."""
    plan = task.plan(folder, protocol, fits=fits)
    if not fits:
        return plan
    named = None
    if protocol.fit_on is not None:
        source = open_texts(protocol.fit_on)
        named = FitTexts(tuple(text.text for text in source.texts()), source.name)
    fitted = [fit_texts(plan, split, named, protocol.transductive) for split in plan.splits]
    level = "token" if plan.problem.mentions is not None else protocol.correct_at
    return replace(
        plan,
        splits=tuple(
            split._replace(fit=fit) for split, fit in zip(plan.splits, fitted, strict=True)
        ),
        words=(*plan.words, fitted[0].describe(level, folds=len(fitted))),
    )


def fit_texts(plan: TaskPlan, split: Split, named: FitTexts | None, transductive: bool) -> FitTexts:
    """Return the texts to fit on for one split: never those that are scored, unless asked to."""
    problem = plan.problem
    scored = problem.texts_of(split.held)
    if transductive:
        return FitTexts.scored(scored, problem.unit)
    source = named if named is not None else plan.fit
    if source is None:
        name = f"the {problem.unit} to learn from" if len(plan.splits) == 1 else "the other folds"
        source = FitTexts(tuple(problem.texts_of(split.learn)), name)
    # Documents are scored too, but they are known before a query is asked: nothing is left out.
    if source.together:
        return replace(source, texts=tuple(dict.fromkeys(source.texts)))
    return FitTexts.apart(source.texts, source.source, scored)


def protocol_of(
    sentences: SentenceProtocol | None, given: Mapping[str, Any], **fixed: Any
) -> SentenceProtocol:
    """Return the protocol of a call, which names it as a whole or some fields of it."""
    if sentences is not None and given:
        raise UsageError(f"{', '.join(given)}: name them in sentences=, which is given as well")
    return replace(sentences or SentenceProtocol(**given), **fixed)
