"""The main job: score a space, and what corrections make of it, on benchmarks."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from isoscope.clouds.opening import open_cloud
from isoscope.clouds.selection import RowSelection
from isoscope.errors import UsageError
from isoscope.measures.corrections import DEFAULT_CORRECTIONS
from isoscope.results.measuring import listed, versions
from isoscope.results.result import Result, Row
from isoscope.tasks.corrected import fitted, named
from isoscope.tasks.data_folder import data_folder
from isoscope.tasks.intervals import check_level
from isoscope.tasks.registry import all_tasks, find_task
from isoscope.tasks.scoring import CoveredPairs, WordForm, score_rows
from isoscope.tasks.vocabulary import PartOfGroup, WordedGroup, collect, read_vocabulary
from isoscope.tasks.word_similarity import WordSimilarity

if TYPE_CHECKING:
    from collections.abc import Iterable

    from isoscope.clouds.contract import CloudGroup
    from isoscope.measures.reading import Progress
    from isoscope.tasks.corrected import CorrectionLike, NamedCorrection
    from isoscope.tasks.vocabulary import WordVectors
    from isoscope.tasks.word_pairs import WordPair


def evaluate(
    source: Any,
    tasks: Iterable[str | WordSimilarity] | str | None = None,
    corrections: Iterable[CorrectionLike] | str | None = None,
    *,
    data: str | Path | None = None,
    column: str | None = None,
    words: str | None = None,
    vocabulary: str | Path | None = None,
    lowercase: bool = False,
    prefix: str = "",
    drop_invalid: bool = False,
    level: float = 0.95,
    progress: Progress | None = None,
    command: str = "",
) -> Result:
    """Score word vectors on benchmarks, as they are and corrected.

    Corrections are fitted on the whole vocabulary, before the words of the benchmark are looked
    up; only those words' vectors are kept in memory.

    Parameters
    ----------
    source : str, Path, array, tensor or CloudGroup
        Anything that ``open_cloud`` takes, with words as a label or from ``vocabulary``.
    tasks : iterable of str, optional
        Names from ``isoscope list tasks``, or ``word-similarity:FILE`` for three columns of one's
        own. By default every task whose data are in the folder.
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
    level : float
        Coverage of the intervals.
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
    if corrections is None or isinstance(corrections, str):
        corrections = listed(corrections, DEFAULT_CORRECTIONS)
    spaces = named(corrections)
    folder = data_folder(data)
    chosen = choose_tasks(tasks, folder)
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


def choose_tasks(
    given: Iterable[str | WordSimilarity] | str | None, folder: Path | None
) -> list[WordSimilarity]:
    """Look the names up, without repeats; by default all tasks whose data are there."""
    if given is None:
        return present_tasks(folder)
    asked = listed(given, ()) if isinstance(given, str) else list(given)
    chosen = {}
    for one in asked:
        task = find_task(one) if isinstance(one, str) else one
        if not isinstance(task, WordSimilarity):
            raise UsageError(f"{task.name} does not score word vectors")
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
