"""Norms, positions and checkpoints of a model as rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from isoscope.measures.layer_norm import FAR, deviations
from isoscope.measures.registry import Value
from isoscope.measures.views import NONE
from isoscope.models.structure.norm_layers import norm_name, norm_weights
from isoscope.results.fields import KIND, MODEL, PARTS, REVISION, STEP
from isoscope.results.result import Result, Row, Table, versions

if TYPE_CHECKING:
    from isoscope.models.checkpoints import Checkpoint
    from isoscope.models.model import Model
    from isoscope.models.structure.parts import PositionTable


FIRST_POSITIONS = 8


def position_extremes(model: str, part: str, matrix: NDArray[Any], table: PositionTable) -> Table:
    """List the entries of each position that are far from the others of the same row.

    The first positions are listed one by one, then those where other dimensions stand out than in
    the row before.
    """
    wide = matrix.astype(np.float64)
    rows = []
    before: list[int] = []
    for number, row in enumerate(deviations(wide)):
        far = [int(k) for k in np.flatnonzero(np.abs(row) > FAR)]
        if number < FIRST_POSITIONS or far != before:
            rows.append(
                {
                    "row": number,
                    "position": number - table.first_row if number >= table.first_row else None,
                    "outliers": far,
                    "minimum_at": int(row.argmin()),
                    "minimum": float(wide[number].min()),
                    "maximum_at": int(row.argmax()),
                    "maximum": float(wide[number].max()),
                }
            )
        before = far
    note = (
        f"entries more than {FAR:g} deviations from the mean of their row; rows as stored, of "
        f"which {table.first_row} come before the first position"
    )
    return Table(model, part, NONE, "position_extremes", rows, note)


def norm_result(model: Model) -> Result:
    """Measure gain and bias of every norm, in the order in which they compute."""
    rows, outliers = [], []
    for norm in model.parts.norms:
        weights = norm_weights(model, norm)
        if weights is None:
            continue
        part, far = norm_name(norm), weights.outliers()
        values = {
            **weights.values(),
            "outliers_3sd": Value(float(len(far)), rows=len(weights.gain)),
        }
        rows += [
            Row(
                model.name, part, NONE, name, value.value,
                n=value.rows, protocol=f"{norm.kind}, {norm.path}", note=value.note,
                extra={PARTS: "norm"},
            )
            for name, value in values.items()
        ]  # fmt: skip
        outliers += [{"norm": part, **row} for row in far]
    note = "entries of gain or bias more than 3 deviations from their mean (Kovaleva et al. 2021)"
    return Result(rows, [Table(model.name, "", NONE, "norm_outliers", outliers, note)])


def norm_ranks(model: Model, dimensions: Sequence[int]) -> Table:
    """Rank some dimensions in every norm's gain and bias: 1 is the largest."""
    rows = []
    for norm in model.parts.norms:
        weights = norm_weights(model, norm)
        if weights is None:
            continue
        for name, ranks in weights.ranks([k for k in dimensions if k < len(weights.gain)]).items():
            rows += [
                {"norm": norm_name(norm), "of": name, "dimension": k, "rank": rank}
                for k, rank in ranks.items()
            ]
    return Table(model.name, "", NONE, "outlier_ranks_in_norms", rows, "1 is the largest |value|")


def model_header(model: Model, kind: str) -> dict[str, Any]:
    """Return the fields of a result of some kind that say which model it is about."""
    libraries = {name: model.provenance[name] for name in ("transformers", "torch")}
    return {
        "versions": versions() | libraries,
        "extra": {KIND: kind, "models": {model.name: model.provenance}},
    }


def fields_of(checkpoint: Checkpoint) -> dict[str, Any]:
    """Return what rows, tables and verdicts say of their checkpoint."""
    return {MODEL: checkpoint.model, REVISION: checkpoint.revision, STEP: checkpoint.step}
