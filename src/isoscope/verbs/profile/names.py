"""Names of the parts of a model that rows of a profile are about."""

from __future__ import annotations

from collections.abc import Sequence

from isoscope.models.layer_names import EMBEDDING_MATRIX, FINAL_NORM, SUFFIX
from isoscope.results.fields import DUPLICATE_OF, PARTS
from isoscope.results.result import Row
from isoscope.results.tables import grouped

LAYER, MATRIX, NORM = "layer", "matrix", "norm"
# Roles of the sentences about a whole model: where the mean cosine is low and high, dimensions that
# stand out, massive tokens, where words differ most, the vectors that come out, why the sentence
# about these names other dimensions, and weights.
COSINES, OUTLIERS, MASSIVE_TOKENS, CONTEXT, LAST_LAYER, OTHER_OUTLIERS, WEIGHTS = (
    "mean cosine", "outliers", "massive tokens", "context", "last layer", "other outliers",
    "weights",
)  # fmt: skip

# What the names of layers end in that were read with and without massive tokens.
OTHER_TOKENS = tuple(SUFFIX.values())


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
        names = dict.fromkeys(row.part for row in of_kind)
        parts = [part for part in names if not part.endswith(OTHER_TOKENS)]
        chosen = []
        if kind == MATRIX:
            # The name of the unembedding matrix ends in the same words.
            chosen = [part for part in parts if part.endswith(EMBEDDING_MATRIX)]
        elif kind == NORM:
            chosen = [part for part in parts if part.endswith(FINAL_NORM)][-1:]
        found += [(kind, part) for part in chosen or parts[-1:]]
    return found
