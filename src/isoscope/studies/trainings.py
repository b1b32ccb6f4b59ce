"""Runs of fine-tuning for studies: trained now, or taken from results that were finished before."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

from isoscope.errors import UsageError
from isoscope.results.finetuned import MATRIX, SETTINGS
from isoscope.results.loading import load_result
from isoscope.results.render import REMARKS, UNCORRECTED
from isoscope.results.result import Result, Row
from isoscope.studies.kept_runs import kept_run
from isoscope.studies.several import joined, renamed
from isoscope.studies.stamps import stamp

if TYPE_CHECKING:
    from isoscope.studies.registry import Request, Subject

SEEDS = 3
"""Runs of each, as in the paper."""

RUNS = "runs"
MOVED = "/moved"
"""End of a measure: how far it is from that without calibration, on either side."""


@dataclass(frozen=True)
class Training:
    """What is trained with one model; None stands for the usual settings.

    Attributes
    ----------
    tasks, calibrations : tuple of str
        As ``finetune`` takes them.
    epochs, limit : optional
        Instead of the usual settings.
    suffix : str
        What is put behind the model's name: the paper gives a smaller set rows of its own.
    """

    tasks: tuple[str, ...]
    calibrations: tuple[str, ...]
    epochs: int | None = None
    limit: int | None = None
    suffix: str = ""


Trainings: TypeAlias = Callable[["Subject"], Sequence[Training]]


def trained(
    request: Request,
    trainings: Trainings,
    is_about: Callable[[str], bool],
    small: tuple[int, str] | None = None,
) -> Result:
    """Return rows of runs: of those that were finished, or of what is trained now.

    Parameters
    ----------
    request : Request
        What the user asks for.
    trainings : callable
        Gives what is trained with a model.
    is_about : callable
        Whether a task is one of the study's; of finished runs, only such are taken.
    small : tuple of int and str, optional
        The size of the paper's smaller set, and what is put behind the name of a model that was
        trained on it.
    """
    if request.seed:
        raise UsageError(f"runs have the seeds 0 to {SEEDS - 1}; leave --seed out")
    if request.dtype not in (None, "float32"):
        raise UsageError("training computes in float32; leave --dtype out")
    if request.reuse:
        return reused(request, is_about, small)
    from isoscope.training.finetuning import finetune  # imports torch

    results = []
    for subject in request.subjects:
        for training in trainings(subject):
            about = {
                "source": stamp(subject.source), "data": stamp(request.data), "seeds": SEEDS,
                "tasks": training.tasks,
                "calibrations": training.calibrations, "epochs": training.epochs,
                "limit": training.limit,
            }  # fmt: skip
            found = kept_run(
                request.folder, "finetuned", about,
                lambda journal, save, subject=subject, training=training: finetune(  # type: ignore[misc]
                    subject.source, training.tasks, training.calibrations, seeds=SEEDS,
                    data=request.data, epochs=training.epochs, limit=training.limit,
                    journal=journal, resume=journal is not None, save=save,
                    device=request.device, progress=request.progress,
                ),
                again=request.again,
            )  # fmt: skip
            results.append(renamed(found, subject=subject.name + training.suffix))
    return together(results)


def together(results: Iterable[Result]) -> Result:
    """Put runs together, with the settings of every model and what was remarked."""
    every = list(results)
    settings: dict[str, dict[str, Any]] = {}
    remarks: list[str] = []
    for result in every:
        settings.setdefault(result.rows[0].subject, {}).update(result.extra.get(SETTINGS, {}))
        remarks += map(str, result.extra.get(REMARKS, []))
    return replace(joined(every), extra={SETTINGS: settings, REMARKS: remarks})


def reused(
    request: Request, is_about: Callable[[str], bool], small: tuple[int, str] | None
) -> Result:
    """Take the rows of runs out of results that ``isoscope train finetune --out`` wrote."""
    results = []
    taken: set[tuple[str, str, str, str]] = set()
    for path in request.reuse:
        result = load_result(path)
        suffix = suffix_of(result, small)
        rows = [
            replace(row, subject=row.subject + suffix)
            for row in result.rows
            if row.extra.get("unit") == RUNS and is_wanted(task_of(row), request, is_about)
        ]
        if not rows:
            raise UsageError(f"{path} has no runs on the tasks of this study")
        places = {(row.subject, row.part, row.correction, row.measure) for row in rows}
        if taken & places:
            raise UsageError(f"{path} has runs that another --from has as well")
        taken |= places
        made = f", made by: {result.command}" if result.command else ""
        said = [*result.extra.get(REMARKS, []), f"{rows[0].subject}: runs of {path.name}{made}"]
        extra = {**result.extra, REMARKS: said}
        results.append(replace(result, rows=rows, tables=[], extra=extra))
    return together(results)


def is_wanted(task: str, request: Request, is_about: Callable[[str], bool]) -> bool:
    """Whether a task is one of the study's, and of those that the user names."""
    return is_about(task) and (not request.tasks or task in request.tasks)


def task_of(row: Row) -> str:
    """Return the task of a row, which may be about a matrix after it."""
    return row.part.partition(MATRIX)[0]


def suffix_of(result: Result, small: tuple[int, str] | None) -> str:
    """Return what a model trained on the paper's smaller set is called."""
    used = result.extra.get(SETTINGS, {})
    limits = {settings.get("limit") for settings in used.values() if isinstance(settings, dict)}
    return small[1] if small is not None and limits == {small[0]} else ""


def moved(rows: Iterable[Row]) -> list[Row]:
    """Return how far every row is from that without calibration, on either side."""
    every = list(rows)
    plain = {
        (row.subject, row.part, row.measure): row for row in every if row.correction == UNCORRECTED
    }
    found = []
    for row in every:
        before = plain.get((row.subject, row.part, row.measure))
        if before is None or row.correction == UNCORRECTED:
            continue
        defined = row.value is not None and before.value is not None
        found.append(
            Row(
                row.subject, row.part, row.correction, row.measure + MOVED,
                abs(row.value - before.value) if defined else None,  # type: ignore[operator]
                n=row.n, protocol=row.protocol, note=row.note or before.note,
                extra={"unit": RUNS},
            )
        )  # fmt: skip
    return found
