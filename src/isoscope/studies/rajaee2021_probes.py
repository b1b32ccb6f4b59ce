"""Rajaee & Pilehvar (2021): a small network on frozen features, with dominant directions removed.

Directions are removed from tokens, of all together (global) or of every cluster of them, before
texts get their vectors. They are found on what the network learns from; the authors found them on
train and dev together, padding included, which is not offered.
"""

from __future__ import annotations

import gc
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from isoscope.results.result import Result, Row
from isoscope.studies.benchmarks import sets_to_score
from isoscope.studies.claims import Claim
from isoscope.studies.last_layer import LAST, about_layer, last_layer_of
from isoscope.studies.rajaee2021 import PAPER
from isoscope.studies.rajaee2021_layers import BERT
from isoscope.studies.rajaee2021_sts import (
    CLUSTER,
    GLOBAL,
    NONE,
    of_methods,
    settings_of,
)
from isoscope.studies.reference import printed_table
from isoscope.studies.registry import Key, Request, Study, register
from isoscope.studies.scale_tables import PROBES
from isoscope.studies.several import joined, renamed
from isoscope.studies.subjects import open_subject
from isoscope.tasks import SentenceProtocol, evaluate, find_task

if TYPE_CHECKING:
    from collections.abc import Sequence

SETS = ("rte", "cola", "sst-2", "mrpc", "wic", "boolq")
PROBE = "mlp"
AVERAGE = "average"
OVER_SETS = "no interval: a mean over sets"
NOT_OFFERED = "the paper fitted on train and dev, padding included: not offered"


def table_3(request: Request) -> Result:
    """Accuracy of the network on every set (CoLA: Matthews' correlation), and the average."""
    tasks, absent = sets_to_score(request, SETS)
    measures = [deciding(task) for task in tasks]
    results = []
    for subject in request.subjects:
        model = open_subject(subject, request)
        settings, whose = settings_of(subject.name)
        names = settings.cluster_names(request.seed)
        found = evaluate(
            model, tasks, [NONE, settings.global_name(), *names],
            data=request.data, progress=request.progress,
            sentences=network_on_tokens(request),
        )  # fmt: skip
        about = (
            f"{about_layer(last_layer_of(model))}; {settings.describe(whose, request.seed)}; "
            f"{NOT_OFFERED}"
        )
        del model
        gc.collect()  # modules of a network refer to each other: it would stay beside the next
        kept = of_methods(found, measures, settings.global_name(), names, about)
        kept = replace(kept, rows=[*kept.rows, *averages(kept.rows, measures)])
        results.append(renamed(kept, subject=subject.name, part=LAST))
    return replace(joined(results), left_out=absent)


def network_on_tokens(request: Request, *, epochs: bool = False) -> SentenceProtocol:
    """Return the paper's features and network: means of the last layer's tokens, corrected."""
    return SentenceProtocol(
        layers="last", special_tokens=False, correct_at="token", isotropy=(), probe=PROBE,
        epochs=epochs, dtype=request.dtype, device=request.device, seed=request.seed,
    )  # fmt: skip


def deciding(task: str) -> str:
    """Return the score of a set that the paper prints."""
    return f"{task}/{PROBE}/{find_task(task).metrics[0]}"


def averages(rows: Sequence[Row], measures: Sequence[str]) -> list[Row]:
    """Return the mean over sets of every method, and how far it moved.

    A mean over some of the paper's sets has another name, as the printed one is over all.
    """
    name = AVERAGE if len(measures) == len(SETS) else f"{AVERAGE}_of_{len(measures)}"
    over = ", ".join(measure.partition("/")[0] for measure in measures)
    values = {(row.correction, row.measure): row.value for row in rows}
    found = []
    for correction in dict.fromkeys(row.correction for row in rows):
        several = [values[correction, measure] for measure in measures]
        before = [values[NONE, measure] for measure in measures]
        whole = Row(
            "", LAST, correction, name, mean_of(several),
            note=f"over {over}", extra={"unit": "sets", "no_interval": OVER_SETS},
        )  # fmt: skip
        found.append(whole)
        if correction != NONE:
            mean, first = mean_of(several), mean_of(before)
            change = None if mean is None or first is None else mean - first
            found.append(replace(whole, measure=f"{name}/difference", value=change))
    return found


def mean_of(values: Sequence[float | None]) -> float | None:
    """Return the mean, undefined where one value is."""
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if len(known) == len(values) else None


def printed_table_3() -> dict[Key, float]:
    """Return the table as printed, as shares instead of percentages."""
    corrections = {NONE: NONE, "global-pc-removal": GLOBAL, CLUSTER: CLUSTER}
    columns = {AVERAGE: AVERAGE} | {task: deciding(task) for task in SETS}
    return {
        ("BERT", LAST, corrections[row["method"]], columns[column.lower()]): float(value) / 100
        for row in printed_table("rajaee2021_table3_classification_bert")
        for column, value in row.items()
        if column.lower() in columns
    }


NEED = (
    "models (a hub id, a folder or a .gguf file), and a --data folder with RTE, CoLA, SST-2, MRPC, "
    "WiC and BoolQ, or some of them"
)
ON_SETS = {"measure": f"*/{PROBE}/accuracy|*/{PROBE}/matthews"}

register(
    Study(
        "R-T3", "Classification of frozen features without their dominant directions",
        PAPER + ", table 3", NEED, table_3,
        (
            Claim("removing the directions of clusters is better than global ones on every set",
                  ON_SETS, {"correction": CLUSTER}, ">", {"correction": GLOBAL}),
            Claim("removing global directions is better than none on every set",
                  ON_SETS, {"correction": GLOBAL}, ">", {"correction": NONE}),
            Claim("removing those of clusters adds 2.0 points to the average, rounded",
                  {"measure": f"{AVERAGE}*/difference"}, {"correction": CLUSTER}, ">=", 0.0195),
        ),
        (BERT,), printed_table_3, tasks=SETS, scales=PROBES,
    )
)  # fmt: skip
