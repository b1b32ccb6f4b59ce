"""Scores of word pairs, with intervals and with differences from the vectors as they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from isoscope.compute.stats.estimates import difference, pearson, spearman
from isoscope.corrections.named import NONE
from isoscope.measures.registry import counted
from isoscope.tasks.score_row import score_row

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from isoscope.compute.stats.estimates import Estimate, Score
    from isoscope.results.result import Row
    from isoscope.tasks.vocabulary import WordVectors
    from isoscope.tasks.word_pairs import WordPair
    from isoscope.typing import Vector


CORRELATIONS: dict[str, Callable[..., Score]] = {"pearson": pearson, "spearman": spearman}
SHOWN_MISSING = 5


@dataclass(frozen=True)
class WordForm:
    """How a word of a benchmark is written in the vocabulary.

    Attributes
    ----------
    lowercase : bool
        Lower-case the benchmark's words, for vocabularies that hold lower case only.
    prefix : str
        What stands before a whole word, as ``Ġ`` in byte-level vocabularies.
    """

    lowercase: bool = False
    prefix: str = ""

    def written(self, word: str) -> str:
        """Return the word as the vocabulary has it."""
        return self.prefix + (word.lower() if self.lowercase else word)

    def __str__(self) -> str:
        form = "words lower-cased" if self.lowercase else "words as they stand"
        return f"{form}, {self.prefix!r} before each" if self.prefix else form


@dataclass(frozen=True)
class CoveredPairs:
    """The pairs of one task whose words both have a vector."""

    task: str
    first: NDArray[np.intp]
    second: NDArray[np.intp]
    human: Vector
    coverage: str
    total: int

    @classmethod
    def of(
        cls, task: str, pairs: Sequence[WordPair], form: WordForm, words: WordVectors
    ) -> CoveredPairs:
        """Look the words up and say what is missing."""
        places = words.places
        written = [(form.written(p.first), form.written(p.second), p.score) for p in pairs]
        known = [entry for entry in written if entry[0] in places and entry[1] in places]
        asked = dict.fromkeys(word for entry in written for word in entry[:2])
        missing = [word for word in asked if word not in places]
        coverage = f"{len(known):,} of {counted(len(pairs), 'pair')}"
        if missing:
            more = ", …" if len(missing) > SHOWN_MISSING else ""
            coverage += (
                f"; {len(missing):,} of {counted(len(asked), 'word')} missing: "
                f"{', '.join(missing[:SHOWN_MISSING])}{more}"
            )
        return cls(
            task,
            np.array([places[first] for first, _, _ in known], dtype=np.intp),
            np.array([places[second] for _, second, _ in known], dtype=np.intp),
            np.array([score for _, _, score in known], dtype=np.float64),
            coverage,
            len(pairs),
        )

    def similarities(self, vectors: Vector) -> dict[str, Vector]:
        """Return the cosine (NaN beside a zero vector) and the inner product of every pair."""
        inner = np.einsum("ij,ij->i", vectors[self.first], vectors[self.second])
        units = unit_rows(vectors)
        cosine = np.einsum("ij,ij->i", units[self.first], units[self.second])
        return {"cosine": cosine, "inner": inner}


def score_rows(
    where: tuple[str, str],
    pairs: CoveredPairs,
    spaces: Mapping[str, Vector],
    protocol: str,
    level: float,
) -> list[Row]:
    """Score one task in every space, and compare every space with the vectors as they are."""
    similarities = {name: pairs.similarities(vectors) for name, vectors in spaces.items()}
    rows = []
    for correction, scores in similarities.items():
        for score, values in scores.items():
            before = similarities[NONE][score] if NONE in spaces and correction != NONE else None
            for metric, correlate in CORRELATIONS.items():
                name = f"{pairs.task}/{score}/{metric}"
                usable = np.isfinite(values)
                found = correlate(values[usable], pairs.human[usable], level=level)
                rows.append(as_row(where, correction, name, found, pairs, protocol))
                if before is None:
                    continue
                usable &= np.isfinite(before)
                human = pairs.human[usable]
                change = difference(
                    correlate(values[usable], human, level=level),
                    correlate(before[usable], human, level=level),
                    level=level,
                )
                rows.append(
                    as_row(where, correction, f"{name}/difference", change, pairs, protocol)
                )
    return rows


def as_row(
    where: tuple[str, str],
    correction: str,
    measure: str,
    found: Estimate,
    pairs: CoveredPairs,
    protocol: str,
) -> Row:
    """File one score, with what is known of its pairs."""
    zero = len(pairs.human) - found.n
    notes = [pairs.coverage]
    if zero:
        notes.append(f"{counted(zero, 'pair')} with a zero vector left out of the cosine")
    extra = {"unit": "pairs", "of": pairs.total}
    return score_row(where, correction, measure, found, protocol, [*notes, found.note], extra)


def unit_rows(vectors: Vector) -> Vector:
    """Divide every row by its length; a zero row becomes NaN, as it has no direction."""
    largest = np.abs(vectors).max(axis=1, keepdims=True, initial=0.0)
    scaled = np.divide(vectors, largest, out=np.full_like(vectors, np.nan), where=largest > 0)
    return np.asarray(scaled / np.linalg.norm(scaled, axis=1, keepdims=True))
