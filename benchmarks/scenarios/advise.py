"""Does ``advise`` recommend nothing where nothing helps, and find a gain of known size?"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isoscope.errors import DataError
from isoscope.tasks.datasets.own_pairs import AUC, SPEARMAN, OwnPairProblem
from isoscope.tasks.vectors import Ground
from isoscope.verbs.advise.api import advice_on
from isoscope.verbs.advise.decision import WORTHWHILE, candidates
from scenarios.scenario import LEVEL, Decisions, describe, scenario

Matrix = NDArray[np.float64]

TRIED = ("clip", "center", "standardize", "all-but-the-top", "whiten")

USE, ALONE, NEGLIGIBLE, UNDECIDED = "use", "leave it alone", "negligible", "undecided"
REFUSED = "refused"
OUTCOMES = (USE, ALONE, NEGLIGIBLE, UNDECIDED, REFUSED)
OPENINGS = {USE: "Use ", ALONE: "Leave it alone: ", NEGLIGIBLE: "Leave it alone: the gain of",
            UNDECIDED: "No recommendation: "}  # fmt: skip

LOSES, OFFSET = "whitening loses", "an offset moves thresholds, not rankings"
CAVEATS = {"Whitening loses: ": LOSES, "moves thresholds here, not rankings: ": OFFSET}

describe(
    "advise",
    f"Five corrections are tried: {', '.join(TRIED)}. *Use* is wrong if no correction helps; "
    "*leave it alone*, which says that a worthwhile gain is excluded, is wrong if there is one.",
    {outcome: (outcome,) for outcome in OUTCOMES},
)


def outcome(ground: Ground, seed: int, **how: Any) -> set[str]:
    """Return what is advised."""
    tried = candidates(TRIED, ground.vectors.shape[1])
    try:
        advice = advice_on(ground, tried, seed=seed, **how)
    except DataError:
        return {REFUSED}
    found = advice.result.extra["recommendation"]
    assert found["sentence"].startswith(OPENINGS[found["outcome"]]), found
    told = " ".join(advice.result.extra["caveats"])
    return {found["outcome"], *(what for start, what in CAVEATS.items() if start in told)}


def ground_of(vectors: Matrix, labels: NDArray[Any], *, yes_no: bool) -> Ground:
    """Pair row k with row n + k."""
    n = len(labels)
    problem = OwnPairProblem(
        "drawn", (), np.arange(n), n + np.arange(n), labels.astype(np.float64),
        np.full(n, "", object), main=AUC if yes_no else SPEARMAN, yes_no=yes_no,
    )  # fmt: skip
    return Ground(problem, vectors, "drawn", "drawn")


def add_random_labels(
    name: str, pairs: int, yeses: int | None = None, *, refused: bool = False, dimension: int = 24
) -> None:
    """Labels that have nothing to do with the vectors: grades from 0 to 5, or some yeses."""
    truth = "labels that have nothing to do with the vectors; any gain counts as worthwhile"
    wrong = dict.fromkeys(OUTCOMES[:-1], 0.0) if refused else {USE: LEVEL, LOSES: LEVEL}

    @scenario("advise", name, truth, wrong)
    def random_labels(seed: int) -> Decisions:
        random = np.random.default_rng(seed)
        spread = random.standard_normal((dimension, dimension))
        spread *= np.exp(-np.arange(dimension) / 8)[:, None]
        vectors = random.standard_normal((2 * pairs, dimension)) @ spread
        vectors += 2 * random.standard_normal(dimension)
        if yeses is None:
            ground = ground_of(vectors, random.integers(0, 6, pairs), yes_no=False)
        else:
            labels = (np.arange(pairs) < yeses).astype(np.float64)
            ground = ground_of(vectors, random.permutation(labels), yes_no=True)
        return outcome(ground, seed, worthwhile=0.0)


add_random_labels("random grades, 200 pairs", 200)
add_random_labels("random grades, 20 pairs", 20)
add_random_labels("random yes or no, 200 pairs, 100 yeses", 200, 100)
add_random_labels("random yes or no, 200 pairs, 10 yeses", 200, 10)
add_random_labels("random yes or no, 200 pairs, 3 yeses", 200, 3, refused=True)


def noisy_pairs(
    random: np.random.Generator, pairs: int, noise: float, dimension: int = 100
) -> tuple[Matrix, NDArray[np.float64]]:
    """Pairs whose cosines are what people score, but for one dimension of noise."""
    first = random.standard_normal((pairs, dimension))
    share = random.uniform(0, 1, (pairs, 1))
    second = share * first + np.sqrt(1 - share**2) * random.standard_normal((pairs, dimension))
    vectors = np.concatenate([first, second])
    vectors[:, 7] = noise * random.standard_normal(2 * pairs)
    return vectors, share[:, 0] + 0.3 * random.standard_normal(pairs)


@cache
def true_gain(noise: float, pairs: int = 100_000) -> float:
    """Return what leaving the dimension of noise out gains, from many pairs."""
    from scipy.stats import spearmanr

    vectors, labels = noisy_pairs(np.random.default_rng(10**6), pairs, noise)
    scores = []
    for space in (np.delete(vectors, 7, axis=1), vectors):
        units = space / np.linalg.norm(space, axis=1, keepdims=True)
        cosines = np.einsum("ij,ij->i", units[:pairs], units[pairs:])
        scores.append(float(spearmanr(cosines, labels).statistic))
    return scores[0] - scores[1]


def truth_of(noise: float) -> Callable[[], str]:
    """Return a function that states the true gain, which takes a while to compute."""
    return lambda: (
        "one of 100 dimensions is noise; without it Spearman's correlation truly gains "
        f"{true_gain(noise):+.4f}"
    )


def add_gain(noise: float, pairs: int, *, helps: bool) -> None:
    """A dimension of noise, which clipping removes; whether that gains a worthwhile amount."""
    wrong = {ALONE: LEVEL, NEGLIGIBLE: LEVEL} if helps else {USE: LEVEL}
    name = f"one noisy dimension, {noise:g} times as wide, {pairs:,} pairs"

    @scenario("advise", name, truth_of(noise), wrong)
    def gain(seed: int) -> Decisions:
        vectors, labels = noisy_pairs(np.random.default_rng(seed), pairs, noise)
        return outcome(ground_of(vectors, labels, yes_no=False), seed, worthwhile=WORTHWHILE)


add_gain(1.0, 300, helps=False)
add_gain(2.2, 1_000, helps=True)
for much, of in ((3.0, 300), (3.0, 1_000), (6.0, 300), (12.0, 300)):
    add_gain(much, of, helps=True)


def offset_pairs(
    random: np.random.Generator, pairs: int, offset: float, dimension: int = 64
) -> tuple[Matrix, NDArray[np.float64]]:
    """Pairs whose cosines around their mean are what people score, moved by an offset."""
    first = random.standard_normal((pairs, dimension))
    share = random.uniform(0, 1, (pairs, 1))
    second = share * first + np.sqrt(1 - share**2) * random.standard_normal((pairs, dimension))
    vectors = np.concatenate([first, second]) + offset / np.sqrt(dimension)
    return vectors * random.lognormal(0, 0.3, (2 * pairs, 1)), share[:, 0]


@cache
def gain_of_centring(offset: float, pairs: int = 100_000) -> float:
    """Return what taking the mean off gains, from many pairs."""
    from scipy.stats import spearmanr

    vectors, labels = offset_pairs(np.random.default_rng(10**6), pairs, offset)
    scores = []
    for space in (vectors - vectors.mean(axis=0), vectors):
        units = space / np.linalg.norm(space, axis=1, keepdims=True)
        cosines = np.einsum("ij,ij->i", units[:pairs], units[pairs:])
        scores.append(float(spearmanr(cosines, labels).statistic))
    return scores[0] - scores[1]


def add_offset(offset: float, pairs: int, *, moves: bool) -> None:
    """An offset that centring removes; whether that changes the score by a worthwhile amount."""

    def truth() -> str:
        gain = gain_of_centring(offset)
        return f"an offset; centring truly changes Spearman's correlation by {gain:+.4f}"

    wrong = {OFFSET: LEVEL} if moves else {USE: LEVEL}

    @scenario("advise", f"offset of {offset:g}, {pairs:,} pairs", truth, wrong)
    def removed(seed: int) -> Decisions:
        vectors, labels = offset_pairs(np.random.default_rng(seed), pairs, offset)
        return outcome(ground_of(vectors, labels, yes_no=False), seed, worthwhile=WORTHWHILE)


add_offset(6.0, 1_000, moves=True)
