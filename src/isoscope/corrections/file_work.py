"""Correcting the files of a source on any workers: every file is written by one of them."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from isoscope.compute.execution import LOCAL, open_pool, ray_address
from isoscope.compute.journal import journal_while
from isoscope.compute.pool import BadShard, Here
from isoscope.compute.stage import Stage
from isoscope.compute.threads import cores, one_blas_thread
from isoscope.corrections.file_change import change_of
from isoscope.corrections.registry import text_of
from isoscope.corrections.unfinished import unfinished_folder, written_by_way_of
from isoscope.data.identity import identity_of
from isoscope.data.location import Location, redacted
from isoscope.data.rewrite import APPLY, Written, carried_out, rows_in_all
from isoscope.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from isoscope.compute.journal import Journal
    from isoscope.compute.pool import Pool, Tick
    from isoscope.compute.stage import Entry, OnError, Progress
    from isoscope.corrections.base import Correction
    from isoscope.data.change import Change
    from isoscope.data.rewrite import Plan


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
    engine : str
        ``local``, ``ray``, or ``ray:ADDRESS`` for a cluster.
    workers : int, optional
        Processes, or actors of Ray. A single file is always written by this process.
    on_error : {"stop", "skip"}
        Whether a file that cannot be read ends the run, or is left out.
    journal : Path, optional
        Folder that keeps what was written, for files of this machine; a single file leaves nothing
        to keep.
    resume : bool
        Go on where the journal ends.
    """

    correction: Correction
    column: str | None = None
    engine: str = LOCAL
    workers: int | None = None
    on_error: OnError = "stop"
    journal: Path | None = None
    resume: bool = False
    skipped: dict[str, str] = field(default_factory=dict)
    """Filled while writing: files that were left out, and why."""

    def __call__(self, plans: Sequence[Plan], progress: Progress | None) -> list[Written]:
        """Write all files that the journal does not have."""
        here = FileWork(change_of(self.correction, cores()))
        if len(plans) == 1:
            return self._written(plans, progress, Here(), here, None)
        alone = self.workers is None and ray_address(self.engine) is None
        work = here if alone else FileWork(change_of(self.correction, 1))
        with ExitStack() as stack:
            kept = None
            if self.journal is not None:
                configuration = self._configuration(plans)
                journal = journal_while(self.journal, configuration, resume=self.resume)
                kept = stack.enter_context(journal)
                place = unfinished_folder(plans[0].out.path.parent)
                work = replace(work, place=stack.enter_context(place))
            pool = stack.enter_context(open_pool(self.engine, self.workers))
            return self._written(plans, progress, pool, work, kept)

    def _configuration(self, plans: Sequence[Plan]) -> dict[str, Any]:
        return {
            "source": [identity_of(plan.cloud) for plan in plans],
            "correction": text_of(self.correction),
            "fingerprint": self.correction.fingerprint,
            "column": self.column,
        }

    def _written(
        self,
        plans: Sequence[Plan],
        progress: Progress | None,
        pool: Pool,
        work: FileWork,
        kept: Journal | None,
    ) -> list[Written]:
        counts = [plan.cloud.rows for plan in plans]
        stage = Stage(APPLY, plans, counts, WrittenFiles, kept, self.on_error)
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
                f"{one.out} was written by the run that is to go on, and is gone; delete "
                f"{kept.folder} to start over"
            )
