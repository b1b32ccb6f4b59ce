"""Profiles for people: layers down, measures across, one grid a model."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from isoscope.results.render import (
    LENGTH_LEGEND,
    UNCORRECTED,
    Grid,
    base_name,
    cell,
    length_dependent,
    verdict_lines,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoscope.results.result import Result, Row, Table

PARTS = "parts"
"""Says of a row what kind of part it is about, so that tables hold one kind each."""

REVISION = "revision"
"""Field of rows and tables about a checkpoint of a training, which are shown by themselves."""

KIND, PROFILE = "kind", "profile"
"""Says in a result what it is, so that it is shown as such."""

TELLING = ("parts", "persistence", "position_extremes", "norm_outliers")
MASSIVE = "massive_activations"
LONG = 5.0
"""Median lengths from which on the longest token is worth a table."""

MOVED = "moved_by_massive_tokens"
OTHER_TOKENS = (", ordinary tokens", ", all tokens")

PLURALS = {"layer": "layers", "matrix": "matrices", "norm": "norms"}
COUNTED = {"matrix": "rows", "layer": "tokens"}
"""What the vectors of a part are, where their number differs from part to part."""
COUNTS = ("/count", "outliers_3sd")
"""Ends of the names of measures that count something."""

SHOWN = (
    ("mean_cosine", "none"),
    ("mean_cosine", "center"),
    ("intra_sim", "none"),
    ("self_similarity/corrected", "none"),
    ("intra_sentence_similarity/corrected", "none"),
    ("max_explainable_variance/corrected", "none"),
    ("top_variance_share", "none"),
    ("effective_rank", "none"),
    ("i1_scaled", "none"),
    ("mean_norm", "none"),
)
"""What a terminal has room for, most telling first; JSON has everything."""


def is_profile(result: Result) -> bool:
    """Whether a result is about layers or tensors of models."""
    return result.extra.get(KIND) == PROFILE


def is_of_checkpoint(record: Row | Table) -> bool:
    """Whether a row or a table is about one checkpoint of a training."""
    return REVISION in record.extra


def profile_grids(result: Result) -> list[Grid]:
    """Arrange a profile in one grid per model and kind of part."""
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in result.rows:
        if is_of_checkpoint(row):
            continue
        groups.setdefault((row.subject, str(row.extra.get(PARTS, "layer"))), []).append(row)
    found = []
    for number, ((subject, kind), rows) in enumerate(groups.items()):
        last = number + 1 == len(groups) or list(groups)[number + 1][0] != subject
        found.append(profile_grid(result, subject, kind, rows, last=last))
    return found


def profile_grid(
    result: Result, subject: str, kind: str, rows: Sequence[Row], *, last: bool
) -> Grid:
    """Arrange the parts of one kind of one model; behind the last comes what is said of it."""
    cells = {(row.part, row.measure, row.correction): row for row in rows}
    columns = columns_of(rows)
    parts = [part for part in dict.fromkeys(row.part for row in rows) if shown(part, rows)]
    counts = {part: max(row.n or 0 for row in rows if row.part == part) for part in parts}
    counted = [COUNTED[kind]] if kind in COUNTED and len(set(counts.values())) > 1 else []
    body = [
        [
            part,
            *(f"{counts[part]:,}" for _ in counted),
            *(short(cells.get((part, *column))) for column in columns),
        ]
        for part in parts
    ]
    header = [kind, *counted, *(heading(*column) for column in columns)]
    protocols = dict.fromkeys(row.protocol.split(";")[0] for row in rows if row.protocol)
    about = (
        ", ".join(protocols) if len(protocols) == 1 else f"{len(parts)} {PLURALS.get(kind, kind)}"
    )
    notes = [LENGTH_LEGEND] if any(length_dependent(name) for name, _ in columns) else []
    notes += sampled_notes(rows)
    if any(row.low is not None for row in rows):
        notes.append("95 % intervals, and all other measures, are in the JSON (--json, --out)")
    notes += left_out_notes(result) if last else []
    verdict = verdict_lines(result, subject, "") if last else []
    return Grid(f"{subject}: {about}", header, body, notes, verdict)


def sampled_notes(rows: Sequence[Row]) -> list[str]:
    """Say which measures of context were taken of some types or words only."""
    notes: dict[str, dict[str, None]] = {}
    for row in rows:
        if float(row.extra.get("share_kept") or 1.0) < 1:
            said = [part for part in row.note.split("; ") if "chosen by hash" in part]
            notes.setdefault("; ".join(said), {})[base_name(row.measure)] = None
    return [f"{', '.join(measures)}: {note}" for note, measures in notes.items()]


def columns_of(rows: Sequence[Row]) -> list[tuple[str, str]]:
    """Return measure and correction of each column: the telling ones, or all of a short list."""
    known = list(dict.fromkeys((row.measure, row.correction) for row in rows))
    telling = [column for column in SHOWN if column in known]
    return telling if telling and len(known) > len(SHOWN) else known


def shown(part: str, rows: Sequence[Row]) -> bool:
    """Whether a part is shown: the other set of tokens only where it makes a difference."""
    if not part.endswith(OTHER_TOKENS):
        return True
    return any(row.part == part and row.extra.get(MOVED) for row in rows)


def short(row: Row | None) -> str:
    """Return a number with three digits behind the point, as a table of many has room for."""
    if row is None:
        return ""
    if row.measure.endswith(COUNTS) and row.value is not None:
        return f"{row.value:,.0f}"
    if row.value is None or not math.isfinite(row.value) or abs(row.value) < 1e-3:
        return cell(row)
    if abs(row.value) >= 100:
        return f"{row.value:,.0f}" if abs(row.value) < 1e6 else f"{row.value:.2e}"
    return f"{row.value:.3f}"


def heading(measure: str, correction: str) -> str:
    """Return the head of a column."""
    star = " *" * length_dependent(base_name(measure))
    return measure + star + ("" if correction == UNCORRECTED else f" ({correction})")


def left_out_notes(result: Result) -> list[str]:
    """Say what did not count."""
    return [f"left out, {why}: {count:,}" for why, count in result.left_out.items()]


def telling_tables(result: Result) -> list[Table]:
    """Return the tables that are shown beside the numbers.

    Dimensions that stand out over the layers of each model, and its longest tokens in the layer
    where they are longest, if that is much; none of checkpoints, which would be too many.
    """
    chosen: list[Table] = []
    known = [table for table in result.tables if not is_of_checkpoint(table)]
    for subject in dict.fromkeys(table.subject for table in known):
        own = [table for table in known if table.subject == subject and table.rows]
        chosen += [table for table in own if table.measure in TELLING]
        massive = [table for table in own if table.measure == MASSIVE]
        counts = {
            row.part: row.value or 0.0
            for row in result.rows
            if row.subject == subject and row.measure == f"{MASSIVE}/largest"
        }
        longest = max(massive, key=lambda table: counts.get(table.part, 0.0), default=None)
        if longest is not None and counts.get(longest.part, 0.0) > LONG:
            chosen.append(longest)
    return chosen
