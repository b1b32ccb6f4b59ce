"""One word in two sentences: the same meaning where the cosine of its vectors is high.

A pair is called *the same* where the cosine is above a threshold of 0.1, 0.2 … 0.9. Which one, is a
choice. Made on the pairs that are scored, out of nine thresholds and a dozen layers, it makes any
model look better than it is (Luo et al. 2021 do so); here it is made on other pairs, and what the
best threshold would have given on the scored ones stands beside it, called so.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.compute.stats.class_scores import auc
from isoscope.compute.stats.estimates import Score, mean_score
from isoscope.errors import DataError, UsageError
from isoscope.models.tokens import Mention
from isoscope.tasks.scoring import unit_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from isoscope.tasks.examples import WordInContext
    from isoscope.tasks.problem import Items
    from isoscope.typing import Vector


THRESHOLDS = tuple(round(0.1 * k, 1) for k in range(1, 10))
ACCURACY, AUC, BEST, LEARNED = "accuracy", "cosine/auc", "accuracy/best", "accuracy/learned"
THRESHOLDS_USED = "thresholds"
"""Field of the rows of that accuracy: what was chosen, in every split."""

COSINE, THRESHOLD, ON_LEARNED = range(3)
"""Columns of the outputs."""


@dataclass(frozen=True)
class WordSenseProblem:
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

    task: str
    texts: tuple[str, ...]
    mentions: tuple[Mention, ...]
    first: NDArray[np.intp]
    second: NDArray[np.intp]
    same: NDArray[np.bool_]
    unit: str = "pairs"
    main: str = ACCURACY
    learns: bool = True

    @classmethod
    def of(cls, task: str, examples: Sequence[WordInContext]) -> WordSenseProblem:
        """Number the sentences of some examples."""
        if not examples:
            raise DataError(f"{task} has no pair to score")
        places: dict[str, int] = {}
        mentions: dict[Mention, int] = {}
        rows = []
        for one in examples:
            for text, (start, end) in ((one.first, one.first_span), (one.second, one.second_span)):
                mention = Mention(places.setdefault(text, len(places)), start, end)
                rows.append(mentions.setdefault(mention, len(mentions)))
        same = np.array([one.same for one in examples], np.bool_)
        sides = np.array(rows, np.intp).reshape(-1, 2)
        return cls(task, tuple(places), tuple(mentions), sides[:, 0], sides[:, 1], same)

    def __len__(self) -> int:
        return len(self.same)

    def rows_of(self, items: Items) -> Items:
        """Return the two mentions of some pairs."""
        return np.union1d(self.first[items], self.second[items])

    def cosines(self, vectors: NDArray[Any]) -> Vector:
        """Return the cosine of every pair, NaN where a word has no vector."""
        units = unit_rows(np.asarray(vectors, np.float64))
        return np.asarray(np.einsum("ij,ij->i", units[self.first], units[self.second]))

    def outputs(self, vectors: NDArray[Any], learn: Items, held: Items) -> Vector:
        """Return cosine, threshold, and accuracy of that threshold on what it was chosen on."""
        found = self.cosines(vectors)
        known = learn[np.isfinite(found[learn])]
        if not len(known):
            raise UsageError(f"{self.task}: there are no pairs to choose a threshold on")
        right = accuracies(found[known], self.same[known])
        best = int(np.argmax(right))
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
            LEARNED: Score(
                learned,
                None,
                None,
                len(items),
                "accuracy/learned: on the pairs that the threshold was chosen on",
            ),
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


def with_note(score: Score, note: str) -> Score:
    """Add to the note of a score."""
    return replace(score, note="; ".join(text for text in (score.note, note) if text))
