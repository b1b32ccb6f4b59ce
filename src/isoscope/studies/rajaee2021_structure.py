"""Rajaee & Pilehvar (2021): punctuation and stop words gather by the structure of their sentences.

Of the nearest neighbours of ``.``, ``,``, *the* and *of*, the share from sentences of the same
structure falls when dominant directions of clusters are removed. The paper's sentences come from
another data set; these are made from frames.
"""

from __future__ import annotations

import gc
from dataclasses import replace
from typing import TYPE_CHECKING

from isoscope.explain.group_tokens import read_sentences
from isoscope.explain.sentence_groups import made_groups
from isoscope.explain.structure import SHARE, WORDS, structure_rows
from isoscope.results.measuring import versions
from isoscope.results.result import Result
from isoscope.studies.claims import Claim
from isoscope.studies.last_layer import about_layer, last_layer_of
from isoscope.studies.rajaee2021 import PAPER
from isoscope.studies.rajaee2021_layers import MODELS
from isoscope.studies.rajaee2021_sts import (
    CLUSTER,
    NONE,
    methods_together,
    seed_table,
    settings_of,
)
from isoscope.studies.registry import Request, Study, register
from isoscope.studies.scale_tables import TOKENS
from isoscope.studies.several import joined, renamed
from isoscope.studies.subjects import open_subject, provenance_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoscope.explain.group_tokens import ReadGroups
    from isoscope.results.result import Row, Table


def figure_3(request: Request) -> Result:
    """Share of neighbours of the same structure in the last layer, before and after."""
    groups = made_groups(request.seed)
    results = []
    for subject in request.subjects:
        model = open_subject(subject, request)
        layer = last_layer_of(model)
        read = read_sentences(
            model, groups, f"made from frames, seed {request.seed}", layer, request.progress
        )
        provenance = provenance_of(model)
        del model
        gc.collect()  # modules of a network refer to each other: it would stay beside the next
        settings, whose = settings_of(subject.name)
        names = settings.cluster_names(request.seed)
        rows, tables = before_and_after(read, names, request.seed)
        about = (
            f"{about_layer(layer)}; {CLUSTER} removes {settings.components_of_cluster} components "
            f"of each of {settings.clusters} clusters ({whose}; mean of the seeds {request.seed} "
            f"to {request.seed + len(names) - 1})"
        )
        rows = [replace(row, protocol=f"{row.protocol}; {about}") for row in rows]
        found = Result(rows, tables, versions=versions(), extra=provenance)
        results.append(renamed(found, subject=subject.name))
    return joined(results)


def before_and_after(
    read: ReadGroups, names: Sequence[str], seed: int
) -> tuple[list[Row], list[Table]]:
    """Return rows of every word, with the mean in the place of the seeds, and what each gave."""
    found = structure_rows(read, names, seed)
    rows: list[Row] = []
    tables = []
    for word in WORDS:
        own = [row for row in found if row.part == word]
        rows += methods_together(own, "", names)
        runs = seed_table(SHARE, [row for row in own if row.correction in names])
        tables.append(replace(runs, part=word))
    return rows, tables


register(
    Study(
        "R-F3", "Neighbours of the same sentence structure, before and after removing directions",
        PAPER + ", figure 3", "models (a hub id, a folder or a .gguf file)", figure_3,
        (
            Claim("the share of neighbours of the same structure falls for . , the of",
                  {"measure": SHARE}, {"correction": CLUSTER}, "<", {"correction": NONE}),
        ),
        MODELS, scales=TOKENS,
    )
)  # fmt: skip
