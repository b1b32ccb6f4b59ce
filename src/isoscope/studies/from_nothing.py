"""Models that a study trains from nothing, or takes from results of such trainings.

A source ``pretrain:tiny`` is a size of ``isoscope train pretrain``; ``--from`` takes a result of
``isoscope train ablate --out``.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from isoscope.errors import UsageError, unknown_name
from isoscope.results.ablated import FACTORS, is_ablation, model_of
from isoscope.results.loading import load_result
from isoscope.studies.kept_runs import kept_run
from isoscope.studies.scales import MINI, PAPER, Scale
from isoscope.studies.several import joined
from isoscope.studies.texts import spare_text, wikitext_train

if TYPE_CHECKING:
    from collections.abc import Iterator

    from isoscope.data.texts.base import TextSource
    from isoscope.results.result import Result, Row
    from isoscope.studies.registry import Request, Subject
    from isoscope.training.pretraining.plan import Plan


PREFIX = "pretrain:"
TINY = "tiny"
SCALES = {MINI: Scale((f"{PREFIX}{TINY}",)), PAPER: Scale((f"{PREFIX}paper",))}
"""What is trained where the user names no source."""

SEEDS = {MINI: 2, PAPER: 3}
SMALL = {"batch_size": 16, "context": 64}
SMALL_STEPS = 200
"""Of the mini scale: minutes for a model, enough to see where it goes, not where it ends."""

FOLLOWED = {"steps": 400, "checkpoints": 10}
"""Of a model whose training is followed: more steps, and more states on the way."""

NEED = (
    "a text to learn from (--text, or WikiText-2 in the --data folder), and nothing else: --scale "
    "mini trains tiny models for some minutes, --scale paper those of the paper, pretrain:SIZE as "
    "a source another size"
)
AGAIN = "; --from takes a result of isoscope train ablate instead"


def plan_of(request: Request, subject: Subject, **options: object) -> Plan:
    """Return what is trained for a source such as ``pretrain:tiny``."""
    from isoscope.training.pretraining.plan import SIZES, Plan

    size = str(subject.source).removeprefix(PREFIX)
    if not str(subject.source).startswith(PREFIX):
        raise UsageError(f"{subject.source} is trained already; name a size, such as {PREFIX}tiny")
    if size not in SIZES:
        raise unknown_name("size of models", size, SIZES)
    small = request.scale == MINI and size == TINY
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
        return joined(finished_of(request, factor))
    if request.seed:
        raise UsageError(f"runs have the seeds 0 to {SEEDS[request.scale] - 1}; leave --seed out")
    from isoscope.training.pretraining.ablating import ablate  # imports torch

    assert request.text is not None
    found = []
    for subject in request.subjects:
        plan, seeds = plan_of(request, subject, objective=objective), SEEDS[request.scale]
        text = request.text.survey().sha256
        about = {**plan.to_facts(), "grid": grid, "seeds": seeds, "text": text}
        result = kept_run(
            request.folder, f"ablation-{objective}", about,
            lambda journal, save, plan=plan, seeds=seeds: ablate(  # type: ignore[misc]
                request.text, grid, plan, seeds=seeds, journal=journal, resume=journal is not None,
                save=save, device=request.device, progress=request.progress,
            ),
            again=request.again,
        )  # fmt: skip
        found.append(named(result, subject.name))
    return joined(found)


@contextmanager
def checkpoints_of(request: Request, subject: Subject) -> Iterator[str]:
    """Give out a folder of checkpoints: the one that a subject names, or one that is trained now.

    A model that is trained stays in the folder of the request, where other studies find it.
    """
    if not str(subject.source).startswith(PREFIX):
        yield str(subject.source)
        return
    from isoscope.training.pretraining.pretraining import pretrain  # imports torch

    plan = plan_of(request, subject, **FOLLOWED)
    with tempfile.TemporaryDirectory(prefix="isoscope-") as temporary:
        text = learned_text(request)
        folder = Path(temporary) if request.folder is None else request.folder
        out = folder / "models" / model_name(plan, text)
        pretrain(text, plan, out, resume=True, device=request.device, progress=request.progress)
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
