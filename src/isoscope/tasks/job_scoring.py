"""One task scored in every layer and space that is asked for."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.compute.threads import in_parallel
from isoscope.corrections.named import NONE
from isoscope.results.measuring import measure
from isoscope.results.result import Result, Row, Table
from isoscope.tasks.class_problem import ClassProblem
from isoscope.tasks.epochs import epoch_table
from isoscope.tasks.preparing import Job, Split, texts_of
from isoscope.tasks.problem_rows import problem_rows
from isoscope.tasks.sentence_spaces import sentence_spaces
from isoscope.tasks.token_fits import MOST_TOKENS, sees_a_sample

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from isoscope.corrections.named import NamedCorrection
    from isoscope.data.texts.base import Progress
    from isoscope.models.encode import Encoder
    from isoscope.tasks.problem import Problem
    from isoscope.tasks.sentence_protocol import SentenceProtocol
    from isoscope.tasks.sentence_spaces import Level, Space


SECONDS = "seconds"


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
            where = (encoder.model.name, spaces[0].layer)
            looks = [
                partial(look_at, where, space, problem, split, protocol, text, first=number == 0)
                for space in spaces
            ]
            # Probes draw from torch's one generator: in threads they would take turns at random.
            found = [look() for look in looks] if problem.learns else in_parallel(looks)
            for space, look in zip(spaces, found, strict=True):
                key = (space.layer, space.correction)
                seconds[key] = seconds.get(key, 0.0) + space.seconds + look.seconds
                everything = outputs[space.layer].setdefault(
                    space.correction, np.full((len(problem), *look.outputs.shape[1:]), np.nan)
                )
                everything[split.held] = look.outputs
                folded = len(job.splits) > 1 and space.correction != NONE
                isotropy[space.layer] += [
                    with_note(row, "measured after the fit of the first fold") if folded else row
                    for row in look.isotropy
                ]
                if number == 0 and protocol.epochs and isinstance(problem, ClassProblem):
                    tables.append(
                        epoch_table(
                            where, space.correction, problem, space.vectors, split.learn,
                            split.held, level=level,
                        )
                    )  # fmt: skip
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


@dataclass(frozen=True)
class Look:
    """What one space says of the items of one split."""

    outputs: NDArray[np.float64]
    isotropy: list[Row]
    seconds: float


def look_at(
    where: tuple[str, str],
    space: Space,
    problem: Problem,
    split: Split,
    protocol: SentenceProtocol,
    text: str,
    *,
    first: bool,
) -> Look:
    """Take the outputs of one space; its isotropy once, in the first split."""
    began = time.perf_counter()
    found = problem.outputs(space.vectors, split.learn, split.held)
    took = time.perf_counter() - began
    measures = protocol.isotropy if first else ()
    return Look(found, isotropy_rows(where, problem.task, space, measures, text), took)


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
    # One thread each: spaces are looked at side by side.
    found = measure(vectors, measures, ["none"], intervals=False, workers=1)
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


def with_note(row: Row, note: str) -> Row:
    """Add to the note of a row."""
    return replace(row, note="; ".join(text for text in (row.note, note) if text))


def usable(vectors: NDArray[Any]) -> NDArray[Any]:
    """Return the rows of texts that have a vector."""
    return np.asarray(vectors[np.isfinite(vectors).all(axis=1)])
