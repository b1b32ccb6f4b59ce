"""Cosines between the vectors of a cloud, in O(n)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoscope.measures.registry import Value, counted, register

if TYPE_CHECKING:
    from isoscope.measures.space import Space


@register(
    formula="(‖Σ u‖² − n) / (n² − n), u = x / ‖x‖",
    range="[−1/(n−1), 1]",
    direction="lower",
    length_dependent=False,
    reference="Machina & Mercer 2024, eq. 7; Ethayarajh 2019",
    alias="inter_sim",
    interval="sums",
)
def mean_cosine(space: Space) -> Value:
    """Mean cosine over all pairs of different rows that are not zero.

    With row weights w it is Σ_{i≠j} w_i w_j cos_ij / Σ_{i≠j} w_i w_j.
    """
    units = space.units
    zero = space.zero_rows
    note = f"{counted(zero, 'zero vector')} left out: no cosine" if zero else ""
    if units.rows < 2:
        return Value(None, note=note or "fewer than two vectors", rows=units.rows)
    pairs = units.weight**2 - units.weight_squares
    cosine = (units.sum_square - units.weight_squares) / pairs
    return Value(min(cosine, 1.0), note=note, rows=units.rows)  # rounding may pass 1
