"""Ding et al. (2022): calibration while fine-tuning on GLUE, scores and what they are worth."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from isoscope.results.finetuned import SECONDS
from isoscope.results.finetuned_words import DIFFERENCE, RATIO
from isoscope.results.result import Result, Row
from isoscope.studies.claims import ALL_MODELS, Claim
from isoscope.studies.reference import printed_table
from isoscope.studies.registry import Key, Request, Study, Subject, register
from isoscope.studies.scales import MINI, PAPER, Scale
from isoscope.studies.trainings import RUNS, Training, task_of, trained

if TYPE_CHECKING:
    from collections.abc import Sequence

PUBLISHED = "Ding et al. (2022), On Isotropy Calibration of Transformers"
BERT = "BERT|bert-base-uncased"
ROBERTA = "RoBERTa|roberta-base"
DISTILBERT = "DistilBERT|distilbert-base-uncased"
MODELS = (BERT, ROBERTA, DISTILBERT)
SCALES = {
    MINI: Scale(("package:minilm",)),
    PAPER: Scale(
        ("BERT=bert-base-uncased", "RoBERTa=roberta-base", "DistilBERT=distilbert-base-uncased")
    ),
}
"""What is trained where the user names no source."""

CALIBRATIONS = ("none", "cosreg", "spectrum-pol", "spectrum-exp", "flow")
WITHOUT_FLOW = CALIBRATIONS[:-1]
CELLS = {
    "SST-2": "sst-2/accuracy",
    "MRPC": "mrpc/f1",
    "CoLA": "cola/matthews",
    "RTE": "rte/accuracy",
    "WNLI": "wnli/accuracy",
    "STS-B": "sts-b/pearson",
    "QNLI": "qnli/accuracy",
    "MNLI-m": "mnli/accuracy-matched",
    "MNLI-mm": "mnli/accuracy-mismatched",
    "QQP": "qqp/accuracy",
}
"""Measures by the paper's columns."""

OF_A_SAMPLE = "mnli/accuracy"
"""A sample of MNLI has one part that is scored."""

TASKS = tuple(dict.fromkeys(measure.partition("/")[0] for measure in CELLS.values()))
MINI_TASKS = ("rte", "mrpc")
CONSTANT = "constant_predictions"
BETTER, WORSE = "better_cells", "worse_or_undefined_cells"
ANY = "any calibration"


def glue_trainings(request: Request, subject: Subject) -> list[Training]:
    """Return what is trained; the paper's flow is for BERT alone, as it takes so long."""
    if request.scale == MINI:
        return [Training(request.tasks or MINI_TASKS, CALIBRATIONS, epochs=1)]
    others = {name.casefold() for model in (ROBERTA, DISTILBERT) for name in model.split("|")}
    chosen = WITHOUT_FLOW if subject.name.casefold() in others else CALIBRATIONS
    return [Training(request.tasks or TASKS, chosen)]


def glue_runs(request: Request) -> Result:
    """Train, or take what is finished."""
    return trained(request, lambda subject: glue_trainings(request, subject), TASKS.__contains__)


def table_1(request: Request) -> Result:
    """Mean scores of three runs, differences to none, and how many of them are significant."""
    found = glue_runs(request)
    scores = (*CELLS.values(), OF_A_SAMPLE)
    shown = {*scores, *(score + DIFFERENCE for score in scores), SECONDS, SECONDS + RATIO}
    rows = [row for row in found.rows if row.measure in shown and row.part == task_of(row)]
    return replace(found, rows=[*rows, *constant_rows(rows), *cell_rows(rows)])


def constant_rows(rows: Sequence[Row]) -> list[Row]:
    """Return the share of runs that predict the same for everything."""
    return [
        Row(
            row.subject, row.part, row.correction, CONSTANT, row.extra["constant"] / row.n,
            n=row.n, protocol=row.protocol, extra={"unit": RUNS},
        )
        for row in rows
        if row.extra.get("main_score") and row.n
    ]  # fmt: skip


def cell_rows(rows: Sequence[Row]) -> list[Row]:
    """Return the shares of the table's cells that are better, and worse or undefined."""
    scores = {(row.subject, row.correction, row.measure): row for row in rows}
    better, worse, undefined, tested = [], [], [], 0
    for row in rows:
        if not row.measure.endswith(DIFFERENCE):
            continue
        measure = row.measure.removesuffix(DIFFERENCE)
        own = scores[row.subject, row.correction, measure]
        name = f"{row.subject} {measure} with {row.correction}"
        undefined += [name] if own.value is None else []
        tested += row.extra.get("p") is not None
        better += [name] if row.extra["star"] else []
        worse += [name] if row.extra["worse"] else []
    cells = tested + len(undefined) if tested else 0
    return [cell_row(BETTER, better, cells), cell_row(WORSE, [*worse, *undefined], cells)]


def cell_row(measure: str, names: Sequence[str], cells: int) -> Row:
    """Return a share of cells, with their names."""
    if not cells:
        note = "no calibration was tested against none with two runs or more"
        return Row(ALL_MODELS, "", ANY, measure, None, note=note)
    listed = f": {', '.join(names)}" if names else ""
    note = f"{len(names)} of {cells}{listed}"
    extra = {"unit": "cells", "cells": list(names)}
    return Row(ALL_MODELS, "", ANY, measure, len(names) / cells, n=cells, note=note, extra=extra)


def printed_table_1() -> dict[Key, float]:
    """Return the table as printed, as shares instead of percentages, without what is NaN."""
    return {
        (row["model"], CELLS[row["task"]].partition("/")[0], row["method"], CELLS[row["task"]]):
        float(row["mean"]) / 100
        for row in printed_table("ding2022_table1_glue")
        if not math.isnan(float(row["mean"]))
    }  # fmt: skip


GLUE_NEED = (
    "a --data folder with GLUE, and models to fine-tune (a hub id or a folder); without any, "
    "--scale mini takes package:minilm, RTE and MRPC for one epoch, --scale paper the paper's "
    "models and all nine tasks; --from takes results of isoscope train finetune instead"
)
SPECTRUM = {"correction": "spectrum-*"}

register(
    Study(
        "D-T1", "GLUE, fine-tuned with and without calibration",
        f"{PUBLISHED}, table 1", GLUE_NEED, table_1,
        (
            Claim("calibration is significantly better in at most 2 of 100 cells",
                  {"subject": ALL_MODELS}, {"measure": BETTER}, "<=", 0.02),
            Claim("it is significantly worse, or undefined, in 26 of 100 cells",
                  {"subject": ALL_MODELS}, {"measure": WORSE}, ">=", 0.26),
            Claim("both kinds of spectrum control predict the same for everything on CoLA, MRPC "
                  "and STS-B",
                  {"measure": CONSTANT, "part": "cola|mrpc|sts-b"}, SPECTRUM, ">=", 1.0),
        ),
        MODELS, printed_table_1, tasks=TASKS, scales=SCALES, trains=True,
    )
)  # fmt: skip
