"""What people read of a profile: layers down and measures across, one grid for each model.

Several models are also shown side by side, layers at the same relative depth in one line. Of a
training, telling parts are shown by step.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from isoscope.models.layer_names import BLOCK, FINAL
from isoscope.results.fields import (
    CHECKPOINTS,
    DUPLICATE_OF,
    MODEL,
    PARTS,
    REVISION,
    STEP,
    UNCORRECTED,
    base_name,
    is_of_checkpoint,
)
from isoscope.results.numbers import cell
from isoscope.results.result import Result, Row, Table
from isoscope.results.tables import (
    LENGTH_LEGEND,
    Grid,
    grouped,
    length_dependent,
    said_once,
    verdict_lines,
)
from isoscope.verbs.profile.names import OTHER_TOKENS, part_kind, telling_parts
from isoscope.wording import counted

TELLING = ("parts", "persistence", "position_extremes", "norm_outliers")
MASSIVE = "massive_activations"
LONG = 5.0
"""Median lengths from which on the longest token is worth a table."""

MOVED = "moved_by_massive_tokens"

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


SAMPLED = "chosen by hash"
"""What a note says of a measure that was taken of some types or words only."""


def profile_grids(result: Result) -> list[Grid]:
    """Arrange a profile in one grid per model and kind of part."""
    own = [row for row in result.rows if not is_of_checkpoint(row)]
    groups = grouped(own, lambda row: (row.subject, part_kind(row)))
    last = dict(groups.keys())
    return [
        profile_grid(result, subject, kind, rows, last=last[subject] == kind)
        for (subject, kind), rows in groups.items()
    ]


def profile_grid(
    result: Result, subject: str, kind: str, rows: Sequence[Row], *, last: bool
) -> Grid:
    """Arrange the parts of one kind of one model; behind the last comes what is said of it."""
    columns, empty = defined(columns_of(rows), rows)
    parts = [part for part in dict.fromkeys(row.part for row in rows) if shown(part, rows)]
    counts = {part: max(row.n or 0 for row in rows if row.part == part) for part in parts}
    counted = [COUNTED[kind]] if kind in COUNTED and len(set(counts.values())) > 1 else []
    body = [
        [part, *(f"{counts[part]:,}" for _ in counted), *cells_of(rows, "part", part, columns)]
        for part in parts
    ]
    header = [kind, *counted, *(heading(*column) for column in columns)]
    protocols = dict.fromkeys(row.protocol.split(";")[0] for row in rows if row.protocol)
    about = (
        ", ".join(protocols) if len(protocols) == 1 else f"{len(parts)} {PLURALS.get(kind, kind)}"
    )
    notes = [LENGTH_LEGEND] if any(length_dependent(name) for name, _ in columns) else []
    notes += [f"undefined throughout: {', '.join(empty)}"] if empty else []
    notes += sampled_notes(rows) + norm_notes(rows if kind == "norm" else [])
    if any(row.low is not None for row in rows):
        notes.append("95 % intervals, and all other measures, are in the JSON (--json, --out)")
    notes += left_out_notes(result) if last else []
    verdict = verdict_lines(result, subject, "") if last else []
    return Grid(f"{subject}: {about}", header, body, notes, verdict)


def cells_of(
    rows: Sequence[Row], field: str, name: str, columns: Sequence[tuple[str, str]]
) -> list[str]:
    """Return the numbers of a part, or of a subject, for measures with their corrections."""
    own = {(row.measure, row.correction): row for row in rows if getattr(row, field) == name}
    return [short(own.get(column)) for column in columns]


def defined(
    columns: Sequence[tuple[str, str]], rows: Sequence[Row]
) -> tuple[list[tuple[str, str]], list[str]]:
    """Part the columns with a number from those without any, which need no room in a table."""
    filled = {(row.measure, row.correction) for row in rows if row.value is not None}
    empty = [heading(*column) for column in columns if column not in filled]
    return [column for column in columns if column in filled], empty


def sampled_notes(rows: Sequence[Row]) -> list[str]:
    """Say which measures of context were taken of some types or words only."""
    sampled = [row for row in rows if float(row.extra.get("share_kept") or 1.0) < 1]
    return said_once(
        (
            base_name(row.measure),
            "; ".join(x for x in row.note.split("; ") if "chosen by hash" in x),
        )
        for row in sampled
    )


def norm_notes(rows: Sequence[Row]) -> list[str]:
    """Say what a reader of a norm's numbers must know, with the norms that it is about."""
    noted = [row for row in rows if row.note and row.value is not None]
    return [
        f"{note} ({'; '.join(dict.fromkeys(row.part for row in own))})"
        for note, own in grouped(noted, lambda row: f"{base_name(row.measure)}: {row.note}").items()
    ]


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


DEPTHS = (0.0, 0.25, 0.5, 0.75, 1.0)
COMPARED = ("mean_cosine", "intra_sim", "effective_rank")
"""What models are laid beside each other by, as far as it was measured."""


def depth_grids(result: Result) -> list[Grid]:
    """Return a grid over relative depth where several models have layers, else none."""
    layers: dict[str, dict[str, list[Row]]] = {}
    for row in result.rows:
        if row.correction == "none" and is_layer(row):
            for name, part in stacks_of(row):
                layers.setdefault(name, {}).setdefault(part, []).append(row)
    known = {row.measure for parts in layers.values() for rows in parts.values() for row in rows}
    measures = [name for name in COMPARED if name in known]
    if len({name.split(",")[0] for name in layers}) < 2 or not measures:
        return []
    header = ["depth", *(f"{measure}: {name}" for measure in measures for name in layers)]
    body = [
        [
            f"{depth:.0%}",
            *(
                short(at_depth(parts, depth, measure))
                for measure in measures
                for parts in layers.values()
            ),
        ]
        for depth in DEPTHS
    ]
    last = [short(of(parts.get(FINAL, []), m)) for m in measures for parts in layers.values()]
    if any(last):
        body.append([FINAL, *last])
    note = "0 % is what enters the first block, 100 % the last block; the nearest layer is shown"
    return [Grid(f"{len(layers)} models over relative depth", header, body, [note], [])]


def is_layer(row: Row) -> bool:
    """Whether a row is about a layer with the tokens that count, of a model as it is now."""
    return (
        PARTS not in row.extra and not row.part.endswith(OTHER_TOKENS) and not is_of_checkpoint(row)
    )


def stacks_of(row: Row) -> list[tuple[str, str]]:
    """Return model and layer, where encoder and decoder of a model are two."""
    side, _, rest = row.part.partition(" ")
    if side in ("encoder", "decoder"):
        return [(f"{row.subject}, {side}", rest)]
    return [(row.subject, row.part)]


def at_depth(parts: Mapping[str, Sequence[Row]], depth: float, measure: str) -> Row | None:
    """Return the value of the layer nearest to a depth, from the embedding, 0, to the last, 1."""
    blocks = {int(found[2]): part for part in parts if (found := BLOCK.fullmatch(part))}
    last = max(blocks, default=0)
    number = round(depth * last)
    return of(parts.get("embedding" if number == 0 else blocks.get(number, ""), []), measure)


def of(rows: Sequence[Row], measure: str) -> Row | None:
    """Return the row of a measure."""
    return next((row for row in rows if row.measure == measure), None)


def all_profile_grids(result: Result) -> list[Grid]:
    """Arrange layers, then models at the same relative depth, then steps of a training."""
    return [*profile_grids(result), *depth_grids(result), *trained_grids(result)]


def trained_grids(result: Result) -> list[Grid]:
    """Arrange what is about checkpoints: a grid per model and part that tells much."""
    trained = filter(is_of_checkpoint, result.rows)
    models = grouped(trained, lambda row: str(row.extra.get(MODEL)))
    found = []
    for model, rows in models.items():
        parts = telling_parts(rows)
        for kind, part in parts:
            last = (kind, part) == parts[-1]
            found.append(trained_grid(result, model, part, part_rows(rows, kind, part)))
            if last:
                found[-1].notes.extend(training_notes(result, model, rows))
    return found


def trained_grid(result: Result, model: str, part: str, rows: Sequence[Row]) -> Grid:
    """Arrange the checkpoints of one model and part."""
    columns = columns_of(rows)
    firsts = {row.subject: row for row in reversed(rows)}
    subjects = dict.fromkeys(row.subject for row in rows)
    steps = [firsts[subject].extra.get(STEP) for subject in subjects]
    unclear = len(set(steps)) < len(steps)
    body = []
    for subject in subjects:
        first = firsts[subject]
        name = str(first.extra[REVISION]) if unclear else step_name(first).removeprefix("step ")
        body.append([name, *cells_of(rows, "subject", subject, columns)])
    header = [STEP, *(heading(*column) for column in columns)]
    protocols = dict.fromkeys(row.protocol.split(";")[0] for row in rows if row.protocol)
    about = next(iter(protocols)) if len(protocols) == 1 else counted(len(subjects), "checkpoint")
    notes = [LENGTH_LEGEND] if any(length_dependent(name) for name, _ in columns) else []
    title = f"{model}, {part}: {about}"
    return Grid(title, header, body, notes, verdict_lines(result, model, part))


def training_notes(result: Result, model: str, rows: Sequence[Row]) -> list[str]:
    """Say which steps there are, which are the same, and where the rest of the numbers is."""
    lists = [t.note for t in result.tables if (t.subject, t.measure) == (model, CHECKPOINTS)]
    same = [
        f"{row.extra[REVISION]} has the weights of {row.extra[DUPLICATE_OF]}: no numbers of its own"
        for row in rows
        if DUPLICATE_OF in row.extra
    ]
    return [*lists, *same, *left_out_notes(result), "the other parts are in the JSON"]


def part_rows(rows: Sequence[Row], kind: str, part: str) -> list[Row]:
    """Return the rows about one part: the weights of a norm and its outputs share a name."""
    return [row for row in rows if (part_kind(row), row.part) == (kind, part)]


def curve_of(rows: Sequence[Row], measure: str, correction: str) -> list[Row]:
    """Return the numbers of a measure at steps that are known, in order."""
    return [
        row
        for row in rows
        if (row.measure, row.correction) == (measure, correction)
        and row.value is not None
        and math.isfinite(row.value)
        and row.extra.get(STEP) is not None
    ]


def step_name(row: Row) -> str:
    """Return the step of a row, or its revision where that tells no step."""
    step = row.extra.get(STEP)
    return str(row.extra[REVISION]) if step is None else f"step {step:,}"
