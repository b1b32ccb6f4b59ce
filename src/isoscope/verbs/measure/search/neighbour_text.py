"""What a person should take from figures about neighbours, in sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoscope.measures.views import NONE
from isoscope.results.neighboured import (
    BINARY,
    BINARY_RESCORED,
    DIFFERENCE,
    HNSW,
    INT8,
    IVF,
    KEPT,
    measure_name,
)
from isoscope.verbs.measure.search.consequences import SEARCHES
from isoscope.verbs.measure.search.indexes import (
    BUILD_EFFORT,
    LINKS,
    RESCORED,
    SEARCH_EFFORT,
    ivf_effort,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoscope.results.result import Row
    from isoscope.verbs.measure.search.directions import SearchSpace
    from isoscope.verbs.measure.search.sample import Gathered


WORTHWHILE = 0.01
"""Changes of a recall that are smaller are not worth a word."""

SAME_NEIGHBOURS = 0.995
"""From this share on, users would not notice that neighbours change."""

TOLD = {
    HNSW: "HNSW",
    IVF: "IVF",
    INT8: "int8 codes",
    BINARY: "binary codes",
    BINARY_RESCORED: "rescored binary codes",
}
"""Searches whose recall is spoken of."""

LABELS = (
    "No label was used: which of two neighbours is the better one, only labelled pairs can tell "
    "(isoscope advise --pairs)."
)


def how_searched(space: SearchSpace, gathered: Gathered, k: int, seed: int, *, own: bool) -> str:
    """Return the protocol: what is searched, by what, with which effort."""
    cells, visited = ivf_effort(space.rows)
    whole = "" if gathered.whole is None else f" of {gathered.whole:,}"
    asked = len(space.itself)
    queries = "each looking for the others" if own else f"{asked:,} queries of their own"
    some = min(SEARCHES, asked)
    fewer = f"; indexes and codes for {some:,} of the queries" if some < asked else ""
    return (
        f"top {k} by cosine, exact, in {space.rows:,}{whole} rows, seed {seed}, {queries}; "
        f"corrections fitted on the whole cloud{fewer}; "
        f"HNSW M {LINKS}, efConstruction {BUILD_EFFORT}, efSearch {max(SEARCH_EFFORT, k + 1)}; "
        f"IVF {cells} cells, {visited} visited; int8: 256 steps from smallest to largest of each "
        f"dimension, queries in float32; binary: signs and Hamming distance, ties in random order; "
        f"rescored: {RESCORED * k} candidates by their float32 vectors"
    )


def remarks(rows: Sequence[Row], k: int) -> list[str]:
    """Return a sentence for every correction, and what none of them can say."""
    values = {(row.correction, row.measure): row for row in rows}
    corrections = [name for name in dict.fromkeys(row.correction for row in rows) if name != NONE]
    told = [sentence(name, values, k) for name in corrections]
    return [*told, LABELS] if told else []


def sentence(correction: str, rows: dict[tuple[str, str], Row], k: int) -> str:
    """Say what one correction changes, if anything, and what most first."""
    raised: list[tuple[float, str]] = []
    lowered: list[tuple[float, str]] = []
    for figure, words in TOLD.items():
        apart = rows[correction, measure_name(f"{figure}/{DIFFERENCE}")]
        if not is_change(apart):
            continue
        before, after = (rows[name, measure_name(figure)].value for name in (NONE, correction))
        assert before is not None
        assert after is not None
        assert apart.value is not None
        change = (-abs(apart.value), f"{words} from {before:.2f} to {after:.2f}")
        (raised if apart.value > 0 else lowered).append(change)
    parts = [
        f"{verb} the recall of {listing([words for _, words in sorted(changes)])}"
        for verb, changes in (("raises", raised), ("lowers", lowered))
        if changes
    ]
    kept = rows[correction, measure_name(KEPT)].value
    assert kept is not None
    share = f"{kept:.2f} of the {k} nearest neighbours" if kept < 0.995 else "the neighbours"
    if not parts:
        nothing = "nothing changes" if kept >= SAME_NEIGHBOURS else "only the neighbours change"
        return (
            f"{correction} moves no recall by {WORTHWHILE} or more, and keeps {share}: for this "
            f"search {nothing}."
        )
    return f"{correction} {', but '.join(parts)}, and keeps {share}."


def is_change(apart: Row) -> bool:
    """Whether a difference is worth a word and no chance of the queries drawn."""
    if apart.value is None or abs(apart.value) < WORTHWHILE:
        return False
    return apart.low is None or apart.high is None or not apart.low <= 0 <= apart.high


def listing(words: Sequence[str]) -> str:
    """Join words with commas, and the last with "and"."""
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1])))
