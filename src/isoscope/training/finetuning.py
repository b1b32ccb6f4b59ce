"""Fine-tuning with calibrations: every task, calibration and seed, and what they come to."""

from __future__ import annotations

import shutil
import tempfile
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isoscope.compute.journal import journal_while, refuse_unfinished
from isoscope.errors import UsageError
from isoscope.models.model import Model, open_model
from isoscope.models.runtime import library
from isoscope.results.finetuned import FINE_TUNING, SETTINGS
from isoscope.results.measuring import listed, versions
from isoscope.results.render import REMARKS
from isoscope.results.result import Result
from isoscope.results.scored import KIND
from isoscope.tasks.data_folder import data_folder
from isoscope.training.comparing import compared_rows
from isoscope.training.made_model import resolve_made_model
from isoscope.training.naming import NONE, make_calibration
from isoscope.training.outcomes import Outcome
from isoscope.training.pair_tasks import is_pair_task
from isoscope.training.protocol_words import protocols, used_settings
from isoscope.training.run import Run
from isoscope.training.searching import SEARCH_SEED, best_options
from isoscope.training.settings import MADE, usual_settings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from isoscope.compute.journal import Journal
    from isoscope.compute.stage import Progress
    from isoscope.training.settings import Settings
    from isoscope.training.targets import Target


CALIBRATIONS = ("none", "cosreg", "spectrum-pol", "spectrum-exp", "flow")


def finetune(
    model: str | Model,
    tasks: Iterable[str] | str,
    calibrations: Iterable[str] | str | None = None,
    *,
    seeds: int = 3,
    data: str | Path | None = None,
    epochs: int | None = None,
    limit: int | None = None,
    batch_size: int | None = None,
    learning_rate: float | None = None,
    longest: int | None = None,
    target: Target | None = None,
    search: bool = False,
    journal: str | Path | None = None,
    resume: bool = False,
    revision: str | None = None,
    device: str | None = None,
    progress: Progress | None = None,
    save: Callable[[Result], None] | None = None,
    command: str = "",
) -> Result:
    """Fine-tune a model on tasks, with and without calibrations, and compare what comes out.

    Parameters
    ----------
    model : str or Model
        What ``open_model`` takes; ``made:bart`` is a small encoder-decoder with random weights.
    tasks : iterable of str
        GLUE's tasks, ``translate:de-en``, ``summarize``.
    calibrations : iterable of str, optional
        ``none`` and calibrations with their options, such as ``spectrum-pol:c1=0.1``. By default
        none, cosreg, both kinds of spectrum control and the flow.
    seeds : int
        Runs of each: seeds 0, 1, 2, …
    data : str or Path, optional
        Folder with the sets; by default the environment variable ``ISOSCOPE_DATA``.
    epochs, limit, batch_size, learning_rate, longest : optional
        Instead of the usual settings, see ``settings``.
    target : {"head", "vocabulary", "hidden"}, optional
        Which matrix is calibrated: by default the head of labels, and the vocabulary's output
        matrix of models that write texts.
    search : bool
        Choose the options of every calibration first, on the part that is scored, over the grid of
        ``searching``; the runs that choose have a seed of their own.
    journal : path, optional
        Folder that keeps every finished run; it goes when all are finished.
    resume : bool
        Go on where a journal ends.
    revision : str, optional
        Branch, tag or commit of a model of the hub.
    device : str, optional
        Where the network computes.
    progress : callable, optional
        Called with the name of a run, steps done, and steps in all.
    save : callable, optional
        Called with the result, before the journal goes, to write it to a file.
    command : str
        Kept in the result, so that it can be made again.

    Examples
    --------
    >>> finetune("package:minilm", "rte", "none,cosreg", data="benchmarks")  # doctest: +SKIP
    """
    for needed in ("torch", "transformers"):  # which say in one line what to install
        library(needed)
    names, chosen = listed(tasks, ()), listed(calibrations, CALIBRATIONS)
    check_request(names, chosen, seeds)
    folder = data_folder(data)
    given = {
        "epochs": epochs, "limit": limit, "batch_size": batch_size,
        "learning_rate": learning_rate, "longest": longest,
    }  # fmt: skip
    changed = {name: value for name, value in given.items() if value is not None}
    if journal is not None and not resume:
        refuse_unfinished(Path(journal))
    with working_folder(journal) as work:
        opened = opened_model(model, names, folder, limit, work, revision, device)
        configuration = {
            "model": str(opened.name), "target": target, "search": search, "settings": changed,
        }  # fmt: skip
        with journal_while(journal, configuration, resume=resume) as kept:
            bench = Bench(opened, folder, changed, target, work, kept, progress)
            outcomes, remarks = run_all(bench, names, chosen, seeds, search)
            result = Result(
                compared_rows(opened.name, outcomes, protocols(outcomes)),
                seeds={"seed": 0, "runs": seeds},
                versions=versions_of_training(),
                command=command,
                extra={KIND: FINE_TUNING, SETTINGS: used_settings(outcomes), REMARKS: remarks,
                       "outcomes": [outcome.to_facts() for outcome in outcomes]},
            )  # fmt: skip
            if save is not None:
                save(result)
    return result


class Bench:
    """What all runs share; runs one of them, unless the journal has it."""

    def __init__(
        self,
        model: Model,
        data: Path | None,
        changed: dict[str, Any],
        target: Target | None,
        work: Path,
        journal: Journal | None,
        progress: Progress | None,
    ) -> None:
        self.model, self.data, self.changed = model, data, changed
        self.target, self.work = target, work
        self.journal, self.progress = journal, progress

    def settings(self, task: str) -> Settings:
        """Return the usual settings of a task, with what the user changed."""
        name = self.model.name  # a made model is a bart too, but starts from nothing
        kind = name if name == MADE else self.model.config.model_type
        return replace(usual_settings(kind, task), **self.changed)

    def describe(self, task: str, calibration: str, seed: int) -> Run:
        """Return a run that nothing was done for yet."""
        folder = self.work / f"{task} {calibration} seed {seed}".replace("/", "-").replace(":", " ")
        target = self.target or ("vocabulary" if is_pair_task(task) else "head")
        return Run(
            self.model, task, calibration, seed, self.settings(task), self.data, folder, target
        )

    def check(self, task: str, calibrations: Sequence[str]) -> None:
        """Read what a task takes, and refuse what the model cannot carry, before any training."""
        run = self.describe(task, NONE, 0)
        if is_pair_task(task):
            from isoscope.training.generation_run import untrained
        else:
            from isoscope.training.label_run import untrained
        from isoscope.training.carrying import check_carried

        check_carried(untrained(run), calibrations, run.target)

    def run(self, task: str, calibration: str, seed: int) -> Outcome:
        """Run one, and keep what it came to; a run that stopped leaves its last checkpoint."""
        run = self.describe(task, calibration, seed)
        finished = None if self.journal is None else self.journal.load(run.name)
        if finished is not None:
            return Outcome.from_facts(finished.facts)
        if self.progress is not None:
            report, name = self.progress, run.name
            run = replace(run, progress=lambda done, total: report(name, done, total))
        outcome = self._train(run)
        if outcome.stopped_at is None:
            shutil.rmtree(run.folder, ignore_errors=True)
        if self.journal is not None:
            self.journal.save(run.name, {}, outcome.to_facts())
        return outcome

    def _train(self, run: Run) -> Outcome:
        if is_pair_task(run.task):
            from isoscope.training.generation_run import finetune_generation

            return finetune_generation(run, "dev" if run.seed == SEARCH_SEED else "test")
        from isoscope.training.label_run import finetune_labels

        return finetune_labels(run)


def run_all(
    bench: Bench, tasks: Sequence[str], calibrations: Sequence[str], seeds: int, search: bool
) -> tuple[list[Outcome], list[str]]:
    """Run every task, calibration and seed; with a search, remarks say what was chosen."""
    for task in tasks:
        bench.check(task, calibrations)
    outcomes, remarks = [], []
    for task in tasks:
        for calibration in calibrations:
            text = calibration
            if search and calibration != NONE:
                text, remark = best_options(bench.run, task, calibration)
                remarks.append(remark)
            for seed in range(seeds):
                found = bench.run(task, text, seed)
                # One name for one column, whatever a search chose for each task.
                outcomes.append(replace(found, calibration=calibration))
    return outcomes, remarks


def check_request(tasks: Sequence[str], calibrations: Sequence[str], seeds: int) -> None:
    """Refuse what cannot be run, before anything is loaded."""
    from isoscope.training.label_tasks import find_label_task

    if not tasks:
        raise UsageError("name at least one task; GLUE's are sst-2, mrpc, cola, rte, wnli, sts-b")
    for task in tasks:
        if not is_pair_task(task):
            find_label_task(task)
    if not calibrations:
        raise UsageError("name at least one calibration; none is one")
    for text in calibrations:
        make_calibration(text)
    for several, what in ((tasks, "task"), (calibrations, "calibration")):
        twice = next((one for one in several if list(several).count(one) > 1), None)
        if twice is not None:
            raise UsageError(f"the {what} {twice} is there twice")
    if seeds < 1:
        raise UsageError(f"seeds is at least 1, not {seeds}")


def opened_model(
    model: str | Model,
    tasks: Sequence[str],
    data: Path | None,
    limit: int | None,
    work: Path,
    revision: str | None,
    device: str | None,
) -> Model:
    """Open the model; one that is made first is made of the texts of the first task."""
    if isinstance(model, Model):
        return model
    made = resolve_made_model(model, tasks[0], data, limit, work)
    if made is None:
        return open_model(model, revision=revision, device=device)
    if len(tasks) > 1:
        raise UsageError(f"{model} is made of the texts of one task: name one")
    found = open_model(str(made), device=device)
    found.name = model
    return found


@contextmanager
def working_folder(journal: str | Path | None) -> Iterator[Path]:
    """Give out a folder for checkpoints: beside the journal, where they outlive a killed run.

    It goes at the end, unless a run stopped and left its last good checkpoint there.
    """
    if journal is None:
        with tempfile.TemporaryDirectory(prefix="isoscope-") as name:
            yield Path(name)
        return
    folder = Path(journal).with_suffix(".checkpoints")
    folder.mkdir(parents=True, exist_ok=True)
    yield folder
    for made in folder.glob("made-*"):
        shutil.rmtree(made, ignore_errors=True)
    if not any(folder.iterdir()):
        folder.rmdir()


def versions_of_training() -> dict[str, str]:
    """Return the versions that numbers of a training depend on."""
    import torch
    import transformers

    return {**versions(), "torch": torch.__version__, "transformers": transformers.__version__}
