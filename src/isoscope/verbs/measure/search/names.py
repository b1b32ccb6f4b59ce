"""Names of rows about neighbours and shorter vectors."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from isoscope.results.result import Row


# Stands before the names of all figures, and holds what else a result says of them.
NEIGHBOURS = "neighbours"

REMARKS, DIFFERENCE = "remarks", "difference"

# Field of a row about a change of a recall: its p-value by Holm's correction.
P_HOLM = "p_holm"

KEPT, HUBNESS = "kept", "hubness"
HNSW, IVF = "hnsw", "ivf"
INT8, INT8_RESCORED = "int8", "int8_rescored"
BINARY, BINARY_RESCORED = "binary", "binary_rescored"

# Behind a code: what it finds of the neighbours of the vectors as they are.
ORIGINAL = "original"


def measure_name(figure: str) -> str:
    """Return what rows call a figure."""
    return f"{NEIGHBOURS}/{figure}"


def rows_about(kind: str, rows: Iterable[Row]) -> list[Row]:
    """Return the rows about neighbours in a sample, or about shorter vectors."""
    return [row for row in rows if row.measure.startswith(f"{kind}/")]


# Stands before the names of all figures, and holds what else a result says of them.
REDUCE = "reduce"

REDUCED_BYTES, REDUCED_KEPT, REDUCED_RESCORED = (
    f"{REDUCE}/{name}" for name in ("bytes", "kept", "kept_rescored")
)


# Queries that indexes and codes are asked: a recall is then known to about a hundredth.
SEARCHES = 2_000

# Lists that are made for a space.
STEPS = 5

# Rows that are searched in, and neighbours that are looked for, unless a user says otherwise.
SAMPLE, K = 10_000, 10
