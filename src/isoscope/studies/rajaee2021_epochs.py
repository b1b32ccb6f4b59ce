"""Rajaee & Pilehvar (2021): does removing dominant directions shorten training?

The paper shows two curves and says that its method "can reduce convergence time". Here that is
the number of epochs until the score on dev is at least the best that features as they are reach.
"""

from __future__ import annotations

import gc
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from isoscope.results.result import Result, Row, Table
from isoscope.studies.benchmarks import sets_to_score
from isoscope.studies.claims import Claim
from isoscope.studies.last_layer import LAST, about_layer, last_layer_of
from isoscope.studies.rajaee2021 import PAPER
from isoscope.studies.rajaee2021_layers import BERT
from isoscope.studies.rajaee2021_probes import NOT_OFFERED, PROBE, deciding, network_on_tokens
from isoscope.studies.rajaee2021_sts import CLUSTER, GLOBAL, NONE, settings_of
from isoscope.studies.registry import Request, Study, register
from isoscope.studies.render import WHOLE
from isoscope.studies.scale_tables import CONVERGENCE
from isoscope.studies.several import joined, renamed
from isoscope.studies.subjects import open_subject
from isoscope.tasks import evaluate, find_task
from isoscope.tasks.epochs import EPOCHS

if TYPE_CHECKING:
    from collections.abc import Iterable

SETS = ("boolq", "rte")
NEEDED = f"{EPOCHS}_to_best_of_{NONE}"
EVERY_EPOCH = "but scored after every epoch, with nothing held back and no epoch chosen"
FIRST_FOLD = ", in the first fold alone"


def figure_4(request: Request) -> Result:
    """Score every epoch, and count those until the best of features as they are is reached."""
    tasks, absent = sets_to_score(request, SETS)
    results = []
    for subject in request.subjects:
        model = open_subject(subject, request)
        settings, whose = settings_of(subject.name)
        cluster = settings.cluster_names(request.seed)[0]
        names = {NONE: NONE, settings.global_name(): GLOBAL, cluster: CLUSTER}
        found = evaluate(
            model, tasks, list(names), data=request.data, progress=request.progress,
            sentences=network_on_tokens(request, epochs=True),
        )  # fmt: skip
        about = (
            f"{about_layer(last_layer_of(model))}; "
            f"{settings.describe(whose, request.seed, 1)}; {NOT_OFFERED}"
        )
        del model
        gc.collect()  # modules of a network refer to each other: it would stay beside the next
        tables = [replace(table, correction=names[table.correction]) for table in found.tables]
        protocols = {
            row.measure.partition("/")[0]: every_epoch(row.protocol.replace(cluster, CLUSTER))
            for row in found.rows
        }
        rows = [
            row
            for task in tasks
            for row in task_rows(task, tables, f"{task}: {protocols[task]}; {about}")
        ]
        kept = replace(found, rows=rows, tables=tables)
        results.append(renamed(kept, subject=subject.name))
    return replace(joined(results), left_out=absent)


def every_epoch(protocol: str) -> str:
    """Return a protocol that says what is scored, where it tells of folds in which of them."""
    return f"{protocol}; {EVERY_EPOCH}{FIRST_FOLD if ' folds' in protocol else ''}"


def task_rows(task: str, tables: Iterable[Table], protocol: str) -> list[Row]:
    """Return the epochs that every method needs, and its score after each."""
    metric = find_task(task).metrics[0]
    curves: dict[str, list[dict[str, Any]]] = {
        table.correction: table.rows
        for table in tables
        if table.measure == f"{task}/{PROBE}/{EPOCHS}"
    }
    best = max(entry[metric] or 0.0 for entry in curves[NONE])
    rows = []
    for correction, curve in curves.items():
        needed, note = epochs_until([entry[metric] for entry in curve], best)
        rows.append(
            Row("", LAST, correction, f"{task}/{PROBE}/{NEEDED}", needed, protocol=protocol,
                note=note, extra={WHOLE: True, "unit": EPOCHS})
        )  # fmt: skip
        rows += [
            Row("", f"epoch {entry['epoch']}", correction, deciding(task), entry[metric],
                low=entry["low"], high=entry["high"], protocol=protocol,
                extra={"unit": find_task(task).unit})
            for entry in curve
        ]  # fmt: skip
    return rows


def epochs_until(scores: list[float | None], target: float) -> tuple[float, str]:
    """Return the first epoch whose score is not below a target, and what is odd about it.

    One epoch more than there are stands for never: then no other method needs more.
    """
    for epoch, score in enumerate(scores, start=1):
        if score is not None and score >= target:
            return float(epoch), ""
    return float(len(scores) + 1), f"not reached in {len(scores)} epochs: counted as one more"


NEED = "models (a hub id, a folder or a .gguf file), and a --data folder with BoolQ and RTE"

register(
    Study(
        "R-F4", "Scores after every epoch, with and without dominant directions",
        PAPER + ", figure 4", NEED, figure_4,
        (
            Claim("features without the directions of clusters reach the best score of features "
                  "as they are in fewer epochs",
                  {"measure": f"*/{NEEDED}"}, {"correction": CLUSTER}, "<", {"correction": NONE}),
        ),
        (BERT,), tasks=SETS, scales=CONVERGENCE,
    )
)  # fmt: skip
