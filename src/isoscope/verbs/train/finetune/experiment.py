"""Fine-tuning with calibrations: every task, calibration and seed, and what they come to.

Ding et al. (2022) print no options of their calibrations, so a fair comparison may give each of
them a choice: with ``search`` the options are chosen over a stated grid, by one run each with a
seed that no reported run has, on the part that is scored. That part is scored again afterwards,
which favours calibrations over none a little, and results say so.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

from isoscope.compute.journal import Journal, journal_beside, journal_while, refuse_unfinished
from isoscope.errors import UsageError, at_least
from isoscope.models.model import Model, open_model
from isoscope.progress import Progress
from isoscope.results.destination import check_writable
from isoscope.results.fields import REMARKS, SETTINGS
from isoscope.results.result import Result
from isoscope.tasks.registry import data_folder
from isoscope.verbs.train.finetune import generation, label_tasks
from isoscope.verbs.train.finetune.generation import is_pair_task
from isoscope.verbs.train.finetune.outcomes import compared_rows
from isoscope.verbs.train.finetune.run import MADE, Outcome, Run, usual_settings
from isoscope.verbs.train.names import FINE_TUNING
from isoscope.verbs.train.needs import Need, announced, network_need
from isoscope.verbs.train.regularizers.base import Target
from isoscope.verbs.train.regularizers.registry import NONE, check_carried, make_calibration
from isoscope.verbs.train.scratch import resolve_made_model
from isoscope.verbs.train.seed_means import run_once, runs_result, working_folder, write_result
from isoscope.wording import counted, listed


def protocol_of(outcome: Outcome) -> str:
    """Say how a run was trained and scored."""
    used = outcome.settings
    examples, epochs = counted(used["train"], "example"), counted(used["epochs"], "epoch")
    schedule = "" if used["schedule"] == "constant" else " falling to 0"
    return (
        f"fine-tuned on {examples}, {epochs}, rate {used['learning_rate']:g}{schedule}, batch "
        f"{used['batch_size']}, at most {used['longest']} tokens; {used['scored']:,} scored"
    )


def used_settings(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """Return the settings of every task, and the options of every calibration on it."""
    found: dict[str, Any] = {}
    for outcome in outcomes:
        task = found.setdefault(outcome.task, {"calibrations": {}})
        task.update({name: v for name, v in outcome.settings.items() if name != "options"})
        task["calibrations"][outcome.calibration] = outcome.settings.get("options", {})
    return found


SEARCH_SEED = 1_000

# Values that are tried, all combinations of them.
GRIDS: dict[str, dict[str, tuple[float, ...]]] = {
    "cosreg": {"weight": (0.01, 0.1, 1.0, 10.0)},
    "spectrum-pol": {"weight": (0.01, 1.0), "c1": (0.1, 1.0), "gamma": (-1.0, -0.5)},
    "spectrum-exp": {"weight": (0.01, 1.0), "c1": (0.1, 1.0), "c2": (0.1, 1.0)},
    "flow": {"weight": (0.1, 1.0)},
    "i-star": {"weight": (0.01, 0.1, 1.0, 10.0)},
}


def candidates(calibration: str) -> list[str]:
    """Return what is tried for a calibration; options that the user gave stay as they are."""
    name, *given = calibration.split(":")
    fixed = {pair.partition("=")[0] for pair in given}
    open_options = {option: values for option, values in GRIDS[name].items() if option not in fixed}
    return [
        ":".join((calibration, *(f"{o}={v:g}" for o, v in zip(open_options, values, strict=True))))
        for values in product(*open_options.values())
    ]


def best_options(
    run: Callable[[str, str, int], Outcome], task: str, calibration: str
) -> tuple[str, str]:
    """Return the calibration with the options that score best, and a sentence about the choice.

    Parameters
    ----------
    run : callable
        Runs a task with a calibration and a seed.
    task, calibration : str
        What is searched for.
    """
    tried = candidates(calibration)
    found = {text: next(iter(run(task, text, SEARCH_SEED).scores.values())) for text in tried}
    scores = {text: score for text, score in found.items() if score is not None}
    if not scores:
        raise UsageError(f"{task}: no options of {calibration} gave a score; see --calibration")
    best = max(scores, key=scores.__getitem__)
    return best, (
        f"{task}: {best} is the best of {len(tried)} on the part that is scored (seed "
        f"{SEARCH_SEED}): {scores[best]:.4f}"
    )


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
    out: str | Path | None = None,
    journal: str | Path | None = None,
    resume: bool = False,
    revision: str | None = None,
    device: str | None = None,
    progress: Progress | None = None,
    save: Callable[[Result], None] | None = None,
    announce: Callable[[str], None] | None = None,
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
        Number of runs of each, with seeds 0, 1, 2, …
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
    out : path, optional
        File that the result is written to, ``.json`` or ``.md``.
    journal : path, optional
        Folder that keeps every finished run; it goes when all are finished. By default beside
        ``out``.
    resume : bool
        Go on where a journal ends.
    revision : str, optional
        Branch, tag or commit of a hub model.
    device : str, optional
        Where the network computes.
    progress : callable, optional
        Called with the name of a run, steps done, and steps in all.
    save : callable, optional
        Called with the result, before the journal goes, to write it to a file.
    announce : callable, optional
        Called before the first step with a sentence that says what the runs will need.
    command : str
        Kept in the result, so that it can be made again.

    Examples
    --------
    >>> finetune("package:minilm", "rte", "none,cosreg", data="benchmarks")  # doctest: +SKIP
    """
    if out is not None:
        check_writable(Path(out))
    journal = journal_beside(out, journal, resume=resume)
    names, chosen = listed(tasks, ()), listed(calibrations, CALIBRATIONS)
    check_request(names, chosen, seeds)
    folder = data_folder(data)
    given = {
        "epochs": epochs, "limit": limit, "batch_size": batch_size,
        "learning_rate": learning_rate, "longest": longest,
    }  # fmt: skip
    changed = {name: value for name, value in given.items() if value is not None}
    if journal is not None and not resume:
        refuse_unfinished(journal)
    with working_folder(journal) as work:
        opened = model
        if not isinstance(opened, Model):
            made = resolve_made_model(str(model), names[0], folder, limit, work)
            if made is not None and len(names) > 1:  # another task has other words
                raise UsageError(f"{model} is built from the texts of one task: name only one")
            source, of_hub = (str(model), revision) if made is None else (str(made), None)
            opened = open_model(source, revision=of_hub, device=device)
            if made is not None:
                opened.name = str(model)
        configuration = {
            "model": str(opened.name), "target": target, "search": search, "settings": changed,
        }  # fmt: skip
        with journal_while(journal, configuration, resume=resume) as kept:
            bench = FineTuningRuns(opened, folder, changed, target, work, kept, progress)
            needs = [bench.check(task, chosen, seeds) for task in names]
            announced(needs, device, announce)
            outcomes, remarks = bench.run_all(names, chosen, seeds, search)
            protocols = {outcome.task: protocol_of(outcome) for outcome in outcomes}
            rows = compared_rows(opened.name, outcomes, protocols)
            about = {SETTINGS: used_settings(outcomes), REMARKS: remarks}
            facts = [outcome.to_facts() for outcome in outcomes]
            result = runs_result(FINE_TUNING, rows, seeds, command, **about, outcomes=facts)
            write_result(result, out, save)
    return result


@dataclass
class FineTuningRuns:
    """What all runs share; runs one of them, unless the journal has it."""

    model: Model
    data: Path | None
    changed: dict[str, Any]
    target: Target | None
    work: Path
    journal: Journal | None
    progress: Progress | None

    def describe(self, task: str, calibration: str, seed: int) -> Run:
        """Return a run that nothing was done for yet, with the settings that the user changed."""
        folder = self.work / f"{task} {calibration} seed {seed}".replace("/", "-").replace(":", " ")
        target = self.target or ("vocabulary" if is_pair_task(task) else "head")
        name = self.model.name  # a made model is a bart too, but starts from scratch
        kind = name if name == MADE else self.model.config.model_type
        settings = replace(usual_settings(kind, task), **self.changed)
        return Run(self.model, task, calibration, seed, settings, self.data, folder, target)

    def check(self, task: str, calibrations: Sequence[str], seeds: int) -> Need:
        """Read what a task takes, and refuse what the model cannot carry, before any training.

        What cannot be run would otherwise be known hours later. Returns what the runs need that
        are not finished.
        """
        run = self.describe(task, NONE, 0)
        kind: Any = generation if is_pair_task(task) else label_tasks
        network = kind.untrained(run)
        check_carried(network, calibrations, run.target)
        missing = sum(
            self.journal is None or self.journal.load(self.describe(task, one, seed).name) is None
            for one in calibrations
            for seed in range(seeds)
        )
        settings, lengths = run.settings, kind.lengths_of(run)
        epochs = f", {settings.epochs} times" if settings.epochs > 1 else ""
        return network_need(
            network, network.config, missing, settings.batch_size, lengths.learned, lengths.read,
            settings.epochs, f"{len(lengths.learned):,} examples of {task}{epochs}",
            writes=is_pair_task(task),
        )  # fmt: skip

    def run(self, task: str, calibration: str, seed: int) -> Outcome:
        """Run one, and keep what it came to; a run that stopped leaves its last checkpoint."""
        run = self.describe(task, calibration, seed)
        if self.progress is not None:
            run = replace(run, progress=partial(self.progress, run.name))
        return Outcome.from_facts(run_once(self.journal, run.name, partial(self._facts, run)))

    def _facts(self, run: Run) -> dict[str, Any]:
        outcome = self._train(run)
        if outcome.stopped_at is None:
            shutil.rmtree(run.folder, ignore_errors=True)
        return outcome.to_facts()

    def _train(self, run: Run) -> Outcome:
        if not is_pair_task(run.task):
            return label_tasks.finetune_labels(run)
        part: generation.Part = "dev" if run.seed == SEARCH_SEED else "test"
        return generation.finetune_generation(run, part)

    def run_all(
        self, tasks: Sequence[str], calibrations: Sequence[str], seeds: int, search: bool
    ) -> tuple[list[Outcome], list[str]]:
        """Run every task, calibration and seed; with a search, remarks say what was chosen."""
        outcomes, remarks = [], []
        for task, calibration in product(tasks, calibrations):
            text = calibration
            if search and calibration != NONE:
                text, remark = best_options(self.run, task, calibration)
                remarks.append(remark)
            # One name for one column, whatever a search chose for each task.
            outcomes += [
                replace(self.run(task, text, seed), calibration=calibration)
                for seed in range(seeds)
            ]
        return outcomes, remarks


def check_request(tasks: Sequence[str], calibrations: Sequence[str], seeds: int) -> None:
    """Refuse what cannot be run, before anything is loaded."""
    if not tasks:
        raise UsageError("name at least one task; GLUE's are sst-2, mrpc, cola, rte, wnli, sts-b")
    for task in tasks:
        if not is_pair_task(task):
            label_tasks.find_label_task(task)
    if not calibrations:
        raise UsageError("name at least one calibration, such as none")
    for text in calibrations:
        make_calibration(text)
    for several, what in ((tasks, "task"), (calibrations, "calibration")):
        twice = next((one for one in several if list(several).count(one) > 1), None)
        if twice is not None:
            raise UsageError(f"the {what} {twice} is there twice")
    at_least("seeds", seeds, 1)
