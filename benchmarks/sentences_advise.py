"""Error rates of the sentences of ``isoscope advise`` and ``isoscope measure``.

    python benchmarks/sentences_advise.py --draws 500

One function per scenario: it takes the number of draws and returns how often each decision was
made. What is right is known: labels that are random, a gain of known size, and clouds that are
even, shifted, of low rank, or with one large dimension. Draws have seeds 0, 1, … Prints Markdown.
``--limits`` prints instead what the limits of the verdict stand for (docs/verdict.md).
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

import isoscope
from isoscope.compute.threads import one_blas_thread
from isoscope.errors import DataError
from isoscope.tasks.datasets.own_pairs import AUC, SPEARMAN, OwnPairProblem
from isoscope.tasks.vectors import Ground
from isoscope.verbs.advise.api import advice_on
from isoscope.verbs.advise.decision import candidates

Matrix = NDArray[np.float64]
Counts = dict[str, int]

# What the verdict needs, and nothing else.
MEASURES = ("mean_cosine", "effective_rank", "outlier_dimensions", "dead_dimensions")
TRIED = ("clip", "center", "standardize", "all-but-the-top", "whiten")


# --- measure: clouds whose cause is known


def verdicts(draws: int, cloud: Callable[[np.random.Generator], Matrix]) -> Counts:
    """Count causes and grades of clouds, such as ``common offset, mild``."""
    found: Counter[str] = Counter()
    for seed in range(draws):
        drawn = cloud(np.random.default_rng(seed))
        verdict = isoscope.measure(drawn, MEASURES, ["none"]).verdicts[0]
        cause, grade = verdict["cause"], verdict["grade"]
        found[cause if grade == "none" else f"{cause}, {grade}"] += 1
    return dict(found)


def even(random: np.random.Generator, rows: int, dimension: int, decay: float = 0.0) -> Matrix:
    """A Gaussian cloud around zero whose variances fall as k^−decay, in random directions."""
    scales = np.arange(1, dimension + 1) ** (-decay / 2)
    cloud: Matrix = random.standard_normal((rows, dimension)) * scales
    if decay == 0:
        return cloud
    rotation, _ = np.linalg.qr(random.standard_normal((dimension, dimension)))
    return np.asarray(cloud @ rotation)


def shifted(random: np.random.Generator, cloud: Matrix, cosine: float) -> Matrix:
    """Add an offset in a random direction that gives a cloud about this mean cosine."""
    entries = random.standard_normal(cloud.shape[1])
    direction = entries / np.linalg.norm(entries)
    size = np.sqrt(cosine / (1 - cosine) * cloud.var(axis=0).sum())
    return np.asarray(cloud + size * direction)


def with_outlier(random: np.random.Generator, cloud: Matrix, share: float) -> Matrix:
    """Give one dimension, at random, this share of the variance."""
    place = random.integers(cloud.shape[1])
    variances = cloud.var(axis=0)
    rest = variances.sum() - variances[place]
    larger = cloud.copy()
    larger[:, place] *= np.sqrt(share / (1 - share) * rest / variances[place])
    return larger


def even_clouds(draws: int, rows: int = 500, dimension: int = 64, decay: float = 0.0) -> Counts:
    """Even clouds: any cause is an error, and so is "undecided" with enough rows."""
    return verdicts(draws, lambda random: even(random, rows, dimension, decay))


def offsets(draws: int, cosine: float, rows: int = 500, dimension: int = 64) -> Counts:
    """Offsets in random directions: right is the offset with its grade, never an outlier."""
    return verdicts(draws, lambda random: shifted(random, even(random, rows, dimension), cosine))


def outliers(draws: int, share: float, rows: int = 500, dimension: int = 64) -> Counts:
    """One dimension with this share of the variance."""
    return verdicts(
        draws, lambda random: with_outlier(random, even(random, rows, dimension), share)
    )


def low_ranks(draws: int, rank: int, rows: int = 500, dimension: int = 64) -> Counts:
    """Clouds that fill so many directions evenly, and the others hardly."""

    def cloud(random: np.random.Generator) -> Matrix:
        basis, _ = np.linalg.qr(random.standard_normal((dimension, rank)))
        return np.asarray(
            random.standard_normal((rows, rank)) @ basis.T
            + 0.01 * random.standard_normal((rows, dimension))
        )

    return verdicts(draws, cloud)


# --- advise: random labels, and gains of known size


def outcomes(draws: int, task: Callable[[np.random.Generator, int], Ground], **how: Any) -> Counts:
    """Count what is advised."""
    found: Counter[str] = Counter()
    for seed in range(draws):
        ground = task(np.random.default_rng(seed), seed)
        tried = candidates(TRIED, ground.vectors.shape[1])
        try:
            advice = advice_on(ground, tried, seed=seed, **how)
        except DataError:
            found["refused"] += 1
            continue
        found[advice.result.extra["recommendation"]["outcome"]] += 1
    return dict(found)


def ground_of(vectors: Matrix, labels: NDArray[Any], *, yes_no: bool) -> Ground:
    """Pair row k with row n + k."""
    n = len(labels)
    problem = OwnPairProblem(
        "drawn", (), np.arange(n), n + np.arange(n), labels.astype(np.float64),
        np.full(n, "", object), main=AUC if yes_no else SPEARMAN, yes_no=yes_no,
    )  # fmt: skip
    return Ground(problem, vectors, "drawn", "drawn")


def random_labels(
    draws: int, pairs: int = 200, dimension: int = 24, yeses: float | None = None,
    worthwhile: float = 0.0,
) -> Counts:  # fmt: skip
    """Labels that have nothing to do with the vectors: "use" is an error, at most 5 %.

    Grades from 0 to 5, or a share of yeses.
    """

    def task(random: np.random.Generator, seed: int) -> Ground:
        del seed
        spread = random.standard_normal((dimension, dimension))
        spread *= np.exp(-np.arange(dimension) / 8)[:, None]
        vectors = random.standard_normal((2 * pairs, dimension)) @ spread
        vectors += 2 * random.standard_normal(dimension)
        if yeses is None:
            return ground_of(vectors, random.integers(0, 6, pairs), yes_no=False)
        labels = np.zeros(pairs)
        labels[: max(round(yeses * pairs), 1)] = 1
        return ground_of(vectors, random.permutation(labels), yes_no=True)

    return outcomes(draws, task, worthwhile=worthwhile)


def noisy_pairs(
    random: np.random.Generator, pairs: int, dimension: int, noise: float
) -> tuple[Matrix, NDArray[np.float64]]:
    """Pairs whose cosines are what people score, but for one dimension of noise."""
    first = random.standard_normal((pairs, dimension))
    share = random.uniform(0, 1, (pairs, 1))
    second = share * first + np.sqrt(1 - share**2) * random.standard_normal((pairs, dimension))
    vectors = np.concatenate([first, second])
    vectors[:, 7] = noise * random.standard_normal(2 * pairs)
    return vectors, share[:, 0] + 0.3 * random.standard_normal(pairs)


def true_gain(noise: float, dimension: int = 100, pairs: int = 100_000) -> float:
    """Return what leaving the dimension of noise out gains, from many pairs."""
    from scipy.stats import spearmanr

    vectors, labels = noisy_pairs(np.random.default_rng(10**6), pairs, dimension, noise)
    scores = []
    for space in (np.delete(vectors, 7, axis=1), vectors):
        units = space / np.linalg.norm(space, axis=1, keepdims=True)
        cosines = np.einsum("ij,ij->i", units[:pairs], units[pairs:])
        scores.append(float(spearmanr(cosines, labels).statistic))
    return scores[0] - scores[1]


def known_gain(draws: int, noise: float, pairs: int = 300, dimension: int = 100) -> Counts:
    """A dimension of noise, which clipping removes.

    With a true gain of at least 0.01, "leave it alone" and "negligible" are errors; without one,
    "use" is.
    """

    def task(random: np.random.Generator, seed: int) -> Ground:
        del seed
        return ground_of(*noisy_pairs(random, pairs, dimension, noise), yes_no=False)

    return outcomes(draws, task)


# --- what the limits stand for


def neighbours(cloud: Matrix, count: int = 10) -> NDArray[np.intp]:
    """Return the nearest rows of every row by cosine."""
    units = cloud / np.linalg.norm(cloud, axis=1, keepdims=True)
    cosines = units @ units.T
    np.fill_diagonal(cosines, -2)
    return np.asarray(np.argpartition(-cosines, count, axis=1)[:, :count])


def changed(one: Matrix, other: Matrix) -> float:
    """Return the share of the ten nearest neighbours that differ between two spaces."""
    pairs = zip(neighbours(one), neighbours(other), strict=True)
    return 1 - float(np.mean([len(np.intersect1d(a, b)) / len(a) for a, b in pairs]))


def unrelated(cloud: Matrix) -> NDArray[np.float64]:
    """Return the cosines of all pairs of rows."""
    units = cloud / np.linalg.norm(cloud, axis=1, keepdims=True)
    return np.asarray((units @ units.T)[np.triu_indices(len(cloud), 1)])


def designs() -> Iterator[tuple[np.random.Generator, Matrix]]:
    """Draw clouds of 2,000 rows in 64 and 384 dimensions, with variances even and as 1/k."""
    for dimension in (64, 384):
        for decay in (0.0, 1.0):
            random = np.random.default_rng(0)
            yield random, even(random, 2_000, dimension, decay)


def span(values: list[float]) -> str:
    """Return the smallest and the largest of some shares."""
    low, high = (100 * end for end in (min(values), max(values)))
    return f"{low:.{int(low < 10)}f} to {high:.{int(high < 10)}f} %"


def limits() -> None:
    """Print what a mean cosine and a share of the variance do to neighbours and thresholds."""
    print("| mean cosine | neighbours changed by centring | pairs above the 1 % threshold |")
    print("| --- | --- | --- |")
    for cosine in (0.02, 0.05, 0.1, 0.2, 0.4, 0.8):
        moved, above = [], []
        for random, cloud in designs():
            other = shifted(random, cloud, cosine)
            moved.append(changed(cloud, other))
            cut = np.quantile(unrelated(cloud), 0.99)
            above.append(float(np.mean(unrelated(other) > cut)))
        print(f"| {cosine} | {span(moved)} | {span(above)} |", flush=True)
    print("\n| share of the variance in a dimension | neighbours changed by clipping it |")
    print("| --- | --- |")
    for share in (0.05, 0.1, 0.25, 0.5):
        moved = []
        for random, cloud in designs():
            larger = with_outlier(random, cloud, share)
            place = int(np.argmax(larger.var(axis=0)))
            clipped = larger.copy()
            clipped[:, place] = 0
            moved.append(changed(larger, clipped))
        print(f"| {share} | {span(moved)} |", flush=True)


SCENARIOS: dict[str, tuple[Callable[[int], Counts], tuple[str, ...]]] = {
    **{
        f"even cloud, {rows:,} × {dimension}{', variances as 1/k' if decay else ''}": (
            partial(even_clouds, rows=rows, dimension=dimension, decay=decay), ("none",),
        )
        for dimension, decay in ((64, 0.0), (384, 0.0), (64, 1.0))
        for rows in (250, 500, 2_000)
    },
    "even cloud, 20 × 3": (partial(even_clouds, rows=20, dimension=3), ("undecided",)),
    **{
        f"offset, mean cosine {cosine}, {rows:,} × {dimension}": (
            partial(offsets, cosine=cosine, rows=rows, dimension=dimension), right,
        )
        for cosine, right in (
            (0.05, ("none",)), (0.2, ("common offset, mild",)), (0.6, ("common offset, strong",)),
        )
        for rows, dimension in ((250, 64), (500, 384))
    },
    "offset, mean cosine 0.5, 500 × 16": (
        partial(offsets, cosine=0.5, dimension=16), ("common offset, strong",),
    ),
    **{
        f"outlier with {share} of the variance, {rows:,} × {dimension}": (
            partial(outliers, share=share, rows=rows, dimension=dimension), right,
        )
        for share, right in (
            (0.03, ("none",)), (0.15, ("outlier dimensions, mild",)),
            (0.4, ("outlier dimensions, strong",)),
        )
        for rows, dimension in ((250, 384), (500, 384))
    },
    **{
        f"rank {rank} of 64, 500 rows": (partial(low_ranks, rank=rank), right)
        for rank, right in (
            (32, ("none",)), (10, ("low rank, mild",)), (4, ("low rank, strong",)),
        )
    },
    "random grades, 200 pairs": (
        random_labels, ("leave it alone", "negligible", "undecided"),
    ),
    "random yes/no, 200 pairs, half yes": (
        partial(random_labels, yeses=0.5), ("leave it alone", "negligible", "undecided"),
    ),
    "random yes/no, 200 pairs, 10 yes": (
        partial(random_labels, yeses=0.05), ("leave it alone", "negligible", "undecided"),
    ),
    "random yes/no, 200 pairs, 3 yes": (
        partial(random_labels, yeses=0.015), ("refused",),
    ),
    "random grades, 20 pairs": (
        partial(random_labels, pairs=20), ("leave it alone", "negligible", "undecided"),
    ),
    **{
        f"noise of {noise} in one of 100 dimensions, {pairs:,} pairs": (
            partial(known_gain, noise=noise, pairs=pairs), right,
        )
        for noise, pairs, right in (
            (1.0, 300, ("leave it alone", "undecided")),
            (2.2, 1_000, ("use", "undecided")),
            (3.0, 300, ("use", "undecided")),
            (3.0, 1_000, ("use", "undecided")),
            (6.0, 300, ("use", "undecided")),
            (12.0, 300, ("use", "undecided")),
        )
    },
}  # fmt: skip
"""Scenarios by name, with the decisions that are right."""


def main() -> None:
    """Print how often each decision was made."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=500)
    parser.add_argument("--only", default="", help="scenarios whose name contains this")
    parser.add_argument("--limits", action="store_true", help="what the limits stand for")
    given = parser.parse_args()
    with one_blas_thread():
        if given.limits:
            limits()
            return
        for noise in (1.0, 2.2, 3.0, 6.0, 12.0):
            print(f"true gain without a dimension of noise {noise}: {true_gain(noise):+.4f}")
        print(f"\n{given.draws} draws each\n")
        print("| what is true | decisions | wrong |\n| --- | --- | --- |")
        for name, (scenario, right) in SCENARIOS.items():
            if given.only not in name:
                continue
            found = scenario(given.draws)
            wrong = sum(count for decision, count in found.items() if decision not in right)
            told = ", ".join(f"{decision}: {count}" for decision, count in sorted(found.items()))
            print(f"| {name} | {told} | {100 * wrong / given.draws:.1f} % |", flush=True)


if __name__ == "__main__":
    main()
