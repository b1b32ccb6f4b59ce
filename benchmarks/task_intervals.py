"""How often intervals of task scores, and of paired differences, hold what they promise.

Items are drawn many times from distributions whose true scores are known, or taken from a draw far
larger than any of the samples. Two systems score the same items; the second is the better one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from isoscope.compute.stats.class_scores import auc, f1_score, matthews
from isoscope.compute.stats.estimates import Score, difference, mean_score
from isoscope.compute.stats.v_measure import v_measure

Values: TypeAlias = NDArray[Any]
Pair: TypeAlias = tuple[tuple[Values, ...], tuple[Values, ...]]

REPEATS = 2_000
SIZES = (50, 200, 1_000)
TRUTH_ROWS = 4_000_000
SHARES = np.array([0.5, 0.3, 0.2])


@dataclass(frozen=True)
class Design:
    """A score, and how the arguments of two systems are drawn."""

    name: str
    score: Callable[..., Score]
    draw: Callable[[np.random.Generator, int], Pair]


def accuracy(rng: np.random.Generator, n: int) -> Pair:
    """Right or wrong, 95 and 97 % right, mostly on the same items."""
    luck, other = rng.random((2, n))
    return ((luck < 0.95).astype(float),), ((np.where(other < 0.8, luck, 1 - luck) < 0.97) * 1.0,)


def reciprocal_ranks(rng: np.random.Generator, n: int) -> Pair:
    """Reciprocal ranks to ten, of two searches that agree on most queries."""
    before = rng.geometric(0.5, n)
    after = np.where(rng.random(n) < 0.7, before, rng.geometric(0.65, n))
    return (cut(before),), (cut(after),)


def near_one(rng: np.random.Generator, n: int) -> Pair:
    """Gains of an easy search: most queries have 1."""
    before = np.where(rng.random(n) < 0.8, 1.0, rng.beta(1.5, 1.5, n))
    return (before,), (np.where(rng.random(n) < 0.2, 1.0, before),)


def cut(ranks: Values) -> Values:
    """Return reciprocal ranks, 0 beyond ten."""
    return np.where(ranks <= 10, 1 / ranks, 0.0)


def classes(rng: np.random.Generator, n: int) -> Pair:
    """Three classes of which 50 and 60 % are known, the others guessed by their shares."""
    true, guessed, again = rng.choice(3, (3, n), p=SHARES)
    after = np.where(rng.random(n) < 0.6, true, guessed)
    return (true, np.where(rng.random(n) < 5 / 6, after, again)), (true, after)


def scored(rng: np.random.Generator, n: int) -> Pair:
    """A fifth are yes; scores are normal, those of yes higher."""
    yes = rng.random(n) < 0.2
    first, second = rng.normal(size=(2, n))
    after = first + 1.2 * yes
    return (yes, (first + second) / np.sqrt(2) + 0.8 * yes), (yes, after)


def tied(rng: np.random.Generator, n: int) -> Pair:
    """The same, in whole numbers."""
    (yes, before), (_, after) = scored(rng, n)
    return (yes, np.round(before)), (yes, np.round(after))


def clusters(rng: np.random.Generator, n: int) -> Pair:
    """Eight classes in eight clusters, given: k-means is no part of it."""
    true, elsewhere, again = rng.integers(0, 8, (3, n))
    after = np.where(rng.random(n) < 0.6, true, elsewhere)
    return (true, np.where(rng.random(n) < 5 / 6, after, again)), (true, after)


DESIGNS = (
    Design("accuracy near 1", mean_score, accuracy),
    Design("reciprocal rank", mean_score, reciprocal_ranks),
    Design("nDCG near 1", mean_score, near_one),
    Design("macro F1", f1_score, classes),
    Design("Matthews", matthews, classes),
    Design("AUC", auc, scored),
    Design("AUC, ties", auc, tied),
    Design("V-measure", v_measure, clusters),
)


def coverage(design: Design) -> None:
    """Print how often intervals are given and hold the truth."""
    rng = np.random.default_rng(0)
    large = design.draw(rng, TRUTH_ROWS)
    before_true, after_true = (design.score(*arguments).value or 0.0 for arguments in large)
    for n in SIZES:
        given, held = np.zeros(2), np.zeros(2)
        for _ in range(REPEATS):
            before, after = (design.score(*arguments) for arguments in design.draw(rng, n))
            change = difference(after, before)
            for place, found, truth in (
                (0, after, after_true),
                (1, change, after_true - before_true),
            ):
                if found.low is not None and found.high is not None:
                    given[place] += 1
                    held[place] += found.low <= truth <= found.high
        shares = "".join(
            f"{100 * g / REPEATS:9.0f}{100 * h / max(g, 1):9.1f}"
            for g, h in zip(given, held, strict=True)
        )
        print(f"{design.name:16}{after_true:7.3f}{n:7,}{shares}", flush=True)


def main() -> None:
    print(
        f"Percent of 95 % intervals that are given, and hold the truth; {REPEATS:,} draws, seed 0"
    )
    print("                  truth      n    score    holds   change    holds")
    for design in DESIGNS:
        coverage(design)


if __name__ == "__main__":
    main()
