"""Two clouds for people: how alike row by row, where they differ, and what of A serves for B."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoscope.measures.registry import counted
from isoscope.results.render import REMARKS, Grid
from isoscope.results.scored import KIND

if TYPE_CHECKING:
    from isoscope.results.result import Result, Row

DIFFERENCE = "difference of two clouds"
"""What such a result calls itself under ``KIND``."""

SAME, DIFFERENT, SUPPORT, KEEPING = "same rows", "difference", "support", "keeping"
"""Parts of such a result."""

CHANCE, EXPECTED, P_HOLM, NO_TEST, KEEP, THRESHOLD = (
    "chance", "expected", "p_holm", "no_test", "keep", "threshold",
)  # fmt: skip
"""Fields of its rows."""

BETWEEN = {
    "mean_shift": "‖m_A − m_B‖ over the spread √(tr C̄), less what sampling adds",
    "covariance_distance": "‖C_A − C_B‖ over ‖C̄‖, C̄ the mean of both, less what sampling adds",
    "total_variance_ratio": "tr C_B / tr C_A",
    "mean_length_ratio": "mean length of B over that of A",
}
KEPT_NAMES = {
    "mean_cosine/old": "mean cosine, A's correction",
    "mean_cosine/refitted": "mean cosine, fitted on B",
    "neighbours_kept@10": "neighbours in common",
    "neighbours_kept@10/by_chance": "… by chance",
    "neighbours_kept@10/lost_beyond_chance": "… lost beyond chance",
    "pairs_above_threshold/A": "pairs of A above",
    "pairs_above_threshold/B": "pairs of B above",
}
"""What the table calls rows, so that it fits a screen."""

KEPT_LEGEND = (
    "neighbours in common: of the 10 nearest rows of B, with A's correction and with the same "
    "fitted on B; by chance: with two fits on rows of B"
)
INTERVAL_LEGEND = "±: how far the 95 % interval reaches, its longer side"
TEST_LEGEND = "p: permutation test on a pooled sample, by Holm's correction over the tests made"


def is_difference(result: Result) -> bool:
    """Whether a result compares two clouds."""
    return result.extra.get(KIND) == DIFFERENCE


def difference_grids(result: Result) -> list[Grid]:
    """Arrange a comparison in a grid for each question; what was assumed stands below the first."""
    makers = {
        SAME: same_grid,
        DIFFERENT: different_grid,
        SUPPORT: support_grid,
        KEEPING: keeping_grid,
    }
    found = []
    for part, make in makers.items():
        rows = [row for row in result.rows if row.part == part]
        if rows:
            found.append(make(rows))
    remarks = [str(line) for line in result.extra.get(REMARKS, [])]
    left_out = [f"left out, {why}: {counted(n, 'row')}" for why, n in result.left_out.items()]
    if found:
        found[0].verdict.extend(remarks[:1])
        found[0].notes.extend(left_out)
        found[-1].verdict.extend(remarks[1:])
    return found


def same_grid(rows: list[Row]) -> Grid:
    """Arrange how alike two spaces with the same rows are."""
    body = [
        [row.measure, with_interval(row), number(row.extra.get(CHANCE)), f"{row.n or 0:,}"]
        for row in rows
    ]
    header = ["row by row", "value", "by chance", "rows or pairs"]
    return Grid(rows[0].subject, header, body, [INTERVAL_LEGEND, *notes_of(rows)], [])


def different_grid(rows: list[Row]) -> Grid:
    """Arrange differences with their tests, and the figures of each cloud beside them."""
    cells = {row.measure: row for row in rows}
    body, notes = [], []
    for row in rows:
        if row.measure in BETWEEN:
            p = row.extra.get(P_HOLM)
            body.append([row.measure, number(row.value), "", "", "" if p is None else f"{p:.2g}"])
            if NO_TEST in row.extra:
                notes.append(f"{row.measure}, no test: {row.extra[NO_TEST]}")
        elif "/A" in row.measure:
            other = cells[row.measure.replace("/A", "/B")]
            name = row.measure.replace("/A", "")
            body.append([name, "", number(row.value), number(other.value), ""])
    legend = [f"{name}: {words}" for name, words in BETWEEN.items() if name in cells]
    header = ["difference", "B against A", "A", "B", "p"]
    return Grid(
        f"{rows[0].subject}: differences over {rows[0].n or 0:,} rows",
        header,
        body,
        [*legend, TEST_LEGEND, *notes, *notes_of(rows)],
        [],
    )


def support_grid(rows: list[Row]) -> Grid:
    """Arrange shares outside each other's support."""
    body = [
        [row.measure, with_interval(row), number(row.extra.get(EXPECTED)), f"{row.n or 0:,}"]
        for row in rows
    ]
    notes = ["B outside A@95%: share of B that is stranger to A's rows than 95 % of A itself"]
    header = ["outside the support", "share", "by chance", "rows"]
    return Grid(rows[0].subject, header, body, [*notes, INTERVAL_LEGEND, *notes_of(rows)], [])


def keeping_grid(rows: list[Row]) -> Grid:
    """Arrange what keeping A's corrections and thresholds does: figures down, spaces across."""
    spaces = list(dict.fromkeys(row.correction for row in rows))
    cells = {(row.measure, row.correction): row for row in rows}
    cuts = [row for row in rows if THRESHOLD in row.extra]
    correct = [row for row in rows if THRESHOLD not in row.extra]
    body = [
        [words, *(with_interval(cells.get((name, space))) for space in spaces)]
        for name, words in KEPT_NAMES.items()
        if any(row.measure == name for row in rows)
    ]
    body.append(["threshold", *(fact(cuts, space, THRESHOLD) for space in spaces)])
    body.append(["keep the correction", *(fact(correct, space, KEEP) for space in spaces)])
    body.append(["keep the threshold", *(fact(cuts, space, KEEP) for space in spaces)])
    return Grid(
        f"{rows[0].subject}: A's corrections and thresholds on {rows[0].n or 0:,} rows of B",
        ["kept for B", *spaces],
        body,
        [KEPT_LEGEND, INTERVAL_LEGEND, *notes_of(rows)],
        [],
    )


def fact(rows: list[Row], space: str, field: str) -> str:
    """Return a field of the rows of a space as text."""
    for row in rows:
        if row.correction == space and field in row.extra:
            value = row.extra[field]
            return ("yes" if value else "no") if isinstance(value, bool) else number(value)
    return ""


def with_interval(row: Row | None) -> str:
    """Return a figure with its interval behind it."""
    if row is None:
        return ""
    if row.value is None:
        return "undefined"
    if row.low is None or row.high is None:
        return number(row.value)
    reach = max(row.high - row.value, row.value - row.low)
    return f"{number(row.value)} ±{reach:.4f}"


def number(value: float | None) -> str:
    """Return a number as a person reads it."""
    if value is None:
        return ""
    # Adding zero turns −0 into 0.
    return f"{round(value, 4) + 0.0:.4f}" if abs(value) < 100 else f"{value:.1f}"


def notes_of(rows: list[Row]) -> list[str]:
    """Say every note once, with what it is about."""
    found: dict[str, list[str]] = {}
    for row in rows:
        if row.note:
            found.setdefault(row.note, []).append(row.measure)
    return [f"{', '.join(dict.fromkeys(names))}: {note}" for note, names in found.items()]
