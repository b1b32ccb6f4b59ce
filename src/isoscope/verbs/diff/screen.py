"""What a terminal shows of two clouds: whether they differ, and what of A may be kept for B."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoscope.results.fields import UNCORRECTED
from isoscope.results.numbers import UNKNOWN, brief, in_percent
from isoscope.results.screen.blocks import Block, Fact, Numbers, Screen, Text
from isoscope.results.screen.commands import given, quoted
from isoscope.results.sentences import UNKNOWN_ROLE, of_roles, remarks_of
from isoscope.verbs.diff import names
from isoscope.verbs.diff.text import (
    ALIKE,
    COMPARED,
    DIFFER,
    KEEP,
    KEPT_LEGEND,
    SOURCE,
    SUPPORT,
    THRESHOLD,
)
from isoscope.wording import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoscope.results.result import Result, Row

NO_STATEMENT = "no_statement"
OF_A, OF_B = "pairs_above_threshold/A", "pairs_above_threshold/B"
KEPT = f"neighbours_kept@{names.NEIGHBOURS}"
BY_CHANCE = f"{KEPT}/by_chance"
ANSWERS = {True: "keep", False: "replace", None: "no statement"}


def difference_screen(result: Result) -> Screen:
    """Return the screen of a comparison.

    What of A may be kept is said from the rows, a line for each space; the sentences of the details
    say the same at length.
    """
    said = remarks_of(result)
    rows = [row for row in result.rows if row.part == names.KEEPING]
    found = of_roles(said, ALIKE, DIFFER)
    answer = [" ".join(found)] if found else []
    answer += [*of_roles(said, UNKNOWN_ROLE), *about_keeping(rows)]
    subject = result.rows[0].subject if result.rows else "two clouds"
    title = " · ".join([subject, *size(result.rows)])
    body: list[list[Block]] = [[keeping_table(rows)]] if rows else []
    body += [[Text(line)] for line in of_roles(said, SUPPORT)]
    notes = [Fact("Note", line) for line in of_roles(said, COMPARED, SOURCE)]
    notes += [
        Fact("Note", f"{counted(n, 'row')} excluded: {why}.") for why, n in result.left_out.items()
    ]
    if any(row.measure == BY_CHANCE for row in rows):
        notes.append(Fact("Note", f"{KEPT_LEGEND[0].upper()}{KEPT_LEGEND[1:]}."))
    return Screen(title, answer, body, [*notes, *more(result, rows)])


def size(rows: Sequence[Row]) -> list[str]:
    """Return how many rows there are in both clouds, or in each where they are the same."""
    counts = {
        part: max((row.n or 0 for row in rows if row.part == part), default=0)
        for part in (names.SAME, names.DIFFERENT)
    }
    if counts[names.SAME]:
        return [f"the same {counted(counts[names.SAME], 'row')}"]
    return [counted(counts[names.DIFFERENT], "row")] if counts[names.DIFFERENT] else []


def answers(rows: Sequence[Row], *, thresholds: bool) -> dict[str, bool | None]:
    """Return for every space whether A's correction, or its threshold, may be kept."""
    return {
        row.correction: row.extra[KEEP]
        for row in rows
        if KEEP in row.extra and (THRESHOLD in row.extra) == thresholds
    }


def about_keeping(rows: Sequence[Row]) -> list[str]:
    """Say whether A's corrections and thresholds may be kept."""
    if not rows:
        return []
    said = [*sentences("correction", rows, thresholds=False)]
    cuts = answers(rows, thresholds=True)
    said += sentences("threshold", rows, thresholds=True)
    changed = [space for space, keep in cuts.items() if keep is False]
    if changed:
        said.append(about_change(rows, changed[0]))
    return [" ".join(said)]


def sentences(what: str, rows: Sequence[Row], *, thresholds: bool) -> list[str]:
    """Say which of some may be kept, which may not, and why there is no statement on others."""
    found = answers(rows, thresholds=thresholds)
    groups: dict[tuple[bool | None, str], list[str]] = {}
    for space, keep in found.items():
        why = reason(rows, space, thresholds=thresholds) if keep is None else ""
        groups.setdefault((keep, why), []).append(space)
    texts = {
        True: f"A's {what} may be kept for B",
        False: f"A's {what} may not be kept for B",
        None: f"No statement on A's {what}",
    }
    return [
        f"{texts[keep]}{f' ({named(groups[keep, why])})' if len(found) > 1 else ''}"
        f"{f': {why}' if why else ''}."
        for keep, why in sorted(groups, key=lambda group: (True, False, None).index(group[0]))
    ]


def reason(rows: Sequence[Row], space: str, *, thresholds: bool) -> str:
    """Return why there is no statement on the correction, or the threshold, of a space."""
    for row in rows:
        if row.correction == space and (THRESHOLD in row.extra) == thresholds:
            return str(row.extra.get(NO_STATEMENT, ""))
    return ""


def named(spaces: Sequence[str]) -> str:
    """Return the names of spaces."""
    return ", ".join("as is" if space == UNCORRECTED else space for space in spaces)


def about_change(rows: Sequence[Row], space: str) -> str:
    """Say how many random pairs of each cloud exceed the threshold of a space."""
    cells = {row.measure: row for row in rows if row.correction == space}
    a, b = cells.get(OF_A), cells.get(OF_B)
    if a is None or b is None or a.value is None or b.value is None:
        return ""
    after = "" if space == UNCORRECTED else f" after A's {space}"
    return (
        f"{in_percent(b.value)} of B's random pairs have a cosine above "
        f"{a.extra[THRESHOLD]:.3f}{after}, compared with {in_percent(a.value)} of A's."
    )


def keeping_table(rows: Sequence[Row]) -> Numbers:
    """Arrange spaces down: what is to be kept, and the numbers behind it."""
    cells = {(row.correction, row.measure): row for row in rows}
    corrections, cuts = (answers(rows, thresholds=one) for one in (False, True))
    body = []
    for space in dict.fromkeys(row.correction for row in rows):
        a, b = cells.get((space, OF_A)), cells.get((space, OF_B))
        cut = None if a is None else a.extra.get(THRESHOLD)
        body.append(
            [
                named([space]),
                ANSWERS[corrections[space]] if space in corrections else "",
                brief(cells.get((space, KEPT))),
                brief(cells.get((space, BY_CHANCE))),
                ANSWERS[cuts[space]] if space in cuts else "",
                UNKNOWN if cut is None else f"{cut:.3f}",
                share(a),
                share(b),
            ]
        )
    header = [
        "", "correction", "neighbours in common", "by chance",
        "threshold", "cosine", "A above", "B above",
    ]  # fmt: skip
    return Numbers(header, body, left=frozenset({1, 4}), turn=False)


def share(row: Row | None) -> str:
    """Return a share in percent."""
    return UNKNOWN if row is None or row.value is None else in_percent(row.value)


def more(result: Result, rows: Sequence[Row]) -> list[Fact]:
    """Return the command to run next, and where everything else is."""
    places, _ = given(result.command)
    b = quoted(places[1]) if len(places) > 1 else "B"
    refit = [one for one, keep in answers(rows, thresholds=False).items() if keep is False]
    cuts = [one for one, keep in answers(rows, thresholds=True).items() if keep is not True]
    if refit:
        text = f"isoscope correct fit {b} --correction {refit[0]} --out refitted.safetensors"
        step = [Fact("Next", text, command=True)]
    elif cuts:
        step = [Fact("Next", f"isoscope threshold {b}", "thresholds for B", command=True)]
    else:
        step = []
    return [*step, Fact("More", "--details  tests and intervals     --html FILE  a page")]
