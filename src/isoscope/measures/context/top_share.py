"""The share of the largest squared singular value, σ₁² / Σσ², of many small matrices at once.

All eigenvalues of a Gram matrix take a reduction to tridiagonal form; the largest alone is found by
powers of the matrix. With ρ = vᵀGv and r = ‖Gv − ρv‖ for a unit vector v, no eigenvalue but one
exceeds μ = √(‖G‖_F² − ρ²), as their squares add up to ‖G‖_F². So where μ < ρ, the largest one is
within r² / (ρ − μ) of ρ (the Kato-Temple bound), which says when to stop. Matrices whose
eigenvalues are too close together for that are decomposed.

References
----------
Parlett (1998), The symmetric eigenvalue problem, section 11.7.
"""

from __future__ import annotations

import numpy as np

from isoscope.typing import Doubles, Mask

# Times that a vector is multiplied with the fourth power before all eigenvalues are taken instead.
# Most matrices need three; the power itself costs 4 n³ operations that a core does fast.
STEPS = 8

# The bound on the error of an eigenvalue, as a share of it: some roundings.
ENOUGH = 1e-15

# The eigenvalue that is found is the largest for certain if no other one exceeds this share of it;
# as roundings of r count little beside the rest, any number clearly below 1 will do.
SEPARATED = 0.9


def top_share(groups: Doubles) -> Doubles:
    """Return σ₁² / Σσ² of each of several matrices of one shape, none of them zero."""
    rows, width = groups.shape[1:]
    # The smaller of the two Gram matrices has the same eigenvalues.
    turned = groups.transpose(0, 2, 1)
    grams = groups @ turned if rows <= width else turned @ groups
    total = np.trace(grams, axis1=1, axis2=2)
    return np.asarray(np.clip(largest_eigenvalues(grams) / total, 0, 1))


def largest_eigenvalues(grams: Doubles) -> Doubles:
    """Return the largest eigenvalue of each of several positive semi-definite matrices."""
    found, certain = by_powers(grams)
    if not certain.all():
        found[~certain] = np.linalg.eigvalsh(grams[~certain])[:, -1]
    return found


def by_powers(grams: Doubles) -> tuple[Doubles, Mask]:
    """Return Rayleigh quotients, and which of them are the largest eigenvalues for certain."""
    squares = np.einsum("kij,kij->k", grams, grams)
    # Of matrices with ‖G‖_F = 1, powers neither overflow nor vanish.
    sizes = np.sqrt(squares)
    unit = grams / np.where(sizes > 0, sizes, 1.0)[:, None, None]
    power = unit @ unit
    power = power @ power
    # What the rows of a group have in common, which is their largest direction more often than not.
    vectors = unit.sum(axis=2, keepdims=True)
    found, certain = np.zeros(len(grams)), np.zeros(len(grams), np.bool_)
    for _ in range(STEPS):
        vectors = power @ vectors
        lengths = np.sqrt(np.einsum("kij,kij->k", vectors, vectors))
        vectors /= np.where(lengths > 0, lengths, 1.0)[:, None, None]
        product = unit @ vectors
        quotients = np.einsum("kij,kij->k", vectors, product)
        product -= quotients[:, None, None] * vectors
        residuals = np.einsum("kij,kij->k", product, product)
        others = np.sqrt(np.maximum(1.0 - quotients**2, 0.0))
        now = residuals <= ENOUGH * quotients * (quotients - others)
        now &= others <= SEPARATED * quotients
        found[now], certain[now] = (quotients * sizes)[now], True
        if certain.all():
            break
    return found, certain
