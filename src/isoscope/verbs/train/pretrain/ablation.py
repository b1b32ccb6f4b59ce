"""Ablation: the same small model with one thing changed at a time, several times each.

Of every checkpoint, the matrices, the layers over a text, and the last norm are measured.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from isoscope.compute.journal import Journal, journal_beside, journal_while, refuse_unfinished
from isoscope.data.texts.base import TextSource
from isoscope.data.texts.open import open_texts
from isoscope.data.texts.readers import SampledTexts
from isoscope.errors import at_least
from isoscope.measures.kernels.torch_kernel import TorchMoments
from isoscope.measures.reads.moments import MomentParts
from isoscope.models.checkpoints import find_training, step_of
from isoscope.models.layer_names import EMBEDDING as INPUT_LAYER
from isoscope.models.layer_names import EMBEDDING_MATRIX, UNEMBEDDING_MATRIX
from isoscope.models.layers import LayerClouds
from isoscope.models.model import Model, open_model
from isoscope.models.structure.norm_layers import norm_weights
from isoscope.progress import Progress
from isoscope.results.destination import check_writable
from isoscope.results.fields import FREEDOM, UNCORRECTED, UNIT
from isoscope.results.result import Result, Row
from isoscope.verbs.measure import api as measuring
from isoscope.verbs.train import names
from isoscope.verbs.train.needs import announced, plan_need
from isoscope.verbs.train.pretrain.learner import Corpus, make_corpus
from isoscope.verbs.train.pretrain.loop import pretrain
from isoscope.verbs.train.pretrain.main_effects import main_effects
from isoscope.verbs.train.pretrain.plan import (
    USUAL_GRID,
    Cell,
    Factor,
    Plan,
    cell_name,
    cells,
    levels_of,
    parse_grid,
    plan_of,
)
from isoscope.verbs.train.seed_means import (
    known,
    mean_row,
    run_once,
    runs_result,
    working_folder,
    write_result,
)
from isoscope.wording import counted

OF_MATRICES = "i1,i1_scaled,mean_cosine,mean_norm"

# Part and measure.
Place = tuple[str, str]


def checkpoint_measures(model: Model, texts: TextSource) -> dict[Place, float | None]:
    """Measure one checkpoint.

    Parameters
    ----------
    model : Model
        With an unembedding.
    texts : TextSource
        What its layers read.
    """
    return {**matrix_measures(model), **layer_measures(model, texts), **norm_measures(model)}


def matrix_measures(model: Model) -> dict[Place, float | None]:
    """Measure the input and the output matrix, as they are; tied ones are the same twice."""
    found: dict[Place, float | None] = {}
    for which, part in (("input", EMBEDDING_MATRIX), ("output", UNEMBEDDING_MATRIX)):
        cloud = model.embedding_cloud(which)
        for row in measuring.measure(cloud, OF_MATRICES, "none", intervals=False).rows:
            found[part, row.measure] = row.value
    return found


def layer_measures(model: Model, texts: TextSource) -> dict[Place, float | None]:
    """Measure the mean cosine of every layer, and how often one dimension is the extreme.

    The share is that of the dimension that is most often the minimum, or the maximum, of a vector,
    over all layers but the input: Luo (2021), section 3.2.
    """
    group = LayerClouds(model, texts)
    parts = MomentParts(scatter=False)
    sums = {layer: TorchMoments(parts, double=False) for layer in group.names}
    for batches in group.batches():
        for layer, batch in batches.items():
            sums[layer].add(batch.vectors)
    moments = {layer: found for layer, one in sums.items() if (found := one.result()) is not None}
    cosines: dict[Place, float | None] = {
        (layer, names.MEAN_COSINE): one.mean_cosine for layer, one in moments.items()
    }
    # Under a name of its own, as the number of the last layer differs between sizes.
    cosines[names.LAST_LAYER, names.MEAN_COSINE] = list(cosines.values())[-1]
    behind = [one for layer, one in moments.items() if layer != INPUT_LAYER]
    extremes = [
        np.sum([getattr(one, name) for one in behind], axis=0)
        for name in ("minimum_counts", "maximum_counts")
    ]
    share = max(float(counts.max() / max(counts.sum(), 1)) for counts in extremes)
    return {**cosines, (names.NON_INPUT, names.EXTREME): share}


def norm_measures(model: Model) -> dict[Place, float | None]:
    """Measure gain and bias of the last norm before the output matrix."""
    norms = [norm for norm in model.parts.norms if norm.gain is not None]
    weights = norm_weights(model, norms[-1]) if norms else None
    if weights is None:
        return {}
    values = weights.values()
    return {
        (names.FINAL_NORM, name): values[name].value
        for name in (names.GAIN, names.BIAS, names.BIAS_OVER_GAIN)
    }


# Texts of the validation that the layers of every checkpoint read.
READ_TEXTS = 200

# Fields of the row of a cell beside its mean.
FIELDS = ("model", "step", "unit", "runs", "sd", names.FACTORS)

# Numbers of one run: step, part, measure and value.
Points = list[dict[str, Any]]


def ablate(
    text: Any,
    grid: str = USUAL_GRID,
    base: Plan | None = None,
    *,
    seeds: int = 3,
    validation: Any = None,
    column: str | None = None,
    out: str | Path | None = None,
    journal: str | Path | None = None,
    resume: bool = False,
    keep: str | Path | None = None,
    device: str | None = None,
    progress: Progress | None = None,
    save: Callable[[Result], None] | None = None,
    announce: Callable[[str], None] | None = None,
    command: str = "",
) -> Result:
    """Train every combination of some factors from scratch, and compare what becomes of them.

    Parameters
    ----------
    text : str, Path, list of str or TextSource
        What ``open_texts`` takes.
    grid : str
        Factors, as ``parse_grid`` takes them.
    base : Plan, optional
        What all models have in common; ``Plan()`` by default.
    seeds : int
        Runs of every cell: seeds 0, 1, 2, …
    validation, column
        As for ``pretrain``.
    out, journal, resume, device, progress, save, announce, command
        As for ``finetune``.
    keep : path, optional
        Folder in which the checkpoints of all runs stay; otherwise they go once measured.

    Examples
    --------
    >>> ablate("wiki.train.txt", "tie,positions", Plan("clm", "tiny"))  # doctest: +SKIP
    """
    if out is not None:
        check_writable(Path(out))
    journal = journal_beside(out, journal, resume=resume)
    factors, base = parse_grid(grid), base or Plan()
    at_least("seeds", seeds, 1)
    for cell in cells(factors):
        plan_of(base, factors, cell, 0)  # which refuses what cannot be, before anything is trained
    if journal is not None and not resume:
        refuse_unfinished(journal)
    corpus = make_corpus(text, base.shape, validation=validation, column=column)
    grid_facts = {"seed": None, "grid": [str(f) for f in factors], "text": corpus.digest}
    configuration = {**base.to_facts(), **grid_facts}
    with (
        working_folder(journal) as work,
        journal_while(journal, configuration, resume=resume) as kept,
    ):
        bench = AblationRuns(
            corpus, factors, base, Path(keep) if keep else work, kept, progress, device,
            stays=keep is not None,
        )  # fmt: skip
        runs: dict[Cell, list[Points]] = {cell: [] for cell in cells(factors)}
        announced([plan_need(base, len(runs) * seeds, corpus.words)], device, announce)
        for seed in range(seeds):  # so that a run that is cut short has whole grids
            for cell, several in runs.items():
                several.append(bench.run(cell, seed))
        rows = rows_of(runs, factors, protocol(base, factors, corpus, seeds))
        about = {names.FACTORS: {factor.name: list(factor.levels) for factor in factors}}
        result = runs_result(names.ABLATION, rows, seeds, command, **about, plan=base.to_facts())
        write_result(result, out, save)
    return result


@dataclass
class AblationRuns:
    """What all runs share; trains and measures one of them, unless the journal has it."""

    corpus: Corpus
    factors: tuple[Factor, ...]
    base: Plan
    folder: Path
    journal: Journal | None
    progress: Progress | None
    device: str | None
    stays: bool

    def run(self, cell: Cell, seed: int) -> Points:
        """Train one model, and measure its checkpoints."""
        name = f"{cell_name(cell)}, seed {seed}"
        found = run_once(self.journal, name, lambda: {"points": self._points(name, cell, seed)})
        if not self.stays:  # also where an earlier run was killed before it could delete it
            shutil.rmtree(self.folder / name, ignore_errors=True)
        return list(found["points"])

    def _points(self, name: str, cell: Cell, seed: int) -> Points:
        folder, report = self.folder / name, self.progress
        trained = pretrain(
            None, plan_of(self.base, self.factors, cell, seed), folder,
            corpus=self.corpus, resume=folder.is_dir(), device=self.device,
            progress=None if report is None else lambda _, *steps: report(name, *steps),
        )  # fmt: skip
        points: Points = [
            {"step": row.extra["step"], "part": names.VALIDATION, "measure": names.PERPLEXITY,
             "value": row.value}
            for row in trained.rows
            if row.measure == names.PERPLEXITY
        ]  # fmt: skip
        for checkpoint in find_training(str(folder)).checkpoints:
            step = step_of(checkpoint.revision)
            opened = open_model(str(checkpoint.folder), device=self.device)
            for (part, measure), value in checkpoint_measures(opened, self.texts).items():
                points.append({"step": step, "part": part, "measure": measure, "value": value})
        return points

    @property
    def texts(self) -> TextSource:
        """What layers read: some texts that were not learned from."""
        return SampledTexts(open_texts(list(self.corpus.held_texts)), READ_TEXTS, 0)


def protocol(base: Plan, factors: tuple[Factor, ...], corpus: Corpus, seeds: int) -> str:
    """Say in a line what was trained."""
    tokens = base.shape.batch_size * base.shape.context
    differs = "objective" in {factor.name for factor in factors}
    objective = "" if differs else f" {base.objective}"
    return (
        f"{base.size}{objective}, {counted(base.length, 'step')} of {tokens:,} tokens, "
        f"{counted(seeds, 'seed')}; "
        f"{corpus.words}; layers over {min(READ_TEXTS, len(corpus.held_texts))} texts of it"
    )


def rows_of(runs: dict[Cell, list[Points]], factors: tuple[Factor, ...], how: str) -> list[Row]:
    """Return means over seeds for every cell and step, then main effects at the last step."""
    rows: list[Row] = []
    last: dict[tuple[str, str], dict[Cell, list[float | None]]] = {}
    for cell, several in runs.items():
        by_place = [
            {(point["step"], point["part"], point["measure"]): point["value"] for point in points}
            for points in several
        ]
        end = max(step for step, _, _ in by_place[0])
        for step, part, measure in by_place[0]:
            values = [one.get((step, part, measure)) for one in by_place]
            rows.append(cell_row(cell, factors, (step, part, measure), values, how))
            if step == end:
                last.setdefault((part, measure), {})[cell] = values
    return [*rows, *effect_rows(last, len(runs), factors, how)]


def cell_row(
    cell: Cell,
    factors: tuple[Factor, ...],
    place: tuple[int, str, str],
    values: Sequence[float | None],
    how: str,
) -> Row:
    """Return the mean of a cell's runs that have a value."""
    step, part, measure = place
    model = cell_name(cell)
    where = (f"{model}@step{step}", part, UNCORRECTED)
    note = "" if known(values) else "undefined in every run"
    about = {"model": model, "step": step, names.FACTORS: dict(levels_of(factors, cell))}
    row = mean_row(where, measure, values, how, note, **about)
    # In the order in which files of ablations have always had these fields.
    return replace(row, extra={name: row.extra[name] for name in FIELDS})


def effect_rows(
    last: dict[tuple[str, str], dict[Cell, list[float | None]]],
    count: int,
    factors: tuple[Factor, ...],
    how: str,
) -> list[Row]:
    """Return main effects of all that every run of every cell has."""
    rows = []
    for (part, measure), by_cell in last.items():
        values = {cell: known(found) for cell, found in by_cell.items()}
        complete = all(len(values[cell]) == len(found) for cell, found in by_cell.items())
        if len(by_cell) < count or not complete:  # the analysis of variance needs every run
            continue
        for effect in main_effects(values, factors):
            change = f"{effect.level} instead of {effect.reference}"
            tested = {"factor": effect.factor, "p": effect.p, "excludes_zero": effect.excludes_zero}
            tested |= {FREEDOM: effect.freedom} if effect.freedom else {}
            rows.append(
                Row.of(
                    effect, names.EFFECTS, part, change, measure, n=effect.runs, protocol=how,
                    note="" if effect.low is not None else "one run a cell: chance is unknown",
                    extra={**tested, "unit": UNIT},
                )
            )  # fmt: skip
    return rows
