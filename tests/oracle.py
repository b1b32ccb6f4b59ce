"""The isotropy measures written out from their definitions, by brute force in 50 digits.

Nothing here is fast and nothing is shared with the library: it is for small clouds only
(about 60 points in 8 dimensions).  A cloud has one point per row.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

from mpmath import mp

Vector = list[Any]
Pairs = list[tuple[Any, Any]]

fifty_digits = mp.workdps(50)


@fifty_digits
def as_matrix(X: Any) -> Any:
    """The cloud as an mp.matrix; every float is converted exactly."""
    return mp.matrix(X.tolist())


def rows(X: Any) -> list[Vector]:
    """The points of a cloud, each a list of mpf."""
    return as_matrix(X).tolist()


@fifty_digits
def dot(a: Vector, b: Vector) -> Any:
    """a . b = sum_k a_k b_k."""
    return mp.fsum(x * y for x, y in zip(a, b, strict=True))


@fifty_digits
def average(numbers: Vector) -> Any:
    """(1/n) sum_i x_i."""
    return mp.fsum(numbers) / len(numbers)


@fifty_digits
def mean(X: Any) -> Vector:
    """mu = (1/n) sum_i x_i, a vector."""
    return [average(column) for column in rows(as_matrix(X).T)]


@fifty_digits
def second_moment(X: Any) -> Any:
    """M = (1/n) sum_i x_i x_i^T."""
    columns = rows(as_matrix(X).T)
    return mp.matrix([[dot(a, b) / len(a) for b in columns] for a in columns])


@fifty_digits
def centered(X: Any) -> Any:
    """x - mu for every point."""
    mu = mean(X)
    return mp.matrix([[x - m for x, m in zip(row, mu, strict=True)] for row in rows(X)])


def covariance(X: Any) -> Any:
    """C = (1/n) sum_i (x_i - mu)(x_i - mu)^T, the population covariance."""
    return second_moment(centered(X))


@fifty_digits
def eigen(matrix: Any) -> tuple[Vector, Any]:
    """Eigenvalues of a symmetric matrix, falling, and its eigenvectors in columns."""
    values, vectors = mp.eigsy(matrix)
    order = sorted(range(matrix.rows), key=lambda k: values[k], reverse=True)
    return [values[k] for k in order], mp.matrix([[row[k] for k in order] for row in rows(vectors)])


@fifty_digits
def corrected(X: Any, correction: str, components: int | None = None) -> Any:
    """The corrected cloud, an n x d matrix; v_k, lambda_k are the eigenpairs of C.

    none: x.  center: x - mu.
    all-but-the-top: (x - mu) - sum_{k<=D} (v_k . (x - mu)) v_k.
    all-but-the-top-original: (x - mu) - sum_{k<=D} (v_k . x) v_k (Mu & Viswanath).
    whiten: coordinate k is v_k . (x - mu) / sqrt(lambda_k), or 0 if lambda_k <= 1e-30 lambda_1.
    D is `components`, or ceil(d / 100) when it is not given.
    """
    if correction == "none":
        return as_matrix(X)
    moved = centered(X)
    if correction == "center":
        return moved
    values, vectors = eigen(covariance(X))
    if correction == "whiten":
        floor = mp.mpf("1e-30") * values[0]
        factors = [0 if value <= floor else 1 / mp.sqrt(value) for value in values]
        return moved * vectors * mp.diag(factors)
    if correction == "all-but-the-top":
        projected = rows(moved)
    elif correction == "all-but-the-top-original":
        projected = rows(X)
    else:
        raise ValueError(f"unknown correction: {correction}")
    axes = rows(vectors.T)
    top = axes[: math.ceil(len(axes) / 100) if components is None else components]
    result = []
    for y, x in zip(rows(moved), projected, strict=True):
        for axis in top:
            weight = dot(axis, x)
            y = [a - weight * v for a, v in zip(y, axis, strict=True)]
        result.append(y)
    return mp.matrix(result)


@fifty_digits
def log_partition(points: list[Vector], c: Vector) -> Any:
    """ln Z(c) = ln sum_i exp(c . y_i), shifted by the largest exponent."""
    exponents = [dot(c, y) for y in points]
    top = max(exponents)
    return top + mp.log(mp.fsum(mp.exp(e - top) for e in exponents))


@fifty_digits
def log_partitions(Y: Any, axes: list[Any] | None = None) -> Pairs:
    """(ln Z(c), ln Z(-c)) for every eigenvector c of M, or for every given unit vector."""
    points = rows(Y)
    directions = rows(eigen(second_moment(Y))[1].T) if axes is None else axes
    pairs = []
    for direction in directions:
        c = [mp.convert(x) for x in direction]
        pairs.append((log_partition(points, c), log_partition(points, [-x for x in c])))
    return pairs


@fifty_digits
def log_i1(pairs: Pairs) -> Any:
    """min_c ln Z(c) - max_c ln Z(c), each c turned the way that makes Z larger."""
    oriented = [max(pair) for pair in pairs]
    return min(oriented) - max(oriented)


@fifty_digits
def log_i1_symmetric(pairs: Pairs) -> Any:
    """min ln Z - max ln Z over every c and every -c."""
    return min(min(pair) for pair in pairs) - max(max(pair) for pair in pairs)


@fifty_digits
def i2(pairs: Pairs) -> Any:
    """sqrt(mean (Z - mean Z)^2) / mean Z, each c turned the way that makes Z larger."""
    oriented = [max(pair) for pair in pairs]
    z = [mp.exp(x - max(oriented)) for x in oriented]
    middle = average(z)
    return mp.sqrt(average([(x - middle) ** 2 for x in z])) / middle


@fifty_digits
def sign_range(pairs: Pairs) -> tuple[Any, Any]:
    """Smallest and largest min - max over all 2^d ways of turning the d directions."""
    outcomes = [min(choice) - max(choice) for choice in itertools.product(*pairs)]
    return min(outcomes), max(outcomes)


@fifty_digits
def scaled(Y: Any) -> Any:
    """y / sqrt(mean |y|^2) for every point."""
    return as_matrix(Y) / mp.sqrt(average([dot(y, y) for y in rows(Y)]))


@fifty_digits
def mean_cosine_by_dimension(Y: Any) -> Vector:
    """Entry k is the mean over i != j of u_ik u_jk, u = y / |y|; zero vectors are left out."""
    units = [[x / mp.norm(y) for x in y] for y in rows(Y) if mp.norm(y) != 0]
    pairs = list(itertools.permutations(units, 2))
    return [average([a[k] * b[k] for a, b in pairs]) for k in range(len(units[0]))]


@fifty_digits
def mean_cosine(Y: Any) -> Any:
    """The mean of y_i . y_j / (|y_i| |y_j|) over i != j; zero vectors are left out."""
    points = [(y, mp.norm(y)) for y in rows(Y) if mp.norm(y) != 0]
    return average([dot(a, b) / (p * q) for (a, p), (b, q) in itertools.permutations(points, 2)])


@fifty_digits
def mean_norm(Y: Any) -> Any:
    """(1/n) sum_i |y_i|."""
    return average([mp.norm(y) for y in rows(Y)])


@fifty_digits
def norm_of_mean(Y: Any) -> Any:
    """|mean y|."""
    return mp.norm(mean(Y))


@fifty_digits
def mean_offset(Y: Any) -> Any:
    """|mean y| / mean |y|."""
    return norm_of_mean(Y) / mean_norm(Y)


@fifty_digits
def mean_alignment(Y: Any) -> Any:
    """|v . mean y| / |mean y|, v the top eigenvector of M."""
    top = rows(eigen(second_moment(Y))[1].T)[0]
    return abs(dot(top, mean(Y))) / norm_of_mean(Y)


def variances(Y: Any) -> Vector:
    """The eigenvalues of C, falling."""
    return eigen(covariance(Y))[0]


@fifty_digits
def top_variance_share(Y: Any) -> Any:
    """lambda_1 / sum lambda."""
    lam = variances(Y)
    return lam[0] / sum(lam)


@fifty_digits
def effective_rank(Y: Any) -> Any:
    """exp(-sum p ln p), p = lambda / sum lambda, with 0 ln 0 = 0."""
    lam = variances(Y)
    shares = [x / sum(lam) for x in lam]
    return mp.exp(-sum(p * mp.log(p) for p in shares if p > 0))


@fifty_digits
def participation_ratio(Y: Any) -> Any:
    """(sum lambda)^2 / sum lambda^2."""
    lam = variances(Y)
    return sum(lam) ** 2 / sum(x**2 for x in lam)


@fifty_digits
def iso_score(Y: Any) -> Any:
    """IsoScore, step by step (Rudman et al. 2022, algorithm 1).

    lam_hat = sqrt(d) lam / |lam|; delta = |lam_hat - 1| / sqrt(2 (d - sqrt d));
    phi = (d - delta^2 (d - sqrt d))^2 / d^2; the score is (d phi - 1) / (d - 1).
    """
    lam = variances(Y)
    d = mp.mpf(len(lam))
    lam_hat = [mp.sqrt(d) * x / mp.norm(lam) for x in lam]
    delta = mp.norm([x - 1 for x in lam_hat]) / mp.sqrt(2 * (d - mp.sqrt(d)))
    phi = (d - delta**2 * (d - mp.sqrt(d))) ** 2 / d**2
    return (d * phi - 1) / (d - 1)


@fifty_digits
def pair_cosines(Y: Any) -> Vector:
    """The cosines of all pairs of rows, rising; zero vectors are left out."""
    points = [(y, mp.norm(y)) for y in rows(Y) if mp.norm(y) != 0]
    return sorted(dot(a, b) / (p * q) for (a, p), (b, q) in itertools.combinations(points, 2))


@fifty_digits
def quantile(values: Vector, share: str) -> Any:
    """The value at place share · (m − 1) of m sorted ones, on a line between its neighbours."""
    place = mp.mpf(share) * (len(values) - 1)
    below = int(mp.floor(place))
    above = min(below + 1, len(values) - 1)
    return values[below] + (place - below) * (values[above] - values[below])


@fifty_digits
def uniformity(Y: Any) -> Any:
    """ln mean over pairs of exp(-2 |u - v|^2), u = y / |y| (Wang & Isola 2020, eq. 2)."""
    # |u - v|^2 = 2 - 2 cos
    return mp.log(average([mp.exp(-2 * (2 - 2 * cosine)) for cosine in pair_cosines(Y)]))


@fifty_digits
def two_nn(Y: Any) -> tuple[Any, Any]:
    """TwoNN of the different rows (Facco et al. 2017), and the smallest distance between two.

    The slope through the origin of -ln(1 - i/n) against ln(r2/r1), rising, without a tenth.
    """
    points = list(dict.fromkeys(tuple(y) for y in rows(Y)))
    ratios, smallest = [], mp.inf
    for k, point in enumerate(points):
        others = points[:k] + points[k + 1 :]
        first, second = sorted(mp.norm([a - b for a, b in zip(point, q, strict=True)])
                               for q in others)[:2]  # fmt: skip
        ratios.append(mp.log(second / first))
        smallest = min(smallest, first)
    kept = sorted(ratios)[: 9 * len(points) // 10]
    levels = [-mp.log(1 - mp.mpf(i) / len(points)) for i in range(1, len(kept) + 1)]
    return dot(kept, levels) / dot(kept, kept), smallest


@fifty_digits
def hubness(Y: Any, k: int = 10) -> tuple[Any, Any]:
    """Skewness of how often a row is among the k nearest, and the smallest gap behind the k-th."""
    units = [[x / mp.norm(y) for x in y] for y in rows(Y) if mp.norm(y) != 0]
    counts, gap = [0] * len(units), mp.inf
    for i, unit in enumerate(units):
        near = sorted(((dot(unit, v), j) for j, v in enumerate(units) if j != i), reverse=True)
        gap = min(gap, near[k - 1][0] - near[k][0])
        for _, j in near[:k]:
            counts[j] += 1
    apart = [mp.mpf(count) - average(counts) for count in counts]
    variance = average([x**2 for x in apart])
    return (average([x**3 for x in apart]) / variance ** mp.mpf("1.5") if variance else mp.mpf(0),
            gap)  # fmt: skip


@fifty_digits
def second_moments(Y: Any) -> Vector:
    """The eigenvalues of M, falling; rounding may leave one below zero."""
    return [max(value, mp.mpf(0)) for value in eigen(second_moment(Y))[0]]


@fifty_digits
def dimension_variances(Y: Any) -> Vector:
    """The diagonal of C."""
    found = covariance(Y)
    return [found[k, k] for k in range(found.rows)]
