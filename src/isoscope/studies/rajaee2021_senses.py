"""Rajaee & Pilehvar (2021): tense and sense of verbs, before and after the directions of clusters.

The paper finds occurrences of a verb in another tense further away than those with another sense,
and after its correction the other way round.
"""

from __future__ import annotations

import gc
from dataclasses import replace
from typing import TYPE_CHECKING

from isoscope.explain.semcor_verbs import (
    Verbs,
    drawn,
    find_semcor,
    read_verbs,
    verb_spaces,
    with_several_senses,
)
from isoscope.explain.senses import (
    I1,
    OTHER_SENSE,
    OTHER_TENSE,
    SAME,
    about,
    left_out_table,
    rows_of,
)
from isoscope.results.measuring import versions
from isoscope.results.result import Result
from isoscope.studies.claims import Claim
from isoscope.studies.last_layer import LAST, about_layer, last_layer_of
from isoscope.studies.rajaee2021 import PAPER
from isoscope.studies.rajaee2021_isotropy import in_turn, log_table
from isoscope.studies.rajaee2021_layers import MODELS
from isoscope.studies.rajaee2021_sts import (
    CLUSTER,
    NONE,
    SEEDS,
    methods_together,
    seed_table,
    settings_of,
)
from isoscope.studies.reference import printed_table
from isoscope.studies.registry import Key, Request, Study, register
from isoscope.studies.scale_tables import TOKENS
from isoscope.studies.several import joined, renamed
from isoscope.studies.subjects import open_subject, provenance_of

if TYPE_CHECKING:
    from isoscope.models.model import Model


COLUMNS = {
    "same_tense_same_meaning": SAME,
    "same_tense_different_meaning": OTHER_SENSE,
    "different_tense_same_meaning": OTHER_TENSE,
    "isotropy": I1,
}
"""Measures by the columns of the printed table."""


def table_4(request: Request) -> Result:
    """Distances of verbs to their occurrences in other tenses and senses, in the last layer."""
    found = drawn(with_several_senses(read_verbs(find_semcor(request.data))), None, request.seed)
    results = []
    for subject in request.subjects:
        model = open_subject(subject, request)
        result = of_one_model(model, subject.name, found, request)
        results.append(replace(renamed(result, subject=subject.name), extra=provenance_of(model)))
        del model
        gc.collect()  # modules of a network refer to each other: it would stay beside the next
    return joined(results)


def of_one_model(model: Model, subject: str, found: Verbs, request: Request) -> Result:
    """Compare verbs as they are and after the correction, the mean of its seeds."""
    settings, whose = settings_of(subject)
    names = settings.cluster_names(request.seed)
    layer = last_layer_of(model)
    verbs, spaces = verb_spaces(
        model, found, layer, names, seed=request.seed, progress=request.progress
    )
    protocol = (
        f"{about(verbs, layer, request.seed)}; {about_layer(layer)}; {CLUSTER} removes "
        f"{settings.components_of_cluster} components of each of {settings.clusters} clusters "
        f"({whose}; mean of the seeds {request.seed} to {request.seed + SEEDS - 1})"
    )
    rows, _ = rows_of(spaces, verbs, LAST, protocol)
    runs = [row for row in rows if row.correction in names]
    of_seeds = [
        log_table(seed_table(I1, runs), runs) if name == I1 else seed_table(name, runs)
        for name in dict.fromkeys(row.measure for row in runs)
    ]
    return Result(
        methods_together(in_turn(rows), "", names),
        [left_out_table(verbs, LAST), *(replace(table, part=LAST) for table in of_seeds)],
        seeds={"seed": request.seed},
        versions=versions(),
    )


def printed_table_4() -> dict[Key, float]:
    """Return the table as printed."""
    return {
        (row["model"].removesuffix("-base"), LAST, row["method"], measure): float(row[column])
        for row in printed_table("rajaee2021_table4_verb_tense")
        for column, measure in COLUMNS.items()
    }


TENSE, SENSE = {"measure": OTHER_TENSE}, {"measure": OTHER_SENSE}

register(
    Study(
        "R-T4", "Tense and sense of verbs, before and after removing the directions of clusters",
        PAPER + ", table 4",
        "models (a hub id, a folder or a .gguf file), and a --data folder with SemCor",
        table_4,
        (
            Claim("as they are, verbs in another tense with the same sense are further away than "
                  "those in the same tense with another sense",
                  {"correction": NONE}, TENSE, ">", SENSE),
            Claim("without the directions of clusters they are nearer",
                  {"correction": CLUSTER}, TENSE, "<", SENSE),
        ),
        MODELS, printed_table_4, scales=TOKENS,
    )
)  # fmt: skip
