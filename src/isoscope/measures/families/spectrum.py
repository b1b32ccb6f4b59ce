"""How variance is spread over directions, from the eigenvalues λ of the covariance.

Scale cancels in all of them, and so does the choice of n or n − 1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isoscope.measures.registry import TableValue, Value, register

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from isoscope.measures.space import Space


CONSTANT = "all vectors are the same, up to rounding: there is no variance"


def shares(space: Space) -> NDArray[np.float64] | None:
    """λ / Σλ, or None for a constant cloud."""
    spectrum = space.spectrum
    if spectrum is None or spectrum.total == 0:
        return None
    return spectrum.variances / spectrum.total


def few_rows(space: Space) -> str:
    """Say that n limits what the spectrum can show."""
    if space.rows > space.width:
        return ""
    return f"only {space.rows:,} vectors in {space.width:,} dimensions limit the rank"


@register(
    formula="λ₁ / Σλ",
    range="[1/d, 1]",
    direction="lower",
    length_dependent=False,
    reference="the first component's explained variance",
    needs=["scatter"],
    interval="spectrum",
)
def top_variance_share(space: Space) -> Value:
    """Share of the variance along the strongest direction."""
    p = shares(space)
    return Value(None, note=CONSTANT) if p is None else Value(float(p[0]), note=few_rows(space))


@register(
    formula="exp(−Σ p ln p), p = λ / Σλ",
    range="[1, d]",
    direction="higher",
    length_dependent=False,
    reference="after Roy & Vetterli 2007, who take singular values where we take variances",
    needs=["scatter"],
    interval="spectrum",
)
def effective_rank(space: Space) -> Value:
    """Number of directions that an even spread of the same entropy would fill."""
    p = shares(space)
    if p is None:
        return Value(None, note=CONSTANT)
    positive = p[p > 0]
    return Value(float(np.exp(-(positive @ np.log(positive)))), note=few_rows(space))


@register(
    formula="(Σλ)² / Σλ²",
    range="[1, d]",
    direction="higher",
    length_dependent=False,
    reference="Gao et al. 2017",
    needs=["scatter"],
    interval="spectrum",
)
def participation_ratio(space: Space) -> Value:
    """Number of directions that an even spread with the same Σλ² would fill."""
    p = shares(space)
    return (
        Value(None, note=CONSTANT) if p is None else Value(1 / float(p @ p), note=few_rows(space))
    )


@register(
    formula="(participation_ratio − 1) / (d − 1)",
    range="[0, 1]",
    direction="higher",
    length_dependent=False,
    reference="Rudman et al. 2022, algorithm 1, which this equals",
    needs=["scatter"],
    interval="spectrum",
)
def iso_score(space: Space) -> Value:
    """Share of dimensions evenly used by the covariance."""
    p = shares(space)
    if p is None:
        return Value(None, note=CONSTANT)
    if space.width == 1:
        return Value(None, note="one dimension cannot be filled unevenly")
    ratio = 1 / float(p @ p)
    return Value((ratio - 1) / (space.width - 1), note=few_rows(space))


@register(
    formula="singular values of X (over the largest), variances λ, shares and cumulative shares",
    range="[0, 1] for shares",
    direction="neither",
    length_dependent=True,
    reference="Biś et al. 2021, figure 1",
    needs=["scatter"],
    table=True,
)
def spectrum(space: Space) -> TableValue:
    """The whole spectrum: singular values with the mean in them, variances without."""
    found = space.spectrum
    if found is None:
        return TableValue([], CONSTANT)
    singular = np.sqrt(space.rows * found.second_moments)
    relative = singular / singular[0] if singular[0] > 0 else singular
    p = shares(space)
    part = np.zeros(space.width) if p is None else p
    rows = [
        {
            "component": k + 1,
            "singular_value": float(singular[k]),
            "relative_singular_value": float(relative[k]),
            "variance": float(found.variances[k]),
            "share": float(part[k]),
            "cumulative_share": float(total),
        }
        for k, total in enumerate(np.cumsum(part))
    ]
    return TableValue(rows, CONSTANT if p is None else "")
