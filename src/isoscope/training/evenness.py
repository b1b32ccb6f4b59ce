"""How even a matrix is: I1, I2 and lengths of a head, a vocabulary's matrix, or hidden states.

A head may have a single row, whose I1 and I2 are defined, but which no cloud is: the directions
across it are all alike, with ln Z = ln n. So the definition is computed here, in double precision;
what is made of ln Z is the same as in ``isoscope.measure``.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import logsumexp

from isoscope.measures.families.partition import log_i1, oriented
from isoscope.measures.space import Partition

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


MEASURES = ("i1", "i2", "mean_norm", "i1_scaled")
"""What is said of every matrix; i1_scaled does not move where only lengths do."""

SAFE = 80.0
"""Exponents up to which sums neither overflow nor vanish."""

OWN_AXES = "its own axes"


def evenness(matrix: ArrayLike) -> dict[str, float | None]:
    """Return I1, I2, the mean length, and I1 at a root mean square length of one.

    Parameters
    ----------
    matrix : array-like
        Rows × d; from one row on. What is not finite is undefined in every measure.
    """
    rows = np.asarray(matrix, np.float64)
    lengths = np.linalg.norm(rows, axis=1)
    if not np.isfinite(lengths).all():
        return dict.fromkeys(MEASURES)
    along = rows @ np.linalg.eigh(rows.T @ rows)[1]
    found = partition(along)
    logs = oriented(found)
    z = np.exp(logs - logs.max())
    scale = float(np.sqrt(np.mean(lengths**2)))
    scaled = math.exp(log_i1(partition(along / scale))) if scale > 0 else None
    return {
        "i1": math.exp(log_i1(found)),
        "i2": float(z.std() / z.mean()),
        "mean_norm": float(lengths.mean()),
        "i1_scaled": scaled,
    }


def partition(along: np.ndarray) -> Partition:
    """Return ln Z of both signs of every axis, from what rows have along it."""
    if np.abs(along).max() < SAFE:
        # Both signs of one exponential: a vocabulary's matrix takes a second less.
        powers = np.exp(along)
        return Partition(np.log(powers.sum(axis=0)), np.log((1 / powers).sum(axis=0)), OWN_AXES)
    return Partition(logsumexp(along, axis=0), logsumexp(-along, axis=0), OWN_AXES)
