"""Classification on frozen features: what a small classifier can read off vectors.

An item is one vector (of a text, of a word in a text) or two, and has a class. A probe learns from
some items and predicts the class of others; the predictions of all are scored together, by

    accuracy = right / all
    F1 = 2 TP / (2 TP + FP + FN), for more than two classes the mean over classes
    Matthews' correlation = (TP TN − FP FN) / √((TP + FP)(TP + FN)(TN + FP)(TN + FN))

The features of two vectors are u, v, |u − v| and u ∘ v, as in InferSent. A linear classifier of u
and v alone weighs each by itself and cannot tell whether they agree; |u − v| and u ∘ v say that,
but not the order of the two, which matters in entailment and in questions about a passage.
SentEval uses the last two alone, which is enough where the order says nothing, as for paraphrases.
Neither is linear in the vectors: even a classifier that is not regularised can gain or lose by a
linear correction here, unlike for single texts.

Splits are those of the release, or folds where it has none. No document is on two sides of a split.

References
----------
Conneau et al. (2017), Supervised learning of universal sentence representations from natural
language inference data, EMNLP. Conneau & Kiela (2018), SentEval, LREC. Matthews (1975), Comparison
of the predicted and observed secondary structure of T4 phage lysozyme, BBA 405.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from isoscope.compute.stats.class_scores import f1_score, matthews
from isoscope.compute.stats.estimates import Score, mean_score
from isoscope.data.arrays import numbered
from isoscope.errors import DataError, UsageError, check_name
from isoscope.models.tokens import Mention
from isoscope.results.result import Table
from isoscope.tasks.folds import FOLDS
from isoscope.tasks.probes import Codes, EpochProbe, Lesson, LogisticProbe, Matrix, Probe
from isoscope.tasks.problem import Items, Problem
from isoscope.tasks.protocol import SentenceProtocol, Split, TaskPlan, cross_fitted
from isoscope.tasks.registry import DataFile, LabelledText, PartedTask, TaggedSentence
from isoscope.tasks.scores import has_output, with_note
from isoscope.typing import Vector

# ``ordered`` is u, v, |u − v| and u ∘ v; ``symmetric`` the last two.
PairFeatures = Literal["ordered", "symmetric"]

BLOCKS: dict[PairFeatures, int] = {"ordered": 4, "symmetric": 2}
WORDS: dict[PairFeatures, str] = {
    "ordered": "[u, v, |u − v|, u ∘ v] of the two vectors",
    "symmetric": "[|u − v|, u ∘ v] of the two vectors",
}


def pair_features(u: Matrix, v: Matrix, kind: PairFeatures = "ordered") -> Matrix:
    """Return the features of every pair, row by row."""
    check_name("kind of pair features", kind, BLOCKS)
    between = [np.abs(u - v), u * v]
    return np.concatenate(between if kind == "symmetric" else [u, v, *between], axis=1)


TRAIN, TEST = "train", "test"

# Parts of releases on which settings are chosen where another part is scored.
CHOSEN_ON = ("dev", "trial")

# How releases write the class that F1 of two classes is about.
POSITIVE = ("1", "T", "true", "entailment")


@dataclass(frozen=True)
class ClassProblem(Problem):
    """Items with a class each, by the rows of their vectors.

    Attributes
    ----------
    task, unit, texts, mentions, learns
        As in ``Problem``.
    labels : tuple of str
        The classes; ``codes`` count in them.
    first : array of int
        The row of every item's vector.
    second : array of int or None
        The row of its other vector, where an item is two.
    codes : array of int
        The class of every item.
    parts : array of str
        The part of the release that it is from.
    metric : str
        The score that decides: ``accuracy``, ``f1`` or ``matthews``.
    probe : Probe
        What learns and predicts.
    pairs : {"ordered", "symmetric"}
        What the features of two vectors are.
    documents : array of int, optional
        The document that every item is from, where those of a document belong together.
    drawn : str
        How items were drawn from a larger set, for a protocol; empty where all are there.
    """

    task: str
    unit: str
    texts: tuple[str, ...]
    labels: tuple[str, ...]
    first: NDArray[np.intp]
    second: NDArray[np.intp] | None
    codes: Codes
    parts: NDArray[np.object_]
    metric: str = "accuracy"
    mentions: tuple[Mention, ...] | None = None
    probe: Probe = field(default_factory=LogisticProbe)
    pairs: PairFeatures = "ordered"
    learns: bool = True
    documents: NDArray[np.intp] | None = None
    drawn: str = ""

    @property
    def main(self) -> str:
        """The score that decides."""
        return f"{self.probe.name}/{self.metric}"

    def __len__(self) -> int:
        return len(self.codes)

    def __str__(self) -> str:
        """Say what is learned from what, for a protocol."""
        about = "vectors" if self.second is None else WORDS[self.pairs]
        return f"{about}, classified by {self.probe}" + (f"; {self.drawn}" if self.drawn else "")

    def ties_of(self, item: int) -> Items:
        """Return the document of an item where documents are known, else its texts."""
        return super().ties_of(item) if self.documents is None else self.documents[[item]]

    def held_out(self, items: Items) -> Items:
        """Return the rows of the documents of some items, where documents are known."""
        if self.documents is None:
            return super().held_out(items)
        same = np.isin(self.documents, self.documents[items])
        return self.rows_of(np.flatnonzero(same))

    def rows_of(self, items: Items) -> Items:
        """Return the rows that some items stand on, each once."""
        first = self.first[items]
        return np.unique(first) if self.second is None else np.union1d(first, self.second[items])

    def outputs(self, vectors: NDArray[Any], learn: Items, held: Items) -> Vector:
        """Return the code of the class that the probe predicts for every item in ``held``."""
        lesson, asked = self.lesson(vectors, learn, held)
        return spread(self.probe.predict(lesson) if asked.any() else np.empty(0), asked)

    def lesson(
        self, vectors: NDArray[Any], learn: Items, held: Items
    ) -> tuple[Lesson, NDArray[np.bool_]]:
        """Return what the probe is asked, and which items of ``held`` have vectors at all."""
        has_vector = ~np.isnan(vectors).any(axis=1)
        usable = has_vector[self.first]
        if self.second is not None:
            usable = usable & has_vector[self.second]
        learned, asked = learn[usable[learn]], usable[held]
        self.check_classes(learned)
        return (
            Lesson(
                self.features(vectors, learned),
                self.codes[learned],
                self.features(vectors, held[asked]),
                # Settings are chosen on the release's own dev part, where it is among the items.
                np.isin(self.parts[learned], CHOSEN_ON),
                1 if self.second is None else BLOCKS[self.pairs],
            ),
            asked,
        )

    def features(self, vectors: NDArray[Any], items: Items) -> Matrix:
        """Return a row of features for every item; half precision becomes single."""
        single = np.promote_types(vectors.dtype, np.float32)
        u = vectors[self.first[items]].astype(single)
        if self.second is None:
            return u
        return pair_features(u, vectors[self.second[items]].astype(single), self.pairs)

    def check_classes(self, learned: Items) -> None:
        """Refuse to learn from fewer than two classes."""
        present = np.unique(self.codes[learned])
        if len(present) == 1:
            raise DataError(
                f"{self.task}: all {len(learned):,} training {self.unit} are of the class "
                f"{self.labels[present[0]]!r}; a classifier needs two classes"
            )
        if not len(present):
            raise DataError(f"{self.task}: there are no training {self.unit} with vectors")

    def scores(self, outputs: Vector, items: Items, level: float) -> dict[str, Score]:
        """Score predicted classes: accuracy, F1 and Matthews' correlation."""
        truth, guessed = self.codes[items], outputs.astype(np.intp)
        right = mean_score(guessed == truth, level=level)
        found = {
            "accuracy": with_note(right, self.guessing(truth)),
            "f1": f1_score(truth, guessed, positive=self.positive, level=level),
            "matthews": matthews(truth, guessed, level=level),
        }
        return {f"{self.probe.name}/{metric}": score for metric, score in found.items()}

    @property
    def positive(self) -> int | None:
        """The class that F1 is about where there are two; None for the mean over classes."""
        if len(self.labels) != 2:
            return None
        return next((k for k, label in enumerate(self.labels) if label in POSITIVE), 1)

    def guessing(self, truth: Codes) -> str:
        """Say how often a guess would be right that is always the same."""
        if not len(truth):
            return ""
        counts = np.bincount(truth, minlength=len(self.labels))
        share = counts.max() / len(truth)
        return f"always {self.labels[int(counts.argmax())]!r}: {share:.4f}"


def spread(found: NDArray[Any], asked: NDArray[np.bool_]) -> Vector:
    """Return one number an item: what was found for those asked about, NaN for the others."""
    everything = np.full(len(asked), np.nan)
    everything[asked] = found
    return everything


def text_problem(
    task: TextClassification,
    examples: Sequence[LabelledText],
    probe: Probe | None = None,
    *,
    pairs: PairFeatures = "ordered",
) -> ClassProblem:
    """Return texts, or pairs of texts, to be classified.

    Parameters
    ----------
    task : TextClassification
        Whose classes, and whose first score, which decides: Matthews' correlation for CoLA,
        accuracy for the others.
    examples : sequence of LabelledText
        As the task loads them; texts that are empty get no class and are not learned from.
    probe : Probe, optional
        Logistic regression by default.
    pairs : {"ordered", "symmetric"}
        What the features of two texts are.
    """
    if not examples:
        raise DataError(f"{task.name} has no {task.unit} to score")
    if task.pairs:
        sides = [side or "" for example in examples for side in (example.first, example.second)]
        texts, rows = numbered(sides)
        first, second = rows[::2], rows[1::2]
    else:
        texts, first = numbered([example.first for example in examples])
        second = None
    codes = {label: code for code, label in enumerate(task.labels)}
    return ClassProblem(
        task.name,
        task.unit,
        tuple(texts),
        task.labels,
        first,
        second,
        np.array([codes[example.label] for example in examples], np.intp),
        np.array([example.split for example in examples], object),
        task.metrics[0],
        probe=LogisticProbe() if probe is None else probe,
        pairs=pairs,
    )


@dataclass(frozen=True)
class TextClassification(PartedTask[LabelledText]):
    """Texts, or pairs of texts, with a class each.

    Attributes
    ----------
    labels : tuple of str
        The classes, as the release writes them.
    pairs : bool
        Whether an example is two texts.
    """

    labels: tuple[str, ...]
    pairs: bool

    def read_file(self, path: Path, file: DataFile) -> list[LabelledText]:
        """Read the examples of one file, whose labels must be known."""
        return self.reader(path, file, self.labels)

    def plan(self, folder: Path | None, protocol: SentenceProtocol, *, fits: bool) -> TaskPlan:
        """Classify the texts of all parts that are there."""
        del fits
        problem = text_problem(self, self.load(folder), protocol.classifier)
        return with_splits(problem, seed=protocol.seed)


@dataclass(frozen=True)
class TokenClassification(PartedTask[TaggedSentence]):
    """Sentences whose tokens have a class each.

    Attributes
    ----------
    labels : tuple of str
        The classes.
    """

    labels: tuple[str, ...]

    def plan(self, folder: Path | None, protocol: SentenceProtocol, *, fits: bool) -> TaskPlan:
        """Classify the words of some sentences."""
        del fits
        problem = word_problem(self, self.load(folder), protocol.classifier, seed=protocol.seed)
        return with_splits(problem, seed=protocol.seed)


PUNCTUATION = "."


# Sentences that are drawn.
SENTENCES = 1_000

# Tenths of the documents that are scored and chosen on; the others are learned from.
TENTHS = ((TEST, 2), (CHOSEN_ON[0], 1))


def word_problem(
    task: TokenClassification,
    sentences: Sequence[TaggedSentence],
    probe: Probe | None = None,
    *,
    most: int = SENTENCES,
    seed: int = 0,
) -> ClassProblem:
    """Return the tagged words of some sentences, to be classified.

    Punctuation is left out: its class is to be seen in the token itself, and would lift every
    score. Seven tenths of the documents are ``train``, one ``dev`` and two ``test``, so that no
    document is on two sides.

    Parameters
    ----------
    task : TokenClassification
        Whose classes.
    sentences : sequence of TaggedSentence
        As the task loads them.
    probe : Probe, optional
        Logistic regression by default.
    most : int
        Sentences that are drawn at random, of those with a tagged word.
    seed : int
        Of the sentences and of the documents' parts.
    """
    if most < 1:
        raise UsageError(f"{task.name} must draw at least one sentence, got {most}")
    tagged = [sentence for sentence in sentences if any(map(is_word, sentence.tags))]
    rng = np.random.default_rng(seed)
    drawn = np.sort(rng.permutation(len(tagged))[:most])
    chosen = [tagged[k] for k in drawn]
    part_of = parts_of_documents(task.name, [sentence.document for sentence in chosen], rng)
    words = [
        (text, start, end, tag, sentence.document)
        for sentence in chosen
        for text, start, end, tag in tagged_words(sentence)
    ]
    texts, text_of = numbered([word[0] for word in words])
    codes = {label: code for code, label in enumerate(task.labels)}
    return ClassProblem(
        task.name,
        "words",
        tuple(texts),
        task.labels,
        np.arange(len(words)),
        None,
        np.array([codes[word[3]] for word in words], np.intp),
        np.array([part_of[word[4]] for word in words], object),
        task.metrics[0],
        tuple(
            Mention(int(text), word[1], word[2]) for text, word in zip(text_of, words, strict=True)
        ),
        LogisticProbe() if probe is None else probe,
        documents=np.unique([word[4] for word in words], return_inverse=True)[1],
        drawn=(
            f"{len(chosen):,} of {len(tagged):,} sentences drawn (seed {seed}), punctuation left "
            "out, no document on two sides"
        ),
    )


def is_word(tag: str | None) -> bool:
    """Whether a token has a class and is no punctuation."""
    return tag is not None and tag != PUNCTUATION


def tagged_words(sentence: TaggedSentence) -> Iterator[tuple[str, int, int, str]]:
    """Give out every tagged word: the text, where it begins and ends there, and its class.

    The text is the tokens with blanks between them, within multiwords too.
    """
    forms = [form.replace("_", " ").strip() or form for form in sentence.tokens]
    text, start = " ".join(forms), 0
    for form, tag in zip(forms, sentence.tags, strict=True):
        if tag is not None and is_word(tag):
            yield text, start, start + len(form), tag
        start += len(form) + 1


def parts_of_documents(
    task: str, documents: Sequence[str], rng: np.random.Generator
) -> dict[str, str]:
    """Say of every document which part it is, at random."""
    names = sorted(set(documents))
    if len(names) < 3:
        raise DataError(
            f"{task}: sentences of {len(names)} documents; three are needed, to train, to choose "
            "settings and to score"
        )
    # Whole documents, at random: sentences of one document share words and topics, and a probe
    # could recognise those instead of the class.
    order = [names[k] for k in rng.permutation(len(names))]
    parts = dict.fromkeys(order, TRAIN)
    begin = 0
    for part, tenths in TENTHS:
        size = max(1, len(order) * tenths // 10)
        parts.update(dict.fromkeys(order[begin : begin + size], part))
        begin += size
    return parts


# Parts of releases that are scored; the first that is there.
SCORED = (TEST, "dev", "val", "trial")


def with_splits(
    problem: ClassProblem, *, seed: int = 0, folds: int = FOLDS, scored: str | None = None
) -> TaskPlan:
    """Split a problem's items as its release does, or into folds where it does not.

    With a part ``train`` there is one split: it is learned from, and ``test`` is scored, or ``dev``
    where the labels of test are not public. Where test is scored, settings are chosen on ``dev``
    (SICK calls it ``trial``). Without ``train`` every item is scored once, by what was learned
    without its fold; items with a text in common are in one fold where that is possible.

    Parameters
    ----------
    problem : ClassProblem
        What is split.
    seed : int
        Of the folds.
    folds : int
        How many folds there are where the release has no train part.
    scored : str, optional
        The part that is scored, where it is not the one above.

    Returns
    -------
    TaskPlan
        The problem with its splits, and what a protocol says of them.
    """
    parts = tuple(dict.fromkeys(problem.parts))
    if scored is not None:
        check_name(f"part of {problem.task}", scored, parts)
        if scored == TRAIN or TRAIN not in parts:
            raise UsageError(
                f"{problem.task}: there is nothing to train on if only {scored} is scored; leave "
                "the part out to cross-validate"
            )
    held = scored or next((part for part in SCORED if part in parts), None)
    if TRAIN in parts and held is not None:
        return released(problem, held)
    folded = cross_fitted(problem, seed, folds)
    how = f"cross-validated on {' and '.join(parts)} in {folds} folds"
    return TaskPlan(problem, folded.splits, words=(f"{problem}; {how}",))


def released(problem: ClassProblem, held: str) -> TaskPlan:
    """Learn from train, score another part."""
    chosen_on = [part for part in CHOSEN_ON if held == TEST and part in problem.parts]
    learn = np.flatnonzero(np.isin(problem.parts, [TRAIN, *chosen_on]))
    words = f"learned from {TRAIN}"
    if chosen_on:
        words += f", settings chosen on {' and '.join(chosen_on)}"
    scored = np.flatnonzero(problem.parts == held)
    words = f"{problem}; {words}, scored on {held}"
    return TaskPlan(problem, (Split(learn, scored),), words=(words,))


EPOCHS = "epochs"


def epoch_outputs(
    problem: ClassProblem, vectors: NDArray[Any], learn: Items, held: Items
) -> list[tuple[float, NDArray[np.float64]]]:
    """Return the training loss of every epoch, and the outputs of ``held`` after it.

    As in ``Problem.outputs``; but all of ``learn`` is trained on, and no epoch is chosen.
    """
    probe = problem.probe
    if not isinstance(probe, EpochProbe):
        raise UsageError(f"the probe {probe.name} is not trained in epochs; use mlp")
    lesson, asked = problem.lesson(vectors, learn, held)
    return [(loss, spread(codes, asked)) for loss, codes in probe.epochs_of(lesson)]


def epoch_table(
    where: tuple[str, str],
    correction: str,
    problem: ClassProblem,
    vectors: NDArray[Any],
    learn: Items,
    held: Items,
    *,
    level: float = 0.95,
) -> Table:
    """Score the held items after every epoch.

    The best of these rows is chosen on what is scored, as papers do; ``Problem.outputs`` chooses
    its epoch on rows that are held back.

    Parameters
    ----------
    where : tuple of str
        Subject and part, as results name them.
    correction : str
        The space.
    problem : ClassProblem
        What is scored, with a probe that learns in epochs.
    vectors, learn, held
        As in ``Problem.outputs``.
    level : float
        Coverage of the interval of the score that decides.

    Returns
    -------
    Table
        ``TASK/mlp/epochs``, a row an epoch: epoch (from 1), loss, accuracy, f1, matthews, and low
        and high of the score that decides.
    """
    rows: list[dict[str, Any]] = []
    for epoch, (loss, outputs) in enumerate(epoch_outputs(problem, vectors, learn, held), start=1):
        usable = has_output(outputs)
        found = problem.scores(outputs[usable], held[usable], level)
        deciding = found[problem.main]
        scores = {name.rpartition("/")[2]: score.value for name, score in found.items()}
        rows.append(
            {"epoch": epoch, "loss": loss, **scores, "low": deciding.low, "high": deciding.high}
        )
    return Table(
        *where, correction, f"{problem.task}/{problem.probe.name}/{EPOCHS}", rows,
        note=f"low and high are those of {problem.metric}; {problem}",
    )  # fmt: skip


def epoch_tables(
    where: tuple[str, str],
    correction: str,
    problem: ClassProblem,
    vectors: NDArray[Any],
    learn: Items,
    held: Items,
    *,
    level: float = 0.95,
    seeds: int = 1,
) -> list[Table]:
    """Score the held items after every epoch of several networks, a table for each.

    The first network has the seed of the problem's probe, and its table has the name that
    ``epoch_table`` gives; that of the network k further on ends on ``/seed_k``. Parameters are as
    in ``epoch_table``.
    """
    tables = []
    for k in range(seeds):
        probe: Any = problem.probe
        one = problem if k == 0 else replace(problem, probe=replace(probe, seed=probe.seed + k))
        table = epoch_table(where, correction, one, vectors, learn, held, level=level)
        tables.append(table if k == 0 else replace(table, measure=f"{table.measure}/seed_{k}"))
    return tables
