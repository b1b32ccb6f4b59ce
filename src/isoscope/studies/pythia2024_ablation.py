"""Machina & Mercer (2024), section 6: the ablation that they ask for.

The same small model is trained with tied and with untied matrices, and with and without positions.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from isoscope.results.ablated import EMBEDDING as EMBEDDING_MATRIX
from isoscope.results.ablated import (
    EXTREME,
    LAST_LAYER,
    MEAN_COSINE,
    NON_INPUT,
    UNEMBEDDING,
    VALIDATION,
)
from isoscope.results.pretrained import PERPLEXITY
from isoscope.results.result import Row
from isoscope.studies.claims import Claim
from isoscope.studies.from_nothing import AGAIN, NEED, SCALES, ablated, last_step
from isoscope.studies.pythia2024 import PAPER
from isoscope.studies.registry import Request, Study, register
from isoscope.studies.texts import WIKIPEDIA

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoscope.results.result import Result

GRID = "tie,positions"
FACTOR = "tie"
UNTYING = "untied instead of tied"
LOWEST = "/lowest"
"""End of a measure: the lower end of an effect's interval."""

SHOWN = {
    (VALIDATION, PERPLEXITY),
    (EMBEDDING_MATRIX, "i1"), (EMBEDDING_MATRIX, "i1_scaled"),
    (UNEMBEDDING, "i1"), (UNEMBEDDING, "i1_scaled"),
    (LAST_LAYER, MEAN_COSINE), (NON_INPUT, EXTREME),
}  # fmt: skip


def ablation(request: Request) -> Result:
    """Every cell at the end of its training, and what untying changes."""
    found = ablated(request, GRID, "clm", FACTOR)
    effects = [row for row in found.rows if row.extra.get("factor") is not None]
    kept = [row for row in (*last_step(found), *effects) if (row.part, row.measure) in SHOWN]
    return replace(found, rows=[*kept, *lowest_ends(effects)])


def lowest_ends(effects: Sequence[Row]) -> list[Row]:
    """Return the lower end of the effect of untying on I1, for a claim to look at."""
    return [
        replace(
            row, measure=row.measure + LOWEST, value=row.low, low=None, high=None,
            note=row.note or "the lower end of the 95 % interval of the effect",
        )
        for row in effects
        if row.part == UNEMBEDDING and row.correction == UNTYING
        and row.measure in ("i1", "i1_scaled")
    ]  # fmt: skip


register(
    Study(
        "P-X", "An ablation: tied and untied matrices, with and without positions",
        PAPER + ", section 6, which asks for it", NEED + AGAIN, ablation,
        (
            Claim("untied matrices have a larger I1 of the unembedding, with an interval without 0",
                  {"measure": "i1" + LOWEST, "part": UNEMBEDDING}, {}, ">", 0.0),
            Claim("so they have at the same length (i1_scaled), which the paper does not look at",
                  {"measure": "i1_scaled" + LOWEST, "part": UNEMBEDDING}, {}, ">", 0.0),
        ),
        text=WIKIPEDIA, scales=SCALES, trains=True,
    )
)  # fmt: skip
