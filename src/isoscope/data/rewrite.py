"""One way out: the files of a source, changed, in the format that they came in.

Files say which corrections their vectors have been through: Parquet and Arrow with their schema,
safetensors with its metadata, PostgreSQL with the comment of a column. Other formats have no place
for it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from isoscope.data.arrays import at_least_single, norms, unit_tolerance, zero_rows
from isoscope.data.base import STORED_AS, Batch, Cloud, Labels, total_rows, widen_bfloat16
from isoscope.data.combine import is_pattern
from isoscope.data.formats.registry import FORMATS, KEY, PREFIX
from isoscope.data.location import WILDCARDS, Location, is_postgres, matches, redacted
from isoscope.data.open import OnError, open_all, open_file, open_location
from isoscope.data.output import atomic_output, check_target, compressed, same_file
from isoscope.data.selection import finite_rows, label_of
from isoscope.errors import DataError, UsageError
from isoscope.progress import Progress, report
from isoscope.registry import load

CarryOut = Callable[["Sequence[Plan]", Progress | None], list["Written"]]

# What progress calls it when vectors are changed.
APPLY = "apply"

# What writes vectors that come from no file, or from one that is only read.
PACKAGED: dict[str, str] = {
    ".npy": "isoscope.data.formats.packages:write_packaged_npy",
    ".txt": "isoscope.data.formats.packages:write_packaged_text",
    ".vec": "isoscope.data.formats.packages:write_packaged_text",
}


@dataclass(frozen=True)
class Change:
    """A function of single vectors, and what files say of it."""

    apply: Callable[[NDArray[Any]], NDArray[Any]]
    """Takes and gives float32 or float64, one row a vector."""
    width: int
    new_width: int
    name: str
    """For people, such as ``whiten:n_components=128``."""
    fingerprint: str
    """Tells two changes apart."""
    normalized: bool = False
    """Whether vectors are brought to norm 1 after it, which its name does not say."""

    def check_width(self, width: int, where: str) -> None:
        """Refuse vectors of another width than those that it is for."""
        if width != self.width:
            raise DataError(
                f"{where} has {width} dimensions; this correction ({self.name}) was fitted on "
                f"{self.width}"
            )


@dataclass
class Rewrite:
    """One cloud on its way into a file."""

    cloud: Cloud
    location: Location
    """The file of the cloud."""
    change: Change
    mark: str = ""
    """What the new file says of its corrections, where its format has room for that."""
    report: Callable[[int], None] = lambda _: None
    """Called with the rows that are done."""
    done: int = 0
    """How many rows that are."""
    zeros: int = 0
    """How many of them held a zero vector."""
    without: int = 0
    """How many of them held no vector."""
    other_norms: int = 0
    """How many had another norm than 1 where the change was made for vectors with norm 1."""

    def batches(self) -> Iterator[Batch]:
        """Read the cloud and yield it changed, numbers in the type of the file."""
        for batch in self.cloud.read():
            vectors = self.changed(batch.vectors, batch.first_row, batch.labels)
            yield batch._replace(vectors=vectors, squares=None)

    def changed(
        self,
        vectors: NDArray[Any],
        first_row: int,
        labels: Labels | None = None,
        absent: NDArray[np.bool_] | None = None,
    ) -> NDArray[Any]:
        """Change some rows, and return them in the type of the file (bfloat16 as its bits).

        ``absent`` marks rows without a vector: what is returned for them means nothing.
        """
        if absent is not None:
            vectors = np.where(absent[:, None], vectors.dtype.type(0), vectors)
        good = finite_rows(vectors)
        if good is not None:
            row = int(np.flatnonzero(~good)[0])
            raise DataError(
                f"{self.location}: row {first_row + row}{label_of(labels or {}, row)} "
                f"{self.cloud.fault}, which cannot be corrected; remove it from the file first"
            )
        self._count(vectors, absent)
        with np.errstate(over="ignore", invalid="ignore"):  # rows that do not fit are named below
            changed = self.change.apply(at_least_single(vectors))
        stored = in_type(changed, self.cloud.dtype)
        fits = finite_rows(widen_bfloat16(stored) if self.cloud.dtype == "bfloat16" else stored)
        if fits is not None:
            row = first_row + int(np.flatnonzero(~fits)[0])
            raise DataError(
                f"{self.location}: row {row} is too large for {self.cloud.dtype} once corrected; "
                "store the vectors in a wider type first"
            )
        self.done = first_row + len(stored)
        self.report(self.done)
        return stored

    def _count(self, vectors: NDArray[Any], absent: NDArray[np.bool_] | None) -> None:
        """Count what whoever reads the new file should know; absent vectors are zeros here."""
        absences = 0 if absent is None else int(absent.sum())
        self.without += absences
        self.zeros += len(zero_rows(vectors)) - absences
        if self.change.normalized:
            found = norms(at_least_single(vectors))
            off = np.abs(found - 1) > unit_tolerance(self.cloud.dtype)
            self.other_norms += int((off & (found > 0)).sum())


def in_type(rows: NDArray[Any], stored: str) -> NDArray[Any]:
    """Round once to the type of a file, bfloat16 to the nearest, ties to even."""
    if stored != "bfloat16":
        with np.errstate(over="ignore"):  # infinities are looked for afterwards
            return np.ascontiguousarray(rows, dtype=STORED_AS[stored])
    bits = np.ascontiguousarray(rows, dtype=np.float32).view(np.uint32)
    odd = (bits >> np.uint32(16)) & np.uint32(1)
    return ((bits + np.uint32(0x7FFF) + odd) >> np.uint32(16)).astype(np.uint16)


def read_marks(text: str | None, where: str) -> list[dict[str, Any]]:
    """Return what a file says of its corrections."""
    if text is None:
        return []
    try:
        marks = json.loads(text)
    except (ValueError, RecursionError):
        marks = None
    if not isinstance(marks, list) or not all(isinstance(mark, dict) for mark in marks):
        raise DataError(f"{where}: its metadata {KEY!r} is not a JSON list of objects")
    return marks


def marked(text: str | None, change: Change, column: str | None, where: str) -> str:
    """Return the note with one more correction, or refuse to apply one for the second time."""
    marks = read_marks(text, where)
    mark: dict[str, Any] = {
        "column": column,
        "correction": change.name,
        "fingerprint": change.fingerprint,
    }
    if change.normalized:
        mark["normalized"] = True
    for known in marks:
        if (known.get("column"), known.get("fingerprint")) == (column, change.fingerprint):
            raise UsageError(f"{where} already carries this correction ({change.name})")
    return json.dumps([*marks, mark], ensure_ascii=False)


def already_corrected(mark: dict[str, Any], where: str) -> UsageError:
    """Build the error for corrected vectors where uncorrected ones are wanted."""
    return UsageError(
        f"{where} holds vectors that {mark.get('correction')} has corrected; name new ones as "
        "they were before it"
    )


@dataclass(frozen=True)
class Written:
    """A file that was written."""

    source: str
    out: str
    rows: int
    width: int
    marked: bool
    """Whether the file says which correction it carries."""
    without: int = 0
    """Rows that had no vector (null), and have none now; those of a file are among ``rows``."""
    zero_vectors: int = 0
    """Zero vectors, which stay zero vectors."""
    normalized: bool = False
    """Whether vectors were brought to norm 1, as those that the correction was fitted on had it."""
    other_norms: int = 0
    """Vectors that did not have norm 1 before, although those that it was fitted on had."""


@dataclass(frozen=True)
class Plan:
    """One file that is to be written; it can be pickled."""

    cloud: Cloud
    source: Location
    out: Location
    writer: str
    """The function that writes it, as ``module:function``."""
    mark: str = ""
    in_folder: bool = False

    @property
    def name(self) -> str:
        """The file that is read."""
        return str(self.source)


def rewrite_files(
    source: str,
    out: str,
    change: Change,
    *,
    column: str | None = None,
    progress: Progress | None = None,
    skipped: dict[str, str] | None = None,
    carry_out: CarryOut | None = None,
) -> list[Written]:
    """Change every vector of a source and write it in the format that it came in.

    Row by row, so that memory does not grow with the file. A file takes the place of ``out`` only
    when it is whole. Ids, other columns, arrays, metadata and the order of rows stay as they are.

    Parameters
    ----------
    source : str
        A file, a pattern of files, a packaged cloud, or a column of a PostgreSQL table.
    out : str
        A file of the same family, or a folder; a pattern needs a folder. For a table: a new
        column of it, a new table, or ``.npy``.
    change : Change
        What is done to every vector.
    column : str, optional
        Array, column or field, if the file has several.
    progress : callable, optional
        Called with what is done, rows done, and rows in all.
    skipped : dict of str to str, optional
        Files of a pattern that cannot be opened are left out, and noted here with the reason.
        Without it they are errors.
    carry_out : callable, optional
        Writes the files of a source, given the plan of each and ``progress``; by default one after
        the other.

    Returns
    -------
    list of Written
        What was written, file by file.
    """
    if is_postgres(out):
        return [rewrite_table(source, out, change, column, progress)]
    plans = planned(source, out, change, column, skipped)
    if plans[0].in_folder:
        make_folder(out)
    if carry_out is not None:
        return carry_out(plans, progress)
    written: list[Written] = []
    total, before = rows_in_all(plans), 0
    for plan in plans:

        def tell(rows: int, before: int = before) -> None:
            report(progress, APPLY, before + rows, total)

        written.append(carried_out(plan, change, tell))
        before += written[-1].rows
    return written


def rows_in_all(plans: Sequence[Plan]) -> int | None:
    """Return the rows of all files together; None where only reading tells."""
    return total_rows(plan.cloud.rows for plan in plans)


def rewrite_table(
    source: str, out: str, change: Change, column: str | None, progress: Progress | None
) -> Written:
    """Write to a database, where a table or a column of it is what a file is elsewhere."""
    write_table = load("isoscope.data.postgres.writer:write_table")
    tell = partial(report, progress, APPLY)
    rewrite, without = write_table(source, out, change, column, tell)
    return replace(written_by(rewrite, redacted(source), redacted(out)), without=without)


def planned(
    source: str, out: str, change: Change, column: str | None, skipped: dict[str, str] | None = None
) -> list[Plan]:
    """Open every file and refuse all that can be refused before the first is written."""
    if not source or not out:
        raise UsageError("name a file")
    if not is_file(source):
        cloud = cast("Cloud", open_location(source, column, "stop"))
        target, shown = Location(out), redacted(source)
        writer = writer_for(target, PACKAGED, f"{shown} is written as")
        return [checked(Plan(cloud, Location(shown), target, writer), change)]
    files, folder = found(source), is_folder(source, out)

    def plan(file: Location, _: Plan | None) -> Plan:
        target = Location(f"{out.rstrip('/')}/{last_name(file)}" if folder else out)
        cloud = open_file(file, column)
        own, mark = FORMATS[file.ending], ""
        family, what = PACKAGED, "is written as"
        if own.writer:
            family = {end: one.writer for end, one in FORMATS.items() if one.writer == own.writer}
            what = "stays"
        writer = writer_for(target, family, f"{file} {what}")
        if own.mark:
            mark = marked(load(own.mark)(file), change, cloud.column, str(file))
        return checked(Plan(cloud, file, target, writer, mark, folder), change)

    plans, bad = open_all(files, plan, "stop" if skipped is None else "skip")
    if skipped is not None:
        skipped.update(bad)
    return plans


def refuse_corrected(source: str, column: str | None, on_error: OnError = "stop") -> None:
    """Refuse vectors of which their source says that they have been through a correction.

    With ``"skip"`` files that say nothing, as they cannot be read, are left to whoever reads them.
    """
    if is_postgres(source):
        load("isoscope.data.postgres.writer:refuse_corrected_table")(source, column)
    if not is_file(source):
        return
    for file in found(source):
        try:
            marks = marks_of(file, column)
        except (DataError, OSError):
            if on_error == "stop":
                raise
            continue
        for mark in marks:
            raise already_corrected(mark, str(file))


def marks_of(file: Location, column: str | None) -> list[dict[str, Any]]:
    """Return the corrections that the vectors of a file have been through, as it says itself."""
    own = FORMATS.get(file.ending)
    marks = read_marks(load(own.mark)(file), str(file)) if own and own.mark else []
    chosen = open_file(file, column).column if marks else None
    return [mark for mark in marks if mark.get("column") == chosen]


def is_file(source: str) -> bool:
    """Whether a source is files, rather than a package or a table."""
    return not source.startswith(PREFIX) and not is_postgres(source)


def found(source: str) -> list[Location]:
    """Return the files that a source names, each with a name of its own."""
    if is_pattern(source) and not Location(source).exists():
        raise UsageError(
            f"{source} names several clouds, and a correction belongs to one; "
            "apply it to each, or to all with *"
        )
    files = [Location(source)] if Location(source).exists() else matches(source)
    names = [last_name(file) for file in files]
    for name in names:
        if names.count(name) > 1:
            raise UsageError(f"{source}: two files are called {name}; name one folder at a time")
    return files


def last_name(file: Location) -> str:
    """Return the name of a file without its folder."""
    return file.text.rpartition("/")[2]


def is_folder(source: str, out: str) -> bool:
    """Whether files go into a folder: it is there, or ends like one, or there are several."""
    location = Location(out)
    if out.endswith("/") or (not location.is_remote and location.path.is_dir()):
        return True
    several = any(sign in source for sign in WILDCARDS) and not Location(source).exists()
    if several and location.ending in FORMATS:
        raise UsageError(f"{source} names several files, so --out is a folder, not {out}")
    return several


def make_folder(out: str) -> None:
    """Make a folder for several files, unless it is there."""
    location = Location(out)
    if location.is_remote or location.path.is_dir():
        return
    try:
        location.path.mkdir()
    except OSError as error:
        raise UsageError(f"--out {out} cannot be made: {error.strerror or error}") from error


def writer_for(target: Location, family: Mapping[str, str], what: str) -> str:
    """Return the writer for the ending of a file, or refuse another family."""
    writer = family.get(target.ending)
    streamed = target.ending in FORMATS and FORMATS[target.ending].streamed
    if writer is None or (target.compression and not streamed):
        raise UsageError(f"--out {target}: {what} {' or '.join(family)}")
    return writer


def checked(plan: Plan, change: Change) -> Plan:
    """Refuse a width that does not fit, and files that cannot or must not be written."""
    change.check_width(plan.cloud.width, str(plan.source))
    if same_file(plan.source, plan.out):
        raise UsageError(f"--out {plan.out} is a file that is read; name another")
    # A folder that is yet to be made must be possible where it is to be.
    new = plan.in_folder and not plan.out.is_remote and not plan.out.path.parent.exists()
    check_target(Location(str(plan.out.path.parent)) if new else plan.out)
    return plan


def carried_out(plan: Plan, change: Change, report: Callable[[int], None]) -> Written:
    """Write one file."""
    rewrite = Rewrite(plan.cloud, plan.source, change, plan.mark, report)
    with atomic_output(plan.out) as file, compressed(file, plan.out.compression) as packed:
        load(plan.writer)(rewrite, packed)
    return written_by(rewrite, str(plan.source), str(plan.out))


def written_by(rewrite: Rewrite, source: str, out: str) -> Written:
    """Return what there is to say of a file that is written."""
    change = rewrite.change
    return Written(
        source, out, rewrite.done, change.new_width, bool(rewrite.mark), rewrite.without,
        rewrite.zeros, change.normalized, rewrite.other_norms,
    )  # fmt: skip
