"""Scores of the layers of a model on tasks about texts, as they are and corrected.

Every task is scored in every layer and space that is asked for, and the best layer is marked with
what it was chosen on: a choice on the scored data themselves is optimistic.
"""

from __future__ import annotations

import time
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.compute.threads import in_parallel
from isoscope.compute.vector_cache import VectorCache
from isoscope.corrections.named import NONE, NamedCorrection
from isoscope.data.arrays import at_least_single
from isoscope.measures.registry import choose_measures
from isoscope.models.encode import Encoder, chosen_layers, encoding_pool
from isoscope.models.model import Model
from isoscope.models.reading_needs import announce_reading
from isoscope.results.fields import BEST, CHOSEN_ON, DIFFERENCE, KIND, MAIN, REMARKS, SCORES
from isoscope.results.merge import joined
from isoscope.results.result import Result, Row, Table
from isoscope.tasks.encoding import encoder_of, opened
from isoscope.tasks.fits import MOST_TOKENS, sees_a_sample
from isoscope.tasks.problems.classification import ClassProblem, epoch_tables
from isoscope.tasks.problems.pairs import SCORE
from isoscope.tasks.problems.word_senses import ACCURACY, LEARNED
from isoscope.tasks.prompts import with_prompts_of_job
from isoscope.tasks.protocol import SentenceProtocol, Split, TaskPlan, job_of
from isoscope.tasks.scores import problem_rows, with_note
from isoscope.verbs.evaluate.sentence_spaces import Level, Space, sentence_spaces
from isoscope.verbs.measure.api import measure

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from isoscope.progress import Progress
    from isoscope.tasks.problem import Problem
    from isoscope.tasks.registry import Task
    from isoscope.typing import Doubles, Places


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
        own = learned.get((row.subject, row.part, row.correction, task_of(row)))
        if own is None and (f"/{SCORE}/" in row.measure or row.extra.get(MAIN)):
            value, chosen_on = row.value, SCORED
        elif own is not None and row.measure == f"{task_of(row)}/{ACCURACY}":
            value, chosen_on = own, OTHERS
        else:
            continue
        several = groups.setdefault((row.subject, row.correction, row.measure), [])
        several.append((row, value, chosen_on))
    best = {}
    for several in groups.values():
        # Of equal scores the first layer wins: the place counts down.
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
    """Mark a row whose layer is the best one, with what that was chosen on."""
    best = replace(row, extra={**row.extra, BEST: True, CHOSEN_ON: chosen_on})
    return with_note(best, f"best layer, chosen on {chosen_on}")


SECONDS = "seconds"


@dataclass(frozen=True)
class LayerScoring:
    """How the layers of a model are scored: by which encoder, in which spaces of which layers.

    The protocol is all else that decides a score; ``level`` is the coverage of the intervals, and
    ``queries`` are the texts with a prompt of their own, and ``replicates`` says whether scores
    also have their values without each block of the items.
    """

    encoder: Encoder
    corrections: Sequence[NamedCorrection]
    layers: tuple[str, ...]
    protocol: SentenceProtocol
    level: float
    progress: Progress | None
    queries: Places | None = None
    replicates: bool = False

    def score(self, job: TaskPlan) -> Result:
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
                # Isotropy is measured once; the fits of other folds differ little.
                measures = self.protocol.isotropy if number == 0 else ()
                calls = [
                    partial(space_outputs, where, space, problem, split, measures, text)
                    for space in spaces
                ]
                # Probes draw from torch's one generator: threads would take turns at random.
                found = [call() for call in calls] if problem.learns else in_parallel(calls)
                for space, (some, measured, took) in zip(spaces, found, strict=True):
                    key = (space.layer, space.correction)
                    seconds[key] = seconds.get(key, 0.0) + space.seconds + took
                    # Every split fills in the items that it holds out.
                    everything = outputs[space.layer].setdefault(
                        space.correction, np.full((len(problem), *some.shape[1:]), np.nan)
                    )
                    everything[split.held] = some
                    folded = len(job.splits) > 1 and space.correction != NONE
                    note = "measured after the fit of the first fold" if folded else ""
                    isotropy[space.layer] += [with_note(row, note) for row in measured]
                    if number == 0 and self.protocol.epochs and isinstance(problem, ClassProblem):
                        tables += epoch_tables(
                            where, space.correction, problem, space.vectors, split.learn,
                            split.held, level=self.level, seeds=self.protocol.epoch_seeds,
                        )  # fmt: skip
        rows = []
        for layer in self.layers:
            scored = {name: values[job.items] for name, values in outputs[layer].items()}
            where = (model, layer)
            rows += problem_rows(
                where, problem, scored, job.items, text, self.level, replicates=self.replicates
            )
            rows += isotropy[layer]
            rows += [
                seconds_row(where, problem.task, name, seconds[layer, name], text)
                for name in scored
            ]
        return Result(rows, tables)

    def spaces(self, job: TaskPlan, split: Split) -> Iterator[list[Space]]:
        """Yield the spaces of every layer, with corrections fitted for one split."""
        problem = job.problem
        return sentence_spaces(
            self.encoder, problem.texts, self.corrections, mentions=problem.mentions,
            queries=self.queries, layers=self.layers, level=self.corrected(job), fit=split.fit,
            scored=problem.texts_of(split.held), seed=self.protocol.seed, progress=self.progress,
        )  # fmt: skip

    def corrected(self, job: TaskPlan) -> Level:
        """Return what is corrected: words in texts have no sentence vectors."""
        return "token" if job.problem.mentions is not None else self.protocol.correct_at

    def describe(self, job: TaskPlan) -> str:
        """Describe how vectors are made, what is scored, and what corrections were fitted on."""
        encoder, problem = self.encoder, job.problem
        made = str(encoder) if problem.mentions is None else encoder.describe_words()
        words = [made, f"{len(problem.texts):,} distinct texts", *job.words]
        sampled = ", ".join(one.name for one in self.corrections if sees_a_sample(one))
        if self.corrected(job) == "token" and sampled:
            words.append(f"{sampled} on at most {MOST_TOKENS:,} of them, drawn at random")
        return "; ".join([*words, f"{100 * self.level:.0f} % intervals"])


def space_outputs(
    where: tuple[str, str],
    space: Space,
    problem: Problem,
    split: Split,
    measures: Sequence[str],
    protocol: str,
) -> tuple[Doubles, list[Row], float]:
    """Return the outputs of one space, some measures of its isotropy, and the seconds it took."""
    began = time.perf_counter()
    found = problem.outputs(space.vectors, split.learn, split.held)
    took = time.perf_counter() - began
    return found, isotropy_rows(where, problem.task, space, measures, protocol), took


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
    # A text without a token that counts has no vector.
    vectors = space.vectors[np.isfinite(space.vectors).all(axis=1)]
    if not measures or len(vectors) < 2:
        return []
    # Scores come from double precision, as ties and ranks do; measures have no use for more digits
    # than the vectors had before they were corrected.
    if space.stored is not None:
        vectors = at_least_single(vectors.astype(space.stored, copy=False))
    # One thread each: spaces are looked at side by side.
    found = measure(vectors, measures, ["none"], intervals=False, workers=1)
    subject, part = where
    return [
        replace(
            row, subject=subject, part=part, correction=space.correction,
            measure=f"{task}/{row.measure}", protocol=protocol,
        )
        for row in found.rows
    ]  # fmt: skip


EPOCHS_REMARK = "Scores after every epoch: in the tables of --json and --out FILE.json."


def evaluate_texts(
    source: str | Model,
    tasks: Sequence[Task],
    corrections: Sequence[NamedCorrection],
    protocol: SentenceProtocol,
    *,
    folder: Path | None,
    level: float,
    progress: Progress | None,
    announce: Callable[[str], None] | None = None,
    replicates: bool = False,
    **encoding: Any,
) -> Result:
    """Score every layer that is asked for on every task, in every space.

    Texts are encoded by the workers of ``encoding_pool``, which takes ``encoding``. Corrections of
    tokens are the exception: this process runs the model over the texts that they are fitted on,
    and where a correction does not commute with pooling, over those that are scored.

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
    # Data that are missing or damaged are found before a model is loaded.
    fits = any(one.transformer for one in corrections)
    jobs = [job_of(task, folder, protocol, fits=fits) for task in tasks]
    device = source.device if isinstance(source, Model) else protocol.device
    with (
        encoding_pool(device=device, **encoding) as encoders,
        fold_cache(protocol, jobs) as cache,
    ):
        model = opened(source, protocol, encoders)
        texts = {text for job in jobs for text in getattr(job.problem, "texts", ())}
        cached = "" if cache is False else "Vectors that are cached are not computed again."
        announce_reading(model, len(texts), sum(map(len, texts)), announce, remark=cached)
        layers = chosen_layers(model, protocol.layers)
        began = time.perf_counter()
        encoder = encoder_of(model, protocol, layers, cache, encoders)

        def scored(job: TaskPlan) -> Result:
            prompted, ready, queries = with_prompts_of_job(encoder, protocol, job)
            scoring = LayerScoring(
                prompted, corrections, layers, protocol, level, progress, queries, replicates
            )
            return scoring.score(ready)

        found = joined(map(scored, jobs))
    return replace(
        found,
        rows=with_best_layers(found.rows),
        seeds={"seed": protocol.seed},
        extra={
            KIND: SCORES,
            "models": {model.name: model.provenance},
            SECONDS: time.perf_counter() - began,
            **({REMARKS: [EPOCHS_REMARK]} if found.tables else {}),
        },
    )


@contextmanager
def fold_cache(
    protocol: SentenceProtocol, jobs: Sequence[TaskPlan]
) -> Iterator[VectorCache | bool]:
    """Keep vectors between folds even where none are to be kept between calls."""
    if protocol.cache is not False or all(len(job.splits) == 1 for job in jobs):
        yield protocol.cache
        return
    with TemporaryDirectory() as folder:
        yield VectorCache(folder)
