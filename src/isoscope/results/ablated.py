"""An ablation for people: cells down and measures across, main effects, and the way there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoscope.results.pretrained import PERPLEXITY
from isoscope.results.render import Grid
from isoscope.results.scored import KIND

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoscope.results.result import Result, Row

ABLATION, EFFECTS, FACTORS = "ablation", "main effects", "factors"
EMBEDDING, UNEMBEDDING = "embedding matrix", "unembedding matrix"
NON_INPUT, LAST_LAYER, FINAL_NORM = "non-input layers", "last layer", "last norm"
VALIDATION = "validation"
EXTREME, MEAN_COSINE = "largest_share_as_extreme", "mean_cosine"
GAIN, BIAS, BIAS_OVER_GAIN = "gain_avgnorm", "bias_avgnorm", "bias_over_gain"

SHOWN = {
    (VALIDATION, PERPLEXITY): "perplexity",
    (EMBEDDING, "i1"): "I1 of embedding",
    (EMBEDDING, "i1_scaled"): "at length 1, embedding",
    (UNEMBEDDING, "i1"): "I1 of unembedding",
    (UNEMBEDDING, "i1_scaled"): "at length 1, unembedding",
    (LAST_LAYER, MEAN_COSINE): "mean cosine of last layer",
    (NON_INPUT, EXTREME): "one dimension is extreme in",
    (FINAL_NORM, GAIN): "last norm, gain",
    (FINAL_NORM, BIAS): "last norm, bias",
}
"""What tables show, by part and measure; JSON has every layer."""

FOLLOWED = ((VALIDATION, PERPLEXITY), (UNEMBEDDING, "i1"), (LAST_LAYER, MEAN_COSINE))
"""What is shown over training."""

STAR = " *"
STAR_NOTE = "*: the 95 % interval does not hold 0; no correction for many comparisons"
EFFECT_NOTE = (
    "main effects: differences of means over all other factors and seeds; analysis of variance "
    "with seeds as blocks"
)


def is_ablation(result: Result) -> bool:
    """Whether a result compares models that differ in some factors."""
    return result.extra.get(KIND) == ABLATION


def ablation_grids(result: Result) -> list[Grid]:
    """Arrange the last step, main effects, and some measures over training."""
    cells = [row for row in result.rows if row.subject != EFFECTS]
    effects = [row for row in result.rows if row.subject == EFFECTS]
    end = max(row.extra["step"] for row in cells)
    last = [row for row in cells if row.extra["step"] == end]
    found = [
        cell_grid(f"models after {end:,} steps, mean ± deviation over seeds", last),
        effect_grid(effects),
        *(way_grid(cells, part, measure) for part, measure in FOLLOWED),
    ]
    return [grid for grid in found if grid.rows]


def model_of(row: Row) -> str:
    """Return the name of a row's cell."""
    return str(row.extra.get("model", row.subject))


def columns(rows: Sequence[Row]) -> list[tuple[str, str]]:
    """Return what is shown and there."""
    there = {(row.part, row.measure) for row in rows}
    return [place for place in SHOWN if place in there]


def cell_grid(title: str, rows: Sequence[Row]) -> Grid:
    """Arrange cells down, measures across."""
    across = columns(rows)
    values = {(model_of(row), row.part, row.measure): row for row in rows}
    body = [
        [cell, *(mean_cell(values.get((cell, *place))) for place in across)]
        for cell in dict.fromkeys(model_of(row) for row in rows)
    ]
    notes = [rows[0].protocol] if rows else []
    return Grid(title, ["model", *(SHOWN[place] for place in across)], body, notes, [])


def mean_cell(row: Row | None) -> str:
    """Return a mean with its deviation."""
    if row is None or row.value is None:
        return ""
    digits = ".1f" if row.measure == PERPLEXITY else ".3f"
    spread = row.extra.get("sd")
    return f"{row.value:{digits}}" + ("" if spread is None else f" ± {spread:{digits}}")


def effect_grid(rows: Sequence[Row]) -> Grid:
    """Arrange measures down, changes across, and say what stands out."""
    changes = list(dict.fromkeys(row.correction for row in rows))
    values = {(row.correction, row.part, row.measure): row for row in rows}
    body = [
        [SHOWN[place], *(effect_cell(values.get((change, *place))) for change in changes)]
        for place in columns(rows)
    ]
    title, notes = "main effects (95 % interval)", [STAR_NOTE, EFFECT_NOTE]
    return Grid(title, ["measure", *changes], body, notes, verdict(rows))


def effect_cell(row: Row | None) -> str:
    """Return an effect with its interval."""
    if row is None or row.value is None:
        return ""
    digits = ".1f" if row.measure == PERPLEXITY else ".3f"
    if row.low is None or row.high is None:
        return f"{row.value:+{digits}}"
    star = STAR * bool(row.extra.get("excludes_zero"))
    return f"{row.value:+{digits}} ({row.low:{digits}} to {row.high:{digits}}){star}"


def verdict(rows: Sequence[Row]) -> list[str]:
    """Say what every change does to the unembedding's isotropy, and to the last layer's cosines."""
    said = []
    for place, name in (
        ((UNEMBEDDING, "i1"), "I1 of the unembedding"),
        ((LAST_LAYER, MEAN_COSINE), "the mean cosine of the last layer"),
    ):
        here = [row for row in rows if (row.part, row.measure) == place and row.value is not None]
        moved = [row for row in here if row.extra.get("excludes_zero")]
        words = [
            f"{row.correction} {'raises' if (row.value or 0) > 0 else 'lowers'} it by "
            f"{abs(row.value or 0):.3f}"
            for row in moved
        ]
        if here and all(row.low is None for row in here):
            said.append(f"{name}: one run a cell says nothing about chance")
        elif here:
            said.append(
                f"{name}: {', '.join(words) if words else 'nothing moves it beyond chance'}"
            )
    return [f"Verdict: {'; '.join(said)}."] if said else []


def way_grid(rows: Sequence[Row], part: str, measure: str) -> Grid:
    """Arrange cells down, steps across."""
    here = [row for row in rows if (row.part, row.measure) == (part, measure)]
    steps = sorted({row.extra["step"] for row in here})
    values = {(model_of(row), row.extra["step"]): row for row in here}
    body = [
        [cell, *(mean_cell(values.get((cell, step))) for step in steps)]
        for cell in dict.fromkeys(model_of(row) for row in here)
    ]
    title = f"{SHOWN[part, measure]} over training"
    return Grid(title, ["model", *(f"step {step:,}" for step in steps)], body, [], [])
