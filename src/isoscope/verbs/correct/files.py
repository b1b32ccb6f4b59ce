"""A fitted correction applied to the files of a source, on any workers.

Every file is written by one worker, in a folder of unfinished files where a journal is kept, and
moved to its place once it is whole.
"""

from __future__ import annotations

import shutil
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sklearn.utils.validation import check_is_fitted

from isoscope.compute.execution import Execution, open_pool, ray_address
from isoscope.compute.journal import Journal, journal_while
from isoscope.compute.pool import BadShard, Here, Pool, Tick
from isoscope.compute.stage import Entry, Stage
from isoscope.compute.threads import cores, one_blas_thread
from isoscope.corrections.apply import change_of
from isoscope.corrections.registry import text_of
from isoscope.data.base import identity_of
from isoscope.data.location import Location, redacted
from isoscope.data.output import PREFIX, cannot_be_written
from isoscope.data.rewrite import (
    APPLY,
    Change,
    Plan,
    Written,
    carried_out,
    rewrite_files,
    rows_in_all,
)
from isoscope.errors import DataError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from isoscope.corrections.base import Correction
    from isoscope.progress import Progress


UNFINISHED = f"{PREFIX}unfinished"


@contextmanager
def unfinished_folder(out: Path) -> Iterator[str]:
    """Give out a folder within ``out``, and delete it with all that is in it.

    A worker that is ended has no time to clean up, and a run that is killed cannot: what they leave
    goes at the end of this run, or at the beginning of the next. Only one run at a time may use it.
    """
    place = out / UNFINISHED
    try:
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir()
    except OSError as error:
        raise UsageError(cannot_be_written(place, error)) from error
    try:
        yield str(place)
    finally:
        shutil.rmtree(place, ignore_errors=True)


def written_by_way_of(
    place: str, plan: Plan, change: Change, report: Callable[[int], None]
) -> Written:
    """Write a file in such a folder, and move it to where it belongs once it is whole."""
    made = Path(place) / plan.out.path.name
    one = carried_out(replace(plan, out=Location(str(made))), change, report)
    try:
        made.replace(plan.out.path)
    except OSError as error:
        raise UsageError(cannot_be_written(plan.out, error)) from error
    return replace(one, out=str(plan.out))


@dataclass(frozen=True)
class WrittenFiles:
    """Files that are written, in the order of the source."""

    files: tuple[Written, ...]

    @property
    def rows(self) -> int:
        """Rows of all of them."""
        return sum(one.rows for one in self.files)

    def merge(self, other: WrittenFiles) -> WrittenFiles:
        """Put the files of two stretches of the source together."""
        return WrittenFiles(self.files + other.files)

    def to_entry(self) -> Entry:
        """Return no arrays, and the facts of every file, without what nobody else should read."""
        return {}, {"files": [{**vars(one), "source": redacted(one.source)} for one in self.files]}

    @classmethod
    def from_entry(
        cls, arrays: Mapping[str, NDArray[Any]], facts: Mapping[str, Any]
    ) -> WrittenFiles:
        """Rebuild what ``to_entry`` took apart."""
        del arrays
        return cls(tuple(Written(**one) for one in facts["files"]))


@dataclass(frozen=True)
class FileWork:
    """Writes one file; it can be pickled."""

    change: Change
    place: str | None = None
    """Folder in which files are until they are whole; by default each is where it is to be."""

    def __call__(self, plan: Plan, tick: Tick) -> WrittenFiles:
        """Read, correct and write."""
        with one_blas_thread():  # once for all batches: it takes longer than to centre one
            if self.place is None:
                return WrittenFiles((carried_out(plan, self.change, tick),))
            return WrittenFiles((written_by_way_of(self.place, plan, self.change, tick),))


@dataclass(frozen=True)
class FileRun:
    """Who writes the files of a source, and where it is kept what was written.

    Parameters
    ----------
    correction : Correction
        What is applied.
    column : str, optional
        Which array of files that hold several.
    keep_norms : bool
        Whether norms stay as the correction makes them.
    execution : Execution
        Who writes: a single file is always written by this process, and leaves nothing to keep.
    """

    correction: Correction
    column: str | None
    keep_norms: bool
    execution: Execution
    skipped: dict[str, str] = field(default_factory=dict)
    """Filled while writing: files that were left out, and why."""

    def __call__(self, plans: Sequence[Plan], progress: Progress | None) -> list[Written]:
        """Write all files that the journal does not have."""
        here = FileWork(self.change(cores()))
        if len(plans) == 1:
            return self._written(plans, progress, Here(), here, None)
        how = self.execution
        alone = how.workers is None and ray_address(how.engine) is None
        work = here if alone else FileWork(self.change(1))
        with ExitStack() as stack:
            kept = None
            if how.journal is not None:
                configuration: dict[str, Any] = {
                    "source": [identity_of(plan.cloud) for plan in plans],
                    "correction": text_of(self.correction),
                    "fingerprint": self.correction.fingerprint,
                    "column": self.column,
                }
                if work.change.normalized:
                    configuration["normalized"] = True
                kept = stack.enter_context(
                    journal_while(how.journal, configuration, resume=how.resume)
                )
                place = unfinished_folder(plans[0].out.path.parent)
                work = replace(work, place=stack.enter_context(place))
            pool = stack.enter_context(open_pool(how.engine, how.workers))
            return self._written(plans, progress, pool, work, kept)

    def change(self, threads: int) -> Change:
        """Return what is done to every file, on so many threads."""
        return change_of(self.correction, threads, keep_norms=self.keep_norms)

    def _written(
        self,
        plans: Sequence[Plan],
        progress: Progress | None,
        pool: Pool,
        work: FileWork,
        kept: Journal | None,
    ) -> list[Written]:
        counts = [plan.cloud.rows for plan in plans]
        stage = Stage(APPLY, plans, counts, WrittenFiles, kept, self.execution.on_error)
        before = [state for state in stage.tree.nodes.values() if state is not None]
        if kept is not None:
            check_there(before, kept)
        done, total = sum(state.rows for state in before), rows_in_all(plans)

        def tick(within: int) -> None:
            if progress is not None:
                progress(APPLY, done + within, total)

        for number, found in pool.run(work, stage.missing, tick):
            if isinstance(found, BadShard):
                stage.skip(number, found.message)
            else:
                stage.add(number, found)
                done += found.rows
                tick(0)
        gathered = stage.result()
        self.skipped.update(gathered.skipped)
        return list(gathered.state.files)


def check_there(before: Sequence[WrittenFiles], kept: Journal) -> None:
    """Refuse to go on where a file is gone that an earlier run has written."""
    for one in (one for state in before for one in state.files):
        if not Location(one.out).exists():
            raise DataError(
                f"{one.out} was written by the interrupted run, and is missing; delete "
                f"{kept.folder} to start over"
            )


@dataclass(frozen=True)
class Applied:
    """What became of the files of a source."""

    written: list[Written]
    skipped: Mapping[str, str] = field(default_factory=dict)
    """Files that were left out, and why."""

    def facts(self) -> list[dict[str, Any]]:
        """Return what ``--json`` prints: every file with what became of it."""
        done = [vars(one) for one in self.written]
        return done + [{"source": name, "skipped": why} for name, why in self.skipped.items()]


def apply_to_files(
    correction: Correction,
    source: str,
    out: str,
    *,
    column: str | None = None,
    keep_norms: bool = False,
    progress: Progress | None = None,
    **how: Any,
) -> Applied:
    """Correct every vector of a source, and write it in the format that it came in.

    See ``isoscope.data.rewrite_files`` for what is kept. Parquet, Arrow and safetensors
    files and columns of PostgreSQL note the correction, and one that carries it already is refused.

    Parameters
    ----------
    correction : Correction
        Fitted on vectors of the same width.
    source : str
        A file, a pattern of files, a packaged cloud, or a column of a PostgreSQL table.
    out : str
        A file of the same family, or a folder; a pattern needs a folder. For a table: a new
        column of it, a new table, or ``.npy``.
    column : str, optional
        Array, column or field, if the file has several.
    keep_norms : bool
        Leave the norms as the correction makes them, also where the vectors that it was fitted on
        had norm 1.
    progress : callable, optional
        Called with what is done, rows done, and rows in all.
    **how
        Of an ``Execution``. Workers are processes, or actors of Ray, each of which writes a file
        of a pattern at a time; anything else is read and written by this process. With a journal,
        ``out`` is a folder of this machine.

    Returns
    -------
    Applied
        What was written, file by file, and what was left out.
    """
    check_is_fitted(correction)
    run = FileRun(correction, column, keep_norms, Execution(**how))
    written = rewrite_files(
        source, out, run.change(cores()),
        column=column, progress=progress, carry_out=run,
        skipped=run.skipped if run.execution.on_error == "skip" else None,
    )  # fmt: skip
    return Applied(written, run.skipped)
