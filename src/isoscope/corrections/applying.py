"""A fitted correction applied to files."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sklearn.utils.validation import check_is_fitted

from isoscope.compute.execution import LOCAL
from isoscope.compute.threads import cores
from isoscope.corrections.file_change import change_of
from isoscope.corrections.file_work import FileRun
from isoscope.data.rewrite import rewrite_files

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from isoscope.compute.stage import OnError, Progress
    from isoscope.corrections.base import Correction
    from isoscope.data.rewrite import Written


@dataclass(frozen=True)
class Applied:
    """What became of the files of a source."""

    written: list[Written]
    skipped: Mapping[str, str] = field(default_factory=dict)
    """Files that were left out, and why."""


def apply_to_files(
    correction: Correction,
    source: str,
    out: str,
    *,
    column: str | None = None,
    engine: str = LOCAL,
    workers: int | None = None,
    on_error: OnError = "stop",
    journal: Path | None = None,
    resume: bool = False,
    progress: Progress | None = None,
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
        Which array of a file that holds several.
    engine : str
        ``local``, ``ray``, or ``ray:ADDRESS`` for a cluster. What is no pattern of several files
        is always read and written by this process.
    workers : int, optional
        Processes of the local engine, by default this one with all its threads; actors of Ray, by
        default one per core of the cluster. The files are the same with any of them.
    on_error : {"stop", "skip"}
        Whether a file of a pattern that cannot be read ends the run, or is left out.
    journal : Path, optional
        Folder that keeps which files of a pattern are written, so that a killed run can go on; it
        is removed when the run is done. ``out`` is a folder of this machine then.
    resume : bool
        Go on where a journal ends.
    progress : callable, optional
        Called with what is done, rows done, and rows in all.

    Returns
    -------
    Applied
        What was written, file by file, and what was left out.
    """
    check_is_fitted(correction)
    run = FileRun(correction, column, engine, workers, on_error, journal, resume)
    written = rewrite_files(
        source, out, change_of(correction, cores()),
        column=column, progress=progress, carry_out=run,
        skipped=run.skipped if on_error == "skip" else None,
    )  # fmt: skip
    return Applied(written, run.skipped)
