"""Trainings of studies: run now, taken from a folder, or from results that were finished before.

- Trainings in a folder: a finished one is read again, a killed one goes on.
- Fine-tuning, and models that a study trains from nothing. A source ``pretrain:tiny`` is a size of
  ``isoscope train pretrain``; ``--from`` takes a result of ``isoscope train finetune --out`` or
  ``isoscope train ablate --out``.
- A number over the checkpoints of a training, and what papers say of such curves. Places in a
  training are shares of its last step. Between two checkpoints a curve is a line.
"""

from __future__ import annotations

import hashlib
import json
import math
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from isoscope import training
from isoscope.compute.stats.significance import MeanDifference, difference, sample_of
from isoscope.errors import UsageError, check_name
from isoscope.models.checkpoint_cache import CheckpointCache
from isoscope.models.checkpoints import find_training
from isoscope.results.fields import DIFFERENCE, FREEDOM, RATIO, REMARKS, SETTINGS, UNCORRECTED
from isoscope.results.merge import joined_without_verdicts, renamed
from isoscope.results.result import Result, Row, load_result
from isoscope.verbs.profile.api import profile_over_training
from isoscope.verbs.study.inputs import less, spare_text, stamp, wikitext_train
from isoscope.verbs.study.registry import AS_PAPER, MINI, PRETRAIN, TINY_SIZE, Request, Subject
from isoscope.verbs.train.names import FACTORS, MATRIX, SECONDS, is_ablation, model_of
from isoscope.version import __version__

if TYPE_CHECKING:
    from isoscope.data.texts.base import TextSource
    from isoscope.models.model import Model
    from isoscope.typing import Vector
    from isoscope.verbs.train.api import Plan


RUNS = "runs"


def kept_run(
    folder: Path | None,
    name: str,
    configuration: Mapping[str, Any],
    train: Callable[..., Result],
    *,
    again: bool = False,
) -> Result:
    """Return what a training gave before, or train.

    Parameters
    ----------
    folder : Path or None
        Where results and journals are; None where nothing is kept.
    name : str
        What files begin with.
    configuration : mapping
        All that decides what is trained, as JSON holds it; another one is another run.
    train : callable
        Trains; gets ``journal``, the folder of a journal, ``resume``, and ``save``, a function that
        saves the result before the journal goes.
    again : bool
        Train, even if that was done before.
    """
    if folder is None:
        return train(journal=None, resume=False, save=None)
    # Another version may train another model: its runs are not taken for this one's.
    text = json.dumps({**configuration, "isoscope": __version__}, sort_keys=True, default=str)
    digest = hashlib.sha256(text.encode()).hexdigest()[:12]
    path = folder / RUNS / f"{name}-{digest}.json"
    if path.is_file() and not again:
        return load_result(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    journal = path.with_suffix(".journal")
    return train(journal=journal, resume=True, save=lambda result: result.save(path))


# Runs of each, as in the paper.
SEEDS = 3


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
    results = []
    for subject in request.subjects:
        for plan in trainings(subject):
            settings = asdict(plan)
            name = subject.name + settings.pop("suffix")
            about = {"source": stamp(subject.source), "data": stamp(request.data), "seeds": SEEDS}
            run = partial(
                training.finetune, subject.source, **settings, seeds=SEEDS, data=request.data,
                device=request.device, progress=request.progress,
            )  # fmt: skip
            found = kept_run(
                request.folder, "finetuned", about | settings, run, again=request.again
            )
            results.append(renamed(found, subject=name))
    return together(results)


def together(results: Iterable[Result]) -> Result:
    """Put runs together, with the settings of every model and what was remarked."""
    every = list(results)
    settings: dict[str, dict[str, Any]] = {}
    remarks: list[str] = []
    for result in every:
        settings.setdefault(result.rows[0].subject, {}).update(result.extra.get(SETTINGS, {}))
        remarks += map(str, result.extra.get(REMARKS, []))
    return replace(joined_without_verdicts(every), extra={SETTINGS: settings, REMARKS: remarks})


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


def differences(rows: Iterable[Row]) -> list[Row]:
    """Return how far the mean of runs is from that without calibration, with Student's interval."""
    every = list(rows)
    plain = plain_rows(every)
    found = []
    for row in every:
        before = plain.get((row.subject, row.part, row.measure))
        if before is None or row.correction == UNCORRECTED:
            continue
        ours, theirs = (
            [value for value in one.extra.get(RUNS, ()) if value is not None]
            for one in (row, before)
        )
        tested = difference(sample_of(ours), sample_of(theirs)) if ours and theirs else None
        found.append(
            replace(
                row, measure=row.measure + DIFFERENCE, value=less(row.value, before.value),
                log10=None, low=None if tested is None else tested.low,
                high=None if tested is None else tested.high, note=row.note or before.note,
                extra={"unit": RUNS, **freedom_of(tested)},
            )
        )  # fmt: skip
    return found


def plain_rows(rows: Iterable[Row]) -> dict[tuple[str, str, str], Row]:
    """Return the rows without calibration, by model, part and measure."""
    return {
        (row.subject, row.part, row.measure): row for row in rows if row.correction == UNCORRECTED
    }


def with_time_error(rows: Iterable[Row]) -> list[Row]:
    """Give ratios of times an interval, Student's of the difference of logarithms of single runs.

    The ratio itself is that of the mean times.
    """
    every = list(rows)
    times = {
        (row.subject, row.part, row.correction): row for row in every if row.measure == SECONDS
    }
    found = []
    for row in every:
        ours = times.get((row.subject, row.part, row.correction))
        theirs = times.get((row.subject, row.part, UNCORRECTED))
        if row.measure != SECONDS + RATIO or ours is None or theirs is None or not row.value:
            found.append(row)
            continue
        logs = [
            [math.log(one) for one in side.extra.get(RUNS, ()) if one] for side in (ours, theirs)
        ]
        tested = difference(sample_of(logs[0]), sample_of(logs[1])) if all(logs) else None
        if tested is None or tested.low is None or tested.high is None:
            found.append(row)
            continue
        ends = (row.value * math.exp(end - tested.value) for end in (tested.low, tested.high))
        low, high = ends
        extra = {**row.extra, **freedom_of(tested)}
        found.append(replace(row, low=low, high=high, extra=extra))
    return found


def freedom_of(tested: MeanDifference | None) -> dict[str, int]:
    """Return the degrees of freedom of a difference as a field of a row."""
    return {} if tested is None or not tested.freedom else {FREEDOM: tested.freedom}


PRETRAIN_SEEDS = {MINI: 2, AS_PAPER: 3}
# Of the mini scale: minutes for a model, enough to see where it goes, not where it ends.
SMALL = {"batch_size": 16, "context": 64}
SMALL_STEPS = 200

# Of a model whose training is followed: more steps, and more states on the way.
FOLLOWED = {"steps": 400, "checkpoints": 10}


def plan_of(request: Request, subject: Subject, **options: object) -> Plan:
    """Return what is trained for a source such as ``pretrain:tiny``."""
    # Here and not above, because it imports torch, which a list of studies does not need.
    from isoscope.verbs.train.api import SIZES, Plan

    size = str(subject.source).removeprefix(PRETRAIN)
    if not str(subject.source).startswith(PRETRAIN):
        raise UsageError(
            f"{subject.source} is trained already; name a size, such as {PRETRAIN}tiny"
        )
    check_name("size of models", size, SIZES)
    small = request.scale == MINI and size == TINY_SIZE
    changed = {"steps": SMALL_STEPS, "changed": SMALL} if small else {}
    return Plan(**{"size": size, "seed": request.seed, **changed, **options})  # type: ignore[arg-type]


def ablated(request: Request, grid: str, objective: str, factor: str) -> Result:
    """Return rows of an ablation: trained now, or those of results that were finished.

    Parameters
    ----------
    request : Request
        What the user asks for.
    grid : str
        Factors that are trained.
    objective : {"mlm", "clm"}
        Of what is trained.
    factor : str
        What the study is about: results without it are refused.
    """
    if request.reuse:
        return joined_without_verdicts(finished_of(request, factor))
    if request.seed:
        raise UsageError(
            f"runs have the seeds 0 to {PRETRAIN_SEEDS[request.scale] - 1}; leave --seed out"
        )
    assert request.text is not None
    found = []
    seeds, text = PRETRAIN_SEEDS[request.scale], request.text.survey().sha256
    for subject in request.subjects:
        plan = plan_of(request, subject, objective=objective)
        about = {**plan.to_facts(), "grid": grid, "seeds": seeds, "text": text}
        run = partial(
            training.ablate, request.text, grid, plan, seeds=seeds,
            device=request.device, progress=request.progress,
        )  # fmt: skip
        name = f"ablation-{objective}"
        result = kept_run(request.folder, name, about, run, again=request.again)
        found.append(named(result, subject.name))
    return joined_without_verdicts(found)


@contextmanager
def checkpoints_of(request: Request, subject: Subject) -> Iterator[str]:
    """Give out a folder of checkpoints: the one that a subject names, or one that is trained now.

    A model that is trained stays in the folder of the request, where other studies find it.
    """
    if not str(subject.source).startswith(PRETRAIN):
        yield str(subject.source)
        return
    plan = plan_of(request, subject, **FOLLOWED)
    with tempfile.TemporaryDirectory(prefix="isoscope-") as temporary:
        text = learned_text(request)
        folder = Path(temporary) if request.folder is None else request.folder
        out = folder / "models" / model_name(plan, text)
        training.pretrain(
            text, plan, out, resume=True, device=request.device, progress=request.progress
        )
        yield str(out)


def model_name(plan: Plan, text: TextSource, **more: object) -> str:
    """Return the name of a model's folder: another plan or text is another model."""
    facts = {**plan.to_facts(), "text": text.survey().sha256, **more}
    digest = hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()
    return f"{plan.size}-{digest[:12]}"


def learned_text(request: Request) -> TextSource:
    """Return what a model learns from: WikiText-2 of the folder of data, or what a package has."""
    found = None if request.data is None else wikitext_train(request.data)
    return found or spare_text("a model to follow learns from a text")


def finished_of(request: Request, factor: str) -> list[Result]:
    """Read results of ablations; two of one name would be taken for one training."""
    found = [finished(path, factor) for path in request.reuse]
    names = [result.rows[0].subject for result in found if result.rows]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise UsageError(f"two results of --from are called {twice[0]}; rename a file")
    return found


def finished(path: Path, factor: str) -> Result:
    """Read a result of an ablation."""
    result = load_result(path)
    if not is_ablation(result) or factor not in result.extra.get(FACTORS, {}):
        raise UsageError(f"{path} is no result of isoscope train ablate with {factor} in its grid")
    plan = result.extra.get("plan", {})
    return named(result, f"{path.stem} ({plan.get('objective', 'unknown')})")


def named(result: Result, name: str) -> Result:
    """Return a result whose rows are about one subject; cells become corrections."""
    return replace(result, rows=[of_cell(row, name) for row in result.rows])


def of_cell(row: Row, name: str) -> Row:
    """Name the subject of a row; what tells cells apart goes where corrections stand."""
    effect = row.extra.get("factor") is not None
    return replace(row, subject=name, correction=row.correction if effect else model_of(row))


def last_step(result: Result) -> list[Row]:
    """Return rows about the end of every training."""
    ends: dict[str, int] = {}
    for row in result.rows:
        step = row.extra.get("step")
        if step is not None:
            ends[row.subject] = max(ends.get(row.subject, 0), int(step))
    return [row for row in result.rows if row.extra.get("step") == ends.get(row.subject)]


# Checkpoints from which on thirds of a training mean something.
FEWEST = 4


@dataclass(frozen=True)
class Curve:
    """Values at rising shares of a training."""

    shares: Vector
    values: Vector

    @classmethod
    def of(cls, rows: Iterable[Row]) -> Curve:
        """Make a curve of rows that know their step."""
        points = sorted(
            (int(row.extra["step"]), row.value)
            for row in rows
            if row.value is not None and row.extra.get("step") is not None
        )
        steps = np.array([step for step, _ in points], dtype=np.float64)
        last = steps[-1] if len(steps) and steps[-1] > 0 else 1.0
        return cls(steps / last, np.array([value for _, value in points], dtype=np.float64))

    def __len__(self) -> int:
        return len(self.values)

    def with_values(self, values: Sequence[float]) -> Curve:
        """Return the curve of other values of the same checkpoints."""
        return Curve(self.shares, np.asarray(values, dtype=np.float64))

    @property
    def early(self) -> int:
        """How many checkpoints of the first third there are, the start apart; at least one."""
        return max(int((self.shares <= 1 / 3).sum()) - 1, 1)

    def at(self, share: float) -> float:
        """Return the value at a share of the training."""
        return float(np.interp(share, self.shares, self.values))

    def change(self, start: float, end: float) -> float:
        """Return what is added from one place to another."""
        return self.at(end) - self.at(start)

    def between(self, start: float, end: float) -> Vector:
        """Return the values of the checkpoints from one place to another."""
        return self.values[(self.shares >= start) & (self.shares <= end)]

    @property
    def turning(self) -> float:
        """The smaller of the largest rise and the largest fall: 0 where a curve is monotone.

        Both are over any stretch, as a curve of many checkpoints rises by little from each to the
        next.
        """
        highest = np.maximum.accumulate(self.values)
        lowest = np.minimum.accumulate(self.values)
        return float(min((self.values - lowest).max(), (highest - self.values).max()))

    @property
    def early_drop(self) -> float:
        """How far the lowest value of the first third, the start apart, is from the start."""
        early = self.between(0, 1 / 3)[1:]
        return float((early if len(early) else self.values[1:2]).min() - self.values[0])

    @property
    def rise_after_drop(self) -> float:
        """How far the curve rises again after the lowest value of the first third."""
        early = max(int((self.shares <= 1 / 3).sum()), 2)
        lowest = 1 + int(self.values[1:early].argmin())
        return float(self.values[lowest:].max() - self.values[lowest])


def followed(
    request: Request, subject: Subject, one: Callable[[Model], Result]
) -> tuple[Result, Callable[[str], Curve]]:
    """Take numbers of every checkpoint of a model; the parts are then the steps."""
    asked = request.checkpoints
    if not isinstance(subject.source, str | Path):
        raise UsageError(f"{subject.name} is one model; name a hub id or a folder of checkpoints")
    with (
        checkpoints_of(request, subject) as source,
        CheckpointCache(asked.cache, asked.keep) as cache,
    ):
        series = find_training(source, asked.revisions, asked.every)
        open_one = partial(cache.open, dtype=request.dtype, device=request.device)
        found = profile_over_training(series, one, open_one, progress=request.progress)
    rows = [
        replace(row, subject=subject.name, part=str(row.extra["revision"]))
        for row in found.rows
        if not row.part.endswith(", ordinary tokens")
    ]
    tables = [replace(table, subject=subject.name) for table in found.tables]

    def curve(measure: str) -> Curve:
        return Curve.of(row for row in rows if (row.measure, row.correction) == (measure, "none"))

    return replace(found, rows=rows, tables=tables), curve
