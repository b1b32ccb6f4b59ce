"""Clouds on surfaces of known dimension, for estimators of it."""

from __future__ import annotations

import numpy as np


def plane() -> np.ndarray:
    """A square, turned in ten dimensions."""
    rng = np.random.default_rng(10)
    turned = np.linalg.qr(rng.normal(size=(10, 10)))[0]
    return np.pad(rng.random((4_000, 2)), ((0, 0), (0, 8))) @ turned


def sphere() -> np.ndarray:
    """The surface of a ball in six of twelve dimensions, far from the origin."""
    rng = np.random.default_rng(11)
    x = rng.normal(size=(1_500, 6))
    return np.pad(x / np.linalg.norm(x, axis=1, keepdims=True), ((0, 0), (0, 6))) + 30.0


def curve() -> np.ndarray:
    """A spiral."""
    angle = np.random.default_rng(12).random(800) * 20
    return np.stack((angle * np.cos(angle), angle * np.sin(angle), angle), axis=1)


MANIFOLDS = {"plane": (plane, 2), "sphere": (sphere, 5), "curve": (curve, 1)}
