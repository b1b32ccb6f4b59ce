"""Rajaee & Pilehvar (2021): isotropy of the tokens of sentence sets, before and after corrections.

The corrections are those of the study of sentence similarity, fitted on the same tokens.
"""

from __future__ import annotations

import gc
from dataclasses import replace
from typing import TYPE_CHECKING

from isoscope.corrections.named import named
from isoscope.data.arrays import ArrayCloud
from isoscope.results.measuring import measure, versions
from isoscope.results.result import Result, Row, Table
from isoscope.studies.claims import Claim
from isoscope.studies.last_layer import LAST, last_layer_of, read_last_layer
from isoscope.studies.rajaee2021 import PAPER
from isoscope.studies.rajaee2021_layers import MODELS
from isoscope.studies.rajaee2021_sts import (
    CLUSTER,
    GLOBAL,
    NEED,
    NONE,
    SETS,
    methods_together,
    printed_by_set,
    seed_table,
    settings_of,
)
from isoscope.studies.registry import Key, Request, Study, register
from isoscope.studies.scale_tables import TOKENS
from isoscope.studies.several import joined, renamed
from isoscope.studies.subjects import open_subject, provenance_of
from isoscope.tasks.registry import find_task
from isoscope.tasks.sts import ScoredPairs
from isoscope.tasks.text_tasks import SentenceSimilarity

if TYPE_CHECKING:
    from pathlib import Path

    from isoscope.models.model import Model


I1 = "i1"
MEASURES = ("mean_norm", I1)


def table_6(request: Request) -> Result:
    """I1 of all tokens of every set, as they are and corrected."""
    texts = {name: texts_of(name, request.data) for name in SETS}
    results = []
    for subject in request.subjects:
        model = open_subject(subject, request)
        for name in SETS:
            found = of_one_set(model, subject.name, name, texts[name], request)
            results.append(renamed(found, subject=subject.name, part=LAST))
        results.append(Result([], versions=versions(), extra=provenance_of(model)))
        del model
        gc.collect()  # modules of a network refer to each other: it would stay beside the next
    return joined(results)


def texts_of(name: str, folder: Path | None) -> tuple[str, ...]:
    """Return the distinct texts of the scored pairs of a set."""
    task = find_task(name)
    assert isinstance(task, SentenceSimilarity)
    return ScoredPairs.of(name, task.load(folder)).texts


def of_one_set(
    model: Model, subject: str, task: str, texts: tuple[str, ...], request: Request
) -> Result:
    """Measure the tokens of one set in every space."""
    from isoscope.corrections.apply import CorrectedCloud  # imports scikit-learn
    from isoscope.tasks.token_fits import MOST_TOKENS, TokenFits

    settings, whose = settings_of(subject)
    names = settings.cluster_names(request.seed)
    fits = TokenFits(named(names), seed=request.seed)
    read = read_last_layer(
        model, texts, f"both texts of all pairs of {task}", watch=fits.add,
        progress=request.progress,
    )  # fmt: skip
    cloud = ArrayCloud(read.tokens, task)
    found = measure(cloud, MEASURES, [NONE, settings.global_name()], intervals=False)
    rows = list(found.rows)
    for fitted in fits.fit(last_layer_of(model)):
        corrected = measure(
            CorrectedCloud(cloud, fitted.transformer),  # type: ignore[arg-type]
            MEASURES, NONE, intervals=False,
        )  # fmt: skip
        rows += [replace(row, correction=fitted.name) for row in corrected.rows]
    protocol = (
        f"{read.protocol}; corrections fitted on the same tokens, {CLUSTER} on at most "
        f"{MOST_TOKENS:,} of them, drawn at random; {settings.describe(whose, request.seed)}"
    )
    rows = [replace(row, measure=f"{task}/{row.measure}", protocol=protocol) for row in rows]
    runs = [row for row in rows if row.correction in names]
    tables: list[Table] = [log_table(seed_table(f"{task}/{I1}", runs), runs)]
    together = methods_together(in_turn(rows), settings.global_name(), names)
    return replace(found, rows=together, tables=tables, verdicts=[])


def in_turn(rows: list[Row]) -> list[Row]:
    """Sort rows by measure, so that the corrections of one stand together."""
    order = list(dict.fromkeys(row.measure for row in rows))
    return sorted(rows, key=lambda row: order.index(row.measure))


def log_table(table: Table, runs: list[Row]) -> Table:
    """Add the logarithm of every run, as a value may be below the smallest double."""
    logs = [row.log10 for row in runs if row.measure == table.measure]
    both = zip(table.rows, logs, strict=True)
    return replace(table, rows=[{**entry, "log10": log} for entry, log in both])


def printed_table_6() -> dict[Key, float]:
    """Return the table as printed."""
    return printed_by_set("rajaee2021_table6_sts_isotropy", I1)


OF_SETS = {"measure": f"*/{I1}"}

register(
    Study(
        "R-T6", "Isotropy of the tokens of sentence sets, before and after corrections",
        PAPER + ", table 6", NEED, table_6,
        (
            Claim("removing the directions of clusters leaves a higher I1 than removing global "
                  "ones, on every set",
                  OF_SETS, {"correction": CLUSTER}, ">", {"correction": GLOBAL}),
            Claim("removing global directions raises I1 on every set",
                  OF_SETS, {"correction": GLOBAL}, ">", {"correction": NONE}),
            Claim("without the directions of clusters I1 is at least 0.47 on every set",
                  OF_SETS, {"correction": CLUSTER}, ">=", 0.47),
        ),
        MODELS, printed_table_6, scales=TOKENS,
    )
)  # fmt: skip
