"""Tables and sentences about neighbours and about shorter vectors, for people.

Neighbours: figures down, corrections across. Shorter vectors: every way of making them down, what
it costs and keeps across. Sentences say what a person should take from either.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoscope.measures.views import NONE
from isoscope.results.numbers import cell, with_interval
from isoscope.results.tables import Grid, grouped, grouped_notes, pivot
from isoscope.verbs.measure.search import indexes, names
from isoscope.wording import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoscope.results.result import Result, Row
    from isoscope.verbs.measure.search.directions import SearchSpace
    from isoscope.verbs.measure.search.sample import SearchOptions, SearchSample


AGAINST = " against none"

# Every figure, in the order in which they are shown.
WORDS = {
    names.KEPT: "neighbours kept",
    names.HUBNESS: "hubness",
    names.HNSW: "recall of HNSW",
    names.IVF: "recall of IVF",
    names.INT8: "recall of int8 codes",
    names.INT8_RESCORED: "… rescored",
    names.BINARY: "recall of binary codes",
    names.BINARY_RESCORED: "… rescored",
    f"{names.INT8}/{names.ORIGINAL}": f"int8{AGAINST}",
    f"{names.INT8_RESCORED}/{names.ORIGINAL}": "… rescored",
    f"{names.BINARY}/{names.ORIGINAL}": f"binary{AGAINST}",
    f"{names.BINARY_RESCORED}/{names.ORIGINAL}": "… rescored",
}

RECALL_LEGEND = (
    "recall: share of the exact neighbours in the same space; against none: of those of the "
    "vectors as they are, rescored with these"
)
NEIGHBOUR_LEGEND = (
    RECALL_LEGEND,
    "±: the longer side of the 95 % interval, over queries of this sample",
)


def neighbour_grid(rows: list[Row], remarks: list[str]) -> Grid:
    """Arrange the figures of one cloud; differences are in JSON, and behind the remarks."""
    header, body = pivot(
        rows, "measure", "correction", figure_cell, corner="figure",
        lines={names.measure_name(figure): words for figure, words in WORDS.items()},
    )  # fmt: skip
    shown = [row for row in rows if not row.measure.endswith(names.DIFFERENCE)]
    notes = [f"{names.NEIGHBOURS}: {rows[0].protocol}", *NEIGHBOUR_LEGEND]
    told = [line.partition(": ")[2] for line in grouped_notes(shown)]
    title = f"{rows[0].subject}: what a search would notice"
    return Grid(title, header, body, [*notes, *told], remarks)


def figure_cell(row: Row | None) -> str:
    """Return a figure with the longer side of its interval."""
    if row is None:
        return ""
    if row.value is None:
        return "undefined"
    if "unit" not in row.extra:
        return cell(row)
    reach = 0.0
    if row.low is not None and row.high is not None:
        reach = max(row.high - row.value, row.value - row.low)
    return f"{row.value:.3f}" + (f" ±{reach:.3f}" if reach else "")


REDUCED_DIFFERENCE = "/difference"
FIGURES = {
    names.REDUCED_BYTES: "bytes",
    names.REDUCED_KEPT: "neighbours kept",
    names.REDUCED_RESCORED: "… rescored",
}

REDUCTION_LEGEND = (
    "neighbours kept: of the exact ones of the vectors as they are; rescored: by these; "
    "±: the longer side of the 95 % interval, over queries of this sample"
)


def reduction_grid(rows: list[Row], remarks: list[str]) -> Grid:
    """Arrange the figures of one cloud; differences of scores are in JSON."""
    shown = [row for row in rows if not row.measure.endswith(REDUCED_DIFFERENCE)]
    labels = {
        vectors_of(row): f"{row.extra['way']} {row.extra['components']}, {row.part}"
        for row in shown
    }
    titles = {row.measure: row.measure.removeprefix(names.REDUCE + "/") for row in shown}
    header, body = pivot(
        shown, vectors_of, "measure", reduction_cell, corner="vectors", lines=labels,
        columns={**FIGURES, **{name: titles[name] for name in titles if name not in FIGURES}},
    )  # fmt: skip
    notes = [f"{names.REDUCE}: {rows[0].protocol}", REDUCTION_LEGEND]
    notes += list(dict.fromkeys(row.note for row in shown if row.note))
    return Grid(f"{rows[0].subject}: shorter vectors", header, body, notes, remarks)


def vectors_of(row: Row) -> tuple[str, str]:
    """Return what vectors a figure is of: the way of shortening, and the code."""
    return row.correction, row.part


def reduction_cell(row: Row | None) -> str:
    """Return bytes, a share, or the score of labelled pairs."""
    if row is not None and row.measure == names.REDUCED_BYTES:
        return f"{row.value:,.0f}"
    return figure_cell(row) if row is not None and row.measure in FIGURES else cell(row)


SEARCH_GRIDS = {names.NEIGHBOURS: neighbour_grid, names.REDUCE: reduction_grid}


def search_grids(result: Result) -> list[Grid]:
    """Arrange what corrections do to neighbours, then shorter vectors, a grid a cloud."""
    found = []
    for kind, grid_of in SEARCH_GRIDS.items():
        remarks = [str(line) for line in result.extra.get(kind, {}).get(names.REMARKS, [])]
        clouds = grouped(names.rows_about(kind, result.rows), lambda row: row.subject)
        found += [grid_of(rows, remarks) for rows in clouds.values()]
    return found


# Changes of a recall that are smaller are not worth a word.
WORTHWHILE = 0.01

# Level of the tests, by Holm's correction over all recalls and corrections that are spoken of.
ALPHA = 0.05

# Indexes that are built by chance, and the change of a recall that is no other build: the recall of
# IVF differs by 0.002 to 0.006 (standard deviation) between builds of one space, over clouds of 300
# to 6,000 rows, and that of HNSW by less.
BUILT = (names.HNSW, names.IVF)
BUILDS = 0.02

# From this share on, users would not notice that neighbours change.
SAME_NEIGHBOURS = 0.995

# Searches whose recall is spoken of.
TOLD = {
    names.HNSW: "HNSW",
    names.IVF: "IVF",
    names.INT8: "int8 codes",
    names.BINARY: "binary codes",
    names.BINARY_RESCORED: "rescored binary codes",
}

LABELS = (
    "No labels were used: only labelled pairs can show which of two neighbours is the better one "
    "(isoscope advise --pairs)."
)


def how_searched(
    space: SearchSpace, drawn: SearchSample, options: SearchOptions, *, own: bool
) -> str:
    """Return the protocol: what is searched, by what, with which effort."""
    k, seed = options.k, options.seed
    cells, visited = indexes.ivf_effort(space.rows)
    asked = len(space.itself)
    queries = "each looking for the others" if own else f"{asked:,} queries of their own"
    some = min(names.SEARCHES, asked)
    fewer = f"; indexes and codes for {some:,} of the queries" if some < asked else ""
    return (
        f"top {k} by cosine, exact, in {space.rows:,}{drawn.of_all} rows, seed {seed}, "
        f"{queries}; corrections fitted on the whole cloud{fewer}; HNSW M {indexes.LINKS}, "
        f"efConstruction {indexes.BUILD_EFFORT}, efSearch {max(indexes.SEARCH_EFFORT, k + 1)}; "
        f"IVF {cells} cells, {visited} visited; int8: 256 steps from smallest to largest of each "
        f"dimension, queries in float32; binary: signs and Hamming distance, ties in random order; "
        f"rescored: {indexes.RESCORED * k} candidates by their float32 vectors{drawn.remark}"
    )


def neighbour_remarks(rows: Sequence[Row], k: int) -> list[str]:
    """Return a sentence for every correction, and what none of them can say."""
    values = {(row.correction, row.measure): row for row in rows}
    corrections = [name for name in dict.fromkeys(row.correction for row in rows) if name != NONE]
    told = [sentence(name, values, k) for name in corrections]
    return [*told, LABELS] if told else []


def sentence(correction: str, rows: dict[tuple[str, str], Row], k: int) -> str:
    """Say what one correction changes, if anything, and what most first."""
    raised: list[tuple[float, str]] = []
    lowered: list[tuple[float, str]] = []
    small = True
    for figure, words in TOLD.items():
        apart = rows[correction, names.measure_name(f"{figure}/{names.DIFFERENCE}")]
        small = small and is_small(apart)
        if not is_change(apart, BUILDS if figure in BUILT else WORTHWHILE):
            continue
        before, after = (
            rows[name, names.measure_name(figure)].value for name in (NONE, correction)
        )
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
    kept = rows[correction, names.measure_name(names.KEPT)].value
    assert kept is not None
    share = f"{kept:.2f} of the {k} nearest neighbours" if kept < 0.995 else "the neighbours"
    if not parts and small:
        nothing = "nothing changes" if kept >= SAME_NEIGHBOURS else "only the neighbours change"
        return (
            f"{correction} changes no recall by {WORTHWHILE} or more, and keeps {share}: for "
            f"this search {nothing}."
        )
    if not parts:
        return (
            f"{correction} changes no recall by a significant {WORTHWHILE} or more, though such "
            f"a change is not ruled out, and keeps {share}."
        )
    return f"{correction} {', but '.join(parts)}, and keeps {share}."


def is_change(apart: Row, worthwhile: float = WORTHWHILE) -> bool:
    """Whether a difference is worth a word and no chance of the queries drawn."""
    if apart.value is None or abs(apart.value) < worthwhile:
        return False
    chance = apart.extra.get(names.P_HOLM)
    if chance is not None:
        return float(chance) <= ALPHA
    return apart.low is None or apart.high is None or not apart.low <= 0 <= apart.high


def is_small(apart: Row) -> bool:
    """Whether a difference is not worth a word, with its interval."""
    ends = [end for end in (apart.low, apart.value, apart.high) if end is not None]
    return all(abs(end) < WORTHWHILE for end in ends)


def listing(words: Sequence[str]) -> str:
    """Join words with commas, and the last with "and"."""
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1])))


# Share of the neighbours from which on shorter vectors are spoken of as good enough.
ENOUGH = 0.95
MOST_DIGITS = 6


def how_reduced(
    space: SearchSpace, drawn: SearchSample, options: SearchOptions, without: int
) -> str:
    """Return the protocol: what is searched, and what codes are."""
    k, seed = options.k, options.seed
    left = f"; {counted(without, 'vector')} left out, without a direction" if without else ""
    queries = min(names.SEARCHES, space.rows)
    return (
        f"top {k} by cosine of {queries:,} queries in {space.rows:,}{drawn.of_all} rows, seed "
        f"{seed}; mean and components of the whole cloud, without labels; pca and whiten are "
        "centred, and "
        f"what centring changes is part of what they change; int8: 256 steps "
        f"from smallest to largest of each dimension, queries in float32; binary: signs and "
        f"Hamming distance, filled up to whole bytes, ties in random order; rescored: "
        f"{indexes.RESCORED * k} candidates by the full float32 vectors{left}{drawn.remark}"
    )


def reduction_remarks(rows: Sequence[Row]) -> list[str]:
    """Name the shortest vectors that are good enough by their intervals, alone and rescored."""
    sizes = {(row.correction, row.part): row for row in rows if row.measure == names.REDUCED_BYTES}
    full = sizes["none", "float32"].value
    assert full is not None
    lines = []
    for measure, how in (
        (names.REDUCED_KEPT, "alone"),
        (names.REDUCED_RESCORED, "with rescoring by the full vectors"),
    ):
        found = [
            (sizes[row.correction, row.part].value or 0.0, -(row.value or 0.0), row)
            for row in rows
            if row.measure == measure and row.value is not None
        ]
        # Of those that take the same room, the one that keeps most.
        enough = [one for one in found if one[0] < full and least(one[2]) >= ENOUGH]
        if enough:
            size, _, row = min(enough, key=lambda entry: entry[:2])
            lines.append(
                f"The shortest that keep {ENOUGH} of the neighbours {how}: "
                f"{way_words(row)} as {row.part}, {size:,.0f} of "
                f"{full:,.0f} bytes, {with_interval(row, kept_share)}{score_of(row, rows)}."
            )
            continue
        shorter = [one for one in found if one[0] < full]
        best = min(shorter, key=lambda entry: entry[1], default=None)
        if best is None or most(best[2]) < ENOUGH:
            lines.append(f"Nothing shorter keeps {ENOUGH} of the neighbours {how}.")
            continue
        lines.append(
            f"Nothing shorter is certain to keep {ENOUGH} of the neighbours {how}; the nearest is "
            f"{way_words(best[2])} as {best[2].part}, with {with_interval(best[2], kept_share)}."
        )
    return lines


def least(row: Row) -> float:
    """Return the lower end of a share, or the share where it has no interval."""
    end = row.value if row.low is None else row.low
    return 0.0 if end is None else end


def most(row: Row) -> float:
    """Return the upper end of a share, or the share where it has no interval."""
    end = row.value if row.high is None else row.high
    return 0.0 if end is None else end


def kept_share(value: float) -> str:
    """Write a share, with digits enough to be on its own side of the limit."""
    digits = 2
    while digits < MOST_DIGITS and (round(value, digits) >= ENOUGH) != (value >= ENOUGH):
        digits += 1
    return f"{value:.{digits}f}"


def way_words(row: Row) -> str:
    """Name a way and its number of components."""
    way, components = row.extra["way"], f"{row.extra['components']:,} components"
    return f"all {components}" if row.correction == "none" else f"{way} to {components}"


def score_of(chosen: Row, rows: Sequence[Row]) -> str:
    """Say what the labelled pairs say of it, where there are any."""
    found = {
        (row.correction, row.part): row
        for row in rows
        if row.measure not in (names.REDUCED_BYTES, names.REDUCED_KEPT, names.REDUCED_RESCORED)
        and not row.measure.endswith(REDUCED_DIFFERENCE)
    }
    here, full = found.get((chosen.correction, chosen.part)), found.get(("none", "float32"))
    if here is None or full is None or here.value is None or full.value is None:
        return ""
    name = here.measure.removeprefix(names.REDUCE + "/")
    return f"; {name} {here.value:.3f} instead of {full.value:.3f}"
