"""What a person should take from figures about shorter vectors, in sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoscope.measures.registry import counted
from isoscope.results.reduced import BYTES, DIFFERENCE, KEPT, REDUCE, RESCORED
from isoscope.verbs.measure.search import indexes
from isoscope.verbs.measure.search.consequences import SEARCHES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoscope.results.result import Row
    from isoscope.verbs.measure.search.directions import SearchSpace
    from isoscope.verbs.measure.search.sample import Gathered


ENOUGH = 0.95
"""Share of the neighbours from which on shorter vectors are spoken of as good enough."""


def how_reduced(space: SearchSpace, gathered: Gathered, k: int, seed: int, without: int) -> str:
    """Return the protocol: what is searched, and what codes are."""
    whole = "" if gathered.whole is None else f" of {gathered.whole:,}"
    left = f"; {counted(without, 'vector')} left out, without a direction" if without else ""
    queries = min(SEARCHES, space.rows)
    return (
        f"top {k} by cosine of {queries:,} queries in {space.rows:,}{whole} rows, seed {seed}; "
        f"mean and components of the whole cloud, without labels; pca and whiten are centred, and "
        f"what centring changes is part of what they change; int8: 256 steps "
        f"from smallest to largest of each dimension, queries in float32; binary: signs and "
        f"Hamming distance, filled up to whole bytes, ties in random order; rescored: "
        f"{indexes.RESCORED * k} candidates by the full float32 vectors{left}"
    )


def remarks(rows: Sequence[Row]) -> list[str]:
    """Name the shortest vectors that are good enough, alone and with rescoring."""
    sizes = {(row.correction, row.part): row for row in rows if row.measure == BYTES}
    full = sizes["none", "float32"].value
    assert full is not None
    lines = []
    for measure, how in ((KEPT, "alone"), (RESCORED, "with rescoring by the full vectors")):
        enough = [
            (sizes[row.correction, row.part].value or 0.0, -(row.value or 0.0), row)
            for row in rows
            if row.measure == measure and row.value is not None and row.value >= ENOUGH
        ]
        # Of those that take the same room, the one that keeps most.
        size, _, row = min(enough, key=lambda entry: entry[:2])
        if size >= full:
            lines.append(f"Nothing shorter keeps {ENOUGH} of the neighbours {how}.")
            continue
        lines.append(
            f"The shortest that keep {ENOUGH} of the neighbours {how}: "
            f"{way_words(row)} as {row.part}, {size:,.0f} of "
            f"{full:,.0f} bytes, {row.value:.2f}{score_of(row, rows)}."
        )
    return lines


def way_words(row: Row) -> str:
    """Name a way and its number of components."""
    way, components = row.extra["way"], f"{row.extra['components']:,} components"
    return f"all {components}" if row.correction == "none" else f"{way} to {components}"


def score_of(chosen: Row, rows: Sequence[Row]) -> str:
    """Say what the labelled pairs say of it, where there are any."""
    found = {
        (row.correction, row.part): row
        for row in rows
        if row.measure not in (BYTES, KEPT, RESCORED) and not row.measure.endswith(DIFFERENCE)
    }
    here, full = found.get((chosen.correction, chosen.part)), found.get(("none", "float32"))
    if here is None or full is None or here.value is None or full.value is None:
        return ""
    name = here.measure.removeprefix(REDUCE + "/")
    return f"; {name} {here.value:.3f} instead of {full.value:.3f}"
