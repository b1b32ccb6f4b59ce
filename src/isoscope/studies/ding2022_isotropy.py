"""Ding et al. (2022): how even matrices are after fine-tuning on GLUE with calibration.

The paper's matrix W is the head, labels × width: its I1 depends on the number of labels, and the
flow, which acts on hidden states, leaves it as it is. The vocabulary's matrix and hidden states are
measured beside it. These are the runs of table 1: one result of ``isoscope train finetune`` serves
both studies.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from isoscope.results.finetuned import MATRIX, MEASURED
from isoscope.studies.claims import Claim
from isoscope.studies.ding2022 import (
    GLUE_NEED,
    MODELS,
    PUBLISHED,
    SCALES,
    SPECTRUM,
    TASKS,
    glue_runs,
)
from isoscope.studies.reference import printed_table
from isoscope.studies.registry import Key, Request, Study, register
from isoscope.studies.trainings import MOVED, moved

if TYPE_CHECKING:
    from isoscope.results.result import Result

HEAD = "head"
MISPRINTED = (("RoBERTa", "cosreg", "QQP"), ("DistilBERT", "cosreg", "QQP"))
"""Model, method and task of figures that cannot be meant; see the misprints."""


def table_4(request: Request) -> Result:
    """I1, I2 and lengths of head, vocabulary and hidden states, and how far the head's I1 moved."""
    found = glue_runs(request)
    rows = [row for row in found.rows if row.measure in MEASURED and MATRIX in row.part]
    heads = [row for row in rows if row.measure == "i1" and row.part.endswith(MATRIX + HEAD)]
    return replace(found, rows=[*rows, *moved(heads)])


def printed_table_4() -> dict[Key, float]:
    """Return I1 as printed, without misprints; I2 is left out, as it is not of the same matrix."""
    return {
        (row["model"], f"{row['task'].lower()}{MATRIX}{HEAD}", row["method"], "i1"):
        float(row["i1_mean"])
        for row in printed_table("ding2022_table4_glue_isotropy")
        if (row["model"], row["method"], row["task"]) not in MISPRINTED
    }  # fmt: skip


OF_HEAD = {"part": f"*{MATRIX}{HEAD}"}

register(
    Study(
        "D-T4", "Evenness of head, vocabulary and hidden states after fine-tuning on GLUE",
        f"{PUBLISHED}, table 4", GLUE_NEED, table_4,
        (
            Claim("cosine regularisation and flow move the head's I1 by at most 0.02, rounded",
                  {**OF_HEAD, "measure": f"i1{MOVED}"}, {"correction": "cosreg*|flow*"}, "<",
                  0.025),
            Claim("with spectrum control the head's I1 is at least that without calibration",
                  {**OF_HEAD, "measure": "i1"}, SPECTRUM, ">=", {"correction": "none"}),
        ),
        MODELS, printed_table_4, tasks=TASKS, scales=SCALES, trains=True,
    )
)  # fmt: skip
