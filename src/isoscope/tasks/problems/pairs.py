"""Semantic textual similarity: do vectors find those texts alike that people find alike?

The score of a pair is the cosine of its texts' vectors; the score of a space is the correlation of
these with what people gave. Where a set has several subsets, two figures are in use, and they
differ by several points: the correlation over all pairs together (``all``) and the mean of the
subsets' correlations (``mean``). Both are given.

The mean over K subsets with n_k of N pairs is again a functional of the pairs, so that its
influence function is that of each subset times N / (K n_k), and intervals and paired differences
are those of any correlation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isoscope.compute.stats.estimates import (
    Score,
    interval_within,
    pearson,
    quantile,
    spearman,
    standard_error,
)
from isoscope.data.arrays import numbered
from isoscope.errors import DataError
from isoscope.tasks.problem import Items, PairedRows, pair_cosines
from isoscope.tasks.protocol import (
    TRAIN,
    FitTexts,
    SentenceProtocol,
    TaskPlan,
    cross_fitted,
    no_train_split,
    without_training,
)
from isoscope.tasks.registry import PartedTask, TextPair
from isoscope.typing import Vector

CORRELATIONS: dict[str, Callable[..., Score]] = {"spearman": spearman, "pearson": pearson}
SCORE = "cosine"

# Stands behind a metric for the mean over subsets.
MEAN = "mean"

# Correlations this close to ±1 have no interval: Fisher's z is infinite there.
PERFECT = 1e-13


@dataclass(frozen=True)
class ScoredPairs(PairedRows):
    """The pairs of one task, by the places of their texts among the distinct ones.

    Attributes
    ----------
    task, texts, first, second
        As in ``PairedRows``.
    human : array
        The score that people gave every pair.
    subsets : array of str
        The part of the set that every pair is from.
    """

    human: Vector
    subsets: NDArray[np.object_]
    unit: str = "pairs"
    main: str = f"{SCORE}/spearman"

    @classmethod
    def of(cls, task: str, pairs: Sequence[TextPair]) -> ScoredPairs:
        """Number the texts of some pairs."""
        if not pairs:
            raise DataError(f"{task} has no pair to score")
        texts, rows = numbered(text for pair in pairs for text in (pair.first, pair.second))
        return cls(
            task,
            tuple(texts),
            rows[::2],
            rows[1::2],
            np.array([pair.score for pair in pairs], np.float64),
            np.array([pair.subset for pair in pairs], object),
        )

    def __len__(self) -> int:
        return len(self.human)

    def outputs(self, vectors: NDArray[Any], learn: Items, held: Items) -> Vector:
        """Return the cosine of some pairs; there is nothing to learn."""
        del learn
        # There may be far more rows than these pairs name: only those are divided by lengths.
        sides = np.concatenate([self.first[held], self.second[held]])
        used, places = np.unique(sides, return_inverse=True)
        first, second = places[: len(held)], places[len(held) :]
        return replace(self, first=first, second=second).cosines(vectors[used])

    def scores(self, outputs: Vector, items: Items, level: float) -> dict[str, Score]:
        """Correlate cosines with what people gave, over all pairs and over subsets."""
        return {
            score_name(metric, part): score
            for metric in CORRELATIONS
            for part, score in correlations(
                outputs, self.human[items], self.subsets[items], metric, level
            ).items()
        }

    def cosines(self, vectors: NDArray[np.floating[Any]]) -> Vector:
        """Return the cosine of every pair, NaN where a text has no vector or one of length 0.

        A text has cosine 1 with itself, exactly: with rounding such pairs would not be tied.
        """
        found = pair_cosines(vectors, self.first, self.second)
        return np.where((self.first == self.second) & np.isfinite(found), 1.0, found)


def correlations(
    cosines: Vector, human: Vector, subsets: NDArray[np.object_], metric: str, level: float
) -> dict[str, Score]:
    """Correlate cosines with human scores: all pairs under ``""``, subsets under their names.

    ``mean`` is there as well where there are several subsets.
    """
    correlate = CORRELATIONS[metric]
    found = {"": correlate(cosines, human, level=level)}
    names = tuple(dict.fromkeys(subsets))
    if len(names) < 2:
        return found
    parts = {}
    for name in names:
        chosen = subsets == name
        parts[name] = replace(correlate(cosines[chosen], human[chosen], level=level), subset=name)
    return {**found, MEAN: mean_of(parts, level), **parts}


def mean_of(parts: Mapping[str, Score], level: float) -> Score:
    """Return the mean of the correlations of several subsets, with its interval."""
    n = sum(part.n for part in parts.values())
    for name, part in parts.items():
        if part.value is None:
            return Score(None, None, None, n, f"undefined: {name} is {part.note}")
    value = float(np.mean([part.value for part in parts.values() if part.value is not None]))
    whole = Score(value, None, None, n, f"mean over {len(parts)} subsets")
    influences = [
        n / (len(parts) * part.n) * part.influences
        for part in parts.values()
        if part.influences is not None
    ]
    if len(influences) < len(parts) or 1 - abs(value) < PERFECT:
        without = next((part.note for part in parts.values() if part.influences is None), "")
        return replace(whole, note=f"{whole.note}; {without}" if without else whole.note)
    # In the order of subsets, not of pairs. That is the same order in every space, so that a
    # difference of two such means is still paired.
    joined = np.concatenate(influences)
    low, high = interval_within(value, quantile(level, n) * standard_error(joined))
    return replace(whole, low=low, high=high, influences=joined)


def score_name(metric: str, part: str) -> str:
    """Return the name of a score: of all pairs, the mean over subsets, or of one subset."""
    if part in ("", MEAN):
        return "/".join(word for word in (SCORE, metric, part) if word)
    return f"{part}/{SCORE}/{metric}"


@dataclass(frozen=True)
class SentenceSimilarity(PartedTask[TextPair]):
    """Pairs of texts with human scores."""

    def plan(self, folder: Path | None, protocol: SentenceProtocol, *, fits: bool) -> TaskPlan:
        """Score all pairs at once; without a train split corrections are cross-fitted."""
        problem = ScoredPairs.of(self.name, self.load(folder))
        learned: tuple[str, ...] = ()
        if fits and not protocol.names_fit:
            if TRAIN in self.parts and self.scored and TRAIN not in self.scored:
                pairs = self.load(folder, (TRAIN,))
                learned = tuple(text for pair in pairs for text in (pair.first, pair.second))
            elif protocol.correct_at == "token":
                raise no_train_split(self.name, "corrections of tokens")
            else:
                return cross_fitted(problem, protocol.seed)
        fit = FitTexts(learned, f"{self.name} {TRAIN}") if learned else None
        return without_training(problem, fit)
