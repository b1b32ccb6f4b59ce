"""Words looked up in a vocabulary that may be far larger than memory, and scores of word pairs.

A benchmark of word similarity lists pairs of words with human judgements h. A space is scored by
the correlation of h with the cosine, or with the inner product, of the words' vectors:

    r(h, cos(x, y))  and  r(h, ⟨x, y⟩),  with Pearson's and with Spearman's r

The whole vocabulary is read once, and only the vectors of the benchmark's words are kept.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.compute.stats.estimates import Estimate, Score, difference, pearson, spearman
from isoscope.compute.stats.jackknife import without_rows
from isoscope.corrections.named import NONE, NamedCorrection, fitted
from isoscope.data.arrays import is_tensor, unit_rows
from isoscope.data.base import Batch, CloudGroup
from isoscope.data.combine import SingleCloud, label_of
from isoscope.errors import DataError, UsageError, plain_reason
from isoscope.progress import Progress, report
from isoscope.results.fields import BLOCKS, FITTED_ON, REPLICATES
from isoscope.results.result import Result, Row, versions
from isoscope.wording import counted

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from isoscope.data.selection import RowSelection
    from isoscope.tasks.datasets.word_similarity import WordPair
    from isoscope.typing import Mask, Vector


@dataclass
class WordVectors:
    """The rows of the words that are asked for, kept while a cloud goes by.

    Attributes
    ----------
    wanted : collection of str
        The words.
    width : int
        Number of dimensions.
    rows : int
        Rows of the whole vocabulary.
    repeated : int
        Rows whose word had been seen before; the first one counts.
    places : dict of str to int
        The row of ``vectors`` of every word that was found.
    """

    wanted: Collection[str]
    width: int
    rows: int = 0
    repeated: int = 0
    places: dict[str, int] = field(default_factory=dict)
    _kept: list[NDArray[np.float64]] = field(default_factory=list)

    def add(self, batch: Batch, words: NDArray[Any]) -> None:
        """Keep the vectors of wanted words in one batch."""
        self.rows += len(batch.vectors)
        chosen = []
        for row, word in enumerate(words):
            if word in self.wanted:
                if word in self.places:
                    self.repeated += 1
                else:
                    self.places[word] = len(self.places)
                    chosen.append(row)
        if chosen:
            # In double precision: corrections and scores of a few hundred words cost nothing.
            rows = batch.vectors[chosen]
            rows = rows.double().cpu().numpy() if is_tensor(rows) else rows
            self._kept.append(np.asarray(rows, np.float64))

    @cached_property
    def vectors(self) -> NDArray[np.float64]:
        """The vectors of the words that were found; asked for when all rows have gone by."""
        return np.concatenate([np.empty((0, self.width)), *self._kept])


def collect(
    group: CloudGroup,
    wanted: Collection[str],
    label: str | None = None,
    progress: Progress | None = None,
) -> dict[str, WordVectors]:
    """Read every cloud of a group once and keep the rows of the wanted words.

    Parameters
    ----------
    group : CloudGroup
        Clouds whose batches carry words as a label.
    wanted : collection of str
        The words, as the vocabulary writes them.
    label : str, optional
        Name of the label; by default ``word``, or the only label there is.
    progress : callable, optional
        Called with the name of the read, rows done, and rows in all.
    """
    wanted = frozenset(wanted)
    found = {
        name: WordVectors(wanted, width)
        for name, width in zip(group.names, group.widths, strict=True)
    }
    done = 0
    for batches in group.batches():
        for name, batch in batches.items():
            found[name].add(batch, batch.labels[label_of(batch, label, name)])
            done += len(batch.vectors)
        report(progress, "look up words", done, group.rows)
    return found


# Rows of a matrix for each that has a word, at most: a forged number would take all memory.
SPARSEST = 1_000


def read_vocabulary(path: Path) -> NDArray[Any]:
    """Read the word of every row: a line each, or a JSON object that maps words to rows."""
    try:
        text = path.read_text("utf-8")
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise DataError(f"{path} is not UTF-8: {error}") from error
    if path.suffix.lower() != ".json":
        lines = text.removesuffix("\n").split("\n")  # words may hold other separators
        return np.array([line.removesuffix("\r") for line in lines], dtype=object)
    try:
        rows = json.loads(text)
        if max(rows.values()) >= SPARSEST * len(rows):
            raise ValueError(f"it has {len(rows):,} words, and row {max(rows.values()):,}")
        words = np.full(max(rows.values()) + 1, "", dtype=object)
        for word, row in rows.items():
            words[row] = word
    except (ValueError, AttributeError, TypeError, IndexError, RecursionError) as error:
        raise DataError(
            f"{path} is not a JSON object of words and their rows: {plain_reason(error)}"
        ) from error
    return words


Correlation = Callable[..., Score]
CORRELATIONS: dict[str, Correlation] = {"pearson": pearson, "spearman": spearman}
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
        form = "words lower-cased" if self.lowercase else "words as written"
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
        """Look the words up, and describe what is missing."""
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

    def replicates_of(self, score: Score, usable: Mask) -> dict[str, Any]:
        """Return a score of the usable pairs without each block of words, as fields of its row."""
        if score.value is None or score.influences is None:
            return {}
        words = (self.first[usable], self.second[usable])
        found = without_rows(score.value, score.influences, words)
        if found is None:
            return {}
        about = f"{len(found)} blocks of the words of {score.n:,} pairs of {self.task}"
        return {REPLICATES: found, BLOCKS: about}

    def score_rows(
        self,
        where: tuple[str, str],
        spaces: Mapping[str, Vector],
        protocol: str,
        level: float,
        *,
        replicates: bool = False,
    ) -> list[Row]:
        """Score every space, and compare each with the vectors as they are.

        With ``replicates`` scores also have their values without each block of the words.
        """
        similarities = {name: self.similarities(vectors) for name, vectors in spaces.items()}

        def correlated(values: Vector, usable: Mask, metric: str) -> Score:
            return CORRELATIONS[metric](values[usable], self.human[usable], level=level)

        rows = []
        for correction, scores in similarities.items():
            for (score, values), metric in product(scores.items(), CORRELATIONS):
                name = f"{self.task}/{score}/{metric}"
                usable = np.isfinite(values)
                estimates: dict[str, Estimate] = {name: correlated(values, usable, metric)}
                if NONE in spaces and correction != NONE:
                    # A difference is paired: both spaces are scored on the pairs that both have.
                    before = similarities[NONE][score]
                    both = usable & np.isfinite(before)
                    paired = (correlated(one, both, metric) for one in (values, before))
                    estimates[f"{name}/difference"] = difference(*paired, level=level)
                for measure, found in estimates.items():
                    zero = len(self.human) - found.n
                    lost = f"{counted(zero, 'pair')} with a zero vector left out of the cosine"
                    notes = (self.coverage, lost if zero else "", found.note)
                    again = {}
                    if replicates and isinstance(found, Score):
                        again = self.replicates_of(found, usable)
                    rows.append(
                        Row.of(
                            found, *where, correction, measure, protocol=protocol,
                            note="; ".join(filter(None, notes)),
                            extra={"unit": "pairs", "of": self.total, **again},
                        )
                    )  # fmt: skip
        return rows


def score_words(
    selection: RowSelection,
    tasks: Mapping[str, Sequence[WordPair]],
    corrections: Sequence[NamedCorrection],
    form: WordForm,
    *,
    label: str | None,
    level: float,
    progress: Progress | None,
    replicates: bool = False,
) -> Result:
    """Score every cloud of a selection on every task, in every space."""
    pairs = [pair for many in tasks.values() for pair in many]
    wanted = {form.written(word) for pair in pairs for word in (pair.first, pair.second)}
    found = collect(selection, wanted, label, progress)
    left_out = dict(selection.left_out)  # before fits read the rows again
    rows = []
    for name, words in found.items():
        cloud = SingleCloud(selection, name)
        # Fitted on the whole vocabulary, and applied to the few vectors that are scored.
        spaces = {
            one.name: one.apply(words.vectors) for one in fitted(corrections, cloud, progress)
        }
        repeated = (
            f"; {words.repeated:,} repeated rows: the first is used" if words.repeated else ""
        )
        protocol = (
            f"{words.width:,} dimensions; {form}; {FITTED_ON} all {words.rows:,} rows; "
            f"{100 * level:.0f} % intervals{repeated}"
        )
        where = (name, "") if len(found) == 1 else ("", name)
        for task, many in tasks.items():
            covered = CoveredPairs.of(task, many, form, words)
            rows += covered.score_rows(where, spaces, protocol, level, replicates=replicates)
    return Result(rows, left_out=left_out, versions=versions())
