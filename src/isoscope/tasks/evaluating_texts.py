"""Score the layers of a model on tasks about texts, as they are and corrected."""

from __future__ import annotations

import time
from contextlib import contextmanager
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from isoscope.compute.execution import LOCAL
from isoscope.compute.vector_cache import VectorCache
from isoscope.errors import UsageError
from isoscope.models.encode import Encoder
from isoscope.models.model import Model, open_model
from isoscope.models.pooling import layer_names
from isoscope.results.measuring import choose_measures, listed, versions
from isoscope.results.render import REMARKS
from isoscope.results.result import Result, Row, Table
from isoscope.results.scored import KIND, SCORES
from isoscope.tasks.best_layers import with_best_layers
from isoscope.tasks.encoding_pool import encoding_pool
from isoscope.tasks.job_scoring import SECONDS, scored_job
from isoscope.tasks.preparing import Job, job_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from isoscope.corrections.named import NamedCorrection
    from isoscope.data.texts.base import Progress
    from isoscope.tasks.encoding_pool import EncodingPool
    from isoscope.tasks.registry import Task
    from isoscope.tasks.sentence_protocol import SentenceProtocol


ALL, LAST = "all", "last"
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
        encoder = Encoder(
            model,
            protocol.pooling,
            protocol.special_tokens,
            longest=protocol.longest,
            cache=cache,
            pool=encoders,
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
            **({REMARKS: [EPOCHS_REMARK]} if tables else {}),
        },
    )


def opened(source: str | Model, protocol: SentenceProtocol, pool: EncodingPool | None) -> Model:
    """Open a model where the protocol, or else the workers, want it to compute."""
    if isinstance(source, Model):
        return source
    device = protocol.device if pool is None else pool.device
    model = open_model(source, revision=protocol.revision, dtype=protocol.dtype, device=device)
    if pool is not None:
        pool.settle(model, protocol.dtype)
    return model


@contextmanager
def kept_vectors(protocol: SentenceProtocol, jobs: Sequence[Job]) -> Iterator[VectorCache | bool]:
    """Keep vectors between folds even where none are to be kept between calls."""
    if protocol.cache is not False or all(len(job.splits) == 1 for job in jobs):
        yield protocol.cache
        return
    with TemporaryDirectory() as folder:
        yield VectorCache(folder)


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
