"""Runs of fine-tuning as rows: a mean over seeds, and its difference to runs without calibration.

Every task and calibration gets its scores, the evenness of its matrices, and its seconds an epoch.
A mean is over the runs that have a score; the others are counted in its note.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from isoscope.compute.stats.significance import difference, sample_of
from isoscope.results.fields import DIFFERENCE, FREEDOM, MAIN, RATIO, UNIT
from isoscope.results.result import Row
from isoscope.results.tables import grouped
from isoscope.verbs.train.finetune.run import Outcome
from isoscope.verbs.train.names import MATRIX, SECONDS
from isoscope.verbs.train.regularizers.registry import NONE
from isoscope.verbs.train.seed_means import known, mean_row

SAME = "every prediction is the same"


def compared_rows(
    subject: str,
    outcomes: Sequence[Outcome],
    protocol: Callable[[str], str] | Mapping[str, str],
) -> list[Row]:
    """Return the rows of a result, task by task and calibration by calibration, as they come.

    Parameters
    ----------
    subject : str
        The model's name.
    outcomes : sequence of Outcome
        One of every task, calibration and seed that was run.
    protocol : callable or mapping
        Gives how a task was learned and scored, by its name.
    """
    rows = []
    for task, own in grouped(outcomes, lambda run: run.task).items():
        how = protocol(task) if callable(protocol) else protocol[task]
        by_calibration = grouped(own, lambda run: run.calibration)
        for runs in by_calibration.values():
            runs.sort(key=lambda run: run.seed)
        rows += task_rows(subject, task, by_calibration, how)
    return rows


def task_rows(
    subject: str, task: str, by_calibration: Mapping[str, Sequence[Outcome]], protocol: str
) -> list[Row]:
    """Return the rows of one task, calibration by calibration."""
    metrics = distinct(name for runs in by_calibration.values() for r in runs for name in r.scores)
    plain = by_calibration.get(NONE, ())
    rows = []
    for calibration, runs in by_calibration.items():
        compared = () if calibration == NONE else plain
        found = Comparison((subject, task, calibration), runs, compared, protocol)
        for metric in metrics:
            first = {MAIN: True} if metric == metrics[0] else {}
            rows.append(found.score(metric, **first))
            if compared:
                rows.append(found.difference(metric))
        rows += found.evenness()
        rows += found.time()
    return rows


@dataclass(frozen=True)
class Comparison:
    """The runs of one task with one calibration, beside those without.

    Attributes
    ----------
    where : tuple of str
        Model, task and calibration.
    runs, plain : sequence of Outcome
        With the calibration, and without; nothing where they are not compared.
    protocol : str
        How the task was learned and scored.
    """

    where: tuple[str, str, str]
    runs: Sequence[Outcome]
    plain: Sequence[Outcome]
    protocol: str

    def score(self, metric: str, **extra: Any) -> Row:
        """Return the mean of one score, with every run's beside it."""
        runs = self.runs
        values = [run.scores.get(metric) for run in runs]
        return mean_row(
            self.where, f"{self.where[1]}/{metric}", values, self.protocol,
            "; ".join(run_notes(runs, values)), seeds=[run.seed for run in runs],
            constant=sum(run.constant for run in runs), **extra,
        )  # fmt: skip

    def difference(self, metric: str) -> Row:
        """Return how far a score is from that without calibration, with Student's interval."""
        measure = f"{self.where[1]}/{metric}{DIFFERENCE}"
        ours, theirs = (
            known([run.scores.get(metric) for run in runs]) for runs in (self.runs, self.plain)
        )
        lacking = [name for name, there in ((self.where[2], ours), (NONE, theirs)) if not there]
        extra: dict[str, Any] = {"p": None, "star": False, "worse": False, "unit": UNIT}
        found = None
        note = f"undefined: {' and '.join(lacking)} has no score in any run"
        if not lacking:
            found = difference(sample_of(ours), sample_of(theirs))
            note = "" if found.p is not None else "one run of each: there is no test"
            extra |= {"p": found.p, FREEDOM: found.freedom}
            extra["star"] = found.is_significant and found.value > 0
            extra["worse"] = found.is_significant and found.value < 0
        count = len(ours) + len(theirs)
        return Row.of(
            found, *self.where, measure, n=count, protocol=self.protocol, note=note, extra=extra
        )

    def evenness(self) -> list[Row]:
        """Return I1, I2 and lengths of every matrix that the model has, after training."""
        subject, task, calibration = self.where
        rows = []
        for matrix in distinct(name for run in self.runs for name in run.evenness):
            measured = [run.evenness.get(matrix, {}) for run in self.runs]
            for name in distinct(name for measures in measured for name in measures):
                values = [measures.get(name) for measures in measured]
                note = "" if known(values) else "undefined: no run ended with finite numbers"
                place = (subject, f"{task}{MATRIX}{matrix}", calibration)
                rows.append(mean_row(place, name, values, self.protocol, note))
        return rows

    def time(self) -> list[Row]:
        """Return the seconds of an epoch, and how many times those without calibration they are."""
        # A run that stopped early finished no epoch, and has no time.
        ours, theirs = seconds(self.runs), known(seconds(self.plain))
        if not known(ours):
            return []
        row = mean_row(self.where, SECONDS, ours, self.protocol)
        if not theirs or row.value is None:
            return [row]
        ratio = row.value / float(np.mean(theirs))
        return [row, replace(row, measure=SECONDS + RATIO, value=ratio, extra={"unit": UNIT})]


def run_notes(runs: Sequence[Outcome], values: Sequence[float | None]) -> list[str]:
    """Say which runs predict one class only, stopped, or have no score, and what else they say."""
    several = len(runs)
    constant = [run.constant for run in runs]
    undefined = sum(same and value is None for same, value in zip(constant, values, strict=True))
    notes = [f"constant predictions in {sum(constant)} of {several} runs"] if any(constant) else []
    notes += [
        f"seed {run.seed} stopped at step {run.stopped_at}, whose numbers were not finite"
        for run in runs
        if run.stopped_at is not None
    ]
    if undefined:
        where = "" if undefined == several else f" in {undefined} of {several} runs"
        notes.append(f"undefined{where}: {SAME}")
    own = [[note for note in run.notes if not is_said(note, run)] for run in runs]
    for note in distinct(note for said in own for note in said):
        count = sum(note in said for said in own)
        notes.append(note if count == several else f"{note} ({count} of {several} runs)")
    return notes


def is_said(note: str, run: Outcome) -> bool:
    """Whether the notes on all runs say the same as one of a run."""
    stopped = run.stopped_at is not None and f"step {run.stopped_at}:" in note
    return stopped or note == f"undefined: {SAME}"


def seconds(runs: Sequence[Outcome]) -> list[float | None]:
    """Return the mean over epochs of every run; None for those that finished no epoch."""
    return [float(np.mean(run.seconds)) if run.seconds else None for run in runs]


def distinct(names: Any) -> list[str]:
    """Return names in the order in which they first come, each once."""
    return list(dict.fromkeys(names))
