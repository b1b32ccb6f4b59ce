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

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.errors import DataError
from isoscope.measures.registry import counted
from isoscope.results.result import Row
from isoscope.results.scored import BEST, PART_OF_TASK
from isoscope.tasks.corrected import NONE
from isoscope.tasks.intervals import Correlation, difference, pearson, quantile, spearman
from isoscope.tasks.intervals import standard_error as error_of
from isoscope.tasks.scoring import unit_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from isoscope.tasks.examples import TextPair
    from isoscope.tasks.intervals import Estimate

    Vector = NDArray[np.float64]

CORRELATIONS: dict[str, Callable[..., Correlation]] = {"spearman": spearman, "pearson": pearson}
SCORE = "cosine"
MEAN = "mean"
"""Stands behind a metric for the mean over subsets."""

PERFECT = 1e-13


@dataclass(frozen=True)
class ScoredPairs:
    """The pairs of one task, by the places of their texts among the distinct ones."""

    task: str
    texts: tuple[str, ...]
    """Every distinct text, in the order in which they first appear."""
    first: NDArray[np.intp]
    second: NDArray[np.intp]
    human: Vector
    subsets: NDArray[np.object_]

    @classmethod
    def of(cls, task: str, pairs: Sequence[TextPair]) -> ScoredPairs:
        """Number the texts of some pairs."""
        if not pairs:
            raise DataError(f"{task} has no pair to score")
        texts = dict.fromkeys(text for pair in pairs for text in (pair.first, pair.second))
        places = {text: place for place, text in enumerate(texts)}
        return cls(
            task,
            tuple(texts),
            np.array([places[pair.first] for pair in pairs], np.intp),
            np.array([places[pair.second] for pair in pairs], np.intp),
            np.array([pair.score for pair in pairs], np.float64),
            np.array([pair.subset for pair in pairs], object),
        )

    @property
    def subset_names(self) -> tuple[str, ...]:
        """The subsets in the order of the data."""
        return tuple(dict.fromkeys(self.subsets))

    def cosines(self, vectors: NDArray[np.floating[Any]]) -> Vector:
        """Return the cosine of every pair, NaN where a text has no vector or one of length 0.

        A text has cosine 1 with itself, exactly: with rounding such pairs would not be tied.
        """
        units = unit_rows(np.asarray(vectors, np.float64))
        found = np.einsum("ij,ij->i", units[self.first], units[self.second])
        return np.where((self.first == self.second) & np.isfinite(found), 1.0, found)


def correlations(
    pairs: ScoredPairs, cosines: Vector, usable: NDArray[np.bool_], metric: str, level: float
) -> dict[str, Correlation]:
    """Correlate cosines with human scores: all pairs under ``""``, subsets under their names.

    ``mean`` is there as well where there are several subsets.
    """
    correlate = CORRELATIONS[metric]
    found = {"": correlate(cosines[usable], pairs.human[usable], level=level)}
    names = pairs.subset_names
    if len(names) == 1:
        return found
    parts = {}
    for name in names:
        chosen = usable & (pairs.subsets == name)
        parts[name] = correlate(cosines[chosen], pairs.human[chosen], level=level)
    return {**found, MEAN: mean_of(parts, level), **parts}


def mean_of(parts: Mapping[str, Correlation], level: float) -> Correlation:
    """Return the mean of the correlations of several subsets, with its interval."""
    n = sum(part.n for part in parts.values())
    for name, part in parts.items():
        if part.value is None:
            return Correlation(None, None, None, n, f"undefined: {name} is {part.note}")
    value = float(np.mean([part.value for part in parts.values() if part.value is not None]))
    whole = Correlation(value, None, None, n, f"mean over {len(parts)} subsets")
    influences = [
        n / (len(parts) * part.n) * part.influences
        for part in parts.values()
        if part.influences is not None
    ]
    if len(influences) < len(parts) or 1 - abs(value) < PERFECT:
        without = next((part.note for part in parts.values() if part.influences is None), "")
        return replace(whole, note=f"{whole.note}; {without}" if without else whole.note)
    joined = np.concatenate(influences)
    half = quantile(level, n) * error_of(joined) / (1 - value**2)
    centre = math.atanh(value)
    return replace(
        whole,
        low=math.tanh(centre - half),
        high=math.tanh(centre + half),
        influences=joined,
    )


def score_rows(
    where: tuple[str, str],
    pairs: ScoredPairs,
    spaces: Mapping[str, Vector],
    protocol: str,
    level: float,
) -> list[Row]:
    """Score one layer in every space, and compare every space with the vectors as they are.

    Parameters
    ----------
    where : tuple of str
        Subject and part, as results name them.
    pairs : ScoredPairs
        The pairs.
    spaces : mapping
        The cosines of all pairs in every space, by the name of its correction.
    protocol : str
        What the vectors are, and what corrections were fitted on.
    level : float
        Coverage of the intervals.
    """
    rows = []
    for correction, cosines in spaces.items():
        usable = np.isfinite(cosines)
        before = spaces.get(NONE) if correction != NONE else None
        both = usable if before is None else usable & np.isfinite(before)
        for metric in CORRELATIONS:
            found = correlations(pairs, cosines, usable, metric, level)
            rows += [
                as_row(where, correction, measure_name(pairs.task, metric, part), one, pairs, part,
                       protocol)
                for part, one in found.items()
            ]  # fmt: skip
            if before is None:
                continue
            after = found
            if not np.array_equal(both, usable):
                after = correlations(pairs, cosines, both, metric, level)
            earlier = correlations(pairs, before, both, metric, level)
            for part in found:
                name = f"{measure_name(pairs.task, metric, part)}/difference"
                change = difference(after[part], earlier[part], level=level)
                rows.append(as_row(where, correction, name, change, pairs, part, protocol))
    return rows


def measure_name(task: str, metric: str, part: str) -> str:
    """Return what results call a score: of all pairs, the mean over subsets, or of one subset."""
    if part in ("", MEAN):
        return "/".join(word for word in (task, SCORE, metric, part) if word)
    return f"{task}/{part}/{SCORE}/{metric}"


def as_row(
    where: tuple[str, str],
    correction: str,
    measure: str,
    found: Estimate,
    pairs: ScoredPairs,
    part: str,
    protocol: str,
) -> Row:
    """File one score."""
    subject, layer = where
    total = len(pairs.human) if part in ("", MEAN) else int(np.sum(pairs.subsets == part))
    notes = [found.note] if found.note else []
    if found.n < total:
        notes.append(f"{counted(total - found.n, 'pair')} without a cosine left out")
    return Row(
        subject,
        layer,
        correction,
        measure,
        found.value,
        low=found.low,
        high=found.high,
        n=found.n,
        protocol=protocol,
        note="; ".join(notes),
        extra={
            "unit": "pairs",
            "of": total,
            **({} if part in ("", MEAN) else {PART_OF_TASK: part}),
        },
    )


def with_best_layers(rows: Sequence[Row]) -> list[Row]:
    """Mark the layer with the highest score, for every score that several layers have.

    The mark is a choice on the scored data themselves, and its note says so.
    """
    groups: dict[tuple[str, str, str], list[Row]] = {}
    for row in rows:
        if f"/{SCORE}/" in row.measure and not row.measure.endswith("/difference"):
            groups.setdefault((row.subject, row.correction, row.measure), []).append(row)
    best = set()
    for several in groups.values():
        defined = [
            (row.value, -k, id(row)) for k, row in enumerate(several) if row.value is not None
        ]
        if len(several) > 1 and defined:
            best.add(max(defined)[2])
    return [marked(row) if id(row) in best else row for row in rows]


def marked(row: Row) -> Row:
    """Say of a row that its layer is the best one."""
    note = "best layer, chosen on the scored pairs"
    return replace(
        row,
        note=f"{row.note}; {note}" if row.note else note,
        extra={**row.extra, BEST: True},
    )
