"""k-means of rows in memory: greedy k-means++ and Lloyd's iterations, in numpy alone.

Centres c_k minimise Σ_i min_k ‖x_i − c_k‖² (Lloyd 1982). Which centre is nearest follows from
products, as ‖x − c‖² = ‖x‖² − 2 (x·c − ‖c‖²/2), and only the last term differs between centres.

The start is k-means++ (Arthur & Vassilvitskii 2007) in its greedy form: of several rows that are
drawn with a probability in proportion to their squared distance to the nearest centre, the one that
lowers the sum of these the most becomes the next centre. The best of a few starts on a part of the
rows goes on with all of them, and has few iterations left.

BLAS has one thread, so that the centres are the same bit by bit on any number of cores, and no
other library is asked, so that they are the same whatever is installed.
"""

from __future__ import annotations

import math
from functools import partial
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.compute.threads import in_parallel, one_blas_thread
from isoscope.data.arrays import square_norms

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from isoscope.typing import Floats, Matrix


# Rows for each cluster among which the first centres are chosen; Lloyd's iterations take all.
SEEDED_PER_CLUSTER = 64

# How often that is done, with a few iterations on these rows; the best start goes on.
STARTS = 3
FIRST_ITERATIONS, MOST_ITERATIONS = 10, 50

# Iterations end when one lowers the sum of squared distances by less than this share.
ENOUGH = 1e-4

# Entries whose squares, and sums of these, stay well within the range of float32.
SINGLE_REACH = (1e-12, 1e12)

# Squared distances from products are off by some roundings of the squared lengths.
PRODUCT_ROUNDINGS = 16.0


def beyond_single(points: NDArray[Any]) -> bool:
    """Whether squared distances of such points leave the range of float32."""
    reach = float(np.abs(points).max(initial=0.0))
    return reach > 0 and not SINGLE_REACH[0] < reach < SINGLE_REACH[1]


def kmeans(rows: NDArray[Any], n_clusters: int, seed: int) -> Matrix:
    """Return the centres of at most so many clusters; fewer where rows repeat.

    Parameters
    ----------
    rows : array of shape (n, d)
        Float32 or float64, in random order of no meaning; computed in that precision.
    n_clusters : int
        How many.
    seed : int
        Of the rows that are drawn as first centres.
    """
    if beyond_single(rows):
        rows = rows.astype(np.float64)
    # Around their mean: a large common offset would cost the products their digits.
    origin = rows.mean(axis=0, dtype=np.float64)
    moved = rows - origin.astype(rows.dtype)
    rest = origin.astype(rows.dtype).astype(np.float64)
    first = np.random.default_rng(seed).permutation(len(moved))[: SEEDED_PER_CLUSTER * n_clusters]
    some = moved[np.sort(first)]
    starts = in_parallel([partial(start, some, n_clusters, seed, one) for one in range(STARTS)])
    centers, _ = min(starts, key=itemgetter(1))
    with one_blas_thread():
        moved_centers, _ = lloyd(moved, centers, MOST_ITERATIONS)
    return np.asarray(rest + moved_centers.astype(np.float64))


def start(rows: Floats, n_clusters: int, seed: int, number: int) -> tuple[Floats, float]:
    """Return centres after a few iterations, and the sum of the squared distances to them."""
    random = np.random.default_rng([seed, number])
    return lloyd(rows, first_centers(rows, n_clusters, random), FIRST_ITERATIONS)


def first_centers(rows: Floats, n_clusters: int, random: np.random.Generator) -> Floats:
    """Choose rows as centres by greedy k-means++; fewer where all rows are centres already."""
    trials = 2 + int(math.log(n_clusters))
    chosen = [int(random.integers(len(rows)))]
    squares: Floats | None = square_norms(rows).astype(rows.dtype)
    distances = nearer(rows, squares, chosen, None)[0]
    while len(chosen) < n_clusters:
        if squares is not None and not distances.any():
            # Rows that are not centres are too close to one for products: differences tell.
            squares = None
            distances = nearer(rows, squares, chosen, None).min(axis=0)
        sums = np.cumsum(distances, dtype=np.float64)
        if not sums[-1] > 0:
            break
        # On the right of equals, so that a row at distance 0 is never drawn.
        drawn = np.searchsorted(sums, random.random(trials) * sums[-1], side="right")
        drawn = np.minimum(drawn, np.flatnonzero(distances)[-1])
        found = nearer(rows, squares, drawn, distances)
        best = int(found.sum(axis=1, dtype=np.float64).argmin())
        chosen.append(int(drawn[best]))
        distances = found[best]
    return rows[chosen]


def nearer(rows: Floats, squares: Floats | None, chosen: Any, distances: Floats | None) -> Floats:
    """Return the squared distances to the nearest centre with each of some rows as one more.

    By products where the squared lengths of the rows are given, otherwise by differences.
    """
    if squares is None:
        found = np.array([square_norms(rows - rows[row]) for row in chosen])
    else:
        found = rows[chosen] @ rows.T
        found *= -2
        lengths = squares + squares[chosen][:, None]
        found += lengths
        # What is left of the distance of a row to its equal is rounding.
        lengths *= PRODUCT_ROUNDINGS * float(np.finfo(rows.dtype).eps)
        found[found <= lengths] = 0
    return found if distances is None else np.minimum(found, distances, out=found)


def lloyd(rows: Floats, centers: Floats, most: int) -> tuple[Floats, float]:
    """Move centres to the means of their rows until that gains next to nothing.

    A centre that is nearest to no row is dropped.

    Returns
    -------
    tuple
        The centres, and the sum of the squared distances to them, or to the ones just before.
    """
    total, inertia = float(square_norms(rows).sum()), math.inf
    places = np.arange(len(rows))
    for _ in range(most):
        scores = rows @ centers.T
        scores -= square_norms(centers).astype(rows.dtype) / 2
        labels = scores.argmax(axis=1)
        before, inertia = inertia, total - 2 * float(scores[places, labels].sum(dtype=np.float64))
        if before - inertia <= ENOUGH * abs(inertia):
            break
        counts, sums = sums_by_cluster(rows, labels, len(centers))
        there = counts > 0
        centers = (sums[there] / counts[there, None]).astype(rows.dtype)
    return centers, inertia


def sums_by_cluster(
    rows: Floats, labels: NDArray[np.intp], clusters: int
) -> tuple[NDArray[np.int64], Matrix]:
    """Return how many rows each cluster has, and their sums.

    As a product with zeros and ones: BLAS does it faster than numpy adds rows by index.
    """
    members = np.zeros((clusters, len(labels)), rows.dtype)
    members[labels, np.arange(len(labels))] = 1.0
    counts = np.bincount(labels, minlength=clusters)
    return counts, (members @ rows).astype(np.float64)
