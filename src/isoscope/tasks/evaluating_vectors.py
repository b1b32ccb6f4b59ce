"""Score vectors of one's own on pairs of their rows, or a search, as they are and corrected."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.compute.threads import one_blas_thread
from isoscope.corrections.named import NONE
from isoscope.results.measuring import versions
from isoscope.results.result import Result, Row
from isoscope.results.scored import KIND, SCORES
from isoscope.tasks.advice.candidates import Candidate
from isoscope.tasks.advice.cross_fitting import CrossFitting
from isoscope.tasks.advice.fitting import parts_of
from isoscope.tasks.advice.ground import fit_words, folded_rows
from isoscope.tasks.advice.reading import ground_of
from isoscope.tasks.folds import FOLDS, dealt
from isoscope.tasks.job_scoring import SECONDS, isotropy_rows, with_note
from isoscope.tasks.problem_rows import problem_rows
from isoscope.tasks.sentence_spaces import Space

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoscope.compute.stage import Progress
    from isoscope.corrections.named import NamedCorrection
    from isoscope.tasks.advice.ground import Ground
    from isoscope.tasks.registry import Task
    from isoscope.tasks.sentence_protocol import SentenceProtocol


def evaluate_vectors(
    source: Any,
    tasks: Sequence[Task],
    corrections: Sequence[NamedCorrection],
    protocol: SentenceProtocol,
    *,
    second: Any = None,
    column: str | None = None,
    ids: str | None = None,
    drop_invalid: bool = False,
    level: float = 0.95,
    progress: Progress | None = None,
    command: str = "",
) -> Result:
    """Score rows of a source on every task, in every space.

    Corrections are cross-fitted: every item is scored with a fit on all rows of the source but
    those of its fold; or, where that is asked for, on all rows.
    """
    rows: list[Row] = []
    for task in tasks:
        ground = ground_of(
            source, task, parts_of(corrections), None, protocol,
            second=second, column=column, ids=ids, drop_invalid=drop_invalid, progress=progress,
        )  # fmt: skip
        with one_blas_thread():  # many small matrices: threads would wait for each other
            rows += ground_rows(ground, corrections, protocol, level, progress)
    return Result(
        rows,
        seeds={"seed": protocol.seed},
        versions=versions(),
        command=command,
        extra={KIND: SCORES},
    )


def ground_rows(
    ground: Ground,
    corrections: Sequence[NamedCorrection],
    protocol: SentenceProtocol,
    level: float,
    progress: Progress | None,
) -> list[Row]:
    """Score one task."""
    problem = ground.problem
    wanted = [one for one in corrections if one.transformer is not None]
    items = np.arange(len(problem))
    folds = [items]
    if wanted and not protocol.transductive:
        folds = dealt(problem, FOLDS, protocol.seed)
    began = time.perf_counter()
    rows_to_fit = folded_rows(ground, folds, wanted)
    fitting = CrossFitting(
        problem, ground.vectors, rows_to_fit, folds, progress,
        transductive=protocol.transductive,
    )  # fmt: skip
    outputs = {NONE: fitting.uncorrected()}
    seconds = {NONE: time.perf_counter() - began}
    spaces = {NONE: ground.vectors}
    for one in wanted:
        began = time.perf_counter()
        (found,) = fitting.run([Candidate(one.name, (one,))])
        outputs[one.name] = found.outputs
        seconds[one.name] = time.perf_counter() - began
        spaces[one.name] = fitting.space(one)
    names = [one.name for one in corrections]
    words = [ground.protocol, f"{level:.0%} intervals"]
    if wanted:
        how = fit_words(ground, rows_to_fit, len(folds), transductive=protocol.transductive)
        words.insert(1, how)
    text = "; ".join(words)
    where = (ground.name, "")
    chosen = {name: outputs[name] for name in names}
    rows = problem_rows(where, problem, chosen, items, text, level)
    for name in names:
        space = Space("", name, spaces[name], seconds[name])
        beside = isotropy_rows(where, problem.task, space, protocol.isotropy, text)
        if name != NONE:
            beside = [with_note(row, "measured after a fit on all rows") for row in beside]
        rows += beside
        rows.append(
            Row(*where, name, f"{problem.task}/{SECONDS}", seconds[name], protocol=text,
                extra={"unit": SECONDS})
        )  # fmt: skip
    return rows
