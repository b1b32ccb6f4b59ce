"""Runs of fine-tuning as rows: a mean over seeds, and its difference to runs without calibration.

Every task and calibration gets its scores, the evenness of its matrices, and its seconds an epoch.
A mean is over the runs that have a score; the others are counted in its note.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.compute.stats.significance import difference, sample_of
from isoscope.results.fields import DIFFERENCE, MAIN, RATIO, UNIT
from isoscope.results.result import Row
from isoscope.verbs.train.names import SECONDS
from isoscope.verbs.train.regularizers.registry import NONE
from isoscope.verbs.train.seed_means import known, mean_row

if TYPE_CHECKING:
    from isoscope.verbs.train.finetune.run import Outcome


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
    tasks: dict[str, dict[str, list[Outcome]]] = {}
    for outcome in outcomes:
        tasks.setdefault(outcome.task, {}).setdefault(outcome.calibration, []).append(outcome)
    rows = []
    for task, calibrations in tasks.items():
        how = protocol(task) if callable(protocol) else protocol[task]
        by_seed = {
            calibration: sorted(runs, key=lambda run: run.seed)
            for calibration, runs in calibrations.items()
        }
        rows += task_rows(subject, task, by_seed, how)
    return rows


def task_rows(
    subject: str, task: str, by_calibration: Mapping[str, Sequence[Outcome]], protocol: str
) -> list[Row]:
    """Return the rows of one task, calibration by calibration."""
    metrics = distinct(name for runs in by_calibration.values() for r in runs for name in r.scores)
    plain = by_calibration.get(NONE)
    rows = []
    for calibration, runs in by_calibration.items():
        where = (subject, task, calibration)
        compared = None if calibration == NONE else plain
        for metric in metrics:
            first = {MAIN: True} if metric == metrics[0] else {}
            rows.append(score_row(where, metric, runs, protocol, **first))
            if compared:
                rows.append(difference_row(where, metric, runs, compared, protocol))
        rows += evenness_rows(where, runs, protocol)
        rows += time_rows(where, runs, compared, protocol)
    return rows


def score_row(
    where: tuple[str, str, str],
    metric: str,
    runs: Sequence[Outcome],
    protocol: str,
    **extra: Any,
) -> Row:
    """Return the mean of one score, with every run's beside it."""
    values = [run.scores.get(metric) for run in runs]
    return mean_row(
        where,
        f"{where[1]}/{metric}",
        values,
        protocol,
        "; ".join(run_notes(runs, values)),
        seeds=[run.seed for run in runs],
        constant=sum(run.constant for run in runs),
        **extra,
    )


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


def difference_row(
    where: tuple[str, str, str],
    metric: str,
    runs: Sequence[Outcome],
    plain: Sequence[Outcome],
    protocol: str,
) -> Row:
    """Return how far a score is from that without calibration, with Student's interval."""
    measure = f"{where[1]}/{metric}{DIFFERENCE}"
    ours = known([run.scores.get(metric) for run in runs])
    theirs = known([run.scores.get(metric) for run in plain])
    count = len(ours) + len(theirs)
    extra: dict[str, Any] = {"p": None, "star": False, "worse": False, "unit": UNIT}
    row = Row(*where, measure, None, n=count, protocol=protocol, extra=extra)
    lacking = [name for name, values in ((where[2], ours), (NONE, theirs)) if not values]
    if lacking:
        return replace(row, note=f"undefined: {' and '.join(lacking)} has no score in any run")
    found = difference(sample_of(ours), sample_of(theirs))
    extra["p"] = found.p
    extra["star"] = found.is_significant and found.value > 0
    extra["worse"] = found.is_significant and found.value < 0
    note = "" if found.p is not None else "one run of each: there is no test"
    return replace(row, value=found.value, low=found.low, high=found.high, note=note, extra=extra)


def evenness_rows(where: tuple[str, str, str], runs: Sequence[Outcome], protocol: str) -> list[Row]:
    """Return I1, I2 and lengths of every matrix that the model has, after training."""
    subject, task, calibration = where
    rows = []
    for matrix in distinct(name for run in runs for name in run.evenness):
        measured = [run.evenness.get(matrix, {}) for run in runs]
        for name in distinct(name for measures in measured for name in measures):
            values = [measures.get(name) for measures in measured]
            note = "" if known(values) else "undefined: no run ended with finite numbers"
            place = (subject, f"{task}: {matrix}", calibration)
            rows.append(mean_row(place, name, values, protocol, note))
    return rows


def time_rows(
    where: tuple[str, str, str],
    runs: Sequence[Outcome],
    plain: Sequence[Outcome] | None,
    protocol: str,
) -> list[Row]:
    """Return the seconds of an epoch, and how many times those without calibration they are."""
    ours = seconds(runs)
    if not known(ours):
        return []
    row = mean_row(where, SECONDS, ours, protocol)
    theirs = known(seconds(plain)) if plain else []
    if not theirs or row.value is None:
        return [row]
    ratio = row.value / float(np.mean(theirs))
    extra = {"unit": UNIT}
    return [row, Row(*where, SECONDS + RATIO, ratio, n=row.n, protocol=protocol, extra=extra)]


def seconds(runs: Sequence[Outcome]) -> list[float | None]:
    """Return the mean over epochs of every run; None for those that finished no epoch."""
    return [float(np.mean(run.seconds)) if run.seconds else None for run in runs]


def distinct(names: Any) -> list[str]:
    """Return names in the order in which they first come, each once."""
    return list(dict.fromkeys(names))
