"""Two clouds for people: how alike row by row, where they differ, and what of A serves for B."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from isoscope.results import numbers
from isoscope.results.fields import REMARKS
from isoscope.results.sentences import Sentence, with_role
from isoscope.results.tables import Grid, grouped, pivot, said_once
from isoscope.verbs.diff import names
from isoscope.wording import counted

if TYPE_CHECKING:
    from isoscope.compute.stats.estimates import Estimate
    from isoscope.results.result import Result, Row
    from isoscope.verbs.diff.effects import Effects
    from isoscope.verbs.diff.paired.same_rows import SameRows
    from isoscope.verbs.diff.permutation import EqualityTest
    from isoscope.verbs.diff.reuse import CorrectionReuse, SpaceReuse, ThresholdReuse
    from isoscope.verbs.diff.support import Outside
    from isoscope.verbs.diff.two_clouds import TwoSides


CHANCE, EXPECTED, KEEP, THRESHOLD = "chance", "expected", "keep", "threshold"

# Fields of its rows.
P_HOLM, NO_TEST, LIMIT = "p_holm", "no_test", "limit"

# Shares above this are not written out.
ALMOST_ALL = 0.999

BETWEEN = {
    "mean_shift": "‖m_A − m_B‖ over the spread √(tr C̄), less what sampling adds",
    "covariance_distance": "‖C_A − C_B‖ over ‖C̄‖, C̄ the mean of both, less what sampling adds",
    "total_variance_ratio": "tr C_B / tr C_A",
    "mean_length_ratio": "mean norm of B over that of A",
    "length_distance": "mean difference of the sorted norms over the mean norm",
}

# Roles of sentences: how rows were compared, what must be known of a source, how alike or different
# the clouds are, how much of one is new to the other, and what of A may be kept.
COMPARED, SOURCE, ALIKE, DIFFER, SUPPORT, KEPT = (
    "comparison", "source", "likeness", "difference", "support", "keeping",
)  # fmt: skip

# What the table calls rows, so that it fits a screen.
KEPT_NAMES = {
    "mean_cosine/old": "mean cosine, A's correction",
    "mean_cosine/refitted": "mean cosine, fitted on B",
    "neighbours_kept@10": "neighbours in common",
    "neighbours_kept@10/by_chance": "… by chance",
    "neighbours_kept@10/lost_beyond_chance": "… lost beyond chance",
    "pairs_above_threshold/A": "pairs of A above",
    "pairs_above_threshold/B": "pairs of B above",
}

KEPT_LEGEND = (
    "neighbours in common: share of a row's 10 nearest rows in B that are the same with A's "
    "correction and with one fitted on B; by chance: the same share for two fits on rows of B"
)
INTERVAL_LEGEND = "±: the longer side of the 95 % interval"
TEST_LEGEND = "p: permutation test on a pooled sample, by Holm's correction over the tests made"
LIMIT_LEGEND = "negligible: differences below this are called negligible, however small p is"
FOLDS_LEGEND = (
    "pairs above, after a correction of A: of rows that it was not fitted on (cross-fitted)"
)


def difference_grids(result: Result) -> list[Grid]:
    """Arrange a comparison in a grid for each question; what was assumed stands below the first."""
    makers = {
        names.SAME: same_grid,
        names.DIFFERENT: different_grid,
        names.SUPPORT: support_grid,
        names.KEEPING: keeping_grid,
    }
    parts = grouped(result.rows, lambda row: row.part)
    found = [make(parts[part]) for part, make in makers.items() if part in parts]
    remarks = [str(line) for line in result.extra.get(REMARKS, [])]
    left_out = [f"left out, {why}: {counted(n, 'row')}" for why, n in result.left_out.items()]
    if found:
        found[0].verdict.extend(remarks[:1])
        found[0].notes.extend(left_out)
        found[-1].verdict.extend(remarks[1:])
    return found


def same_grid(rows: list[Row]) -> Grid:
    """Arrange how alike two spaces with the same rows are."""
    return by_chance_grid(rows, ["row by row", "value", "by chance", "rows or pairs"], CHANCE)


def by_chance_grid(rows: list[Row], header: list[str], field: str, *legend: str) -> Grid:
    """Arrange figures beside what chance would give, which a field of the rows holds."""
    body = [
        [row.measure, with_interval(row), number(row.extra.get(field)), f"{row.n or 0:,}"]
        for row in rows
    ]
    return Grid(rows[0].subject, header, body, [*legend, INTERVAL_LEGEND, *notes_of(rows)])


def different_grid(rows: list[Row]) -> Grid:
    """Arrange differences with their tests, and the figures of each cloud beside them."""
    cells = {row.measure: row for row in rows}
    body, notes = [], []
    for row in rows:
        if row.measure in BETWEEN:
            p = row.extra.get(P_HOLM)
            test = "" if p is None else f"{p:.2g}"
            limit = "" if row.measure == "mean_length_ratio" else below_limit(row)
            body.append([row.measure, number(row.value), "", "", test, limit])
            if NO_TEST in row.extra:
                notes.append(f"{row.measure}, no test: {row.extra[NO_TEST]}")
        elif "/A" in row.measure:
            other = cells[row.measure.replace("/A", "/B")]
            name = row.measure.replace("/A", "")
            body.append([name, "", number(row.value), number(other.value), "", ""])
    legend = [f"{name}: {words}" for name, words in BETWEEN.items() if name in cells]
    header = ["difference", "B against A", "A", "B", "p", "negligible"]
    title = f"{rows[0].subject}: differences over {rows[0].n or 0:,} rows"
    legend += [TEST_LEGEND, LIMIT_LEGEND]
    return Grid(title, header, body, [*legend, *notes, *notes_of(rows)])


def below_limit(row: Row) -> str:
    """Return the limit of a difference as a cell."""
    limit = row.extra.get(LIMIT)
    return "" if limit is None else f"< {limit:g}"


def support_grid(rows: list[Row]) -> Grid:
    """Arrange shares outside each other's support."""
    header = ["outside the support", "share", "by chance", "rows"]
    legend = (
        "B outside A@95%: share of B's rows that are further from the rows of A than 95 % of A's "
        "own held-out rows are"
    )
    return by_chance_grid(rows, header, EXPECTED, legend)


def keeping_grid(rows: list[Row]) -> Grid:
    """Arrange what keeping A's corrections and thresholds does: figures down, spaces across."""
    cuts = [row for row in rows if THRESHOLD in row.extra]
    correct = [row for row in rows if THRESHOLD not in row.extra]
    known = {row.measure for row in rows}
    lines = {name: words for name, words in KEPT_NAMES.items() if name in known}
    columns = dict.fromkeys(row.correction for row in rows)
    header, body = pivot(
        rows, "measure", "correction", with_interval,
        corner="kept for B", lines=lines, columns=columns.keys(),
    )  # fmt: skip
    body += [
        [words, *(fact(some, space, field) for space in columns)]
        for words, some, field in (
            ("threshold", cuts, THRESHOLD),
            ("keep the correction", correct, KEEP),
            ("keep the threshold", cuts, KEEP),
        )
    ]
    title = f"{rows[0].subject}: A's corrections and thresholds on {rows[0].n or 0:,} rows of B"
    legend = [KEPT_LEGEND, FOLDS_LEGEND, INTERVAL_LEGEND]
    return Grid(title, header, body, [*legend, *notes_of(rows)])


def fact(rows: list[Row], space: str, field: str) -> str:
    """Return a field of the rows of a space as text."""
    for row in rows:
        if row.correction == space and field in row.extra:
            value = row.extra[field]
            if field == KEEP:
                return "no statement" if value is None else "yes" if value else "no"
            return number(value)
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
    return said_once((row.measure, row.note) for row in rows)


def about_equal(two: TwoSides) -> Sentence:
    """Say that both clouds are one, and what follows."""
    order = " in the same order" if two.paired else ""
    return Sentence(
        ALIKE,
        f"A and B hold the same {two.a.moments.rows:,} vectors{order}: every difference is exactly "
        "0, and A's corrections and thresholds serve for B as they do for A.",
    )


def about_same_rows(same: SameRows) -> list[Sentence]:
    """Say how alike two spaces are to somebody who searches in them."""
    said = (
        f"Of the {same.k} nearest rows of a row, {ranged(same.overlap, 2)} are the same in both "
        f"spaces"
    )
    found = [Sentence(ALIKE, f"{said} (chance: {same.chance:.2g}).")]
    if same.overlap.low is not None and same.overlap.low <= 2 * same.chance:
        found.append(
            Sentence(
                ALIKE,
                "That is hardly more than chance: are these the same rows? --other-rows compares "
                "them as clouds with different rows.",
            )
        )
    return found


def about_differences(
    found: Effects | None, tests: dict[str, EqualityTest] | None
) -> list[Sentence]:
    """Say what differs beyond chance, and by how much."""
    if found is None:
        nothing = "Neither cloud has any variance: all vectors of each are the same."
        return [Sentence(DIFFER, nothing)]
    if tests is None:
        few = "There are too few documents to test whether the clouds differ."
        return [Sentence(DIFFER, few)]
    sizes = {
        names.MEANS: f"the means, by {found.mean_shift:.3g} of the spread",
        names.COVARIANCES: f"the covariances, by {found.covariance_distance:.2g} of their size",
        names.LENGTHS: f"the norms, by {found.length_distance:.2g} of their mean{means_of(found)}",
    }
    differ: dict[bool, list[tuple[str, str]]] = {False: [], True: []}
    for name, words in sizes.items():
        size, limit = found.sizes[name]
        if is_significant(tests[name]):
            aside = f"negligible below {limit:g}; p = {tests[name].p_holm:.2g}"
            differ[size < limit].append((words, aside))
    starts = {False: "Significant differences", True: "Significant but negligible differences"}
    said = [
        Sentence(
            DIFFER,
            f"{starts[small]}: {'; '.join(f'{words} ({aside})' for words, aside in some)}.",
            f"{starts[small]}: {'; '.join(words for words, _ in some)}.",
        )
        for small, some in differ.items()
        if some
    ]
    none = "No significant difference between the means, the covariances or the norms."
    return said or [Sentence(DIFFER, none)]


def means_of(found: Effects) -> str:
    """Name the mean norms where the digits that are printed tell them apart."""
    a, b = (f"{mean:.4g}" for mean in found.mean_lengths)
    return "" if a == b else f", which is {a} in A and {b} in B"


def is_significant(test: EqualityTest) -> bool:
    """Whether a test that was made rejects, by Holm's correction."""
    return test.p_holm is not None and test.p_holm <= names.ALPHA


def about_support(found: dict[str, list[Outside]]) -> list[Sentence]:
    """Say how much of each cloud is new to the other."""
    lines, missing = [], []
    for direction, shares in found.items():
        one = shares[0]
        inside, other = direction.split(" outside ")
        if one.value is None or one.low is None or one.high is None:
            lies = f"how much of {inside} lies outside {other}'s support"
            missing.append(f"No statement on {lies}: {one.note.removeprefix('undefined: ')}.")
            continue
        near = abs(one.value - one.expected) <= names.SUPPORT_LIMIT
        otherwise = "close to" if near else "no significant difference from"
        words = {1: "significantly more than", -1: "significantly less than", 0: otherwise}
        against = f"{words[one.differs]} the {rounded_share(one.expected)} of {other} itself"
        lines.append(
            f"{rounded_share(one.value)} of {inside} lies outside {other}'s support ({against})"
        )
    return with_role(SUPPORT, ["; ".join(lines) + "."] * bool(lines) + missing)


def about_keeping(kept: SpaceReuse) -> list[Sentence]:
    """Answer whether the correction and the threshold of A serve for B."""
    lines = [] if kept.correction is None else [about_correction(kept.space, kept.correction)]
    return with_role(KEPT, [*lines, about_threshold(kept.space, kept.threshold)])


def about_correction(name: str, kept: CorrectionReuse) -> str:
    """Say whether to keep a correction, with what decides."""
    figures = (
        f"fitted on B instead, it would leave {ranged(kept.kept, 2)} of the {names.NEIGHBOURS} "
        f"nearest neighbours the same (two fits on rows of B: {valued(kept.by_chance, 2)}), and "
        f"the mean cosine of random pairs would be {valued(kept.new_cosine, 3)} instead of "
        f"{valued(kept.old_cosine, 3)}"
    )
    if kept.keep is None:
        return f"No statement on A's {name}: {kept.no_statement}."
    if kept.keep:
        return f"Keep A's correction ({name}): {figures}."
    reasons = []
    if kept.neighbours_differ:
        reasons.append(
            f"more than {names.NEIGHBOURS_LIMIT:g} of the neighbours change beyond chance"
        )
    if kept.cosines_differ:
        reasons.append(f"the mean cosine is off by more than {names.COSINE_LIMIT:g}")
    return f"Fit the correction again ({name}), as {' and '.join(reasons)}: {figures}."


def about_threshold(name: str, cut: ThresholdReuse) -> str:
    """Say whether to keep a threshold, with what decides."""
    plain = name == "none"
    if cut.unknown or cut.threshold is None:
        where = "of the vectors as they are" if plain else f"after A's {name}"
        return f"No statement on the threshold {where}: {cut.unknown}."
    where = "without a correction" if plain else f"after A's {name}"
    a, b = (rounded_share(share.value or 0.0) for share in (cut.share_a, cut.share_b))
    figures = (
        f"{b} of B's random pairs score above {cut.threshold:.3f} {where}, compared with {a} of "
        f"A's{points(cut.change)}"
    )
    if cut.keep is None:
        return f"No statement on the threshold ({cut.no_statement}): {figures}."
    if cut.keep:
        return f"Keep the threshold: {figures}."
    factor = f"the shares differ by a factor of more than {names.THRESHOLD_FACTOR:g}"
    return f"Choose a new threshold ({factor}): {figures}."


def about_sources(two: TwoSides) -> list[Sentence]:
    """Say what must be known of a source, such as that its codes are lossy."""
    told = {"A": two.a.caveat, "B": two.b.caveat}
    return with_role(SOURCE, [f"{name} has {caveat}." for name, caveat in told.items() if caveat])


def rounded(digits: int) -> Callable[[float], str]:
    """Return a function that writes a figure with so many digits."""
    # Adding zero turns −0 into 0.
    return lambda value: f"{round(value, digits) + 0.0:.{digits}f}"


def valued(found: Estimate, digits: int) -> str:
    """Return a figure."""
    return "undefined" if found.value is None else rounded(digits)(found.value)


def ranged(found: Estimate, digits: int) -> str:
    """Return a figure with its interval."""
    return numbers.with_interval(found, rounded(digits), f".{digits}f")


def points(change: Estimate) -> str:
    """Return the difference of two shares with its interval, which the answer goes by."""
    if change.value is None or change.low is None or change.high is None:
        return ""
    value, low, high = (100 * one for one in (change.value, change.low, change.high))
    return f" (difference {value:+.2g} percentage points, {low:+.2g} to {high:+.2g})"


def rounded_share(value: float) -> str:
    """Write a share as a percentage of two digits."""
    if value <= 0 or value >= 1:
        return f"{100 * value:.0f} %"
    if value > ALMOST_ALL:
        return f"over {100 * ALMOST_ALL:.1f} %"
    digits = 1 if value > 0.99 else max(1 - math.floor(math.log10(100 * value)), 0)
    return f"{100 * value:.{min(digits, 4)}f} %"
