"""How much a partition measure depends on a basis that repeated eigenvalues leave open."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from isoscope.compute.threads import in_parallel
from isoscope.measures.kernels.host import safe_exponent
from isoscope.measures.space import BasisRange

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoscope.typing import Floats

BASES = 8
LARGEST_SINGLE = 1e30
"""Exponents beyond this are taken in float64."""

SMALL = 64
"""Up to this many directions a uniformly distributed rotation is drawn; above, a mixing one."""


def basis_ranges(
    coordinates: Floats, runs: Sequence[slice], scales: Sequence[float], seed: int
) -> list[BasisRange]:
    """Measure ln I1 of sampled rows on random bases of each run of directions, at some scales.

    Parameters
    ----------
    coordinates : array of shape (rows, width)
        The sample on the directions of the space.
    runs : sequence of slice
        Directions within which the basis is open.
    scales : sequence of float
        Factors on the coordinates; every one gives a range.
    seed : int
        Seed of the random bases.
    """
    reach = float(np.abs(coordinates).max(initial=0.0)) or 1.0
    single = (coordinates / reach).astype(np.float32)  # a range needs no more digits
    factors = [scale * reach for scale in scales]
    seeds = np.random.SeedSequence(seed).spawn(BASES)
    here = one_basis(single, (), factors, seeds[0])
    logs = np.array(in_parallel([partial(one_basis, single, runs, factors, s) for s in seeds]))
    open_directions = sum(run.stop - run.start for run in runs)
    return [
        BasisRange(
            value, float(column.min()), float(column.max()), BASES, len(single), open_directions
        )
        for value, column in zip(here, logs.T, strict=True)
    ]


def one_basis(
    coordinates: Floats,
    runs: Sequence[slice],
    scales: Sequence[float],
    seed: np.random.SeedSequence,
) -> list[float]:
    """Draw one random basis and return ln I1 on it at each scale."""
    random = np.random.default_rng(seed)
    turned = coordinates.copy()
    for run in runs:
        turned[:, run] = randomly_rotated(turned[:, run], random)
    logs = []
    for scale in scales:
        wide = turned if scale < LARGEST_SINGLE else turned.astype(np.float64)
        oriented = oriented_log_sums(wide * wide.dtype.type(scale))
        logs.append(float(oriented.min() - oriented.max()))
    return logs


def randomly_rotated(coordinates: Floats, random: np.random.Generator) -> Floats:
    """Express rows on a random orthonormal basis.

    A uniform draw needs the QR decomposition of a Gaussian matrix, O(d³); for many directions
    three rounds of random signs and cosine transforms mix as well for this purpose at O(d log d).
    """
    width = coordinates.shape[1]
    if width <= SMALL:
        q, r = np.linalg.qr(random.standard_normal((width, width)))
        turned: Floats = coordinates @ (q * np.sign(np.diag(r))).astype(coordinates.dtype)
        return turned
    from scipy.fft import dct  # here, as it adds a tenth of a second to every import

    for _ in range(3):
        signs = random.choice((-1.0, 1.0), size=width).astype(coordinates.dtype)
        coordinates = dct(coordinates * signs, norm="ortho")
    return coordinates


def oriented_log_sums(exponents: Floats) -> Floats:
    """The larger of ln Σ_i exp(a_ik) and ln Σ_i exp(−a_ik) per column; ``exponents`` is used up."""
    top = np.maximum(exponents.max(axis=0), -exponents.min(axis=0))
    if top.max() < safe_exponent(exponents.dtype, len(exponents)):
        powers = np.exp(exponents, out=exponents)
        plus = powers.sum(axis=0)
        minus = np.reciprocal(powers, out=powers).sum(axis=0)
        return np.asarray(np.log(np.maximum(plus, minus)))
    plus = np.exp(exponents - top).sum(axis=0)
    minus = np.exp(-exponents - top).sum(axis=0)
    return np.asarray(top + np.log(np.maximum(plus, minus)))
