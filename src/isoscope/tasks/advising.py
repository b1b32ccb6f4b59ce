"""What the tool is for: should anything be done about this space, for this task?"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.engines.local import one_blas_thread
from isoscope.errors import DataError, UsageError
from isoscope.results.advised import ADVICE, advice_row
from isoscope.results.measuring import listed, measure, versions
from isoscope.results.result import Result
from isoscope.results.scored import KIND
from isoscope.tasks.advice.candidates import candidates, settings_of
from isoscope.tasks.advice.cross_fitting import CrossFitting
from isoscope.tasks.advice.deciding import ALPHA, WORTHWHILE, decide
from isoscope.tasks.advice.fitting import parts_of
from isoscope.tasks.advice.ground import Ground, folded_rows
from isoscope.tasks.advice.reading import ground_of
from isoscope.tasks.advice.words import caveats, recommendation
from isoscope.tasks.data_folder import data_folder
from isoscope.tasks.folds import FOLDS, dealt
from isoscope.tasks.intervals import check_level
from isoscope.tasks.registry import find_task
from isoscope.tasks.sentence_protocol import SentenceProtocol

if TYPE_CHECKING:
    from collections.abc import Iterable

    from isoscope.corrections import Correction
    from isoscope.measures.reading import Progress
    from isoscope.tasks.advice.candidates import Candidate
    from isoscope.tasks.advice.deciding import Decision

FEWEST_ITEMS = 20
"""With fewer, intervals from influences say little and no correction could be told from chance."""


@dataclass(frozen=True)
class Advice:
    """A recommendation with the figures behind it.

    Attributes
    ----------
    result : Result
        The ranking, the recommendation and the caveats, as ``isoscope advise`` prints them.
    correction : Correction or None
        What is recommended, fitted on everything and ready to use; None for "leave it alone".
    sentence : str
        The recommendation.
    """

    result: Result
    correction: Correction | None
    sentence: str


def advise(
    source: Any,
    *,
    pairs: str | Path | None = None,
    task: str | None = None,
    retrieval: str | Path | None = None,
    corrections: Iterable[str] | str | None = None,
    flow: bool = False,
    worthwhile: float = WORTHWHILE,
    folds: int = FOLDS,
    data: str | Path | None = None,
    layer: str = "last",
    sentences: SentenceProtocol | None = None,
    second: str | Path | None = None,
    column: str | None = None,
    ids: str | None = None,
    drop_invalid: bool = False,
    level: float = 0.95,
    progress: Progress | None = None,
    command: str = "",
) -> Advice:
    """Try every correction on one task, and recommend one, or none.

    Corrections are cross-fitted: every item is scored with corrections fitted without the texts of
    its fold, and their settings are chosen on the other folds. A correction is recommended where it
    improves the task's main score, tested two-sided with Holm's correction at 5 % over all that was
    tried, and by at least ``worthwhile``.

    Parameters
    ----------
    source : str, Path, array or Model
        A model where items are texts; vectors where they are rows.
    pairs : str or Path, optional
        Pairs of one's own: two texts, or two rows of the source, with a score or a yes/no label.
    task : str, optional
        A task of ``isoscope list tasks``.
    retrieval : str or Path, optional
        A folder in BEIR's layout.
    corrections : iterable of str, optional
        What to try; by default every correction but the flow.
    flow : bool
        Try the flow as well, which takes minutes.
    worthwhile : float
        The smallest gain that is worth a change.
    folds : int
        Into how many folds items are dealt.
    data : str or Path, optional
        Folder with the benchmarks, for ``task``.
    layer : str
        Layer of the model.
    sentences : SentenceProtocol, optional
        Pooling, cache and so on; its ``fit_on`` are further texts to fit on.
    second : str, Path or array, optional
        The second file of vectors: of pairs (row k belongs to row k of the source), or of queries.
    column, ids : str, optional
        Which array of a file that holds several; which label names its rows.
    drop_invalid : bool
        Leave out rows with NaN or infinities that no item names.
    level : float
        Coverage of the intervals.
    progress : callable, optional
        Called with the name of the work, steps done, and steps in all.
    command : str
        Kept in the result.

    Returns
    -------
    Advice
    """
    check_level(level)
    if not 0 <= worthwhile < 1:
        raise UsageError(f"a gain that is worthwhile lies between 0 and 1, not {worthwhile}")
    name = named_task(pairs, task, retrieval)
    wanted = None if corrections is None else listed(corrections, ())
    every = candidates(wanted, int(1e9), flow=flow)
    protocol = replace(sentences or SentenceProtocol(), layers=layer)
    ground = ground_of(
        source, find_task(name), parts_of(settings_of(every)), data_folder(data), protocol,
        second=second, column=column, ids=ids, drop_invalid=drop_invalid, progress=progress,
    )  # fmt: skip
    chosen = candidates(wanted, ground.vectors.shape[1], flow=flow)
    return advice_on(
        ground, chosen, folds=folds, seed=protocol.seed, level=level, worthwhile=worthwhile,
        progress=progress, command=command,
    )  # fmt: skip


def named_task(pairs: str | Path | None, task: str | None, retrieval: str | Path | None) -> str:
    """Return the one task that is asked for."""
    given = {
        "--pairs": None if pairs is None else f"pairs:{pairs}",
        "--task": task,
        "--retrieval": None if retrieval is None else f"retrieval:{retrieval}",
    }
    asked = {option: name for option, name in given.items() if name is not None}
    if len(asked) != 1:
        how = "one of --pairs, --task and --retrieval" if not asked else " or ".join(asked)
        raise UsageError(f"advice is about one task; name {how}, and no more than one")
    return next(iter(asked.values()))


def advice_on(
    ground: Ground,
    tried: tuple[Candidate, ...],
    *,
    folds: int = FOLDS,
    seed: int = 0,
    level: float = 0.95,
    worthwhile: float = WORTHWHILE,
    progress: Progress | None = None,
    command: str = "",
) -> Advice:
    """Cross-fit, compare, and say what to do."""
    problem = ground.problem
    if len(problem) < FEWEST_ITEMS:
        raise DataError(
            f"{problem.task} has {len(problem):,} {problem.unit}; advice takes at least "
            f"{FEWEST_ITEMS}, and hundreds to see small differences"
        )
    if problem.learns:
        # A classifier for every setting, fold and inner fold would take hours: defaults alone.
        tried = tuple(replace(one, settings=one.settings[:1]) for one in tried)
    began = time.perf_counter()
    several = dealt(problem, folds, seed)
    # Many small matrices: threads of BLAS would wait for each other.
    with one_blas_thread():
        rows = folded_rows(ground, several, settings_of(tried))
        fitting = CrossFitting(problem, ground.vectors, rows, several, progress)
        before = fitting.uncorrected()
        decision = decide(problem, before, fitting.run(tried), level=level, worthwhile=worthwhile)
        final = None
        if decision.recommended is not None:
            (final,) = rows.fit([decision.recommended.found.final])
    sentence = recommendation(problem, decision, final)
    finite = ground.vectors[np.isfinite(ground.vectors).all(axis=1)]
    cosine = measure(finite, ["mean_cosine"], ["none"], intervals=False).value("mean_cosine")
    how = (
        f"{ground.protocol}; cross-fitted in {folds} folds, settings chosen inside the fold; "
        f"corrections fitted on {rows.count():,} vectors less those of a fold"
    )
    result = Result(
        advice_rows(ground, decision, how),
        seeds={"seed": seed},
        versions=versions(),
        command=command,
        extra={
            KIND: ADVICE,
            "recommendation": {
                "sentence": sentence,
                "correction": None if final is None else final.name,
                "worthwhile": worthwhile,
                "alpha": ALPHA,
            },
            "caveats": caveats(problem, decision, cosine),
            "seconds": time.perf_counter() - began,
        },
    )
    return Advice(result, None if final is None else final.transformer, sentence)


def advice_rows(ground: Ground, decision: Decision, protocol: str) -> list[Any]:
    """File the ranking: the vectors as they are, then what was tried, best first."""
    problem = ground.problem
    measure_name = f"{problem.task}/{problem.main}"
    rows = [advice_row(ground.name, "none", measure_name, decision.before, problem.unit, protocol)]
    for one in decision.tried:
        settings = list(dict.fromkeys(one.found.chosen))
        extra = {
            "setting": one.found.final.name,
            "settings_by_fold": list(one.found.chosen),
            "recommended": one is decision.recommended,
        }
        note = "" if len(settings) == 1 else f"settings differ between folds: {', '.join(settings)}"
        rows.append(
            advice_row(ground.name, one.name, measure_name, one.score, problem.unit, protocol,
                       extra, note)
        )  # fmt: skip
        rows.append(
            advice_row(ground.name, one.name, f"{measure_name}/difference", one.change,
                       problem.unit, protocol,
                       {"p_value": one.change.p_value, "p_holm": one.p_holm})
        )  # fmt: skip
    return rows
