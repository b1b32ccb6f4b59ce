"""How often intervals around correlations, and around paired differences, hold what they promise.

Human scores and two systems' scores are drawn many times from five distributions; the share of
95 % intervals that hold the true value is printed, then the time beside a bootstrap.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from isoscope.compute.stats.estimates import difference, pearson, spearman

Vector: TypeAlias = NDArray[np.float64]
Triple: TypeAlias = tuple[Vector, Vector, Vector]

REPEATS = 4_000
SIZES = (50, 200, 1_000, 3_000)
TRUTH_ROWS, TRUTH_DRAWS = 1_000_000, 8
RESAMPLES = 2_000


def normal(rng: np.random.Generator, n: int) -> Triple:
    """Human scores with correlations of 0.6 and 0.5 to two systems that resemble each other."""
    human, first, second = rng.standard_normal((3, n))
    return (
        human,
        0.6 * human + 0.8 * first,
        0.5 * human + 0.5 * first + np.sqrt(0.5) * second,
    )


def student(rng: np.random.Generator, n: int) -> Triple:
    """Heavy tails: Student's t with five degrees of freedom."""
    human, before, after = normal(rng, n)
    stretch = np.sqrt(5 / rng.chisquare(5, n))
    return human * stretch, before * stretch, after * stretch


def tied(rng: np.random.Generator, n: int) -> Triple:
    """Human scores on a scale of five."""
    human, before, after = normal(rng, n)
    return np.clip(np.round(1.2 * human), -2, 2), before, after


def skewed(rng: np.random.Generator, n: int) -> Triple:
    """Scores of the systems with a long right tail."""
    human, before, after = normal(rng, n)
    return human, np.exp(before / 2), np.exp(after / 2)


def extreme(rng: np.random.Generator, n: int) -> Triple:
    """Log-normal scores of the systems: a few of them decide Pearson's r."""
    human, before, after = normal(rng, n)
    return human, np.exp(1.5 * before), np.exp(1.5 * after)


def coverage(draw: Callable[[np.random.Generator, int], Triple], seed: int) -> None:
    rng = np.random.default_rng(seed)
    kinds = (pearson, spearman)
    truths = np.zeros((2, 2))
    for _ in range(TRUTH_DRAWS):
        human, before, after = draw(rng, TRUTH_ROWS)
        for row, kind in enumerate(kinds):
            for column, system in enumerate((before, after)):
                truths[row, column] += (kind(human, system).value or 0) / TRUTH_DRAWS
    for n in SIZES:
        hits = np.zeros(4)
        for _ in range(REPEATS):
            human, before, after = draw(rng, n)
            for row, kind in enumerate(kinds):
                one, other = kind(human, before), kind(human, after)
                change = difference(other, one)
                for place, found, truth in (
                    (2 * row, one, truths[row, 0]),
                    (2 * row + 1, change, truths[row, 1] - truths[row, 0]),
                ):
                    if found.low is not None and found.high is not None:
                        hits[place] += found.low <= truth <= found.high
        shares = "".join(f"{100 * share:12.1f}" for share in hits / REPEATS)
        print(f"{draw.__name__:8}{n:7,}{shares}", flush=True)


def speed(seed: int) -> None:
    rng = np.random.default_rng(seed)
    human, before, after = normal(rng, 3_000)
    for kind, prepare in ((pearson, np.asarray), (spearman, rankdata)):
        times = []
        for _ in range(20):
            started = time.perf_counter()
            difference(kind(human, after), kind(human, before))
            times.append(time.perf_counter() - started)
        started = time.perf_counter()
        for _ in range(RESAMPLES):
            rows = rng.integers(0, 3_000, 3_000)
            np.corrcoef([prepare(scores[rows]) for scores in (human, before, after)])
        resampled = time.perf_counter() - started
        print(
            f"{kind.__name__:10} 3,000 pairs: influences {1e3 * min(times):.2f} ms, "
            f"{RESAMPLES:,} resamples {resampled:.2f} s, {resampled / min(times):,.0f} ×"
        )


def main() -> None:
    print(f"Share of 95 % intervals that hold the truth, {REPEATS:,} draws each, seed 0")
    print("              n     pearson  difference    spearman  difference")
    for draw in (normal, student, tied, skewed, extreme):
        coverage(draw, seed=0)
    speed(seed=0)


if __name__ == "__main__":
    main()
