"""The main job: score a space, and what corrections make of it, on benchmarks."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from isoscope.compute.execution import LOCAL
from isoscope.compute.stats.estimates import check_level
from isoscope.corrections.named import fitted, named
from isoscope.data.open import open_cloud
from isoscope.data.selection import RowSelection
from isoscope.errors import UsageError
from isoscope.measures.views import DEFAULT_CORRECTIONS
from isoscope.results.measuring import listed, versions
from isoscope.results.result import Result, Row
from isoscope.results.scaled import check_scale
from isoscope.tasks.data_folder import data_folder
from isoscope.tasks.encoding_pool import refuse_workers
from isoscope.tasks.registry import all_tasks, find_task
from isoscope.tasks.scoring import CoveredPairs, WordForm, score_rows
from isoscope.tasks.sentence_protocol import SentenceProtocol
from isoscope.tasks.vocabulary import PartOfGroup, WordedGroup, collect, read_vocabulary
from isoscope.tasks.word_similarity import WordSimilarity

if TYPE_CHECKING:
    from collections.abc import Iterable

    from isoscope.compute.stage import Progress
    from isoscope.corrections.named import CorrectionLike, NamedCorrection
    from isoscope.data.base import CloudGroup
    from isoscope.tasks.encoding_pool import EncodingPool
    from isoscope.tasks.registry import Task
    from isoscope.tasks.vocabulary import WordVectors
    from isoscope.tasks.word_pairs import WordPair


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
    command: str = "",
) -> Result:
    """Score word vectors, or the layers of a model, on benchmarks, as they are and corrected.

    On words, corrections are fitted on the whole vocabulary, before the words of the benchmark are
    looked up; only those words' vectors are kept in memory. On texts, ``sentences`` says what they
    are fitted on.

    Parameters
    ----------
    source : str, Path, array, tensor or CloudGroup
        Anything that ``open_cloud`` takes, with words as a label or from ``vocabulary``; for
        tasks on texts, anything that ``open_model`` takes.
    tasks : iterable of str, optional
        Names from ``isoscope list tasks``, or ``word-similarity:FILE`` for three columns of one's
        own. By default every task on words whose data are in the folder.
    corrections : iterable of str or transformer, optional
        Names from ``isoscope list corrections`` or objects with scikit-learn's ``fit`` and
        ``transform``. ``none`` stands for the vectors as they are; with it, every other
        correction also gets its paired difference.
    data : str or Path, optional
        Folder with the benchmarks; by default the environment variable ``ISOSCOPE_DATA``.
    column : str, optional
        Which array of a file that holds several.
    words : str, optional
        Label that holds the words, such as a Parquet column; by default ``word``, or the only one.
    vocabulary : str or Path, optional
        File with the word of every row: a line each, or a JSON object of words and rows.
    lowercase : bool
        Lower-case the benchmark's words before they are looked up.
    prefix : str
        What the vocabulary writes before a whole word, such as ``Ġ``.
    drop_invalid : bool
        Leave out rows with NaN or infinities, and count them, instead of stopping.
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
    command : str
        Kept in the result, so that it can be made again.

    Returns
    -------
    Result
        Rows such as ``men/cosine/spearman`` and ``men/cosine/spearman/difference`` with interval,
        number of pairs, and coverage as their note.
    """
    check_level(level)
    check_scale(engine, workers, "stop", None)
    if corrections is None or isinstance(corrections, str):
        corrections = listed(corrections, DEFAULT_CORRECTIONS)
    spaces = named(corrections)
    folder = data_folder(data)
    wanted_tasks = choose_tasks(tasks, folder)
    on_texts = [task for task in wanted_tasks if not isinstance(task, WordSimilarity)]
    if on_texts:
        return on_problems(
            source, wanted_tasks, on_texts, spaces, sentences or SentenceProtocol(),
            folder=folder, level=level, progress=progress, command=command,
            of_vectors={
                "second": second, "ids": ids, "column": column, "drop_invalid": drop_invalid
            },
            of_workers={"engine": engine, "workers": workers, "pool": pool},
        )  # fmt: skip
    refuse_workers(wanted_tasks[0].name, engine, workers, pool)
    chosen = [task for task in wanted_tasks if isinstance(task, WordSimilarity)]
    pairs = {task.name: task.load(folder) for task in chosen}
    group = open_cloud(source, column=column)
    if vocabulary is not None:
        group = WordedGroup(group, read_vocabulary(Path(vocabulary)), str(vocabulary))
    selection = RowSelection(group, drop_invalid=drop_invalid)
    form = WordForm(lowercase, prefix)
    everything = [pair for many in pairs.values() for pair in many]
    wanted = {form.written(word) for pair in everything for word in (pair.first, pair.second)}
    found = collect(selection, wanted, words, progress)
    left_out = dict(selection.left_out)
    rows: list[Row] = []
    for name, vectors in found.items():
        where = (name, "") if len(found) == 1 else ("", name)
        rows += evaluate_cloud(
            PartOfGroup(selection, name), where, vectors, pairs, spaces, form, level, progress
        )
    return Result(rows, left_out=left_out, versions=versions(), command=command)


def evaluate_cloud(
    cloud: CloudGroup,
    where: tuple[str, str],
    words: WordVectors,
    pairs: dict[str, list[WordPair]],
    corrections: tuple[NamedCorrection, ...],
    form: WordForm,
    level: float,
    progress: Progress | None,
) -> list[Row]:
    """Score one cloud on every task, in every space."""
    spaces = {
        correction.name: correction.apply(words.vectors)
        for correction in fitted(corrections, cloud, progress)
    }
    repeated = f"; {words.repeated:,} repeated rows: the first counts" if words.repeated else ""
    protocol = (
        f"{cloud.widths[0]:,} dimensions; {form}; corrections fitted on all {words.rows:,} rows; "
        f"{level:.0%} intervals{repeated}"
    )
    return [
        row
        for task, many in pairs.items()
        for row in score_rows(
            where, CoveredPairs.of(task, many, form, words), spaces, protocol, level
        )
    ]


def on_problems(
    source: Any,
    tasks: list[Task],
    problems: list[Task],
    corrections: tuple[NamedCorrection, ...],
    protocol: SentenceProtocol,
    *,
    of_vectors: dict[str, Any],
    of_workers: dict[str, Any],
    **how: Any,
) -> Result:
    """Score the layers of a model on texts, or vectors of one's own on what names their rows."""
    others = [task.name for task in tasks if task not in problems]
    if others:
        raise UsageError(
            f"{others[0]} scores word vectors and {problems[0].name} does not; evaluate them one "
            "after the other"
        )
    from isoscope.tasks.advice.reading import (  # which imports scikit-learn
        check_model,
        is_about_vectors,
    )
    from isoscope.tasks.evaluating_texts import evaluate_texts
    from isoscope.tasks.evaluating_vectors import evaluate_vectors

    about_vectors = [task for task in problems if is_about_vectors(task)]
    if not about_vectors:
        check_model(source, of_vectors["second"], problems[0])
        return evaluate_texts(source, problems, corrections, protocol, **of_workers, **how)
    if len(about_vectors) < len(problems):
        raise UsageError(
            f"{about_vectors[0].name} is scored with a file of vectors and others with a model; "
            "evaluate them one after the other"
        )
    refuse_workers(about_vectors[0].name, **of_workers)
    del how["folder"]
    return evaluate_vectors(source, problems, corrections, protocol, **of_vectors, **how)


def choose_tasks(given: Iterable[str | Task] | str | None, folder: Path | None) -> list[Task]:
    """Look the names up, without repeats; by default all tasks on words whose data are there."""
    if given is None:
        return [*present_tasks(folder)]
    asked = listed(given, ()) if isinstance(given, str) else list(given)
    chosen: dict[str, Task] = {}
    for one in asked:
        task = find_task(one) if isinstance(one, str) else one
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
        try:
            task.find(folder)
        except UsageError:
            continue
        present.append(task)
    if not present:
        if folder is None:
            tasks[0].find(None)
        names = ", ".join(task.file for task in tasks)
        raise UsageError(f"{folder} holds none of the benchmarks' files: {names}")
    return present
