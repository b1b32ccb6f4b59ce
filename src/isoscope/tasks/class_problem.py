"""Classification on frozen features: what can be read off vectors by a small classifier.

An item is one vector (of a text, of a word in a text) or two, and has a class. A probe learns from
some items and predicts the class of others; the predictions of all are scored together.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.compute.stats.class_scores import f1_score, matthews
from isoscope.compute.stats.estimates import mean_score
from isoscope.errors import DataError
from isoscope.tasks.pair_features import BLOCKS, WORDS, PairFeatures, pair_features
from isoscope.tasks.probes.contract import Codes, Lesson, Matrix, Probe
from isoscope.tasks.probes.logistic import LogisticProbe

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from isoscope.compute.stats.estimates import Score
    from isoscope.models.tokens import Mention
    from isoscope.tasks.problem import Items
    from isoscope.typing import Vector


TRAIN, TEST = "train", "test"
CHOSEN_ON = ("dev", "trial")
"""Parts of releases on which settings are chosen where another part is scored."""

POSITIVE = ("1", "T", "true", "entailment")
"""How releases write the class that F1 of two classes is about."""


@dataclass(frozen=True)
class ClassProblem:
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

    @property
    def main(self) -> str:
        """The score that decides."""
        return f"{self.probe.name}/{self.metric}"

    def __len__(self) -> int:
        return len(self.codes)

    def __str__(self) -> str:
        """Say what is learned from what, for a protocol."""
        about = "vectors" if self.second is None else WORDS[self.pairs]
        return f"{about}, classified by {self.probe}"

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
                f"{self.task}: all {len(learned):,} {self.unit} to learn from are of the class "
                f"{self.labels[present[0]]!r}; a classifier needs two classes"
            )
        if not len(present):
            raise DataError(f"{self.task}: there are no {self.unit} with vectors to learn from")

    def scores(self, outputs: Vector, items: Items, level: float) -> dict[str, Score]:
        """Score predicted classes: accuracy, F1 and Matthews' correlation."""
        truth, guessed = self.codes[items], outputs.astype(np.intp)
        right = mean_score(guessed == truth, level=level)
        found = {
            "accuracy": replace(right, note=joined(right.note, self.guessing(truth))),
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


def joined(*notes: str) -> str:
    """Join the notes that say something."""
    return "; ".join(note for note in notes if note)


def numbered(values: Sequence[Any]) -> tuple[dict[Any, int], NDArray[np.intp]]:
    """Number distinct values in the order in which they first appear."""
    places: dict[Any, int] = {}
    return places, np.array([places.setdefault(value, len(places)) for value in values], np.intp)
