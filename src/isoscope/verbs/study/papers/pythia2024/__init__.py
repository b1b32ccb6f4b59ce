"""Machina & Mercer (2024), Anisotropy is not inherent to transformers: layers over a text.

Large Pythia models are isotropic; the paper ties this to untied matrices and to a final LayerNorm
with a small bias.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from isoscope.compute.stats.jackknife import BLOCKS, FEWEST_IN_BLOCK, deal
from isoscope.data.texts.readers import MadeTexts
from isoscope.results.merge import renamed
from isoscope.results.result import Result, Row
from isoscope.verbs.profile.api import profile
from isoscope.verbs.study.inputs import OWN, of_every_model
from isoscope.verbs.study.judgement.claims import Claim
from isoscope.verbs.study.judgement.replicates import combined, with_blocks_alone
from isoscope.verbs.study.reference import Key, printed_table
from isoscope.verbs.study.registry import Request, add_study

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from isoscope.data.texts.base import TextSource
    from isoscope.models.model import Model
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


def profiled_with_error(
    request: Request, measures: str, extend: Callable[[Sequence[Stack], Result], Result]
) -> Result:
    """Profile every model over the text, and over each block of its documents."""

    def one(model: Model, name: str) -> Result:
        found = profile_with_error(model, request, measures)
        return extend(model.stacks, renamed(found, subject=name))

    return of_every_model(request, one)


def profile_with_error(model: Model, request: Request, measures: str, **options: Any) -> Result:
    """Profile a model over a text; figures know how much they differ between its documents.

    The text is read twice: as a whole, and in blocks of documents.
    """
    assert request.text is not None
    source = request.text
    options |= {"measures": measures, "corrections": "none", "seed": request.seed}
    options |= request.readers()
    whole = profile(model, source, progress=request.progress, **options)
    documents = source.survey().texts
    if documents < FEWEST_IN_BLOCK * BLOCKS:
        return whole
    blocks = deal(documents, request.seed)
    alone = [
        profile(
            model, MadeTexts(partial(some_of, source, blocks == block), source.name),
            **{**options, "intervals": False},
        ).rows
        for block in range(BLOCKS)
    ]  # fmt: skip
    of = f"{BLOCKS} blocks of {documents:,} documents, seed {request.seed}"
    return replace(whole, rows=with_blocks_alone(whole.rows, alone, of))


def some_of(source: TextSource, chosen: NDArray[np.bool_]) -> Iterator[str]:
    """Yield the texts that are chosen by their numbers."""
    return (text.text for text in source.texts() if chosen[text.index])


def figure_1(request: Request) -> Result:
    """InterSim of every layer, and how the last block and the final norm change it."""
    return profiled_with_error(request, INTER, with_changes)


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
    return profiled_with_error(request, f"{INTER},{INTRA}", with_differences)


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
    """Fill a row with a difference, whose error is that over blocks of documents."""
    if one.value is None or other.value is None:
        return replace(row, value=None, low=None, high=None, note=one.note or other.note)
    return combined((one, other), row, lambda values: values[0] - values[1])


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
    Claim("InterSim of Pythia models from 1.4B on drops at the last block and final norm",
          {"measure": CHANGE, "part": BOTH, "subject": LARGEST}, {}, "<", 0.0),
    Claim("InterSim of Pythia-70M and Pythia-160M rises at the last block and final norm",
          {"measure": CHANGE, "part": BOTH, "subject": SMALL}, {}, ">", 0.0),
    Claim("InterSim of the final layer of Pythia-6.9B is at most 0.2 (0.14)",
          AT_END, {}, "<=", 0.2),
    models=MODELS, printed=printed_final_layer, text=OWN,
)  # fmt: skip
add_study(
    "P-F2", figure_2,
    Claim("mean IntraSim of the final layer of Pythia-6.9B is 0.50 ± 0.05",
          INTRA_AT_END, {}, "within", (0.45, 0.55)),
    Claim("mean IntraSim of the final layer of Pythia-6.9B is above InterSim by more than 0.2",
          {**INTRA_AT_END, "measure": ABOVE}, {}, ">", 0.2, opposite=0.0),
    models=MODELS, printed=printed_final_layer, text=OWN,
)  # fmt: skip
