"""What the limits of the verdict stand for: the tables of docs/verdict.md.

    python benchmarks/verdict_limits.py

Clouds of 2,000 rows get an offset, or one large dimension: which neighbours does that change, and
which unrelated pairs does it lift above a threshold? Prints Markdown.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scenarios.clouds import Matrix, even, shifted, with_outlier

from isoscope.compute.threads import one_blas_thread


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


def main() -> None:
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


if __name__ == "__main__":
    with one_blas_thread():
        main()
