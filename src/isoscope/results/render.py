"""Results for people: one grid of text behind the terminal, Markdown and HTML tables."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from html import escape
from typing import TYPE_CHECKING, Any

from isoscope.measures.registry import all_measures, counted
from isoscope.results.scaled import SKIPPED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoscope.results.result import Result, Row

LENGTH_MARK = " *"
LENGTH_LEGEND = (
    "* changes with the length of the vectors: compare only at equal scale, or use i1_scaled"
)
UNCORRECTED = "none"
INTERVAL_LEGEND = "±: how far the 95 % interval reaches, for more vectors of the same kind"
MOST_NAMED = 5
"""Measures without an interval that are named one by one."""

SMALLEST_SHOWN = 1e-4
SMALLEST_REACH = 1e-7
"""Intervals shorter than this share of their value are rounding, as for lengths that are all 1."""

REMARKS = "remarks"
"""Sentences about a result as a whole."""

TELLING = ("outlier_dimensions", "dead_dimensions")
"""Structured measures that are shown beside the numbers."""

TOO_MUCH = ("mean_cosine_part",)
"""Columns that are not shown beside their share."""

PREVIEWED = 5
"""Rows of a structured measure that are shown; JSON has all."""


@dataclass(frozen=True)
class Grid:
    """One cloud's numbers: measures down, corrections across."""

    title: str
    header: list[str]
    rows: list[list[str]]
    notes: list[str]
    verdict: list[str]


def grids(result: Result) -> list[Grid]:
    """Arrange a result in one grid per cloud, per model, per score, or per question."""
    from isoscope.results.ablated import ablation_grids, is_ablation
    from isoscope.results.advised import advice_grids, is_advice
    from isoscope.results.depth import depth_grids  # which build on this file
    from isoscope.results.differed import difference_grids, is_difference
    from isoscope.results.explained import explanation_grids, is_explanation
    from isoscope.results.finetuned import fine_tuning_grids, is_fine_tuning
    from isoscope.results.layered import is_profile, profile_grids
    from isoscope.results.neighboured import is_neighbour_row, neighbour_grids
    from isoscope.results.pretrained import is_pretraining, pretraining_grids
    from isoscope.results.reduced import is_reduction_row, reduction_grids
    from isoscope.results.related import is_relation, relation_grids
    from isoscope.results.scored import is_by_layer, score_grids
    from isoscope.results.thresholded import is_threshold, threshold_grids
    from isoscope.results.trained import trained_grids

    if is_explanation(result):
        return explanation_grids(result)
    if is_profile(result):
        return [*profile_grids(result), *depth_grids(result), *trained_grids(result)]
    if is_advice(result):
        return advice_grids(result)
    if is_threshold(result):
        return threshold_grids(result)
    if is_difference(result):
        return difference_grids(result)
    if is_fine_tuning(result):
        return fine_tuning_grids(result)
    if is_ablation(result):
        return ablation_grids(result)
    if is_pretraining(result):
        return pretraining_grids(result)
    if is_by_layer(result):
        return score_grids(result)
    if is_relation(result):
        return relation_grids(result)
    measured = replace(
        result,
        rows=[row for row in result.rows if not (is_neighbour_row(row) or is_reduction_row(row))],
    )
    clouds = dict.fromkeys(
        [(row.subject, row.part) for row in measured.rows]
        + [(table.subject, table.part) for table in measured.tables]
    )
    return [
        *(grid(measured, subject, part) for subject, part in clouds),
        *neighbour_grids(result),
        *reduction_grids(result),
    ]


def grid(result: Result, subject: str, part: str) -> Grid:
    """Arrange the rows of one cloud."""
    rows = [row for row in result.rows if (row.subject, row.part) == (subject, part)]
    corrections = list(dict.fromkeys(row.correction for row in rows))
    measures = list(dict.fromkeys(row.measure for row in rows))
    cells = {(row.measure, row.correction): row for row in rows}
    body = [
        [name + LENGTH_MARK * length_dependent(name)]
        + [
            cell(cells.get((name, correction)), error=correction == UNCORRECTED)
            for correction in corrections
        ]
        for name in measures
    ]
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
    return Grid(
        title,
        ["measure", *corrections],
        body,
        notes,
        verdict_lines(result, subject, part),
    )


def protocols_by_task(rows: list[Row]) -> dict[str, str]:
    """Return every protocol of scores, with the tasks that have it; measures have but one."""
    found: dict[str, dict[str, None]] = {}
    for row in rows:
        if "unit" in row.extra:
            found.setdefault(row.protocol, {})[row.measure.split("/")[0]] = None
    return {how: ", ".join(tasks) for how, tasks in found.items()}


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


def base_name(measure: str) -> str:
    """Return the name of a measure without its options and without which of its numbers."""
    return measure.split("/")[0].split(":")[0]


def interval_notes(rows: list[Row]) -> list[str]:
    """Say what ± stands for, and which numbers of the cloud as it is have none, by reason."""
    reasons: dict[str, dict[str, None]] = {}
    for row in rows:
        reason = row.extra.get("no_interval")
        if reason and row.correction == UNCORRECTED:
            measures = reasons.setdefault(str(reason), {})
            measures[row.measure.split("/")[0]] = None
    shown = any(row.low is not None and "unit" not in row.extra for row in rows)
    lines = [INTERVAL_LEGEND] if shown else []
    without = "; ".join(
        f"for {', '.join(measures) if len(measures) <= MOST_NAMED else 'the others'}: {reason}"
        for reason, measures in sorted(reasons.items(), key=lambda item: len(item[1]))
    )
    return [*lines, f"no interval {without}"] if without else lines


def grouped_notes(rows: list[Row]) -> list[str]:
    """Say every note once, with its measures, and its corrections where it is not for all."""
    groups: dict[str, tuple[dict[str, None], dict[str, None]]] = {}
    for row in rows:
        if row.note:
            measures, corrections = groups.setdefault(row.note, ({}, {}))
            measures[row.measure.split("/")[0]] = None
            corrections[row.correction] = None
    everywhere = {row.correction for row in rows}
    return [
        f"{', '.join(measures)}"
        + (f" ({', '.join(corrections)})" if set(corrections) != everywhere else "")
        + f": {note}"
        for note, (measures, corrections) in groups.items()
    ]


def cell(row: Row | None, *, error: bool = False) -> str:
    """Return a number as a person reads it, tiny ones by their power of ten, or with its error."""
    if row is None:
        return ""
    if row.value is None or not math.isfinite(row.value):
        return "undefined"
    if "unit" in row.extra:
        return score_cell(row, row.value)
    if row.log10 is not None and abs(row.value) < SMALLEST_SHOWN:
        return f"10^{row.log10:.4f}" if row.log10 > -100 else f"10^{row.log10:.1f}"
    if row.value == 0:
        return "0"
    if abs(row.value) < SMALLEST_SHOWN or abs(row.value) >= 1e6:
        return f"{row.value:.2e}"
    digits = 4 if abs(row.value) < 100 else 1
    return f"{row.value:.{digits}f}{plus_minus(row) if error else ''}"


def plus_minus(row: Row) -> str:
    """Return how far the interval reaches, to two digits; its longer side where they differ."""
    if row.value is None or row.low is None or row.high is None:
        return ""
    reach = max(row.high - row.value, row.value - row.low)
    if reach <= SMALLEST_REACH * abs(row.value):
        return ""
    digits = min(max(1 - math.floor(math.log10(reach)), 0), 4)
    return f" ±{reach:.{digits}f}" if reach >= SMALLEST_SHOWN else f" ±{reach:.0e}"


def score_cell(row: Row, value: float) -> str:
    """Return a score with its interval behind it."""
    if row.low is None or row.high is None:
        return f"{value:.4f}"
    return f"{value:.4f} ({row.low:.4f} to {row.high:.4f})"


def plain(result: Result) -> str:
    """Return aligned text, for a Python prompt."""
    parts = []
    for one in grids(result):
        lines = aligned([one.header, *one.rows]) if one.rows else []
        parts.append("\n".join([one.title, *lines, *one.verdict, *one.notes]))
    for title, header, rows in previews(result):
        parts.append("\n".join([title, *(aligned([header, *rows]) if rows else [])]))
    return "\n\n".join(parts) or "empty result"


def aligned(table: list[list[str]]) -> list[str]:
    """Pad the columns of a table, numbers to the right."""
    widths = [max(len(row[k]) for row in table) for k in range(len(table[0]))]
    return [
        "  ".join(
            text.ljust(width) if k == 0 else text.rjust(width)
            for k, (text, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in table
    ]


def markdown(result: Result) -> str:
    """Return Markdown tables, with notes and verdict below each."""
    parts = []
    for one in grids(result):
        parts.append(f"**{one.title}**")
        if one.rows:
            parts.append(markdown_table([one.header, *one.rows]))
        parts += one.verdict
        if one.notes:
            parts.append("\n".join(f"- {escaped(note)}" for note in one.notes))
    for title, header, rows in previews(result):
        parts.append(f"**{title}**")
        if rows:
            parts.append(markdown_table([header, *rows]))
    return "\n\n".join(parts)


def markdown_table(table: list[list[str]], left: int = 1) -> str:
    """Return rows as a Markdown table, the first as its header; numbers stand right."""
    lines = ["| " + " | ".join(escaped(text) for text in row) + " |" for row in table]
    lines.insert(1, "|" + " --- |" * left + " ---: |" * (len(table[0]) - left))
    return "\n".join(lines)


def escaped(text: str) -> str:
    """Return text in which Markdown sees no emphasis and no new column."""
    return text.replace("*", "\\*").replace("|", "\\|")


def html(result: Result) -> str:
    """Return HTML tables without styles or scripts of their own, for notebooks."""
    parts = []
    for one in grids(result):
        parts.append(html_table(one.title, [one.header, *one.rows]) if one.rows else "")
        parts += [f"<p>{escape(line)}</p>" for line in [*one.verdict, *one.notes]]
    parts += [
        html_table(title, [header, *rows]) if rows else f"<p>{escape(title)}</p>"
        for title, header, rows in previews(result)
    ]
    return "".join(parts)


def html_table(title: str, table: list[list[str]]) -> str:
    """Return rows as an HTML table, the first as its header."""

    def cells(tag: str, row: list[str]) -> str:
        sides = ["left"] + ["right"] * (len(row) - 1)
        return "".join(
            f'<{tag} style="text-align:{side}">{escape(text)}</{tag}>'
            for side, text in zip(sides, row, strict=True)
        )

    head = f"<thead><tr>{cells('th', table[0])}</tr></thead>"
    body = "".join(f"<tr>{cells('td', row)}</tr>" for row in table[1:])
    return f"<table><caption>{escape(title)}</caption>{head}<tbody>{body}</tbody></table>"


def previews(result: Result) -> list[tuple[str, list[str], list[list[str]]]]:
    """Return title, header and first rows of the structured measures to show.

    Beside numbers those of the raw cloud that tell most; all of them where there are no numbers.
    """
    from isoscope.results.layered import is_profile, telling_tables  # which builds on this file

    chosen = telling_tables(result) if is_profile(result) else result.tables
    several = len({found.subject for found in chosen}) > 1
    shown = []
    for found in chosen:
        telling = found.correction == UNCORRECTED and (
            found.measure in TELLING or is_profile(result)
        )
        if (telling and found.rows) or not result.rows:
            subject = found.subject if several else ""
            where = ", ".join(word for word in (subject, found.part, found.correction) if word)
            title = f"{found.measure} ({where}): {len(found.rows):,} rows"
            if len(found.rows) > PREVIEWED:
                title += f", here the first {PREVIEWED}"
            names = [name for name in found.rows[0] if name not in TOO_MUCH] if found.rows else []
            rows = [[preview_cell(row[name]) for name in names] for row in found.rows[:PREVIEWED]]
            shown.append((title, [name.replace("_", " ") for name in names], rows))
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
        follows = number.isdecimal() and last.isdecimal() and int(number) == int(last) + 1
        if found and follows and stem == before:
            found[-1].append(name)
        else:
            found.append([name])
    return [run[0] if len(run) == 1 else f"{run[0]}–{run[-1].rpartition(' ')[2]}" for run in found]
