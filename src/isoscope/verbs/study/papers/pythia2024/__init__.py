"""Machina & Mercer (2024), Anisotropy is not inherent to transformers: layers over a text.

Large Pythia models are isotropic; the paper ties this to untied matrices and to a final LayerNorm
with a small bias.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from isoscope.results.result import Result, Row
from isoscope.verbs.study.claims import Claim
from isoscope.verbs.study.inputs import OWN, less, profiled
from isoscope.verbs.study.reference import Key, printed_table
from isoscope.verbs.study.registry import Request, add_study

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoscope.models.structure.stacks import Stack


SMALL = "Pythia-70M|Pythia-160M"
MIDDLE = "Pythia-410M|Pythia-1B|Pythia-1.0B"
LARGEST = "Pythia-1.4B|Pythia-2.8B|Pythia-6.9B|Pythia-12B"
ISOTROPIC = f"{MIDDLE}|{LARGEST}"
PYTHIA = tuple(f"{SMALL}|Pythia-410M|{LARGEST}".split("|"))
MODELS = (*PYTHIA[:3], "Pythia-1B|Pythia-1.0B", *PYTHIA[3:])

INTER, INTRA = "mean_cosine", "intra_sim"
CHANGE, ABOVE = f"{INTER}/change", f"{INTRA}/above_mean_cosine"
LAST_BLOCK, FINAL_NORM, BOTH = "last block", "final norm", "last block and final norm"


def figure_1(request: Request) -> Result:
    """InterSim of every layer, and how the last block and the final norm change it."""
    return profiled(request, INTER, with_changes)


def with_changes(stacks: Sequence[Stack], result: Result) -> Result:
    """Add what the end of a model does to the mean cosine.

    The usual tuple of hidden states goes from the last but one block to behind the final norm in
    one step, so that the paper sees both together.
    """
    layers = stacks[-1].layers
    subject = result.rows[0].subject
    cosines = {row.part: row for row in result.rows if row.measure == INTER}
    normed = layers[-1].endswith(FINAL_NORM)
    # The last but one block, and the last.
    before, block = layers[-3:-1] if normed else layers[-2:]
    steps = {LAST_BLOCK: (before, block), BOTH: (before, layers[-1])}
    if normed:
        steps[FINAL_NORM] = (block, layers[-1])
    rows = []
    for part, (start, end) in steps.items():
        note = f"from {start} to {end}" + ("" if normed else "; there is no final norm")
        rows.append(
            apart(cosines[end], cosines[start], Row(subject, part, "none", CHANGE, None, note=note))
        )
    return replace(result, rows=[*result.rows, *rows])


def figure_2(request: Request) -> Result:
    """Mean IntraSim over token types of every layer, beside InterSim."""
    return profiled(request, f"{INTER},{INTRA}", with_differences)


def with_differences(_: Sequence[Stack], result: Result) -> Result:
    """Add how far IntraSim is above InterSim in every layer."""
    inter = {row.part: row for row in result.rows if row.measure == INTER}
    above = [
        apart(row, inter[row.part], replace(row, measure=ABOVE, extra={}))
        for row in result.rows
        if row.measure == INTRA and row.part in inter
    ]
    return replace(result, rows=[*result.rows, *above])


def apart(one: Row, other: Row, row: Row) -> Row:
    """Fill a row with a difference; its interval holds whatever the dependence of both sides."""
    low = less(one.low, one.value), less(other.value, other.high)
    high = less(one.high, one.value), less(other.value, other.low)
    value = less(one.value, other.value)
    ends = [
        None if value is None or part[0] is None or part[1] is None else value + part[0] + part[1]
        for part in (low, high)
    ]
    return replace(row, value=value, low=ends[0], high=ends[1])


def printed(subject: str, quantity: str) -> float:
    """Return a number that the paper's text prints."""
    return next(
        float(row["value"])
        for row in printed_table("pythia2024_facts")
        if (row["subject"], row["quantity"]) == (subject, quantity)
    )


def printed_final_layer() -> dict[Key, float]:
    """Return what the text says of the final layer of the 6.9B model."""
    final = "Pythia-6.9B final layer"
    return {
        ("Pythia-6.9B", FINAL_NORM, "none", INTER): printed(final, "inter_sim"),
        ("Pythia-6.9B", FINAL_NORM, "none", INTRA): printed(final, "mean_intra_sim"),
    }


AT_END = {"measure": INTER, "subject": "Pythia-6.9B", "part": FINAL_NORM}
INTRA_AT_END = {"measure": INTRA, "subject": "Pythia-6.9B", "part": FINAL_NORM}

add_study(
    "P-F1", figure_1,
    Claim("from 1.4B on, InterSim drops at the last block and final norm",
          {"measure": CHANGE, "part": BOTH, "subject": LARGEST}, {}, "<", 0.0),
    Claim("it jumps there in the 70M and 160M models",
          {"measure": CHANGE, "part": BOTH, "subject": SMALL}, {}, ">", 0.0),
    Claim("the 6.9B model ends at 0.2 or below (0.14)", AT_END, {}, "<=", 0.2),
    models=MODELS, printed=printed_final_layer, text=OWN,
)  # fmt: skip
add_study(
    "P-F2", figure_2,
    Claim("mean IntraSim of the 6.9B model's final layer is 0.50: between 0.45 and 0.55",
          INTRA_AT_END, {}, "within", (0.45, 0.55)),
    Claim("it is above InterSim by more than 0.2",
          {**INTRA_AT_END, "measure": ABOVE}, {}, ">", 0.2),
    models=MODELS, printed=printed_final_layer, text=OWN,
)  # fmt: skip
