"""Ablation: the same small model with one thing changed at a time, several times each."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isoscope.compute.journal import journal_while, refuse_unfinished
from isoscope.compute.stats.significance import sample_of
from isoscope.data.texts.base import TextSource
from isoscope.data.texts.open import open_texts
from isoscope.data.texts.readers import SampledTexts
from isoscope.errors import UsageError
from isoscope.measures.registry import counted
from isoscope.models.checkpoints import find_training, step_of
from isoscope.models.model import open_model
from isoscope.results.ablated import ABLATION, EFFECTS, FACTORS
from isoscope.results.pretrained import PERPLEXITY
from isoscope.results.result import Result, Row
from isoscope.results.scored import KIND
from isoscope.training.finetuning import versions_of_training, working_folder
from isoscope.training.pretraining.checkpoint_measures import checkpoint_measures
from isoscope.training.pretraining.corpus import make_corpus
from isoscope.training.pretraining.effects import main_effects
from isoscope.training.pretraining.grid import (
    USUAL_GRID,
    cell_name,
    cells,
    levels_of,
    parse_grid,
    plan_of,
)
from isoscope.training.pretraining.plan import Plan
from isoscope.training.pretraining.pretraining import pretrain

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from isoscope.compute.journal import Journal
    from isoscope.compute.stage import Progress
    from isoscope.training.pretraining.corpus import Corpus
    from isoscope.training.pretraining.effects import Effect
    from isoscope.training.pretraining.grid import Cell, Factor


VALIDATION = "validation"
READ_TEXTS = 200
"""Texts of the validation that the layers of every checkpoint read."""

UNIT = "runs"
Points = list[dict[str, Any]]
"""Numbers of one run: step, part, measure and value."""


def ablate(
    text: Any,
    grid: str = USUAL_GRID,
    base: Plan | None = None,
    *,
    seeds: int = 3,
    validation: Any = None,
    column: str | None = None,
    journal: str | Path | None = None,
    resume: bool = False,
    keep: str | Path | None = None,
    device: str | None = None,
    progress: Progress | None = None,
    save: Callable[[Result], None] | None = None,
    command: str = "",
) -> Result:
    """Train every combination of some factors from nothing, and compare what becomes of them.

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
    journal : path, optional
        Folder that keeps every finished run; it goes when all are finished.
    resume : bool
        Go on where a journal ends.
    keep : path, optional
        Folder in which the checkpoints of all runs stay; otherwise they go once measured.
    device : str, optional
        Where networks compute.
    progress : callable, optional
        Called with the name of a run, steps done, and steps in all.
    save : callable, optional
        Called with the result, before the journal goes, to write it to a file.
    command : str
        Kept in the result, so that it can be made again.

    Examples
    --------
    >>> ablate("wiki.train.txt", "tie,positions", Plan("clm", "tiny"))  # doctest: +SKIP
    """
    factors, base = parse_grid(grid), base or Plan()
    if seeds < 1:
        raise UsageError(f"seeds is at least 1, not {seeds}")
    for cell in cells(factors):
        plan_of(base, factors, cell, 0)  # which refuses what cannot be, before anything is trained
    if journal is not None and not resume:
        refuse_unfinished(Path(journal))
    corpus = make_corpus(text, base.shape, validation=validation, column=column)
    configuration = {
        **base.to_facts(),
        "seed": None,
        "grid": [str(f) for f in factors],
        "text": corpus.digest,
    }
    with (
        working_folder(journal) as work,
        journal_while(journal, configuration, resume=resume) as kept,
    ):
        bench = Bench(
            corpus, factors, base, Path(keep) if keep else work, kept, progress, device,
            stays=keep is not None,
        )  # fmt: skip
        runs: dict[Cell, list[Points]] = {cell: [] for cell in cells(factors)}
        for seed in range(seeds):  # so that a run that is cut short has whole grids
            for cell, several in runs.items():
                several.append(bench.run(cell, seed))
        result = Result(
            rows_of(runs, factors, protocol(base, factors, corpus, seeds)),
            seeds={"seed": 0, "runs": seeds},
            versions=versions_of_training(),
            command=command,
            extra={KIND: ABLATION, FACTORS: {f.name: list(f.levels) for f in factors},
                   "plan": base.to_facts()},
        )  # fmt: skip
        if save is not None:
            save(result)
    return result


@dataclass
class Bench:
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
        finished = None if self.journal is None else self.journal.load(name)
        folder = self.folder / name
        if finished is not None:
            if not self.stays:  # killed before it could be deleted
                shutil.rmtree(folder, ignore_errors=True)
            return list(finished.facts["points"])
        trained = pretrain(
            None, plan_of(self.base, self.factors, cell, seed), folder,
            corpus=self.corpus, resume=folder.is_dir(), device=self.device,
            progress=self._named(name),
        )  # fmt: skip
        points: Points = [
            {"step": row.extra["step"], "part": VALIDATION, "measure": PERPLEXITY,
             "value": row.value}
            for row in trained.rows
            if row.measure == PERPLEXITY
        ]  # fmt: skip
        for checkpoint in find_training(str(folder)).checkpoints:
            step = step_of(checkpoint.revision)
            opened = open_model(str(checkpoint.folder), device=self.device)
            for (part, measure), value in checkpoint_measures(opened, self.texts).items():
                points.append({"step": step, "part": part, "measure": measure, "value": value})
        if self.journal is not None:
            self.journal.save(name, {}, {"points": points})
        if not self.stays:
            shutil.rmtree(folder, ignore_errors=True)
        return points

    @property
    def texts(self) -> TextSource:
        """What layers read: some texts that were not learned from."""
        return SampledTexts(open_texts(list(self.corpus.held_texts)), READ_TEXTS, 0)

    def _named(self, name: str) -> Progress | None:
        if self.progress is None:
            return None
        report = self.progress
        return lambda _, done, total: report(name, done, total)


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
        places = list(
            dict.fromkeys((point["step"], point["part"], point["measure"]) for point in several[0])
        )
        known = [
            {(point["step"], point["part"], point["measure"]): point["value"] for point in points}
            for points in several
        ]
        end = max(step for step, _, _ in places)
        for step, part, measure in places:
            values = [one.get((step, part, measure)) for one in known]
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
    there = [value for value in values if value is not None]
    found = sample_of(there) if there else None
    return Row(
        f"{cell_name(cell)}@step{step}", part, "none", measure,
        None if found is None else found.mean,
        n=len(values), protocol=how, note="" if found else "undefined in every run",
        extra={
            "model": cell_name(cell), "step": step, "unit": UNIT, "runs": list(values),
            "sd": found.deviation if found is not None and found.runs > 1 else None,
            FACTORS: dict(levels_of(factors, cell)),
        },
    )  # fmt: skip


def effect_rows(
    last: dict[tuple[str, str], dict[Cell, list[float | None]]],
    count: int,
    factors: tuple[Factor, ...],
    how: str,
) -> list[Row]:
    """Return main effects of all that every run of every cell has."""
    rows = []
    for (part, measure), by_cell in last.items():
        values = {
            cell: [value for value in found if value is not None] for cell, found in by_cell.items()
        }
        complete = all(len(values[cell]) == len(found) for cell, found in by_cell.items())
        if len(by_cell) < count or not complete:
            continue
        rows += [effect_row(effect, part, measure, how) for effect in main_effects(values, factors)]
    return rows


def effect_row(effect: Effect, part: str, measure: str, how: str) -> Row:
    """Return one main effect."""
    return Row(
        EFFECTS, part, f"{effect.level} instead of {effect.reference}", measure, effect.value,
        low=effect.low, high=effect.high, n=effect.runs, protocol=how,
        note="" if effect.low is not None else "one run a cell: chance is unknown",
        extra={
            "factor": effect.factor, "p": effect.p, "excludes_zero": effect.excludes_zero,
            "unit": UNIT,
        },
    )  # fmt: skip
