"""Score the layers of a model on pairs of texts, as they are and corrected."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.clouds.texts import open_texts
from isoscope.errors import UsageError
from isoscope.models.encoding import Encoder
from isoscope.models.opening import Model, open_model
from isoscope.models.pooling import layer_names
from isoscope.results.measuring import choose_measures, listed, measure, versions
from isoscope.results.result import Result, Row
from isoscope.results.scored import KIND, SCORES
from isoscope.tasks.fit_texts import FitTexts
from isoscope.tasks.problem_rows import problem_rows
from isoscope.tasks.sentence_spaces import sentence_spaces
from isoscope.tasks.sts import ScoredPairs, with_best_layers
from isoscope.tasks.token_fits import MOST_TOKENS, sees_a_sample

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from isoscope.clouds.texts.contract import Progress
    from isoscope.tasks.corrected import NamedCorrection
    from isoscope.tasks.sentence_protocol import SentenceProtocol
    from isoscope.tasks.sentence_spaces import Space
    from isoscope.tasks.text_tasks import SentenceSimilarity

ALL, LAST, TRAIN = "all", "last", "train"
SECONDS = "seconds"


@dataclass(frozen=True)
class Job:
    """One task: what is scored, and what corrections are fitted on."""

    pairs: ScoredPairs
    fit: FitTexts | None


def evaluate_texts(
    source: str | Model,
    tasks: Sequence[SentenceSimilarity],
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
    jobs = [
        prepared(task, folder, protocol, fits=any(one.transformer for one in corrections))
        for task in tasks
    ]
    model = source
    if not isinstance(model, Model):
        model = open_model(
            model, revision=protocol.revision, dtype=protocol.dtype, device=protocol.device
        )
    layers = chosen_layers(model, protocol.layers)
    encoder = Encoder(
        model,
        protocol.pooling,
        protocol.special_tokens,
        longest=protocol.longest,
        cache=protocol.cache,
    )
    began = time.perf_counter()
    rows: list[Row] = []
    for job in jobs:
        rows += job_rows(encoder, job, corrections, layers, protocol, level, progress)
    return Result(
        with_best_layers(rows),
        seeds={"seed": protocol.seed},
        versions=versions(),
        command=command,
        extra={
            KIND: SCORES,
            "models": {model.name: model.provenance},
            SECONDS: time.perf_counter() - began,
        },
    )


def job_rows(
    encoder: Encoder,
    job: Job,
    corrections: Sequence[NamedCorrection],
    layers: tuple[str, ...],
    protocol: SentenceProtocol,
    level: float,
    progress: Progress | None,
) -> list[Row]:
    """Score one task."""
    pairs, rows = job.pairs, []
    words = [str(encoder), f"{len(pairs.texts):,} distinct texts"]
    if job.fit is not None:
        words.append(job.fit.describe(protocol.correct_at))
        sampled = [one.name for one in corrections if sees_a_sample(one)]
        if protocol.correct_at == "token" and sampled:
            words.append(
                f"{', '.join(sampled)} on at most {MOST_TOKENS:,} of them, drawn at random"
            )
    text = "; ".join([*words, f"{level:.0%} intervals"])
    for spaces in sentence_spaces(
        encoder,
        pairs.texts,
        corrections,
        layers=layers,
        level=protocol.correct_at,
        fit=job.fit,
        seed=protocol.seed,
        progress=progress,
    ):
        where = (encoder.model.name, spaces[0].layer)
        everything = np.arange(len(pairs))
        outputs = {
            space.correction: pairs.outputs(space.vectors, everything[:0], everything)
            for space in spaces
        }
        rows += problem_rows(where, pairs, outputs, everything, text, level)
        for space in spaces:
            rows += isotropy_rows(where, pairs.task, space, protocol.isotropy, text)
            fitted = job.fit is not None and space.correction != "none"
            note = job.fit.describe(protocol.correct_at) if fitted and job.fit else ""
            rows.append(
                Row(*where, space.correction, f"{pairs.task}/{SECONDS}", space.seconds,
                    protocol=text, note=note, extra={"unit": SECONDS})
            )  # fmt: skip
    return rows


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


def prepared(
    task: SentenceSimilarity, folder: Path | None, protocol: SentenceProtocol, *, fits: bool
) -> Job:
    """Read a task's pairs, and find out what its corrections are fitted on."""
    pairs = ScoredPairs.of(task.name, task.load(folder))
    if not fits:
        return Job(pairs, None)
    if protocol.transductive:
        return Job(pairs, FitTexts.scored(pairs.texts))
    if protocol.fit_on is not None:
        source = open_texts(protocol.fit_on)
        texts = [text.text for text in source.texts()]
        return Job(pairs, FitTexts.apart(texts, source.name, pairs.texts))
    if TRAIN not in task.parts or not task.scored or TRAIN in task.scored:
        raise UsageError(
            f"{task.name} has no train split to fit corrections on; name texts with --fit-on "
            "(fit_on=), or fit on the scored texts with --transductive (transductive=True)"
        )
    learned = task.load(folder, (TRAIN,))
    texts = [text for pair in learned for text in (pair.first, pair.second)]
    return Job(pairs, FitTexts.apart(texts, f"{task.name} {TRAIN}", pairs.texts))


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
