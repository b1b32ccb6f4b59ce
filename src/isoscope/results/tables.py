"""Tables of text: rows of a result arranged for people, with their notes."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any, TypeAlias, TypeVar

from isoscope.measures.registry import all_measures
from isoscope.results.fields import REMARKS, UNCORRECTED, base_name
from isoscope.results.kinds import telling_tables
from isoscope.results.merge import SKIPPED
from isoscope.results.numbers import UNDEFINED, cell
from isoscope.results.result import Result, Row
from isoscope.wording import counted

LENGTH_MARK = " *"
LENGTH_LEGEND = (
    "* changes with the norm of the vectors: compare only at equal scale, or use i1_scaled"
)
INTERVAL_LEGEND = "±: the longer side of the 95 % interval, for further vectors of the same kind"

# Measures without an interval that are named one by one.
MOST_NAMED = 5

# Structured measures that are shown beside the numbers.
TELLING = ("outlier_dimensions", "dead_dimensions")

# Columns that are not shown beside their share.
TOO_MUCH = ("mean_cosine_part",)

# Rows of a structured measure that are shown; JSON has all.
PREVIEWED = 5


@dataclass(frozen=True)
class Grid:
    """One cloud's numbers: measures down, corrections across."""

    title: str
    header: list[str]
    rows: list[list[str]]
    notes: list[str] = field(default_factory=list)
    verdict: list[str] = field(default_factory=list)


Item = TypeVar("Item")
Group = TypeVar("Group", bound=Hashable)

# What rows differ in: the name of a field, or a function of a row.
Key: TypeAlias = "str | Callable[[Row], Any]"

# Lines or columns of a table in order, with their words where these are not the keys.
Places: TypeAlias = "Mapping[Any, str] | Iterable[Any] | None"


def pivot(
    rows: Iterable[Row],
    down: Key,
    across: Key,
    cell: Callable[[Row | None], str],
    *,
    corner: str = "",
    lines: Places = None,
    columns: Places = None,
) -> tuple[list[str], list[list[str]]]:
    """Arrange rows in a table: one thing down, another across, a number in each cell.

    Parameters
    ----------
    rows : iterable of Row
        The numbers. Of two in the same place the last one is shown.
    down, across : str or callable
        The field, or the function of a row, that says in which line and in which column it stands.
    cell : callable
        Writes a number; it gets None where a place has none.
    corner : str
        Heading of the first column.
    lines, columns : mapping or iterable, optional
        Which lines and columns there are, in order: keys, or a mapping from keys to the words
        shown. By default those of the rows, in the order in which they come.

    Returns
    -------
    header : list of str
        Headings of the columns.
    body : list of list of str
        A list of cells for every line, the first its name.
    """
    line_of, column_of = (
        attrgetter(key) if isinstance(key, str) else key for key in (down, across)
    )
    cells = {(line_of(row), column_of(row)): row for row in rows}
    line_words = in_words(lines, (line for line, _ in cells))
    column_words = in_words(columns, (column for _, column in cells))
    body = [
        [words, *(cell(cells.get((line, column))) for column in column_words)]
        for line, words in line_words.items()
    ]
    return [corner, *column_words.values()], body


def in_words(places: Places, found: Iterable[Hashable]) -> dict[Any, str]:
    """Return the words of lines or columns by their keys, in order."""
    if isinstance(places, Mapping):
        return dict(places)
    return {key: str(key) for key in (found if places is None else places)}


def grouped(items: Iterable[Item], key: Callable[[Item], Group]) -> dict[Group, list[Item]]:
    """Sort items by what they have in common, groups and items in the order of the items."""
    groups: dict[Group, list[Item]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return groups


def said_once(notes: Iterable[tuple[str, str]]) -> list[str]:
    """Return every note once, behind all that it is about; empty notes are left out.

    Parameters
    ----------
    notes : iterable of tuple of str
        What a note is about, and the note.
    """
    return [
        f"{', '.join(dict.fromkeys(name for name, _ in about))}: {note}"
        for note, about in grouped(notes, lambda pair: pair[1]).items()
        if note
    ]


def default_grids(result: Result) -> list[Grid]:
    """Arrange a result in one grid per cloud."""
    clouds = dict.fromkeys(
        [(row.subject, row.part) for row in result.rows]
        + [(table.subject, table.part) for table in result.tables]
    )
    return [grid(result, subject, part) for subject, part in clouds]


def grid(result: Result, subject: str, part: str) -> Grid:
    """Arrange the rows of one cloud."""
    rows = [row for row in result.rows if (row.subject, row.part) == (subject, part)]
    measures = {row.measure: row.measure for row in rows}
    header, body = pivot(
        rows,
        "measure",
        "correction",
        lambda row: cell(row, error=row is not None and row.correction == UNCORRECTED),
        corner="measure",
        lines={name: name + LENGTH_MARK * length_dependent(name) for name in measures},
    )
    name = " ".join(word for word in (subject, part) if word)
    protocols = protocols_by_task(rows)
    title = grid_title(name, rows) if len(protocols) < 2 else name
    notes = [f"{task}: {how}" for how, task in protocols.items()] if len(protocols) > 1 else []
    notes += [LENGTH_LEGEND] if any(map(length_dependent, measures)) else []
    notes += interval_notes(rows)
    notes += grouped_notes(rows)
    notes += [
        f"left out, {why}: {n:,}" if why == SKIPPED else f"left out, {why}: {counted(n, 'row')}"
        for why, n in result.left_out.items()
    ]
    return Grid(title, header, body, notes, verdict_lines(result, subject, part))


def protocols_by_task(rows: list[Row]) -> dict[str, str]:
    """Return every protocol of scores, with the tasks that have it; measures have but one."""
    scores = grouped((row for row in rows if "unit" in row.extra), attrgetter("protocol"))
    return {how: ", ".join(families(some)) for how, some in scores.items()}


def families(rows: Iterable[Row]) -> list[str]:
    """Return the different measures or tasks that rows are about, in their order."""
    return list(dict.fromkeys(row.family for row in rows))


def grid_title(name: str, rows: list[Row]) -> str:
    """Return name, number of vectors and protocol; scores count other things than vectors."""
    if not rows:
        return name
    counts = [row.n or 0 for row in rows if "unit" not in row.extra]
    return (f"{name}: {max(counts):,} vectors" if counts else name) + f" ({rows[0].protocol})"


def verdict_lines(result: Result, subject: str, part: str) -> list[str]:
    """Return the verdict on a cloud, then what it implies and what it does not."""
    lines = []
    for verdict in result.verdicts:
        if (verdict.get("subject"), verdict.get("part")) == (subject, part):
            also = " ".join(verdict.get("also", []))
            lines.append(f"Verdict: {verdict['sentence']}" + (f" Also: {also}" if also else ""))
            if "implies" in verdict:
                lines.append(
                    f"It means: {verdict['implies']}. "
                    f"It does not mean: {verdict['does_not_imply']}."
                )
    return [*lines, *map(str, result.extra.get(REMARKS, []))]


def length_dependent(measure: str) -> bool:
    """Whether a measure changes with the length of the vectors."""
    return any(item.name == base_name(measure) and item.length_dependent for item in all_measures())


def interval_notes(rows: list[Row]) -> list[str]:
    """Say what ± stands for, and which numbers of the cloud as it is have none, by reason."""
    as_it_is = [row for row in rows if row.correction == UNCORRECTED]
    groups = grouped(as_it_is, lambda row: str(row.extra.get("no_interval") or ""))
    reasons = {reason: families(some) for reason, some in groups.items() if reason}
    shown = any(row.low is not None and "unit" not in row.extra for row in rows)
    lines = [INTERVAL_LEGEND] if shown else []
    without = "; ".join(
        f"for {', '.join(measures) if len(measures) <= MOST_NAMED else 'the others'}: {reason}"
        for reason, measures in sorted(reasons.items(), key=lambda item: len(item[1]))
    )
    return [*lines, f"no interval {without}"] if without else lines


def grouped_notes(rows: list[Row]) -> list[str]:
    """Say every note once, with its measures, and its corrections where it is not for all.

    A reason for which some numbers are undefined is not said again where it is known already.
    """
    everywhere = {row.correction for row in rows}
    known = {row.note for row in rows}

    def reason(row: Row) -> str:
        bare = row.note.removeprefix(f"{UNDEFINED}: ")
        return bare if bare in known else row.note

    lines = []
    for note, some in grouped((row for row in rows if row.note), reason).items():
        corrections = dict.fromkeys(row.correction for row in some)
        where = f" ({', '.join(corrections)})" if set(corrections) != everywhere else ""
        lines.append(f"{', '.join(families(some))}{where}: {note}")
    return lines


def previews(result: Result) -> list[Grid]:
    """Return the first rows of the structured measures to show.

    Beside numbers those of the raw cloud that tell most; all of them where there are no numbers.
    """
    telling = telling_tables(result)
    chosen = result.tables if telling is None else telling
    several = len({found.subject for found in chosen}) > 1
    shown = []
    for found in chosen:
        tells = found.correction == UNCORRECTED and (
            found.measure in TELLING or telling is not None
        )
        # Where there are no numbers at all, even an empty table is an answer.
        if (tells and found.rows) or not result.rows:
            subject = found.subject if several else ""
            where = ", ".join(word for word in (subject, found.part, found.correction) if word)
            title = f"{found.measure} ({where}): {len(found.rows):,} rows"
            if len(found.rows) > PREVIEWED:
                title += f", here the first {PREVIEWED}"
            names = [name for name in found.rows[0] if name not in TOO_MUCH] if found.rows else []
            rows = [[preview_cell(row[name]) for name in names] for row in found.rows[:PREVIEWED]]
            shown.append(Grid(title, [name.replace("_", " ") for name in names], rows))
    return shown


def preview_cell(value: Any) -> str:
    """Return one entry of a structured measure as text."""
    if value is None:
        return "undefined"
    if isinstance(value, list):
        return ", ".join(runs([str(entry) for entry in value]))
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def runs(names: Sequence[str]) -> list[str]:
    """Shorten names that count up: block 1, block 2, block 3 are block 1–3."""
    found: list[list[str]] = []
    for name in names:
        stem, _, number = name.rpartition(" ")
        before, _, last = found[-1][-1].rpartition(" ") if found else ("", "", "")
        # A run goes on where the name is the same and its number is the next one.
        follows = number.isdecimal() and last.isdecimal() and int(number) == int(last) + 1
        if found and follows and stem == before:
            found[-1].append(name)
        else:
            found.append([name])
    return [run[0] if len(run) == 1 else f"{run[0]}–{run[-1].rpartition(' ')[2]}" for run in found]


def option_notes(settings: Mapping[str, Any]) -> list[str]:
    """Say which options every calibration had, and on which tasks; settings are by task.

    Papers print none of them, so that a result must.
    """
    tasks: dict[str, dict[str, None]] = {}
    for task, used in settings.items():
        for calibration, options in used.get("calibrations", {}).items():
            if options:
                listed = ", ".join(f"{name} {value}" for name, value in options.items())
                tasks.setdefault(f"{calibration}: {listed}", {})[task] = None
    several = len(settings) > 1
    return [
        f"options of {text}" + (f" ({', '.join(where)})" if several else "")
        for text, where in tasks.items()
    ]
