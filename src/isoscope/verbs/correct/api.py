"""``fit_correction()``, ``apply_correction()`` and ``refresh_correction()``: from file to file.

In memory the same is ``make_correction(name).fit(X)`` and ``transform(X)``; these calls read
sources of any size, share the work out, go on after a killed run, and say what they did.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from isoscope.compute.execution import LOCAL, Execution, RunOptions, check_scale, ray_address
from isoscope.compute.journal import kept_entry, unfinished
from isoscope.corrections.base import Correction
from isoscope.corrections.closed_form import ClosedForm, refreshed
from isoscope.corrections.fit import fit_and_sample
from isoscope.corrections.registry import make_correction, names_from_sums, text_of
from isoscope.corrections.storage import load_correction
from isoscope.data.location import Location, is_postgres
from isoscope.data.open import one_cloud, open_cloud
from isoscope.data.output import check_place, refuse_read
from isoscope.data.rewrite import refuse_corrected
from isoscope.data.sampling import LARGE_SIZE
from isoscope.data.selection import RowSelection
from isoscope.errors import UsageError
from isoscope.results.merge import skipped_count, skipped_shards
from isoscope.verbs.correct.files import Applied, apply_to_files

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from isoscope.compute.map_reduce import Run
    from isoscope.compute.stage import OnError
    from isoscope.progress import Progress

ENDING = ".safetensors"

# Step of a journal that says what a refresh turns a correction into.
REFRESHED = "refreshed"


@dataclass(frozen=True)
class FittedCorrection:
    """A correction that was fitted and written.

    Attributes
    ----------
    correction : Correction
        Ready to use.
    facts : dict
        What it was fitted on, what it learned, what was left out: as ``--json`` prints it.
    """

    correction: Correction
    facts: dict[str, Any]


def fit_correction(
    source: str,
    correction: str | Correction,
    out: str | Path,
    *,
    column: str | None = None,
    drop_invalid: bool = False,
    progress: Progress | None = None,
    **run: Unpack[RunOptions],
) -> FittedCorrection:
    """Learn a correction from vectors, in one read for most, and write it to a file.

    Parameters
    ----------
    source : str
        Vectors, as ``open_cloud`` takes them.
    correction : str or Correction
        What to fit, as ``make_correction`` takes it, such as ``whiten``.
    out : path
        A ``.safetensors`` file of this machine.
    column : str, optional
        Array or column, if the file has several.
    drop_invalid : bool
        Leave out rows that are null or hold NaN or infinities, and count them, instead of stopping.
    progress : callable, optional
        Called with the name of the read, rows done, and rows in all.
    **run
        ``engine``, ``workers``, ``on_error``, ``shard_rows`` and ``resume``, as
        ``isoscope.compute.execution.RunOptions`` describes them.

    Returns
    -------
    FittedCorrection

    Examples
    --------
    >>> fit_correction("vectors.npy", "whiten", "whiten.safetensors")  # doctest: +SKIP
    """
    execution = Execution.of(run)
    fitted = make_correction(correction) if isinstance(correction, str) else correction
    check_workers(fitted, execution.engine, execution.workers, resume=execution.resume)
    path = correction_path(str(out), source)
    if isinstance(fitted, ClosedForm):  # others keep nothing that a later run could go on from
        execution = replace(execution, journal=journal_of(str(out), resume=execution.resume))
    asked = {"correction": text_of(fitted)}
    with opened(source, execution, asked, column, drop_invalid) as (selection, plan):
        sample = fit_and_sample(fitted, selection, LARGE_SIZE, progress=progress, plan=plan)
        fitted.save(path)  # before the journal goes
    corrected = fitted.transform(sample) if len(sample) else sample
    cosines = {
        "rows": len(sample), "before": mean_cosine(sample), "after": mean_cosine(corrected)
    }  # fmt: skip
    norms = {"before": mean_norm(sample), "after": mean_norm(corrected)}
    changed = {"mean_cosine": cosines, "mean_norm": norms}
    about = {"file": str(path), **facts_of(fitted, selection, plan), **changed}
    return FittedCorrection(fitted, {**asked, **about})


def apply_correction(
    correction: str | Path | Correction,
    source: str,
    out: str | Path,
    *,
    column: str | None = None,
    keep_norms: bool = False,
    engine: str = LOCAL,
    workers: int | None = None,
    on_error: OnError = "stop",
    resume: bool = False,
    progress: Progress | None = None,
) -> Applied:
    """Correct every vector of a file, in a new file of the same kind.

    Ids, other columns and arrays, metadata, number types and the order of rows stay as they are,
    and the new file appears when it is whole. Zero vectors stay zero vectors, and rows without a
    vector (null) stay without one. Where the correction was fitted on vectors with norm 1,
    corrected vectors are brought to norm 1: inner products of them would not be cosines otherwise,
    and an index that ranks by inner products would find other neighbours.

    Parameters
    ----------
    correction : path or Correction
        Fitted on vectors of the same dimension, or the file that it was written to.
    source : str
        A file, a pattern of files, a packaged cloud, or a column of a PostgreSQL table.
    out : path
        A file of the same kind, or a folder; a pattern needs a folder. For a table a new column
        of it, a new table, or ``.npy``.
    column : str, optional
        Array or column, if the file has several.
    keep_norms : bool
        Leave the norms as the correction makes them, also where the vectors that it was fitted on
        had norm 1. A correction with ``renormalize=True`` refuses it.
    engine : str
        ``local``, ``ray``, or ``ray:ADDRESS`` for a cluster.
    workers : int, optional
        Processes, or actors of Ray, that write a file at a time each. By default this process
        with all its threads. The files are the same with any of them.
    on_error : {"stop", "skip"}
        Whether a file of a pattern that cannot be read ends the run, or is left out.
    resume : bool
        Resume an interrupted run from the journal beside ``out``.
    progress : callable, optional
        Called with what is done, rows done, and rows in all.

    Returns
    -------
    Applied
        What was written, file by file, and what was left out.

    Examples
    --------
    >>> apply_correction("whiten.safetensors", "vectors.npy", "white.npy")  # doctest: +SKIP
    """
    check_scale(engine, workers, on_error, None)
    if not isinstance(correction, Correction) and not is_postgres(str(out)):
        refuse_read(out, [correction])
    fitted = correction if isinstance(correction, Correction) else load_correction(correction)
    applied = apply_to_files(
        fitted, source, str(out), column=column, keep_norms=keep_norms, progress=progress,
        engine=engine, workers=workers, on_error=on_error,
        journal=journal_of(str(out), resume=resume), resume=resume,
    )  # fmt: skip
    skipped_count(applied.skipped)  # which warns
    return applied


def refresh_correction(
    correction: str | Path,
    source: str,
    out: str | Path | None = None,
    *,
    column: str | None = None,
    drop_invalid: bool = False,
    progress: Progress | None = None,
    **run: Unpack[RunOptions],
) -> FittedCorrection:
    """Update a correction with new vectors, as if it had been fitted on old and new ones together.

    Only the new ones are read: the file keeps the sums over the old ones. Leave out of the source
    what the correction was fitted on, as it would count twice.

    Parameters
    ----------
    correction : path
        File that ``fit_correction`` wrote.
    source : str
        The new vectors.
    out : path, optional
        Write here, and leave the file as it is; by default it is replaced.
    column, drop_invalid, progress, **run
        As for ``fit_correction``.

    Returns
    -------
    FittedCorrection
    """
    execution = Execution.of(run)
    old = load_correction(correction)
    name = str(correction if out is None else out)
    path = correction_path(name, source)
    execution = replace(execution, journal=journal_of(name, resume=execution.resume))
    refuse_corrected(source, column, execution.on_error)
    done = finished_refresh(execution, old)
    asked = {"refreshes": old.fingerprint if done is None else done["refreshes"]}
    with opened(source, execution, asked, column, drop_invalid) as (selection, plan):
        if done is not None:
            return FittedCorrection(old, done["facts"])
        new = refreshed(old, selection, refuse_same=True, progress=progress, plan=plan)
        seen = old.fitted_on_
        before = {"file": str(path), "rows_before": seen.rows, "unit_norm_before": seen.unit_length}
        facts = {"correction": old.name, **before, **facts_of(new, selection, plan)}
        if plan.journal is not None:
            plan.journal.save(REFRESHED, {}, {**asked, "becomes": new.fingerprint, "facts": facts})
        new.save(path)  # before the journal goes
    return FittedCorrection(new, facts)


def finished_refresh(execution: Execution, correction: Correction) -> dict[str, Any] | None:
    """Return what a killed run noted of a refresh if its file was already replaced, else None.

    To take the same vectors into that file again would count them twice.
    """
    entry = kept_entry(execution.journal, REFRESHED)
    if entry is None or entry.facts.get("becomes") != correction.fingerprint:
        return None
    assert execution.journal is not None
    if not execution.resume:
        raise unfinished(execution.journal)
    return dict(entry.facts)


@contextmanager
def opened(
    source: str,
    execution: Execution,
    asked: dict[str, str],
    column: str | None,
    drop_invalid: bool,
) -> Iterator[tuple[RowSelection, Run]]:
    """Open a source, and give out the rows that count and who reads them."""
    cloud = open_cloud(source, column=column, on_error=execution.on_error)
    selection = one_cloud(RowSelection(cloud, drop_invalid=drop_invalid))
    configuration = {**asked, "column": column, "drop_invalid": drop_invalid}
    with execution.open(cloud, configuration) as plan:
        yield selection, plan


def facts_of(fitted: Correction, selection: RowSelection, plan: Run) -> dict[str, Any]:
    """Return what there is to say of a fit."""
    seen = fitted.fitted_on_
    return {
        "rows": seen.rows,
        "width": int(fitted.n_features_in_),
        "new_width": fitted._output_width,
        "dtype": seen.dtype,
        "unit_norm": seen.unit_length,
        "fingerprint": fitted.fingerprint,
        "left_out": {**selection.left_out, **skipped_count(plan.skipped)},
        **skipped_shards(plan.skipped),
        "learned": learned(fitted),
    }


def learned(correction: Correction) -> dict[str, Any]:
    """Return the numbers that say what a correction does to these vectors."""
    facts: dict[str, Any] = {}
    if hasattr(correction, "n_clusters_"):
        facts["clusters"] = int(correction.n_clusters_)
        facts["directions_removed_per_cluster"] = max(map(len, correction.components_))
    if hasattr(correction, "n_components_"):
        facts["directions_removed"] = int(correction.n_components_)
    if hasattr(correction, "explained_variance_"):
        facts["directions_kept"] = len(correction.explained_variance_) - len(correction.dropped_)
    if hasattr(correction, "dropped_"):
        if hasattr(correction, "scale_"):  # one for each dimension
            facts["dimensions_zeroed"] = correction.dropped_.tolist()
        else:
            facts["directions_dropped"] = len(correction.dropped_)
    if hasattr(correction, "dimensions_"):
        facts["dimensions_zeroed"] = correction.dimensions_.tolist()
    return facts


def mean_cosine(rows: NDArray[Any]) -> float | None:
    """(‖Σ u‖² − n) / (n² − n) with u = x / ‖x‖, over rows that are not zero."""
    norms = np.linalg.norm(rows, axis=1)
    units = rows[norms > 0] / norms[norms > 0, None]
    count = len(units)
    if count < 2:
        return None
    total = units.sum(axis=0)
    return float((total @ total - count) / (count * (count - 1)))


def mean_norm(rows: NDArray[Any]) -> float | None:
    """Return the mean norm of rows; None without any."""
    return float(np.linalg.norm(rows, axis=1).mean()) if len(rows) else None


def correction_path(out: str, source: str) -> Path:
    """Return the file that a correction is written to, or refuse it before any work is done."""
    location = Location(out)
    if location.is_remote:
        raise UsageError(f"--out {out}: corrections are written to files of this machine")
    path = location.path
    if path.suffix.lower() != ENDING:
        raise UsageError(f"--out {out}: the name of a correction must end in {ENDING}")
    check_place(path)
    refuse_read(out, [source])
    return path


def journal_of(out: str, *, resume: bool) -> Path | None:
    """Return the folder that keeps what a run has done; None where nothing is kept.

    Refuses to go on where nothing can be kept.
    """
    if is_postgres(out):
        return None
    location = Location(out)
    if location.is_remote:
        if resume:
            raise UsageError(
                f"--resume needs an --out on this machine; no journal is kept for {out}"
            )
        return None
    path = location.path
    if path.name in ("", ".."):
        path = path.resolve()
    return Path(f"{path}.journal")


def check_workers(
    correction: Correction, engine: str, workers: int | None, *, resume: bool
) -> None:
    """Refuse what has no meaning for a correction that needs the rows themselves, again and again.

    Parameters
    ----------
    correction : Correction
        What is to be fitted.
    engine : str
        ``local``, ``ray`` or ``ray:ADDRESS``.
    workers : int, optional
        How many workers were asked for.
    resume : bool
        Whether a killed run is to go on.
    """
    if correction.from_sums:
        return
    name, able = correction.name, names_from_sums()
    if ray_address(engine) is not None:
        raise UsageError(
            f"Ray fits {able}; {name} can only be fitted in this process: leave --engine out"
        )
    if workers is not None:
        raise UsageError(
            f"--workers is for {able}; {name} is fitted on all cores of this machine: leave it out"
        )
    if resume:
        raise UsageError(f"only fits of {able} can be resumed, not of {name}: leave --resume out")
