"""Every correction from its definition, row by row, without the library."""

from __future__ import annotations

import numpy as np


def principal_directions(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return variances and directions (columns) by singular values, largest first."""
    centred = rows - rows.mean(axis=0)
    _, singular, directions = np.linalg.svd(centred, full_matrices=True)
    variances = np.zeros(rows.shape[1])
    variances[: len(singular)] = singular**2 / len(rows)
    return variances, directions.T


def all_but_the_top(rows: np.ndarray, new: np.ndarray, count: int, project: str) -> np.ndarray:
    mean = rows.mean(axis=0)
    _, directions = principal_directions(rows)
    corrected = []
    for vector in new:
        projected = vector - mean if project == "centered" else vector
        result = vector - mean
        for k in range(count):
            result = result - (directions[:, k] @ projected) * directions[:, k]
        corrected.append(result)
    return np.array(corrected)


def scaled_center(rows: np.ndarray, new: np.ndarray) -> np.ndarray:
    units = [row / np.linalg.norm(row) for row in rows if np.linalg.norm(row) > 0]
    direction = np.mean(units, axis=0)
    return np.array([vector - np.linalg.norm(vector) * direction for vector in new])


def unit_length(rows: np.ndarray) -> np.ndarray:
    return np.array([row / np.linalg.norm(row) if row.any() else row for row in rows])
