"""Luo (2021): the same model pre-trained with and without positional embeddings."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from isoscope.results.ablated import EXTREME, NON_INPUT, VALIDATION
from isoscope.results.pretrained import PERPLEXITY
from isoscope.results.result import Row
from isoscope.studies.claims import Claim
from isoscope.studies.from_nothing import AGAIN, NEED, SCALES, ablated, last_step
from isoscope.studies.luo2021_outliers import PAPER
from isoscope.studies.reference import printed_table
from isoscope.studies.registry import Key, Request, Study, register
from isoscope.studies.texts import WIKIPEDIA

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoscope.results.result import Result

POSITIONS = "positions"
WITH, WITHOUT = "learned", "none"
RATIO = f"{PERPLEXITY}/ratio"
FROM = 0.8
"""The share from which on a dimension is called an outlier: the paper's is 0.8256."""

PAPERS_MODEL = "RoBERTa-base|paper"


def figure_3_10(request: Request) -> Result:
    """Outlier dimensions and perplexity with and without positions, at the end of training."""
    found = ablated(request, POSITIONS, "mlm", POSITIONS)
    rows = [
        row
        for row in last_step(found)
        if (row.part, row.measure) in ((NON_INPUT, EXTREME), (VALIDATION, PERPLEXITY))
    ]
    return replace(found, rows=[*rows, *ratios(rows)])


def ratios(rows: Sequence[Row]) -> list[Row]:
    """Return how many times the perplexity with positions that without is; other factors alike."""
    cells: dict[tuple[str, tuple[str, ...]], dict[str, Row]] = {}
    for row in rows:
        levels = dict(row.extra.get("factors", {}))
        if row.measure == PERPLEXITY and levels.get(POSITIONS) in (WITH, WITHOUT):
            others = tuple(v for name, v in levels.items() if name != POSITIONS)
            cells.setdefault((row.subject, others), {})[levels[POSITIONS]] = row
    found = []
    for (subject, others), both in cells.items():
        if set(both) == {WITH, WITHOUT} and both[WITH].value and both[WITHOUT].value:
            ratio = both[WITHOUT].value / both[WITH].value  # type: ignore[operator]
            found.append(
                Row(
                    subject, VALIDATION, ", ".join(others) or "none instead of learned", RATIO,
                    ratio, n=both[WITH].n, protocol=both[WITH].protocol, extra={"unit": "runs"},
                )
            )  # fmt: skip
    return found


def printed_figures() -> dict[Key, float]:
    """Return what the thesis prints of its two models."""
    table = {row["hyper_parameter"]: row["value"] for row in printed_table(TABLE)}
    name = PAPERS_MODEL.split("|")[0]
    share = "share_of_vectors_with_dimension_81_as_maximum_with_positions"
    return {
        (name, VALIDATION, WITH, PERPLEXITY): float(table["validation_perplexity_with_positions"]),
        (name, VALIDATION, WITHOUT, PERPLEXITY):
        float(table["validation_perplexity_without_positions"]),
        (name, NON_INPUT, WITH, EXTREME): float(table[share]),
    }  # fmt: skip


TABLE = "luo2021_table3.1_pretraining"
SHARE = {"measure": EXTREME, "part": NON_INPUT}

register(
    Study(
        "L-F3.10", "Outlier dimensions of a model trained with and without positions",
        PAPER + ", figure 3.10", NEED + AGAIN, figure_3_10,
        (
            Claim("with positions, one dimension is extreme in at least 80 % of the vectors",
                  SHARE, {"correction": f"*{WITH}*"}, ">=", FROM),
            Claim("without positions, none is",
                  SHARE, {"correction": f"{WITHOUT}|*, {WITHOUT}, *|*, {WITHOUT}|{WITHOUT}, *"},
                  "<", FROM),
            Claim("the perplexity without positions is at least ten times as high",
                  {"measure": RATIO}, {}, ">=", 10.0),
        ),
        (PAPERS_MODEL,), printed_figures, text=WIKIPEDIA, scales=SCALES, trains=True,
    )
)  # fmt: skip
