"""Names of the parts of a model that rows of a profile are about."""

from __future__ import annotations

from collections.abc import Sequence

from isoscope.results.fields import DUPLICATE_OF, PARTS
from isoscope.results.result import Row
from isoscope.results.tables import grouped

LAYER, MATRIX, NORM = "layer", "matrix", "norm"
TOKEN_MATRIX, FINAL_NORM = "embedding matrix", "final norm"
OTHER_TOKENS = (", ordinary tokens", ", all tokens")


def part_kind(row: Row) -> str:
    """Return what kind of part a row is about."""
    return str(row.extra.get(PARTS, LAYER))


def telling_parts(rows: Sequence[Row]) -> list[tuple[str, str]]:
    """Return kind and name of the parts to follow.

    Embedding and unembedding matrix, the final norm's weights (the last norm's where there is no
    final one), and the last layer over a text.
    """
    own = [row for row in rows if DUPLICATE_OF not in row.extra]
    found: list[tuple[str, str]] = []
    for kind, of_kind in grouped(own, part_kind).items():
        parts = [part for part in dict.fromkeys(row.part for row in of_kind)
                 if not part.endswith(OTHER_TOKENS)]  # fmt: skip
        if kind == MATRIX:
            chosen = [part for part in parts if part.endswith(TOKEN_MATRIX)]
        elif kind == NORM:
            chosen = [part for part in parts if part.endswith(FINAL_NORM)][-1:]
        else:
            chosen = []
        found += [(kind, part) for part in chosen or parts[-1:]]
    return found
