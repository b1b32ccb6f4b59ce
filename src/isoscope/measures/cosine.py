"""Cosines between the vectors of a cloud, in O(n)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoscope.measures.registry import Value, register

if TYPE_CHECKING:
    from isoscope.measures.space import Space


@register(
    formula="(‖Σ u‖² − n) / (n² − n), u = x / ‖x‖",
    range="[−1/(n−1), 1]",
    direction="lower",
    length_dependent=False,
    reference="Machina & Mercer 2024, eq. 7; Ethayarajh 2019",
    alias="inter_sim",
)
def mean_cosine(space: Space) -> Value:
    """Mean cosine over all pairs of different rows that are not zero.

    With row weights w it is Σ_{i≠j} w_i w_j cos_ij / Σ_{i≠j} w_i w_j.
    """
    units = space.units
    note = f"{space.zero_rows:,} zero vectors have no cosine and are left out" * (
        space.zero_rows > 0
    )
    if units.rows < 2:
        return Value(None, note=note or "fewer than two vectors", rows=units.rows)
    pairs = units.weight**2 - units.weight_squares
    return Value((units.sum_square - units.weight_squares) / pairs, note=note, rows=units.rows)
