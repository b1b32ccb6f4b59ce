"""Small clouds that several tests share, made from nothing but a seed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from isoscope import CloudGroup


def shifted(seed: int, rows: int, width: int, offset: float = 0.7) -> np.ndarray:
    """Return a cloud off its centre, with well separated eigenvalues in a random rotation."""
    random = np.random.default_rng(seed)
    spread = np.linspace(1.5, 0.3, width)
    rotation = np.linalg.qr(random.standard_normal((width, width)))[0]
    return random.standard_normal((rows, width)) * spread @ rotation + offset


def cross_polytope(width: int) -> np.ndarray:
    """Return ±e_k: every direction is an eigenvector."""
    return np.concatenate((np.eye(width), -np.eye(width)))


def joined(cloud: CloudGroup) -> np.ndarray:
    """Read a cloud of one part and put its batches together, checking their row numbers."""
    parts, position = [], 0
    for batches in cloud.batches():
        (batch,) = batches.values()
        assert batch.first_row == position
        position += len(batch.vectors)
        parts.append(np.asarray(batch.vectors))
    return np.concatenate(parts)


def labels(cloud: CloudGroup, name: str) -> list[object]:
    """Read one label of a cloud of one part."""
    found: list[object] = []
    for batches in cloud.batches():
        (batch,) = batches.values()
        found.extend(batch.labels[name])
    return found
