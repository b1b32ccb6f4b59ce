"""What the weights of a model say without a text: embeddings, positions, norms."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from isoscope.data.arrays import ArrayCloud
from isoscope.data.base import Cloud
from isoscope.measures.views import NONE
from isoscope.models.layer_names import EMBEDDING_MATRIX, POSITIONS, UNEMBEDDING_MATRIX
from isoscope.models.weights.embeddings import unused_tokens
from isoscope.progress import Progress
from isoscope.results.fields import PARTS, PROFILE
from isoscope.results.merge import joined, renamed
from isoscope.results.model_rows import model_header, norm_result, position_extremes
from isoscope.results.result import Result, Table
from isoscope.verbs.measure.api import measure
from isoscope.verbs.profile.verdict import weights_verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from isoscope.models.model import Model
    from isoscope.verbs.profile.profile_options import ProfileOptions


def weights_profile(
    model: Model, options: ProfileOptions, progress: Progress | None = None
) -> Result:
    """Measure the embeddings, positions and norms of one model, reading these tensors alone."""
    measured = partial(measured_matrix, model, options, progress)
    embeddings = embedding_results(model, measured, padding_rows=options.padding_rows)
    found = joined([*embeddings, *position_results(model, measured), norm_result(model)])
    return replace(
        found,
        tables=[parts_table(model), *found.tables],
        verdicts=[weights_verdict(model, found)],
        seeds={"seed": options.seed},
        **model_header(model, PROFILE),
    )


def embedding_results(
    model: Model, measured: Callable[..., Result], *, padding_rows: bool
) -> Iterator[Result]:
    """Measure the input embedding, and the unembedding where that is another matrix."""
    for which, part in (("input", EMBEDDING_MATRIX), ("output", UNEMBEDDING_MATRIX)):
        if which == "output" and (model.parts.unembedding is None or model.tied):
            continue
        cloud = model.embedding_cloud(which, padding_rows=padding_rows)
        same = "the file holds it twice" if model.stored_twice else "both are one tensor"
        tied = f"; also the unembedding: {same}" if model.tied else ""
        left = f"; {cloud.left_out:,} padding rows out" if cloud.left_out else ""
        how = f"{cloud.rows:,} rows{left}{tied}"
        found = measured(part, cloud, how, cloud.note or "")
        unused = unused_tokens(cloud)
        if unused:
            note = f"{len(unused):,} by name"
            found.tables.append(Table(model.name, part, NONE, "unused_tokens", unused, note))
        left_out = {f"padding rows of the {part}": cloud.left_out} if cloud.left_out else {}
        yield replace(found, left_out=left_out)


def measured_matrix(
    model: Model,
    options: ProfileOptions,
    progress: Progress | None,
    part: str,
    cloud: Cloud,
    protocol: str,
    note: str = "",
) -> Result:
    """Measure all rows of a matrix, as a part of a model."""
    found = measure(
        cloud, options.chosen[0], options.corrections,
        intervals=False, seed=options.seed, progress=progress,
    )  # fmt: skip
    found = renamed(found, subject=model.name, part=part)
    rows = [
        replace(
            row,
            protocol=f"{protocol}; {row.protocol}",
            note="; ".join(filter(None, (row.note, note))),
            extra={**row.extra, PARTS: "matrix"},
        )
        for row in found.rows
    ]
    return Result(rows, found.tables)


def position_results(model: Model, measured: Callable[..., Result]) -> Iterator[Result]:
    """Measure every table of positions, and find the entries that stand out in it."""
    tables = model.parts.positions.tables
    for table in tables:
        matrix = np.asarray(model.tensor(table.path))
        side = table.path.split(".")[0] if len(tables) > 1 else ""
        part = f"{side} {POSITIONS}".strip()
        cloud = ArrayCloud(matrix, part)
        cloud.population = True
        how = f"all {len(matrix):,} rows"
        found = measured(part, cloud, how)
        extremes = position_extremes(model.name, part, matrix, table)
        yield Result(found.rows, [*found.tables, extremes])


def parts_table(model: Model) -> Table:
    """List what the model is made of."""
    parts = model.parts
    entries = [("input embedding", parts.input_embedding)]
    if parts.unembedding is not None:
        entries.append(("unembedding", parts.unembedding))
    entries += [(POSITIONS, table.path) for table in parts.positions.tables]
    rows = [
        {"part": name, "tensor": path, "shape": list(model.weights.shape(path))}
        for name, path in entries
    ]
    tied = {None: "no unembedding", True: "tied", False: "untied"}[model.tied]
    blocks = "; ".join(f"{stack.name} {len(stack.blocks)} blocks".strip() for stack in parts.stacks)
    note = (
        f"{blocks}; positions: {', '.join(parts.positions.kinds)}; {tied}; {len(parts.norms)} norms"
    )
    return Table(model.name, "", NONE, "parts", rows, note)
