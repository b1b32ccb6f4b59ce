"""``evaluate()``: score a space, and what corrections make of it, on benchmarks.

Word vectors are scored on pairs of words, the layers of a model on tasks about texts, and vectors
of one's own on pairs of their rows or on a search.
"""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.compute.execution import LOCAL, check_scale
from isoscope.compute.stats.estimates import check_level
from isoscope.compute.threads import one_blas_thread
from isoscope.corrections.named import NONE, CorrectionLike, NamedCorrection, named
from isoscope.data.combine import WordedGroup
from isoscope.data.formats.registry import PACKAGES, PREFIX
from isoscope.data.open import open_cloud
from isoscope.data.selection import RowSelection
from isoscope.errors import UsageError
from isoscope.measures.views import DEFAULT_CORRECTIONS
from isoscope.models.encode import EncodingPool, encoding_pool, refuse_workers
from isoscope.models.sources import PACKAGES as MODELS
from isoscope.models.sources import names_a_model
from isoscope.results.fields import KIND, REMARKS, SCORES
from isoscope.results.merge import joined
from isoscope.results.result import Result, Row, versions
from isoscope.tasks.cross_fitting import Candidate, CrossFitting
from isoscope.tasks.datasets.word_similarity import WordSimilarity
from isoscope.tasks.fits import parts_of
from isoscope.tasks.folds import FOLDS, dealt
from isoscope.tasks.prompts import refuse_prompts
from isoscope.tasks.protocol import SentenceProtocol, protocol_of
from isoscope.tasks.registry import VARIABLE, Task, all_tasks, data_folder, find_task
from isoscope.tasks.scores import problem_rows, with_note
from isoscope.tasks.vectors import (
    Ground,
    check_model,
    fit_words,
    folded_rows,
    ground_of,
    is_about_vectors,
)
from isoscope.verbs.evaluate.layer_scores import evaluate_texts, isotropy_rows, seconds_row
from isoscope.verbs.evaluate.sentence_spaces import Space
from isoscope.verbs.evaluate.word_vectors import WordForm, read_vocabulary, score_words
from isoscope.wording import listed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from isoscope.progress import Progress


# Tasks of a model for which none is named: similarity of sentences, which needs no training.
OF_MODELS = ("sts-b", "sick-r")

# Packages that are word vectors, and a model that reads texts.
BOTH = tuple(f"{PREFIX}{name}" for name in MODELS if name in PACKAGES)
AS_WORDS = (
    "The embedding matrix of the model is scored, as word vectors. --tasks "
    f"{','.join(OF_MODELS)} scores the vectors that the model gives to sentences."
)


def evaluate(
    source: Any,
    tasks: Iterable[str | Task] | str | None = None,
    corrections: Iterable[CorrectionLike] | str | None = None,
    *,
    data: str | Path | None = None,
    column: str | None = None,
    words: str | None = None,
    vocabulary: str | Path | None = None,
    lowercase: bool = False,
    prefix: str = "",
    drop_invalid: bool = False,
    sentences: SentenceProtocol | None = None,
    second: Any = None,
    ids: str | None = None,
    level: float = 0.95,
    engine: str = LOCAL,
    workers: int | None = None,
    pool: EncodingPool | None = None,
    progress: Progress | None = None,
    announce: Callable[[str], None] | None = None,
    replicates: bool = False,
    command: str = "",
    **protocol: Any,
) -> Result:
    """Score word vectors, or the layers of a model, on benchmarks, as they are and corrected.

    On words, corrections are fitted on the whole vocabulary, before the words of the benchmark are
    looked up; only those words' vectors are kept in memory. On texts, ``sentences`` says what they
    are fitted on.

    Parameters
    ----------
    source : str, Path, array, tensor or CloudGroup, or a list of str or Path
        Anything that ``open_cloud`` takes, with words as a label or from ``vocabulary``; for
        tasks on texts, anything that ``open_model`` takes. Of several, results are joined.
    tasks : iterable of str, optional
        Names from ``isoscope list tasks``, or ``word-similarity:FILE`` for three columns of one's
        own. By default every task on words whose data are in the folder, or for a model
        ``sts-b`` and ``sick-r``.
    corrections : iterable of str or transformer, optional
        Names from ``isoscope list corrections`` or objects with scikit-learn's ``fit`` and
        ``transform``. ``none`` stands for the vectors as they are; with it, every other
        correction also gets its paired difference.
    data : str or Path, optional
        Folder with the benchmarks; by default the environment variable ``ISOSCOPE_DATA``.
    column : str, optional
        Array, column or field, if the file has several.
    words : str, optional
        Label that holds the words, such as a Parquet column; by default ``word``, or the only one.
    vocabulary : str or Path, optional
        File with the word of every row: a line each, or a JSON object of words and rows.
    lowercase : bool
        Lower-case the benchmark's words before they are looked up.
    prefix : str
        Prefix of whole words in the vocabulary, such as ``Ġ``.
    drop_invalid : bool
        Exclude rows with NaN or infinity, and count them, instead of stopping.
    sentences : SentenceProtocol, optional
        For tasks on texts: layers, pooling, and what corrections are fitted on.
    second : str, Path or array, optional
        A second file of vectors: the other side of pairs, or the queries of a search.
    ids : str, optional
        Label that names the rows in ``pairs:FILE``; by default their numbers, from 0.
    level : float
        Coverage of the intervals.
    engine : str
        Who encodes texts with a model: ``local``, ``ray``, or ``ray:ADDRESS`` for a cluster. Where
        tokens are corrected, the texts to fit on go through the model in this process.
    workers : int, optional
        Processes of the local engine, or actors of Ray, each with its own copy of the model; on a
        processor with one thread each. The numbers are the same with any of them. Without it the
        local engine is this process with all its threads, whose rounding in the network differs.
    pool : EncodingPool, optional
        Workers that several calls share, in place of ``engine`` and ``workers``.
    progress : callable, optional
        Called with the name of the read, rows done, and rows in all.
    announce : callable, optional
        Called with what a model will need to read the texts, time and memory, before it starts, if
        that takes long. Nothing is said of runs by several workers.
    replicates : bool
        Give scores on words and on texts their values without each of twenty blocks of the words
        or of the items, in ``extra``: two scores of the same items are compared by them.
    command : str
        Kept in the result, so that it can be made again.
    **protocol
        Fields of ``SentenceProtocol``, such as ``prompt``, in place of ``sentences``.

    Returns
    -------
    Result
        Rows such as ``men/cosine/spearman`` and ``men/cosine/spearman/difference`` with interval,
        number of pairs, and coverage as their note.
    """
    sentences = protocol_of(sentences, protocol)
    if isinstance(source, list | tuple) and all(isinstance(one, str | Path) for one in source):
        evaluate_one = partial(
            evaluate, tasks=tasks, corrections=corrections, data=data, column=column, words=words,
            vocabulary=vocabulary, lowercase=lowercase, prefix=prefix, drop_invalid=drop_invalid,
            sentences=sentences, second=second, ids=ids, level=level, progress=progress,
            announce=announce if engine == LOCAL and workers is None else None,
            replicates=replicates,
        )  # fmt: skip
        with encoding_pool(engine, workers, sentences.device) as shared:
            several = [evaluate_one(one, pool=pool or shared) for one in source]
        return replace(joined(several), command=command)
    check_level(level)
    check_scale(engine, workers, "stop", None)
    if corrections is None or isinstance(corrections, str):
        corrections = listed(corrections, DEFAULT_CORRECTIONS)
    spaces = named(corrections)
    folder = data_folder(data)
    if tasks is None and names_a_model(source):
        tasks = present_sentence_tasks(folder)
    wanted_tasks = choose_tasks(tasks, folder)
    problems = [task for task in wanted_tasks if not isinstance(task, WordSimilarity)]
    if problems and not about_vectors(problems, wanted_tasks):
        check_model(source, second, problems[0])
        found = evaluate_texts(
            source, problems, spaces, sentences, folder=folder, level=level, progress=progress,
            announce=announce if engine == LOCAL and workers is None else None,
            engine=engine, workers=workers, shared=pool, replicates=replicates,
        )  # fmt: skip
        return replace(found, command=command)
    refuse_workers(wanted_tasks[0].name, engine, workers, pool)
    refuse_prompts(sentences)
    if problems:
        rows: list[Row] = []
        for task in problems:
            ground = ground_of(
                source, task, parts_of(spaces), None, sentences, second=second, column=column,
                ids=ids, drop_invalid=drop_invalid, progress=progress,
            )  # fmt: skip
            with one_blas_thread():  # many small matrices: threads would wait for each other
                rows += ground_rows(ground, spaces, sentences, level, progress)
        seeds, extra = {"seed": sentences.seed}, {KIND: SCORES}
        return Result(rows, seeds=seeds, versions=versions(), command=command, extra=extra)
    chosen = [task for task in wanted_tasks if isinstance(task, WordSimilarity)]
    pairs = {task.name: task.load(folder) for task in chosen}
    group = open_cloud(source, column=column)
    if vocabulary is not None:
        group = WordedGroup(group, read_vocabulary(Path(vocabulary)), str(vocabulary))
    found = score_words(
        RowSelection(group, drop_invalid=drop_invalid), pairs, spaces,
        WordForm(lowercase, prefix), label=words, level=level, progress=progress,
        replicates=replicates,
    )  # fmt: skip
    if str(source) in BOTH and tasks is None:
        found = replace(found, extra={**found.extra, REMARKS: [AS_WORDS]})
    return replace(found, command=command)


def about_vectors(problems: Sequence[Task], tasks: Sequence[Task]) -> bool:
    """Whether tasks name rows of vectors rather than texts; refuse a mix that has no one answer."""
    others = [task.name for task in tasks if task not in problems]
    if others:
        raise UsageError(
            f"{others[0]} scores word vectors and {problems[0].name} does not; evaluate them one "
            "after the other"
        )
    found = [task for task in problems if is_about_vectors(task)]
    if found and len(found) < len(problems):
        raise UsageError(
            f"{found[0].name} is scored with a file of vectors and others with a model; "
            "evaluate them one after the other"
        )
    return bool(found)


def choose_tasks(given: Iterable[str | Task] | str | None, folder: Path | None) -> list[Task]:
    """Return the tasks of some names, without repeats; by default all on words with data."""
    if given is None:
        return [*present_tasks(folder)]
    asked = listed(given, ()) if isinstance(given, str) else list(given)
    chosen: dict[str, Task] = {}
    for one in asked:
        task = find_task(one) if isinstance(one, str) else one
        # Two files of one name in two folders would share their rows.
        if chosen.get(task.name, task) != task:
            raise UsageError(
                f"two tasks would be called {task.name} in the result; rename one of the files, or "
                "evaluate them one after the other"
            )
        chosen[task.name] = task
    if not chosen:
        raise UsageError("name at least one task; isoscope list tasks shows them")
    return list(chosen.values())


def present_tasks(folder: Path | None) -> list[WordSimilarity]:
    """Return every task of the family whose file is in the folder."""
    tasks = [task for task in all_tasks() if isinstance(task, WordSimilarity)]
    present = []
    for task in tasks:
        with suppress(UsageError):
            task.find(folder)
            present.append(task)
    if not present:
        if folder is None:
            tasks[0].find(None)  # which says how to name a folder
        names = ", ".join(task.file for task in tasks)
        raise UsageError(f"{folder} holds none of the benchmarks' files: {names}")
    return present


def present_sentence_tasks(folder: Path | None) -> list[str]:
    """Return the tasks of a model for which none is named, as far as their files are there."""
    present = [name for name in OF_MODELS if not find_task(name).absent(folder)]
    if present:
        return present
    names = " or ".join(OF_MODELS)
    begin = f"a model is scored on {names} unless --tasks (tasks=) names others"
    if folder is None:
        raise UsageError(
            f"{begin}; name the folder that has them with --data (data=) or {VARIABLE}"
        )
    raise UsageError(
        f"{begin}, and {folder} has neither; isoscope list tasks --data {folder} shows what it has"
    )


def ground_rows(
    ground: Ground,
    corrections: Sequence[NamedCorrection],
    protocol: SentenceProtocol,
    level: float,
    progress: Progress | None,
) -> list[Row]:
    """Score one task on vectors of one's own, cross-fitted unless the protocol is transductive."""
    problem = ground.problem
    wanted = [one for one in corrections if one.transformer is not None]
    items = np.arange(len(problem))
    # Without corrections nothing is learned, and one fold holds all items.
    folds = [items]
    if wanted and not protocol.transductive:
        folds = dealt(problem, FOLDS, protocol.seed)
    rows_to_fit = folded_rows(ground, folds, wanted)
    fitting = CrossFitting(
        problem, ground.vectors, rows_to_fit, folds, progress,
        transductive=protocol.transductive,
    )  # fmt: skip
    outputs, spaces = {}, []
    for one in corrections:
        began = time.perf_counter()
        if one.transformer is None:
            outputs[one.name], vectors = fitting.uncorrected(), ground.vectors
            took = time.perf_counter() - began
        else:
            (found,) = fitting.run([Candidate(one.name, (one,))])
            took = time.perf_counter() - began
            # Measures describe one space; scores come from as many as there are folds.
            outputs[one.name], vectors = found.outputs, fitting.space(one)
        spaces.append(Space("", one.name, vectors, took))
    words = [ground.protocol, f"{100 * level:.0f} % intervals"]
    if wanted:
        how = fit_words(ground, rows_to_fit, len(folds), transductive=protocol.transductive)
        words.insert(1, how)
    text = "; ".join(words)
    where = (ground.name, "")
    rows = problem_rows(where, problem, outputs, items, text, level)
    for space in spaces:
        beside = isotropy_rows(where, problem.task, space, protocol.isotropy, text)
        if space.correction != NONE:
            beside = [with_note(row, "measured after a fit on all rows") for row in beside]
        rows += [*beside, seconds_row(where, problem.task, space.correction, space.seconds, text)]
    return rows
