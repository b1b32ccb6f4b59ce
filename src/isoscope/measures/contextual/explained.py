"""The largest share of a word's vectors that a single static vector could explain."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

WORDS = 1_000
"""Words that are looked at."""

PER_WORD = 100
"""Occurrences of each."""

FEWEST_PER_WORD = 10
"""Where memory holds fewer, occurrences are given up for words, down to this many of each."""

WORDS_BEFORE_OCCURRENCES = 200
"""Words that memory should hold before each has all its occurrences."""

MINIMUM = 5
"""Occurrences below which a word is left out, as in Ethayarajh 2019."""

RANDOM_RUNS = 8
"""Matrices of random occurrences that a word is compared with; the mean over words smooths the
rest, and more would take as long as the words themselves."""

RANDOM_OCCURRENCES = 500
"""Occurrences of any words, to tell what random vectors of the layer have in common."""


def occurrences_per_word(capacity: int) -> int:
    """Return how many occurrences of a word to keep where this many fit for all words."""
    return int(np.clip(capacity // WORDS_BEFORE_OCCURRENCES, FEWEST_PER_WORD, PER_WORD))


@dataclass(frozen=True)
class Explained:
    """Mean over words of σ₁² / Σσ², and the same of as many random occurrences."""

    mean: float | None
    random: float | None
    """Mean over the same words of the share for as many occurrences of any words."""
    words: int
    occurrences: int


def top_share(groups: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return σ₁² / Σσ² of each of several matrices of one shape, none of them zero."""
    rows, width = groups.shape[1:]
    # The smaller of the two Gram matrices has the same eigenvalues.
    turned = groups.transpose(0, 2, 1)
    grams = groups @ turned if rows <= width else turned @ groups
    total = np.trace(grams, axis1=1, axis2=2)
    largest = np.linalg.eigvalsh(grams)[:, -1]
    return np.asarray(np.clip(largest / total, 0, 1))


def explained_variance(
    words: Sequence[NDArray[Any]], sample: NDArray[Any], minimum: int = MINIMUM
) -> Explained:
    """Measure the words of a layer against a random sample of its word occurrences.

    σ₁² / Σσ² of a few vectors is large whatever they are (at least 1/n), so a word with n
    occurrences is compared with n of the sampled ones: the mean over up to eight disjoint runs of n
    rows, as far as the sample has them. Rows of the sample come in random order.
    """
    by_count: dict[int, list[NDArray[np.float64]]] = defaultdict(list)
    for vectors in words:
        filled = _without_zeros(vectors)
        if len(filled) >= minimum:
            by_count[len(filled)].append(filled)
    drawn = _without_zeros(sample)
    shares: list[float] = []
    random: list[float] = []
    for n, matrices in by_count.items():
        shares.extend(top_share(np.stack(matrices)).tolist())
        runs = min(len(drawn) // n, RANDOM_RUNS)
        if runs:
            baseline = top_share(drawn[: runs * n].reshape(runs, n, -1))
            random.extend([float(baseline.mean())] * len(matrices))
    found = len(shares)
    return Explained(
        mean=math.fsum(shares) / found if found else None,
        random=math.fsum(random) / found if found and len(random) == found else None,
        words=found,
        occurrences=sum(n * len(matrices) for n, matrices in by_count.items()),
    )


def _without_zeros(vectors: NDArray[Any]) -> NDArray[np.float64]:
    found = vectors.astype(np.float64)
    return np.asarray(found[np.any(found != 0, axis=1)])
