"""Luo (2021): where outlier dimensions come from: positional embeddings, gains and biases."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.errors import UsageError
from isoscope.measures.layer_norm import FAR, deviations
from isoscope.models.structure.norm_layers import norm_weights
from isoscope.results.result import Result, Row, Table
from isoscope.verbs.study.inputs import SST_2, per_model
from isoscope.verbs.study.judgement.claims import Claim
from isoscope.verbs.study.judgement.evidence import EXACT
from isoscope.verbs.study.papers import luo2021
from isoscope.verbs.study.papers.luo2021 import BERT, MODELS, ROBERTA
from isoscope.verbs.study.registry import Request, add_study
from isoscope.verbs.study.text import WHOLE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from isoscope.models.model import Model
    from isoscope.typing import Matrix


# Share of vectors in which a dimension must be an extreme to be ranked in the norms.
OFTEN = 0.1

# Row of the fourth positional embedding, counted as the table is stored.
FOURTH = 3

SAME = 0.99

# A share of rows that is below this is zero: no table of positions has a million rows.
LESS_THAN_ONE_ROW = 1e-6
FIRST_OUTLIERS = "outliers_of_the_first_position"
ELSEWHERE = "same_outliers_in_other_positions"
SAME_MAXIMUM = "same_maximum"


@per_model
def figure_3_5(_request: Request, model: Model, _: str) -> Result:
    """Entries that stand out in positional embeddings, over all rows of every table.

    Those of an encoder and of a decoder are looked at apart.
    """
    rows: list[Row] = []
    tables: list[Table] = []
    positions = model.parts.positions
    for table in positions.tables:
        side = table.path.split(".")[0] if len(positions.tables) > 1 else ""
        matrix = np.asarray(model.tensor(table.path), dtype=np.float64)
        rows += position_rows("", side, matrix, table.first_row)
        tables.append(Table("", side, "none", "positions", extremes_of(matrix)))
    if not positions.tables:
        why = f"its positions are {', '.join(positions.kinds)}: there is no table of them"
        rows += [
            Row("", "", "none", measure, None, note=why)
            for measure in (FIRST_OUTLIERS, ELSEWHERE, f"{SAME_MAXIMUM}/from_fourth_row")
        ]
    return Result(rows, tables)


def far_entries(matrix: Matrix) -> NDArray[np.bool_]:
    """Tell which entries stand out in their row, by the rule of ``isoscope profile``."""
    return np.asarray(np.abs(deviations(matrix)) > FAR)


def position_rows(subject: str, part: str, matrix: Matrix, first: int) -> list[Row]:
    """Count the outliers of the first position, find them elsewhere, and follow the maximum."""
    far = far_entries(matrix)
    dimensions = np.flatnonzero(far[first])
    others = np.delete(far, first, axis=0)[:, dimensions].any(axis=1)
    rule = f"{len(matrix):,} rows, of which {first} come before the first position"
    known = Row(subject, part, "none", "", None, n=len(matrix), protocol=rule, extra={EXACT: True})
    listed = ", ".join(map(str, dimensions))
    rows = [
        replace(
            known, measure=FIRST_OUTLIERS, value=float(len(dimensions)),
            extra={WHOLE: True, EXACT: True},
            note=f"stand out: {listed}" if listed else "none stands out",
        ),
        replace(
            known, measure=ELSEWHERE, value=float(others.mean()) if len(dimensions) else None,
            note="share of the other rows" if listed else "the first position has no outliers",
        ),
    ]  # fmt: skip
    starts = {"from_fourth_row": FOURTH, "from_fourth_position": first + FOURTH}
    for name, start in starts.items():
        rows.append(replace(known, **same_maximum(matrix, start), measure=f"{SAME_MAXIMUM}/{name}"))
    row = first_row_with_same_maximum(matrix)
    rows.append(
        replace(
            known, measure=f"{SAME_MAXIMUM}/first_row", value=None if row is None else float(row),
            note=f"row from which on one dimension is the maximum in at least {SAME:.0%}",
            extra={WHOLE: True, EXACT: True},
        )
    )  # fmt: skip
    return rows


def same_maximum(matrix: Matrix, start: int) -> dict[str, Any]:
    """Return in which share of the rows from one on the commonest maximum is the maximum."""
    where = matrix[start:].argmax(axis=1)
    if not len(where):
        return {"value": None, "note": f"there is no row {start}"}
    counts = np.bincount(where)
    most = int(counts.argmax())
    return {
        "value": float(counts[most] / len(where)),
        "n": len(where),
        "note": f"from row {start} on",
        "extra": {"dimension": most, EXACT: True},
    }


def first_row_with_same_maximum(matrix: Matrix) -> int | None:
    """Return the first row from which on the same dimension is nearly always the maximum."""
    # One or two rows agree by chance: at least half of the table has to be left.
    for start in range(len(matrix) // 2 + 1):
        found = same_maximum(matrix, start)["value"]
        if found is not None and found >= SAME:
            return start
    return None


def extremes_of(matrix: Matrix) -> list[dict[str, Any]]:
    """List minimum, maximum and outliers of every row."""
    far = far_entries(matrix)
    return [
        {
            "row": k,
            "minimum_at": int(row.argmin()),
            "minimum": float(row.min()),
            "maximum_at": int(row.argmax()),
            "maximum": float(row.max()),
            "outliers": np.flatnonzero(far[k]).tolist(),
        }
        for k, row in enumerate(matrix)
    ]


@per_model
def layer_norms(request: Request, model: Model, name: str) -> Result:
    """Rank outlier dimensions in the gain and bias of every LayerNorm."""
    return Result(rank_rows(model, *dimensions_of(request, name, model)))


def dimensions_of(request: Request, subject: str, model: Model) -> tuple[list[int], str]:
    """Return the dimensions to rank: found over a text, or those that the paper names."""
    if request.text is not None:
        read = luo2021.read_some(request, model)
        found = luo2021.outlier_dimensions(read, OFTEN)
        return found, (
            f"dimensions that are the minimum or the maximum in at least {OFTEN:.0%} of the "
            f"vectors of all non-input layers: {read.protocol}"
        )
    named = luo2021.printed_dimensions(subject, model.parts.norms[0].width or 0)
    if not named:
        raise UsageError(
            f"L-LN: the paper names no outlier dimensions for {subject}; find them with --text"
        )
    return named, "dimensions that the paper names"


def rank_rows(model: Model, dimensions: list[int], protocol: str) -> list[Row]:
    """Rank dimensions in each norm; 1 is the largest value."""
    rows = []
    seen: dict[str, int] = {}
    for norm in model.parts.norms:
        weights = norm_weights(model, norm)
        if weights is None:
            continue
        seen[norm.where] = seen.get(norm.where, 0) + 1
        part, name = norm.where.replace("block", "layer"), ordinal(seen[norm.where])
        by_size = weights.ranks(dimensions)
        for of, vector in (("gain", weights.gain), ("bias", weights.bias)):
            if vector is None:
                continue
            for k in dimensions:
                rank = int((vector > vector[k]).sum()) + 1
                rows.append(
                    Row(
                        "", part, "none", f"rank/{name} {of}/{k}", float(rank),
                        n=len(vector), protocol=protocol,
                        extra={
                            "norm": norm.path,
                            "rank_by_size": by_size[of][k],
                            "entry": float(vector[k]),
                            WHOLE: True,
                            EXACT: True,
                        },
                    )
                )  # fmt: skip
    return rows


def ordinal(number: int) -> str:
    """Return which LayerNorm of its layer one is."""
    return {1: "first", 2: "second"}.get(number, f"{number}th")


def layers(first: int, last: int) -> str:
    """Return a pattern of layers."""
    return "|".join(f"layer {number}" for number in range(first, last + 1))


def ranked(subject: str, which: str, part: str) -> dict[str, str]:
    """Return the rows of one dimension's rank in one kind of norm."""
    return {"subject": subject, "measure": f"rank/{which}", "part": part}


add_study(
    "L-F3.5", figure_3_5,
    Claim("BERT's first positional embedding has outliers",
          {"measure": FIRST_OUTLIERS, "subject": BERT}, {}, ">=", 1.0),
    Claim("the outliers of BERT's first positional embedding are in no other one",
          {"measure": ELSEWHERE, "subject": BERT}, {}, "<", LESS_THAN_ONE_ROW),
    Claim("one dimension is the maximum in at least 99 % of RoBERTa's positional "
          "embeddings from the fourth on",
          {"measure": f"{SAME_MAXIMUM}/from_fourth_row", "subject": ROBERTA}, {},
          ">=", 0.99),
    models=MODELS[:2],
    printed=lambda: {("RoBERTa-base", "", "none", f"{SAME_MAXIMUM}/from_fourth_row"): 0.998,
             ("BERT-base", "", "none", FIRST_OUTLIERS): 2.0},
)  # fmt: skip
add_study(
    "L-LN", layer_norms,
    Claim("BERT's 557 is among the 6 largest gains of the first LayerNorm in layers 1 to 10",
          ranked(BERT, "first gain/557", layers(1, 10)), {}, "<=", 6.0),
    Claim("BERT's 557 is the largest gain of the first LayerNorm in layers 1 to 3",
          ranked(BERT, "first gain/557", layers(1, 3)), {}, "<=", 1.0),
    Claim("RoBERTa's 588 is among the 2 largest biases of the first LayerNorm in all layers",
          ranked(ROBERTA, "first bias/588", "layer *"), {}, "<=", 2.0),
    Claim("RoBERTa's 588 is the largest bias of the first LayerNorm in layers 1 to 5",
          ranked(ROBERTA, "first bias/588", layers(1, 5)), {}, "<=", 1.0),
    Claim("RoBERTa's 77 is among the 7 largest gains of the second LayerNorm in layers 2 to 10",
          ranked(ROBERTA, "second gain/77", layers(2, 10)), {}, "<=", 7.0),
    models=MODELS, text=replace(SST_2, required=False, find=None),
)  # fmt: skip
