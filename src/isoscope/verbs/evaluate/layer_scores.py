"""Which layer is the best one, and what that was chosen on.

One task scored in every layer and space that is asked for.

Score the layers of a model on tasks about texts, as they are and corrected.
"""

from __future__ import annotations

import time
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.compute.execution import LOCAL
from isoscope.compute.threads import in_parallel
from isoscope.compute.vector_cache import VectorCache
from isoscope.corrections.named import NONE
from isoscope.measures.registry import choose_measures
from isoscope.models.encode import chosen_layers, encoding_pool
from isoscope.models.model import Model
from isoscope.results.fields import BEST, CHOSEN_ON, KIND, MAIN, REMARKS, SCORES
from isoscope.results.result import Result, Row, Table, versions
from isoscope.tasks.encoding import encoder_of, opened
from isoscope.tasks.fits import MOST_TOKENS, sees_a_sample
from isoscope.tasks.problems.classification import ClassProblem, epoch_table
from isoscope.tasks.problems.pairs import SCORE
from isoscope.tasks.problems.word_senses import ACCURACY, LEARNED
from isoscope.tasks.prompts import with_prompts_of_job
from isoscope.tasks.protocol import Job, Split, job_of
from isoscope.tasks.scores import problem_rows, with_note
from isoscope.verbs.evaluate.sentence_spaces import sentence_spaces
from isoscope.verbs.measure.api import measure

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from isoscope.corrections.named import NamedCorrection
    from isoscope.models.encode import Encoder, EncodingPool
    from isoscope.progress import Progress
    from isoscope.tasks.problem import Problem
    from isoscope.tasks.protocol import SentenceProtocol
    from isoscope.tasks.registry import Task
    from isoscope.typing import Doubles, Places
    from isoscope.verbs.evaluate.sentence_spaces import Level, Space


DIFFERENCE = "/difference"
SCORED, OTHERS = "what is scored", "other pairs, as the threshold is"


def with_best_layers(rows: Sequence[Row]) -> list[Row]:
    """Mark the layer with the highest score, for every score that several layers have.

    The mark is a choice on the scored data themselves, and its note says so; but the layer of word
    senses is chosen on the pairs that the threshold is chosen on.
    """
    learned = {
        (row.subject, row.part, row.correction, task_of(row)): row.value
        for row in rows
        if row.measure.endswith(f"/{LEARNED}")
    }
    groups: dict[tuple[str, str, str], list[tuple[Row, float | None, str]]] = {}
    for row in rows:
        if row.measure.endswith(DIFFERENCE):
            continue
        entry: tuple[Row, float | None, str]
        own = learned.get((row.subject, row.part, row.correction, task_of(row)))
        if own is not None and row.measure == f"{task_of(row)}/{ACCURACY}":
            entry = (row, own, OTHERS)
        elif own is None and (f"/{SCORE}/" in row.measure or row.extra.get(MAIN)):
            entry = (row, row.value, SCORED)
        else:
            continue
        groups.setdefault((row.subject, row.correction, row.measure), []).append(entry)
    best = {}
    for several in groups.values():
        defined = [
            (value, -k, id(row), on) for k, (row, value, on) in enumerate(several)
            if value is not None
        ]  # fmt: skip
        if len(several) > 1 and defined:
            *_, place, on = max(defined)
            best[place] = on
    return [marked(row, best[id(row)]) if id(row) in best else row for row in rows]


def task_of(row: Row) -> str:
    """Return the task of a score."""
    return row.measure.split("/")[0]


def marked(row: Row, chosen_on: str) -> Row:
    """Say of a row that its layer is the best one, and what that was chosen on."""
    best = replace(row, extra={**row.extra, BEST: True, CHOSEN_ON: chosen_on})
    return with_note(best, f"best layer, chosen on {chosen_on}")


SECONDS = "seconds"


@dataclass(frozen=True)
class SpaceOutputs:
    """What one space says of the items of one split."""

    outputs: Doubles
    isotropy: list[Row]
    seconds: float


@dataclass(frozen=True)
class LayerScoring:
    """How the layers of a model are scored.

    Attributes
    ----------
    encoder : Encoder
        Turns texts into vectors.
    corrections : sequence of NamedCorrection
        The spaces that every layer is scored in.
    layers : tuple of str
        Which layers.
    protocol : SentenceProtocol
        All else that decides a score.
    level : float
        Coverage of the intervals.
    progress : callable, optional
        Called with the name of the work, steps done, and steps in all.
    queries : array of int, optional
        Which of the texts are queries, with a prompt of their own.
    """

    encoder: Encoder
    corrections: Sequence[NamedCorrection]
    layers: tuple[str, ...]
    protocol: SentenceProtocol
    level: float
    progress: Progress | None
    queries: Places | None = None

    def score(self, job: Job) -> Result:
        """Score one task."""
        problem, text = job.problem, self.describe(job)
        model = self.encoder.model.name
        outputs: dict[str, dict[str, Doubles]] = {layer: {} for layer in self.layers}
        seconds: dict[tuple[str, str], float] = {}
        isotropy: dict[str, list[Row]] = {layer: [] for layer in self.layers}
        tables: list[Table] = []
        for number, split in enumerate(job.splits):
            for spaces in self.spaces(job, split):
                where = (model, spaces[0].layer)
                measures = self.protocol.isotropy if number == 0 else ()
                calls = [
                    partial(space_outputs, where, space, problem, split, measures, text)
                    for space in spaces
                ]
                # Probes draw from torch's one generator: threads would take turns at random.
                found = [call() for call in calls] if problem.learns else in_parallel(calls)
                for space, one in zip(spaces, found, strict=True):
                    key = (space.layer, space.correction)
                    seconds[key] = seconds.get(key, 0.0) + space.seconds + one.seconds
                    everything = outputs[space.layer].setdefault(
                        space.correction, np.full((len(problem), *one.outputs.shape[1:]), np.nan)
                    )
                    everything[split.held] = one.outputs
                    folded = len(job.splits) > 1 and space.correction != NONE
                    note = "measured after the fit of the first fold" if folded else ""
                    isotropy[space.layer] += [with_note(row, note) for row in one.isotropy]
                    if number == 0 and self.protocol.epochs and isinstance(problem, ClassProblem):
                        tables.append(
                            epoch_table(
                                where, space.correction, problem, space.vectors, split.learn,
                                split.held, level=self.level,
                            )
                        )  # fmt: skip
        rows = []
        for layer in self.layers:
            scored = {name: values[job.items] for name, values in outputs[layer].items()}
            where = (model, layer)
            rows += problem_rows(where, problem, scored, job.items, text, self.level)
            rows += isotropy[layer]
            rows += [
                seconds_row(where, problem.task, name, seconds[layer, name], text)
                for name in scored
            ]
        return Result(rows, tables)

    def spaces(self, job: Job, split: Split) -> Iterator[list[Space]]:
        """Yield the spaces of every layer, with corrections fitted for one split."""
        problem = job.problem
        return sentence_spaces(
            self.encoder, problem.texts, self.corrections, mentions=problem.mentions,
            queries=self.queries, layers=self.layers, level=self.corrected(job), fit=split.fit,
            scored=problem.texts_of(split.held), seed=self.protocol.seed, progress=self.progress,
        )  # fmt: skip

    def corrected(self, job: Job) -> Level:
        """Return what is corrected: words in texts have no sentence vectors."""
        return "token" if job.problem.mentions is not None else self.protocol.correct_at

    def describe(self, job: Job) -> str:
        """Say how vectors are made, what is scored, and what corrections were fitted on."""
        encoder, problem = self.encoder, job.problem
        made = str(encoder) if problem.mentions is None else encoder.describe_words()
        words = [made, f"{len(problem.texts):,} distinct texts", *job.words]
        sampled = ", ".join(one.name for one in self.corrections if sees_a_sample(one))
        if self.corrected(job) == "token" and sampled:
            words.append(f"{sampled} on at most {MOST_TOKENS:,} of them, drawn at random")
        return "; ".join([*words, f"{self.level:.0%} intervals"])


def space_outputs(
    where: tuple[str, str],
    space: Space,
    problem: Problem,
    split: Split,
    measures: Sequence[str],
    protocol: str,
) -> SpaceOutputs:
    """Take the outputs of one space, and some measures of its isotropy."""
    began = time.perf_counter()
    found = problem.outputs(space.vectors, split.learn, split.held)
    took = time.perf_counter() - began
    return SpaceOutputs(found, isotropy_rows(where, problem.task, space, measures, protocol), took)


def seconds_row(
    where: tuple[str, str], task: str, correction: str, seconds: float, protocol: str
) -> Row:
    """Return how long a space took as a row."""
    name, extra = f"{task}/{SECONDS}", {"unit": SECONDS}
    return Row.of(seconds, *where, correction, name, protocol=protocol, extra=extra)


def isotropy_rows(
    where: tuple[str, str], task: str, space: Space, measures: Sequence[str], protocol: str
) -> list[Row]:
    """Measure the sentence vectors of one space, so that scores and isotropy stand together."""
    vectors = space.vectors[np.isfinite(space.vectors).all(axis=1)]
    if not measures or len(vectors) < 2:
        return []
    # One thread each: spaces are looked at side by side.
    found = measure(vectors, measures, ["none"], intervals=False, workers=1)
    subject, part = where
    about: dict[str, Any] = {
        "subject": subject, "part": part, "correction": space.correction, "protocol": protocol,
    }  # fmt: skip
    return [replace(row, measure=f"{task}/{row.measure}", **about) for row in found.rows]


EPOCHS_REMARK = "Scores after every epoch: in the tables of --json and --out FILE.json."


def evaluate_texts(
    source: str | Model,
    tasks: Sequence[Task],
    corrections: Sequence[NamedCorrection],
    protocol: SentenceProtocol,
    *,
    folder: Path | None,
    level: float = 0.95,
    engine: str = LOCAL,
    workers: int | None = None,
    pool: EncodingPool | None = None,
    progress: Progress | None = None,
    command: str = "",
) -> Result:
    """Score every layer that is asked for on every task, in every space.

    Texts are encoded by the workers that are asked for. Corrections of tokens are the exception:
    this process runs the model over the texts that they are fitted on, and where a correction does
    not commute with pooling, over those that are scored.

    Returns
    -------
    Result
        Rows such as ``sts-b/cosine/spearman`` (all pairs), ``sts-12/cosine/spearman/mean`` (over
        subsets), ``sts-12/MSRvid/cosine/spearman``, each with ``/difference``; the isotropy of the
        sentence vectors as ``sts-b/mean_cosine`` and so on; and ``sts-b/seconds``, what encoding
        took (``none``) or fitting and applying a correction.
    """
    if protocol.isotropy:
        choose_measures(protocol.isotropy)  # an unknown name is refused before any work
    fits = any(one.transformer for one in corrections)
    jobs = [job_of(task, folder, protocol, fits=fits) for task in tasks]
    rows: list[Row] = []
    tables: list[Table] = []
    device = source.device if isinstance(source, Model) else protocol.device
    with (
        encoding_pool(engine, workers, device, pool) as encoders,
        kept_vectors(protocol, jobs) as cache,
    ):
        model = opened(source, protocol, encoders)
        layers = chosen_layers(model, protocol.layers)
        began = time.perf_counter()
        encoder = encoder_of(model, protocol, layers, cache, encoders)
        for job in jobs:
            prompted, ready, queries = with_prompts_of_job(encoder, protocol, job)
            scoring = LayerScoring(
                prompted, corrections, layers, protocol, level, progress, queries
            )
            found = scoring.score(ready)
            rows += found.rows
            tables += found.tables
    return Result(
        with_best_layers(rows),
        tables,
        seeds={"seed": protocol.seed},
        versions=versions(),
        command=command,
        extra={
            KIND: SCORES,
            "models": {model.name: model.provenance},
            SECONDS: time.perf_counter() - began,
            **({REMARKS: [EPOCHS_REMARK]} if tables else {}),
        },
    )


@contextmanager
def kept_vectors(protocol: SentenceProtocol, jobs: Sequence[Job]) -> Iterator[VectorCache | bool]:
    """Keep vectors between folds even where none are to be kept between calls."""
    if protocol.cache is not False or all(len(job.splits) == 1 for job in jobs):
        yield protocol.cache
        return
    with TemporaryDirectory() as folder:
        yield VectorCache(folder)
