"""Score the layers of a model on tasks about texts, as they are and corrected."""

from __future__ import annotations

import time
from contextlib import contextmanager
from dataclasses import replace
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.engines.vector_cache import VectorCache
from isoscope.errors import UsageError
from isoscope.models.encoding import Encoder
from isoscope.models.opening import Model, open_model
from isoscope.models.pooling import layer_names
from isoscope.results.measuring import choose_measures, listed, measure, versions
from isoscope.results.result import Result, Row, Table
from isoscope.results.scored import KIND, SCORES
from isoscope.tasks import families  # noqa: F401 - they say how they are prepared
from isoscope.tasks.best_layers import with_best_layers
from isoscope.tasks.class_problem import ClassProblem
from isoscope.tasks.epochs import epoch_table
from isoscope.tasks.preparing import Job, Split, job_of, texts_of
from isoscope.tasks.problem_rows import problem_rows
from isoscope.tasks.sentence_spaces import sentence_spaces
from isoscope.tasks.token_fits import MOST_TOKENS, sees_a_sample

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from isoscope.clouds.texts.contract import Progress
    from isoscope.tasks.corrected import NamedCorrection
    from isoscope.tasks.registry import Task
    from isoscope.tasks.sentence_protocol import SentenceProtocol
    from isoscope.tasks.sentence_spaces import Level, Space

ALL, LAST = "all", "last"
SECONDS = "seconds"


def evaluate_texts(
    source: str | Model,
    tasks: Sequence[Task],
    corrections: Sequence[NamedCorrection],
    protocol: SentenceProtocol,
    *,
    folder: Path | None,
    level: float = 0.95,
    progress: Progress | None = None,
    command: str = "",
) -> Result:
    """Score every layer that is asked for on every task, in every space.

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
    model = source
    if not isinstance(model, Model):
        model = open_model(
            model, revision=protocol.revision, dtype=protocol.dtype, device=protocol.device
        )
    layers = chosen_layers(model, protocol.layers)
    began = time.perf_counter()
    rows: list[Row] = []
    tables: list[Table] = []
    with kept_vectors(protocol, jobs) as cache:
        encoder = Encoder(
            model,
            protocol.pooling,
            protocol.special_tokens,
            longest=protocol.longest,
            cache=cache,
        )
        for job in jobs:
            found = scored_job(encoder, job, corrections, layers, protocol, level, progress)
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


def scored_job(
    encoder: Encoder,
    job: Job,
    corrections: Sequence[NamedCorrection],
    layers: tuple[str, ...],
    protocol: SentenceProtocol,
    level: float,
    progress: Progress | None,
) -> Result:
    """Score one task."""
    problem, text = job.problem, protocol_line(encoder, job, corrections, protocol, level)
    outputs: dict[str, dict[str, NDArray[np.float64]]] = {layer: {} for layer in layers}
    seconds: dict[tuple[str, str], float] = {}
    isotropy: dict[str, list[Row]] = {layer: [] for layer in layers}
    tables: list[Table] = []
    for number, split in enumerate(job.splits):
        for spaces in split_spaces(encoder, job, split, corrections, layers, protocol, progress):
            for space in spaces:
                began = time.perf_counter()
                found = problem.outputs(space.vectors, split.learn, split.held)
                took = space.seconds + time.perf_counter() - began
                key = (space.layer, space.correction)
                seconds[key] = seconds.get(key, 0.0) + took
                everything = outputs[space.layer].setdefault(
                    space.correction, np.full((len(problem), *found.shape[1:]), np.nan)
                )
                everything[split.held] = found
                if number == 0:
                    where = (encoder.model.name, space.layer)
                    if protocol.epochs and isinstance(problem, ClassProblem):
                        tables.append(
                            epoch_table(
                                where, space.correction, problem, space.vectors, split.learn,
                                split.held, level=level,
                            )
                        )  # fmt: skip
                    isotropy[space.layer] += isotropy_rows(
                        where, problem.task, space, protocol.isotropy, text
                    )
    rows = []
    for layer in layers:
        where = (encoder.model.name, layer)
        scored = {name: values[job.items] for name, values in outputs[layer].items()}
        rows += problem_rows(where, problem, scored, job.items, text, level)
        rows += isotropy[layer]
        rows += [
            Row(*where, name, f"{problem.task}/{SECONDS}", seconds[layer, name], protocol=text,
                extra={"unit": SECONDS})
            for name in scored
        ]  # fmt: skip
    return Result(rows, tables)


def protocol_line(
    encoder: Encoder,
    job: Job,
    corrections: Sequence[NamedCorrection],
    protocol: SentenceProtocol,
    level: float,
) -> str:
    """Say how vectors are made, what is scored, and what corrections were fitted on."""
    made = str(encoder) if job.problem.mentions is None else encoder.describe_words()
    words = [made, f"{len(job.problem.texts):,} distinct texts", *job.words]
    sampled = [one.name for one in corrections if sees_a_sample(one)]
    if level_of(job, protocol) == "token" and sampled:
        words.append(f"{', '.join(sampled)} on at most {MOST_TOKENS:,} of them, drawn at random")
    return "; ".join([*words, f"{level:.0%} intervals"])


def level_of(job: Job, protocol: SentenceProtocol) -> Level:
    """Return what is corrected: words in texts have no sentence vectors."""
    return "token" if job.problem.mentions is not None else protocol.correct_at


def split_spaces(
    encoder: Encoder,
    job: Job,
    split: Split,
    corrections: Sequence[NamedCorrection],
    layers: tuple[str, ...],
    protocol: SentenceProtocol,
    progress: Progress | None,
) -> Iterator[list[Space]]:
    """Yield the spaces of every layer, with corrections fitted for one split."""
    return sentence_spaces(
        encoder,
        job.problem.texts,
        corrections,
        mentions=job.problem.mentions,
        layers=layers,
        level=level_of(job, protocol),
        fit=split.fit,
        scored=texts_of(job.problem, split.held),
        seed=protocol.seed,
        progress=progress,
    )


def isotropy_rows(
    where: tuple[str, str], task: str, space: Space, measures: Sequence[str], protocol: str
) -> list[Row]:
    """Measure the sentence vectors of one space, so that scores and isotropy stand together."""
    vectors = usable(space.vectors)
    if not measures or len(vectors) < 2:
        return []
    found = measure(vectors, measures, ["none"], intervals=False)
    return [
        replace(
            row,
            subject=where[0],
            part=where[1],
            correction=space.correction,
            measure=f"{task}/{row.measure}",
            protocol=protocol,
        )
        for row in found.rows
    ]


def usable(vectors: NDArray[Any]) -> NDArray[Any]:
    """Return the rows of texts that have a vector."""
    return np.asarray(vectors[~np.isnan(vectors).any(axis=1)])


def chosen_layers(model: Model, given: str | Sequence[str]) -> tuple[str, ...]:
    """Return the layers that are meant by ``all``, ``last`` or names.

    The last one is the encoder's where there is a decoder too: sentence vectors are taken there.
    """
    names = listed(given, ())
    if ALL in names:
        return layer_names(model, None)
    wanted = [model.stacks[0].layers[-1] if name == LAST else name for name in names]
    if not wanted:
        raise UsageError("name at least one layer, or all, or last")
    return layer_names(model, wanted)
