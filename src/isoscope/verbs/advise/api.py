"""``advise()``: should anything be done about this space, for this task?

With a task, corrections are tried on it and one is recommended, or none. Without labels, the space
is measured as it is and corrected, and the result says what that does not tell.
"""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.compute.stats.estimates import check_level
from isoscope.compute.threads import one_blas_thread
from isoscope.corrections.affine import centred_on
from isoscope.corrections.named import NONE, named
from isoscope.corrections.query_centre import Centres, check_centres
from isoscope.errors import DataError, UsageError
from isoscope.results.fields import DIFFERENCE, KIND, REMARKS
from isoscope.results.result import Result, versions
from isoscope.tasks.cross_fitting import (
    Candidate,
    CrossFitting,
    is_own,
    own_centres_of,
    run_with_centres,
)
from isoscope.tasks.datasets.own_pairs import OwnPairProblem
from isoscope.tasks.fits import parts_of
from isoscope.tasks.folds import FOLDS, dealt
from isoscope.tasks.problems.classification import ClassProblem
from isoscope.tasks.prompts import refuse_prompts
from isoscope.tasks.protocol import SentenceProtocol, protocol_of
from isoscope.tasks.registry import data_folder, find_task
from isoscope.tasks.scores import as_row, has_output, with_note
from isoscope.tasks.vectors import Ground, fit_words, folded_rows, ground_of
from isoscope.verbs.advise.decision import WORTHWHILE, candidates, decide, settings_of
from isoscope.verbs.advise.mean_cosines import QUERIES, mean_cosines, sides_of
from isoscope.verbs.advise.text import ADVICE, caveats, recommendation
from isoscope.verbs.measure.api import measure
from isoscope.wording import listed

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray

    from isoscope.compute.stats.estimates import Estimate
    from isoscope.corrections.base import Correction
    from isoscope.progress import Progress
    from isoscope.results.result import Row
    from isoscope.tasks.problem import Problem
    from isoscope.verbs.advise.decision import Decision


# With fewer, intervals from influences say little and no correction could be significant.
FEWEST_ITEMS = 20

# Of yes and of no. With 10 of 200, random labels lead to a recommendation in 5.0 % of draws, as
# they may; with 3 it was 11.8 % (docs/results/sentences.md).
FEWEST_OF_EACH = 10


@dataclass(frozen=True)
class Advice:
    """A recommendation with the figures behind it.

    Attributes
    ----------
    result : Result
        The ranking, the recommendation and the caveats, as ``isoscope advise`` prints them.
    correction : Correction or None
        What is recommended, fitted on everything and ready to use; None where nothing is.
    sentence : str
        The recommendation.
    query_correction : Correction or None
        The same for queries, where those are to have a centre of their own.
    """

    result: Result
    correction: Correction | None
    sentence: str
    query_correction: Correction | None = None


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
    queries: str | Path | None = None,
    centres: Centres | None = None,
    column: str | None = None,
    ids: str | None = None,
    drop_invalid: bool = False,
    level: float = 0.95,
    out: str | Path | None = None,
    progress: Progress | None = None,
    command: str = "",
    **protocol: Any,
) -> Advice:
    """Try every correction on one task, and recommend one, or none.

    Corrections are cross-fitted: every item is scored with corrections fitted without the texts of
    its fold, and their settings are chosen on the other folds. A correction is recommended where it
    improves the task's main score, tested two-sided with Holm's correction at 5 % over all that was
    tried, and by at least ``worthwhile``. Where none is, the result says whether a worthwhile gain
    is excluded ("leave it alone") or cannot be ("no recommendation"). Without a task the space is
    measured as it is and corrected, and nothing is recommended.

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
        Also try the flow, which takes minutes.
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
        The second file of vectors: row k belongs to row k of the source.
    queries : str, Path or array, optional
        Vectors of queries, where the source holds documents: those of a retrieval folder, or the
        first rows of pairs.
    centres : {"both", "shared", "own"}, optional
        Whether queries are centred on the documents' mean, on their own, or both are tried; both
        where ``queries`` are named, else shared.
    column, ids : str, optional
        Array, column or field, if the file has several; which label names its rows.
    drop_invalid : bool
        Exclude rows with NaN or infinity that no item names.
    level : float
        1 − α of the test, 0.95 for the 5 % above. The interval of a gain has the level at which
        Holm's correction tests it, and so excludes 0 where the gain is significant.
    out : path, optional
        ``.safetensors`` file that the recommended correction is written to; nothing is written
        where none is recommended. That of queries is written beside it.
    progress, command : callable and str, optional
        Called with the name of the work, steps done, and steps in all; kept in the result.
    **protocol
        Fields of ``SentenceProtocol``, such as ``prompt``, in place of ``sentences``.

    Returns
    -------
    Advice
    """
    how = protocol_of(sentences, protocol, layers=layer)
    if out is not None:
        check_correction_file(Path(out))
    if pairs is None and task is None and retrieval is None:
        refuse_prompts(how)
        if centres is not None and queries is None:
            raise UsageError("--centres is about queries and documents; name --queries")
        if out is not None:
            raise UsageError(
                "--out: without labels nothing can be recommended; name --pairs, --task or "
                "--retrieval, or fit a correction of your choice with isoscope correct fit"
            )
        known = advise_without_labels(
            source, corrections, queries=queries, centres=centres, column=column,
            drop_invalid=drop_invalid, seed=how.seed, progress=progress, command=command,
        )  # fmt: skip
        return Advice(known, None, CANNOT)
    check_level(level)
    if not 0 <= worthwhile < 1:
        raise UsageError(f"a worthwhile gain must lie between 0 and 1, got {worthwhile}")
    name = named_task(pairs, task, retrieval)
    wanted = None if corrections is None else listed(corrections, ())
    # The dimension is known once vectors are read, and what is read follows from the candidates.
    every = candidates(wanted, None, flow=flow)
    ground = ground_of(
        source, find_task(name), parts_of(settings_of(every)), data_folder(data), how,
        second=second, queries=queries, column=column, ids=ids, drop_invalid=drop_invalid,
        progress=progress,
    )  # fmt: skip
    chosen = candidates(wanted, ground.vectors.shape[1], flow=flow)
    # Queries that are named by themselves may lie elsewhere than documents.
    if centres is None:
        centres = "shared" if queries is None else "both"
    check_centres(centres)
    advice = advice_on(
        ground, chosen, centres=centres, folds=folds, seed=how.seed, level=level,
        worthwhile=worthwhile, progress=progress, command=command,
    )  # fmt: skip
    return advice if out is None else written_advice(advice, Path(out))


ENDING = ".safetensors"


def check_correction_file(path: Path) -> None:
    """Refuse a file that no correction can be written to, before any work is done."""
    if path.suffix != ENDING:
        raise UsageError(f"--out {path}: a correction is written to a {ENDING} file")
    if not path.parent.is_dir():
        raise UsageError(f"--out {path}: there is no folder {path.parent}")


def written_advice(advice: Advice, path: Path) -> Advice:
    """Write the recommended correction to a file, and name the file in the result."""
    if advice.correction is None:
        return advice
    advice.correction.save(path)
    told = {**advice.result.extra["recommendation"], "written": str(path)}
    if advice.query_correction is not None:
        other = path.with_suffix(f".queries{ENDING}")
        advice.query_correction.save(other)
        told["written_for_queries"] = str(other)
    extra = {**advice.result.extra, "recommendation": told}
    return replace(advice, result=replace(advice.result, extra=extra))


def named_task(pairs: str | Path | None, task: str | None, retrieval: str | Path | None) -> str:
    """Return the name of the one task that is asked for; refuse more than one."""
    asked = {}
    if pairs is not None:
        asked["--pairs"] = f"pairs:{pairs}"
    if task is not None:
        asked["--task"] = task
    if retrieval is not None:
        asked["--retrieval"] = f"retrieval:{retrieval}"
    if len(asked) != 1:
        raise UsageError(
            f"advice is about a single task; name {' or '.join(asked)}, and no more than one"
        )
    return next(iter(asked.values()))


def advice_on(
    ground: Ground,
    tried: tuple[Candidate, ...],
    *,
    centres: Centres = "shared",
    folds: int = FOLDS,
    seed: int = 0,
    level: float = 0.95,
    worthwhile: float = WORTHWHILE,
    progress: Progress | None = None,
    command: str = "",
) -> Advice:
    """Cross-fit, compare, and say what to do."""
    problem = ground.problem
    check_items(problem, len(problem), problem.unit)
    check_labels(problem)
    if isinstance(problem, ClassProblem):
        # A classifier for every setting, fold and inner fold would take hours: defaults alone.
        tried = tuple(Candidate(one.name, named([one.name])) for one in tried)
    began = time.perf_counter()
    several = dealt(problem, folds, seed)
    # Many small matrices: threads of BLAS would wait for each other.
    with one_blas_thread():
        rows = folded_rows(ground, several, settings_of(tried))
        fitting = CrossFitting(problem, ground.vectors, rows, several, progress)
        before = fitting.uncorrected()
        check_items(problem, int(has_output(before).sum()), f"{problem.unit} with a score")
        own = None if centres == "shared" else own_centres_of(ground, several)
        found = run_with_centres(fitting, tried, centres, own)
        decision = decide(problem, before, found, level=level, worthwhile=worthwhile)
        final, of_queries = None, None
        # What is written is fitted on all rows: scores came from fits without some of them.
        if decision.recommended is not None:
            (final,) = rows.fit([decision.recommended.found.final])
            if own is not None and is_own(decision.recommended.name):
                of_queries = centred_on(final.transformer, own.mean())
    sides = {name: ground.vectors[rows] for name, rows in sides_of(ground).items()}
    cosines = {NONE: mean_cosines(sides)}
    if final is not None:
        cosines[final.name] = mean_cosines(corrected_sides(sides, final.transformer, of_queries))
    sentence = recommendation(problem, decision, final)
    if of_queries is not None:
        sentence += " Queries are corrected separately, centred on their own mean."
    chosen = any(len(one.settings) > 1 for one in tried)
    settings = "settings chosen inside the fold" if chosen else "default settings"
    how = f"{ground.protocol}; {fit_words(ground, rows, folds)}; {settings}"
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
                "outcome": decision.outcome,
                "worthwhile": worthwhile,
                "alpha": decision.alpha,
                "largest_possible_gain": finite_or_none(decision.likeliest.most),
            },
            "mean_cosines": {
                name: {side: asdict(one) for side, one in found.items()}
                for name, found in cosines.items()
            },
            "caveats": caveats(problem, decision, cosines),
            "seconds": time.perf_counter() - began,
        },
    )
    return Advice(result, None if final is None else final.transformer, sentence, of_queries)


def check_items(problem: Problem, count: int, what: str) -> None:
    """Refuse too few items for a statement."""
    if count < FEWEST_ITEMS:
        raise DataError(
            f"{problem.task} has {count:,} {what}; advice needs at least {FEWEST_ITEMS}, and "
            "hundreds to detect small differences"
        )


def check_labels(problem: Problem) -> None:
    """Refuse yes/no labels of which one is so rare that its few items decide everything."""
    if not isinstance(problem, OwnPairProblem) or not problem.yes_no:
        return
    yeses = int(np.sum(problem.human == 1))
    noes = len(problem) - yeses
    # Labels that are all the same have no score at all, which is said where scores are taken.
    if 0 < min(yeses, noes) < FEWEST_OF_EACH:
        raise DataError(
            f"{problem.task} has {yeses:,} pairs labelled yes and {noes:,} labelled no; "
            f"advice needs at least {FEWEST_OF_EACH} of each"
        )


def corrected_sides(
    sides: Mapping[str, NDArray[Any]], correction: Any, of_queries: Any
) -> dict[str, NDArray[Any]]:
    """Correct the finite vectors of each side; queries may have a fitted one of their own."""
    found = {}
    for name, vectors in sides.items():
        own = of_queries if name == QUERIES and of_queries is not None else correction
        found[name] = own.transform(vectors[np.isfinite(vectors).all(axis=1)])
    return found


def finite_or_none(value: float) -> float | None:
    """Return a number as results have it: null where it is not known."""
    return value if np.isfinite(value) else None


def advice_rows(ground: Ground, decision: Decision, protocol: str) -> list[Row]:
    """Return the ranking as rows: the vectors as they are, then what was tried, best first."""
    problem, where = ground.problem, (ground.name, "")
    name, unit = f"{problem.task}/{problem.main}", problem.unit

    def row(correction: str, measure: str, found: Estimate, **about: Any) -> Row:
        left_out = len(problem) - found.n
        return as_row(where, correction, measure, found, unit, left_out, "", protocol, about)

    rows = [row(NONE, name, decision.before)]
    for one in decision.tried:
        settings = list(dict.fromkeys(one.found.chosen))
        several = f"settings differ between folds: {', '.join(settings)}"
        score = row(
            one.name, name, one.score,
            setting=one.found.final.name, settings_by_fold=list(one.found.chosen),
            recommended=one is decision.recommended,
        )  # fmt: skip
        tests = {"p_value": one.change.p_value, "p_holm": one.p_holm, "level": one.level}
        change = row(one.name, f"{name}{DIFFERENCE}", one.change, **tests)
        rows += [with_note(score, several if len(settings) > 1 else ""), change]
    return rows


# The last one takes the sums over dimensions that a diagnosis needs.
MEASURES = ("mean_cosine", "i1_scaled", "effective_rank", "hubness", "outlier_dimensions")
CORRECTIONS = ("center", "all-but-the-top", "whiten")

CAN = (
    "Without labels, only this can be known: how evenly the space is filled, the likely cause, "
    "and what each correction would change."
)
CANNOT = (
    "It cannot be known whether a correction helps: a more isotropic space is not better by "
    "itself, and whitening, which looks best in these columns, often lowers scores. To find out, "
    "use a few hundred pairs of your own with a score or yes/no (--pairs), judged queries "
    "(--retrieval) or a benchmark like your task (--task)."
)


def advise_without_labels(
    source: Any, corrections: Iterable[str] | str | None = None, **options: Any
) -> Result:
    """Measure a space as it is and corrected, and say what that does not tell.

    Parameters
    ----------
    source : str, Path, array, tensor or CloudGroup
        Anything that ``isoscope.measure`` takes, and so are the options.
    corrections : iterable of str, optional
        Those that are looked at beside the space as it is.
    """
    spaces = dict.fromkeys([NONE, *listed(corrections, CORRECTIONS)])
    found = measure(source, MEASURES, list(spaces), **options)
    return replace(found, extra={**found.extra, REMARKS: [CAN, CANNOT]})
