"""What a rewrite changes in a file, and the mark that it leaves.

What happens to the vectors of a file on their way to another file.

The note in a file that says which corrections its vectors have been through.

Parquet and Arrow keep it with their schema, safetensors with its metadata, PostgreSQL with the
comment of a column. Other formats have no place for it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.data.base import STORED_AS, widen_bfloat16
from isoscope.data.selection import finite_rows, label_of
from isoscope.errors import DataError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from isoscope.data.base import Batch, Cloud, Labels
    from isoscope.data.location import Location


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

    def check_width(self, width: int, where: str) -> None:
        """Refuse vectors of another width than those that it is for."""
        if width != self.width:
            raise DataError(
                f"{where} has {width} dimensions; this correction ({self.name}) was fitted on "
                f"{self.width}"
            )


@dataclass(frozen=True)
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

    def batches(self) -> Iterator[Batch]:
        """Read the cloud and yield it changed, numbers in the type of the file."""
        for batch in self.cloud.read():
            vectors = self.changed(batch.vectors, batch.first_row, batch.labels)
            yield batch._replace(vectors=vectors)

    def changed(
        self, vectors: NDArray[Any], first_row: int, labels: Labels | None = None
    ) -> NDArray[Any]:
        """Change some rows, and return them in the type of the file (bfloat16 as its bits)."""
        good = finite_rows(vectors)
        if good is not None:
            row = int(np.flatnonzero(~good)[0])
            raise DataError(
                f"{self.location}: row {first_row + row}{label_of(labels or {}, row)} "
                f"{self.cloud.fault}, which no correction can mend; take it out of the file first"
            )
        wide = vectors.astype(np.float32) if vectors.dtype == np.float16 else vectors
        stored = in_type(self.change.apply(wide), self.cloud.dtype)
        fits = finite_rows(widen_bfloat16(stored) if self.cloud.dtype == "bfloat16" else stored)
        if fits is not None:
            row = first_row + int(np.flatnonzero(~fits)[0])
            raise DataError(
                f"{self.location}: row {row} is too large for {self.cloud.dtype} once corrected; "
                "store the vectors in a wider type first"
            )
        self.report(first_row + len(stored))
        return stored


def in_type(rows: NDArray[Any], stored: str) -> NDArray[Any]:
    """Round once to the type of a file, bfloat16 to the nearest, ties to even."""
    if stored != "bfloat16":
        with np.errstate(over="ignore"):  # infinities are looked for afterwards
            return np.ascontiguousarray(rows, dtype=STORED_AS[stored])
    bits = np.ascontiguousarray(rows, dtype=np.float32).view(np.uint32)
    odd = (bits >> np.uint32(16)) & np.uint32(1)
    return ((bits + np.uint32(0x7FFF) + odd) >> np.uint32(16)).astype(np.uint16)


KEY = "isoscope.corrections"
"""Under this name files hold a JSON list, an object a correction, in the order of application."""


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
    mark = {"column": column, "correction": change.name, "fingerprint": change.fingerprint}
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
