"""Neighbours and recalls straight from their definitions, in double precision."""

from __future__ import annotations

import numpy as np


def units(vectors: np.ndarray) -> np.ndarray:
    """Divide rows by their lengths."""
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def cosines(base: np.ndarray, queries: np.ndarray | None = None) -> np.ndarray:
    """Every cosine of a query with a row; a row of the base does not find itself."""
    if queries is not None:
        return units(queries) @ units(base).T
    found = units(base) @ units(base).T
    np.fill_diagonal(found, -np.inf)
    return found


def top(scores: np.ndarray, k: int) -> np.ndarray:
    """The k rows of highest score of every query, the highest first, ties by row."""
    return np.argsort(-scores, axis=1, kind="stable")[:, :k]


def overlap(found: np.ndarray, true: np.ndarray) -> np.ndarray:
    """Share of the true rows that are found, query by query, where nothing is tied."""
    return np.array(
        [len(set(a) & set(b)) / len(b) for a, b in zip(found.tolist(), true.tolist(), strict=True)]
    )


def rescored(candidates: np.ndarray, scores: np.ndarray, k: int) -> np.ndarray:
    """The k candidates of highest score."""
    places = np.argsort(-np.take_along_axis(scores, candidates, 1), axis=1, kind="stable")[:, :k]
    return np.take_along_axis(candidates, places, 1)


def hamming(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """How many signs differ, for every pair of a row of the first and one of the second."""
    return ((first > 0)[:, None, :] != (second > 0)[None, :, :]).sum(axis=2)


def eight_bits(vectors: np.ndarray) -> np.ndarray:
    """Round every dimension to the middle of one of 256 steps between its extremes."""
    low = vectors.min(axis=0)
    step = (vectors.max(axis=0) - low) / 255
    codes = np.floor((vectors - low) / step)
    return low + (codes + 0.5) * step
