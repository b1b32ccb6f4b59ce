"""One word in two sentences: the same meaning where the cosine of its vectors is high.

A pair is called *the same* where cos(x, y) > t, for a threshold t of 0.1, 0.2 … 0.9. Which of them
is taken is a choice. Made on the pairs that are scored, out of nine thresholds and a dozen layers,
it makes any model look better than it is (Luo et al. 2021 do so); here it is made on other pairs,
and what the best threshold would have given on the scored ones stands beside it, under that name.

References
----------
Pilehvar & Camacho-Collados (2019), WiC: the word-in-context dataset for evaluating
context-sensitive meaning representations, NAACL. Luo et al. (2021).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isoscope.compute.stats.class_scores import auc
from isoscope.compute.stats.estimates import Score, mean_score
from isoscope.data.arrays import numbered
from isoscope.errors import DataError, UsageError
from isoscope.models.tokens import Mention
from isoscope.tasks.probes import LogisticProbe, Probe
from isoscope.tasks.problem import Items, PairedRows, pair_cosines
from isoscope.tasks.problems.classification import ClassProblem, PairFeatures, with_splits
from isoscope.tasks.protocol import TRAIN, SentenceProtocol, Split, TaskPlan
from isoscope.tasks.registry import PartedTask, WordInContext
from isoscope.tasks.scores import with_note
from isoscope.typing import Places, Vector

THRESHOLDS = tuple(round(0.1 * k, 1) for k in range(1, 10))
ACCURACY, AUC, BEST, LEARNED = "accuracy", "cosine/auc", "accuracy/best", "accuracy/learned"

CHOSEN_ON = "accuracy/learned: on the pairs that the threshold was chosen on"

# Field of the rows of that accuracy: what was chosen, in every split.
THRESHOLDS_USED = "thresholds"

# Columns of the outputs.
COSINE, THRESHOLD, ON_LEARNED = range(3)


@dataclass(frozen=True)
class WordSenseProblem(PairedRows):
    """Pairs of a word's occurrences, and whether it means the same in both.

    Attributes
    ----------
    texts : tuple of str
        The distinct sentences.
    mentions : tuple of Mention
        The word in them; one that several pairs have is there once.
    first, second : array of int
        The two mentions of every pair.
    same : array of bool
        Whether people find the two meanings the same.
    """

    mentions: tuple[Mention, ...] = field()
    same: NDArray[np.bool_]
    unit: str = "pairs"
    main: str = ACCURACY
    learns: bool = True

    @classmethod
    def of(cls, task: str, examples: Sequence[WordInContext]) -> WordSenseProblem:
        """Number the sentences of some examples."""
        if not examples:
            raise DataError(f"{task} has no pair to score")
        texts, words, first, second = numbered_words(examples)
        same = np.array([one.same for one in examples], np.bool_)
        return cls(task, texts, first, second, words, same)

    def __len__(self) -> int:
        return len(self.same)

    def outputs(self, vectors: NDArray[Any], learn: Items, held: Items) -> Vector:
        """Return cosine, threshold, and accuracy of that threshold on what it was chosen on."""
        found = pair_cosines(vectors, self.first, self.second)
        known = learn[np.isfinite(found[learn])]
        if not len(known):
            raise UsageError(f"{self.task}: there are no pairs to choose a threshold on")
        right = accuracies(found[known], self.same[known])
        best = int(np.argmax(right))
        # With every pair, as outputs of folds with different thresholds are scored together.
        chosen = np.broadcast_to([THRESHOLDS[best], right[best]], (len(held), 2))
        return np.column_stack([found[held], chosen])

    def scores(self, outputs: Vector, items: Items, level: float) -> dict[str, Score]:
        """Score the chosen threshold, the cosines by themselves, and every threshold."""
        same = self.same[items]
        said = outputs[:, COSINE] > outputs[:, THRESHOLD]
        used = np.unique(outputs[:, THRESHOLD])
        note = threshold_note(used.tolist())
        of_each = {
            threshold: mean_score(same == (outputs[:, COSINE] > threshold), level)
            for threshold in THRESHOLDS
        }
        best = max(of_each, key=lambda threshold: of_each[threshold].value or 0.0)
        learned = float(outputs[:, ON_LEARNED].mean()) if len(outputs) else None
        return {
            ACCURACY: replace(
                with_note(mean_score(same == said, level), note),
                extra={THRESHOLDS_USED: used.tolist()},
            ),
            AUC: auc(same, outputs[:, COSINE], level),
            BEST: with_note(
                of_each[best], f"accuracy/best: above {best:g}, chosen on the scored pairs"
            ),
            LEARNED: Score(learned, None, None, len(items), CHOSEN_ON),
            **{
                f"accuracy/{threshold:g}": replace(score, subset=f"above {threshold:g}")
                for threshold, score in of_each.items()
            },
        }


def accuracies(cosines: Vector, same: NDArray[np.bool_]) -> Vector:
    """Return the accuracy of every threshold."""
    return np.array([np.mean(same == (cosines > threshold)) for threshold in THRESHOLDS])


def threshold_note(thresholds: Sequence[float]) -> str:
    """Say which thresholds an accuracy is of."""
    return f"accuracy of cosines above {', '.join(f'{one:g}' for one in thresholds)}"


# Another meaning, the same meaning, as WiC writes them.
SENSES = ("F", "T")


def numbered_words(
    examples: Sequence[WordInContext],
) -> tuple[tuple[str, ...], tuple[Mention, ...], Places, Places]:
    """Number the sentences of a word's two occurrences, and the words in them.

    Returns
    -------
    tuple
        The distinct sentences, the distinct words in them, and the numbers of the first and of the
        second word of every example.
    """
    sides = [
        side
        for one in examples
        for side in ((one.first, one.first_span), (one.second, one.second_span))
    ]
    texts, _ = numbered(text for text, _ in sides)
    words, rows = numbered(Mention(texts[text], *span) for text, span in sides)
    return tuple(texts), tuple(words), rows[::2], rows[1::2]


def sense_problem(
    name: str,
    examples: Sequence[WordInContext],
    probe: Probe | None = None,
    *,
    pairs: PairFeatures = "ordered",
) -> ClassProblem:
    """Return words in two sentences, to be classified as of one meaning or of two.

    The features are those of the word's two vectors; ``probe`` and ``pairs`` are as in
    ``isoscope.tasks.problems.classification.text_problem``.
    """
    if not examples:
        raise DataError(f"{name} has no pairs to score")
    texts, words, first, second = numbered_words(examples)
    return ClassProblem(
        name,
        "pairs",
        texts,
        SENSES,
        first,
        second,
        np.array([example.same for example in examples], np.intp),
        np.array([example.split for example in examples], object),
        mentions=words,
        probe=LogisticProbe() if probe is None else probe,
        pairs=pairs,
    )


@dataclass(frozen=True)
class WordSense(PartedTask[WordInContext]):
    """One word in two sentences: the same meaning or not."""

    def plan(self, folder: Path | None, protocol: SentenceProtocol, *, fits: bool) -> TaskPlan:
        """Choose the threshold on the train split, score the others; or classify with a probe."""
        del fits
        examples = self.load(folder)
        if protocol.probe is not None:
            return with_splits(
                sense_problem(self.name, examples, protocol.classifier), seed=protocol.seed
            )
        problem = WordSenseProblem.of(self.name, examples)
        learned = np.array([one.split == TRAIN for one in examples])
        if learned.all() or not learned.any():
            raise UsageError(
                f"{self.name} needs a {TRAIN} split to choose its threshold on, and another to "
                "score"
            )
        splits = (Split(np.flatnonzero(learned), np.flatnonzero(~learned)),)
        how = (
            f"threshold chosen on {TRAIN} ({int(learned.sum()):,} pairs), "
            f"scored on the rest ({int((~learned).sum()):,})"
        )
        return TaskPlan(problem, splits, words=(how,))
