"""Small clouds that several tests share, made from nothing but a seed."""

from __future__ import annotations

import numpy as np


def shifted(seed: int, rows: int, width: int, offset: float = 0.7) -> np.ndarray:
    """Return a cloud off its centre, with well separated eigenvalues in a random rotation."""
    random = np.random.default_rng(seed)
    spread = np.linspace(1.5, 0.3, width)
    rotation = np.linalg.qr(random.standard_normal((width, width)))[0]
    return random.standard_normal((rows, width)) * spread @ rotation + offset


def cross_polytope(width: int) -> np.ndarray:
    """Return ±e_k: every direction is an eigenvector."""
    return np.concatenate((np.eye(width), -np.eye(width)))
