"""How much a partition measure depends on a basis that repeated eigenvalues leave open."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isoscope.measures.space import BasisRange

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Matrix = NDArray[np.float64]

BASES = 8
SMALL = 64
"""Up to this many directions a uniformly distributed rotation is drawn; above, a mixing one."""


def basis_range(coordinates: Matrix, runs: Sequence[slice], seed: int) -> BasisRange:
    """Measure ln I1 of sampled rows on random bases of each run of directions.

    Parameters
    ----------
    coordinates : array of shape (rows, width)
        The sample on the directions of the space.
    runs : sequence of slice
        Directions within which the basis is open.
    seed : int
        Seed of the random bases.
    """
    random = np.random.default_rng(seed)
    logs = []
    for _ in range(BASES):
        turned = coordinates.copy()
        for run in runs:
            turned[:, run] = randomly_rotated(turned[:, run], random)
        oriented = np.maximum(log_sum_exp(turned), log_sum_exp(-turned))
        logs.append(float(oriented.min() - oriented.max()))
    open_directions = sum(run.stop - run.start for run in runs)
    return BasisRange(min(logs), max(logs), BASES, len(coordinates), open_directions)


def randomly_rotated(coordinates: Matrix, random: np.random.Generator) -> Matrix:
    """Express rows on a random orthonormal basis.

    A uniform draw needs the QR decomposition of a Gaussian matrix, O(d³); for many directions
    three rounds of random signs and cosine transforms mix as well for this purpose at O(d log d).
    """
    width = coordinates.shape[1]
    if width <= SMALL:
        q, r = np.linalg.qr(random.standard_normal((width, width)))
        turned: Matrix = coordinates @ (q * np.sign(np.diag(r)))
        return turned
    from scipy.fft import dct  # here, as it adds a tenth of a second to every import

    for _ in range(3):
        signs = random.choice((-1.0, 1.0), size=width)
        coordinates = dct(coordinates * signs, norm="ortho")
    return coordinates


def log_sum_exp(exponents: Matrix) -> NDArray[np.float64]:
    """ln Σ_i exp(a_ik) per column."""
    top = exponents.max(axis=0)
    return np.asarray(top + np.log(np.exp(exponents - top).sum(axis=0)))
