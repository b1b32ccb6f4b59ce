"""What people read of a profile: layers down and measures across, one grid for each model.

Several models are also shown side by side, with layers at the same relative depth in one line. For
a training, the most informative parts are shown by step.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from isoscope.models.layer_names import BLOCK, EMBEDDING, FINAL_NORM
from isoscope.models.model import MODELS
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
    pivot,
    said_once,
    verdict_lines,
)
from isoscope.verbs.profile.names import LAYER, MATRIX, NORM, OTHER_TOKENS, part_kind, telling_parts
from isoscope.wording import counted

# A measure and a correction.
Column = tuple[str, str]

TELLING = ("parts", "persistence", "position_extremes", "norm_outliers")
MASSIVE = "massive_activations"
# Median norms from which on the longest token is worth a table.
LONG = 5.0

# Field of rows about layers where massive tokens change a number much.
MOVED = "moved_by_massive_tokens"

PLURALS = {LAYER: "layers", MATRIX: "matrices", NORM: "norms"}
# What the vectors of a part are, where their number differs from part to part.
COUNTED = {MATRIX: "rows", LAYER: "tokens"}
# Ends of the names of measures that count something.
COUNTS = ("/count", "outliers_3sd")

# What a terminal has room for, most telling first; JSON has everything.
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


# Words in the note of a measure that was computed on some types or words only.
SAMPLED = "chosen by hash"


def all_profile_grids(result: Result) -> list[Grid]:
    """Arrange layers, then models at the same relative depth, then steps of a training."""
    return [*profile_grids(result), *depth_grids(result), *trained_grids(result)]


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
    """Arrange the parts of one kind of one model; the last one is followed by the verdict."""
    # Columns without any number take up room in a table: they are named below it.
    filled = {column_of(row) for row in rows if row.value is not None}
    every = columns_of(rows)
    columns = [column for column in every if column in filled]
    empty = [heading(*column) for column in every if column not in filled]
    parts = [part for part in dict.fromkeys(row.part for row in rows) if shown(part, rows)]
    header, body = number_table(rows, "part", kind, parts, columns)
    counts = {part: max(row.n or 0 for row in rows if row.part == part) for part in parts}
    if kind in COUNTED and len(set(counts.values())) > 1:
        header.insert(1, COUNTED[kind])
        for line in body:
            line.insert(1, f"{counts[line[0]]:,}")
    about = common_protocol(rows, f"{len(parts)} {PLURALS.get(kind, kind)}")
    notes = length_notes(columns)
    notes += [f"undefined throughout: {', '.join(empty)}"] if empty else []
    notes += sampled_notes(rows) + norm_notes(rows if kind == NORM else [])
    if any(row.low is not None for row in rows):
        notes.append("95 % intervals, and all other measures, are in the JSON (--json, --out)")
    notes += [*left_out_notes(result), *unstored_notes(result, subject)] if last else []
    verdict = verdict_lines(result, subject, "") if last else []
    return Grid(f"{subject}{weights_of(result, subject)}: {about}", header, body, notes, verdict)


def weights_of(result: Result, model: str) -> str:
    """Say in brackets what the weights of a model were quantised to, where they were."""
    told = quantisation_told(result, model)
    return f" ({told})" if told else ""


def quantisation_told(result: Result, model: str) -> str:
    """Return how the weights of a model were stored, without the list of tensors; often nothing.

    A GGUF file whose numbers have 16 bits or more is not quantised.
    """
    told = str(provenance(result, model).get("quantisation", "none")).partition(" (")[0]
    if told == "none":
        return ""
    return told if told.startswith("dequantised") else f"quantised: {told}"


def number_table(
    rows: Sequence[Row], down: str, corner: str, lines: Iterable[str], columns: list[Column]
) -> tuple[list[str], list[list[str]]]:
    """Arrange numbers: parts or checkpoints down, measures with their corrections across."""
    headings = {column: heading(*column) for column in columns}
    return pivot(rows, down, column_of, short, corner=corner, lines=lines, columns=headings)


def column_of(row: Row) -> Column:
    """Return the column that a row stands in."""
    return row.measure, row.correction


def common_protocol(rows: Iterable[Row], otherwise: str) -> str:
    """Return how all numbers were found, or something else where they were found in many ways."""
    protocols = {row.protocol.split(";")[0] for row in rows if row.protocol}
    return protocols.pop() if len(protocols) == 1 else otherwise


def length_notes(columns: Iterable[Column]) -> list[str]:
    """Explain the star of measures that change with the norm of the vectors."""
    return [LENGTH_LEGEND] if any(length_dependent(name) for name, _ in columns) else []


def sampled_notes(rows: Sequence[Row]) -> list[str]:
    """Note which measures of context were computed on some types or words only."""
    sampled = [row for row in rows if float(row.extra.get("share_kept") or 1.0) < 1]
    return said_once(
        (base_name(row.measure), "; ".join(x for x in row.note.split("; ") if SAMPLED in x))
        for row in sampled
    )


def norm_notes(rows: Sequence[Row]) -> list[str]:
    """Return the notes on the numbers of norms, each once, with the norms that it is about."""
    noted = [row for row in rows if row.note and row.value is not None]
    return [
        f"{note} ({'; '.join(dict.fromkeys(row.part for row in own))})"
        for note, own in grouped(noted, lambda row: f"{base_name(row.measure)}: {row.note}").items()
    ]


def columns_of(rows: Sequence[Row]) -> list[Column]:
    """Return measure and correction of each column: the telling ones, or all of a short list."""
    known = list(dict.fromkeys(map(column_of, rows)))
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
    """Note what was excluded, and how much of it."""
    return [f"left out, {why}: {count:,}" for why, count in result.left_out.items()]


def unstored_notes(result: Result, model: str) -> list[str]:
    """Note which weights the configuration of a model names, but its files do not hold."""
    told = provenance(result, model).get("not_stored")
    return [str(told)] if told else []


def provenance(result: Result, model: str) -> Mapping[str, str]:
    """Return what a result keeps about where the weights of a model come from."""
    return (result.extra.get(MODELS) or {}).get(model) or {}


def telling_tables(result: Result) -> list[Table]:
    """Return the tables that are shown beside the numbers.

    Dimensions that stand out over the layers of each model, and its longest tokens in the layer
    where they are longest, if that is much; none of checkpoints, which would be too many.
    """
    largest = {
        (row.subject, row.part): row.value or 0.0
        for row in result.rows
        if row.measure == f"{MASSIVE}/largest"
    }

    def longest(table: Table) -> float:
        return largest.get((table.subject, table.part), 0.0)

    chosen: list[Table] = []
    known = (table for table in result.tables if table.rows and not is_of_checkpoint(table))
    for own in grouped(known, lambda table: table.subject).values():
        chosen += [table for table in own if table.measure in TELLING]
        massive = [table for table in own if table.measure == MASSIVE and longest(table) > LONG]
        chosen += sorted(massive, key=longest, reverse=True)[:1]
    return chosen


DEPTHS = (0.0, 0.25, 0.5, 0.75, 1.0)
# Measures by which models are compared side by side, as far as they were computed.
COMPARED = ("mean_cosine", "intra_sim", "effective_rank")


def depth_grids(result: Result) -> list[Grid]:
    """Return a grid over relative depth where several models have layers, else none."""
    stacks: dict[str, dict[tuple[str, str], Row]] = {}
    for row in result.rows:
        if row.correction == UNCORRECTED and is_layer(row):
            stack, part = stack_of(row)
            stacks.setdefault(stack, {}).setdefault((part, row.measure), row)
    known = {measure for rows in stacks.values() for _, measure in rows}
    measures = [name for name in COMPARED if name in known]
    # Encoder and decoder of one model are no comparison of models.
    if len({name.split(",")[0] for name in stacks}) < 2 or not measures:
        return []
    columns = [(measure, rows) for measure in measures for rows in stacks.values()]
    header = ["depth", *(f"{measure}: {name}" for measure in measures for name in stacks)]
    body = [
        [f"{depth:.0%}", *(short(rows.get((layer_at(rows, depth), m))) for m, rows in columns)]
        for depth in DEPTHS
    ]
    last = [short(rows.get((FINAL_NORM, measure))) for measure, rows in columns]
    if any(last):
        body.append([FINAL_NORM, *last])
    notes = ["0 % is what enters the first block, 100 % the last block; the nearest layer is shown"]
    models = dict.fromkeys(name.split(",")[0] for name in stacks)
    notes += [f"{name}: {told}" for name in models if (told := quantisation_told(result, name))]
    return [Grid(f"{len(stacks)} models over relative depth", header, body, notes, [])]


def is_layer(row: Row) -> bool:
    """Whether a row is about a layer with the tokens that count, of a model as it is now."""
    return (
        PARTS not in row.extra and not row.part.endswith(OTHER_TOKENS) and not is_of_checkpoint(row)
    )


def stack_of(row: Row) -> tuple[str, str]:
    """Return model and layer, where encoder and decoder of a model are two."""
    side, _, rest = row.part.partition(" ")
    if side in ("encoder", "decoder"):
        return f"{row.subject}, {side}", rest
    return row.subject, row.part


def layer_at(rows: Mapping[tuple[str, str], Row], depth: float) -> str:
    """Return the layer nearest to a depth, from the embedding, 0, to the last block, 1."""
    blocks = {int(found[2]): part for part, _ in rows if (found := BLOCK.fullmatch(part))}
    number = round(depth * max(blocks, default=0))
    return EMBEDDING if number == 0 else blocks.get(number, "")


def trained_grids(result: Result) -> list[Grid]:
    """Arrange what is about checkpoints: a grid per model and part that tells much."""
    trained = filter(is_of_checkpoint, result.rows)
    found = []
    for model, rows in grouped(trained, lambda row: str(row.extra.get(MODEL))).items():
        grids = [
            trained_grid(result, model, part, part_rows(rows, kind, part))
            for kind, part in telling_parts(rows)
        ]
        if grids:
            grids[-1].notes.extend(training_notes(result, model, rows))
        found += grids
    return found


def trained_grid(result: Result, model: str, part: str, rows: Sequence[Row]) -> Grid:
    """Arrange the checkpoints of one model and part."""
    columns = columns_of(rows)
    firsts = {subject: own[0] for subject, own in grouped(rows, lambda row: row.subject).items()}
    # Revisions tell checkpoints apart where several have the same step, or none.
    unclear = len({row.extra.get(STEP) for row in firsts.values()}) < len(firsts)
    lines = {
        subject: str(row.extra[REVISION]) if unclear else step_name(row).removeprefix("step ")
        for subject, row in firsts.items()
    }
    header, body = number_table(rows, "subject", STEP, lines, columns)
    about = common_protocol(rows, counted(len(firsts), "checkpoint"))
    title = f"{model}, {part}: {about}"
    return Grid(title, header, body, length_notes(columns), verdict_lines(result, model, part))


def training_notes(result: Result, model: str, rows: Sequence[Row]) -> list[str]:
    """Note which steps there are, which have the same weights, and where the other numbers are."""
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
        if column_of(row) == (measure, correction)
        and row.value is not None
        and math.isfinite(row.value)
        and row.extra.get(STEP) is not None
    ]


def step_name(row: Row) -> str:
    """Return the step of a row, or its revision where that tells no step."""
    step = row.extra.get(STEP)
    return str(row.extra[REVISION]) if step is None else f"step {step:,}"
