"""Clouds whose cause of uneven filling is known."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float64]


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


def of_rank(random: np.random.Generator, rows: int, dimension: int, rank: int) -> Matrix:
    """A cloud that fills so many directions evenly, and the others hardly."""
    basis, _ = np.linalg.qr(random.standard_normal((dimension, rank)))
    noise = 0.01 * random.standard_normal((rows, dimension))
    return np.asarray(random.standard_normal((rows, rank)) @ basis.T + noise)


def with_long_row(random: np.random.Generator, cloud: Matrix, times: float = 30.0) -> Matrix:
    """Make one row so many times as long."""
    longer = cloud.copy()
    longer[random.integers(len(cloud))] *= times
    return longer


def with_uneven_lengths(random: np.random.Generator, cloud: Matrix) -> Matrix:
    """Make half of the rows short, with a direction in common; the others lie around zero."""
    direction = random.standard_normal(cloud.shape[1])
    short = cloud.copy()
    half = len(cloud) // 2
    short[:half] = 0.05 * (0.4 * cloud[:half] + direction)
    short[half:] -= short[half:].mean(axis=0)
    return short


def with_dead(random: np.random.Generator, cloud: Matrix, count: int = 3) -> Matrix:
    """Set some dimensions to zero."""
    dead = cloud.copy()
    dead[:, random.choice(cloud.shape[1], count, replace=False)] = 0.0
    return dead
