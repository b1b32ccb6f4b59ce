"""JSON lines: an object a line, one of whose fields is a vector.

Written again, that field is changed and all others are kept in their order.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, BinaryIO, TypeVar, cast

import numpy as np

from isoscope.data.base import Batch, Cloud, StreamedCloud, rows_per_batch
from isoscope.data.formats.lines import bounded_lines
from isoscope.data.formats.registry import choose
from isoscope.data.location import Location, readable
from isoscope.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from isoscope.data.rewrite import Rewrite


Kept = TypeVar("Kept")

# What a line holds, for messages.
VECTOR = "one vector"

# Types of JSON numbers; a truth value is no number.
NUMBERS = frozenset((int, float))


class JsonLinesCloud(StreamedCloud):
    """The vectors of one field; other fields with a plain value are labels."""

    column: str

    def __init__(self, location: Location, column: str, first: dict[str, Any]) -> None:
        name = f"{location.stem}:{column}"
        super().__init__(location, name, None, len(first[column]), "float64")
        self.column = column
        plain = (str, int, float, bool, type(None))
        self._labels = [key for key, value in first.items() if isinstance(value, plain)]

    def read(self) -> Iterator[Batch]:
        """Yield the rows in order."""
        names = self._labels
        for first, vectors, rows in self.stretches(lambda entry: list(map(entry.get, names))):
            columns = {name: np.empty(len(rows), dtype=object) for name in names}
            for column, values in zip(columns.values(), zip(*rows, strict=True), strict=True):
                column[:] = values
            yield Batch(vectors, first, columns)

    def stretches(
        self, keep: Callable[[dict[str, Any]], Kept]
    ) -> Iterator[tuple[int, np.ndarray, list[Kept]]]:
        """Yield first row and vectors of every batch, and what is to be kept of its objects."""
        first, step = 0, rows_per_batch(self.width)
        vectors: list[np.ndarray] = []
        kept: list[Kept] = []
        with self.stream() as file:
            for row, entry in enumerate(
                objects(bounded_lines(file, self.where, VECTOR), self.where)
            ):
                vectors.append(self._vector(entry, row))
                kept.append(keep(entry))
                if len(vectors) == step:
                    yield first, np.stack(vectors), kept
                    first, vectors, kept = row + 1, [], []
        if vectors:
            yield first, np.stack(vectors), kept

    def _vector(self, entry: dict[str, Any], row: int) -> np.ndarray:
        """Return the vector of one object, or say what is wrong with it."""
        vector = entry.get(self.column)
        where = f"{self._location}: row {row}"
        if not isinstance(vector, list):
            raise DataError(f"{where} has no list in the field {self.column!r}")
        if len(vector) != self.width:
            raise DataError(f"{where} has {len(vector)} numbers, the first has {self.width}")
        if not NUMBERS.issuperset(map(type, vector)):
            raise DataError(f"{where} holds something that is not a number in {self.column!r}")
        try:
            return np.array(vector, np.float64)
        except OverflowError as error:
            raise DataError(f"{where} holds a whole number beyond float64's range") from error


def objects(lines: Iterable[bytes | str], where: str) -> Iterator[dict[str, Any]]:
    """Yield the objects of a file's lines; blank ones are passed over."""
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            entry = json.loads(line)
        except (ValueError, RecursionError) as error:  # also numbers of thousands of digits
            raise DataError(f"{where}: line {number} is not JSON") from error
        if not isinstance(entry, dict):
            raise DataError(f"{where}: line {number} is not a JSON object")
        yield entry


def open_json_lines(location: Location, column: str | None) -> Cloud:
    """Open the field of vectors of a JSON lines file, named or the only one."""
    where = str(location)
    with readable(where), location.stream() as file:
        first = next(objects(bounded_lines(file, where, VECTOR), where), None)
    if first is None:
        raise DataError(f"{where} has no rows")
    everything = {key: type(value).__name__ for key, value in first.items()}
    candidates = [key for key, value in first.items() if is_vector(value)]
    chosen = choose(column, candidates, everything, where)
    if chosen not in candidates:
        raise DataError(f"{where}: the field {chosen!r} of the first row is not a list of numbers")
    return JsonLinesCloud(location, chosen, first)


def is_vector(value: Any) -> bool:
    """Whether a JSON value is a list of numbers with something in it."""
    return isinstance(value, list) and bool(value) and NUMBERS.issuperset(map(type, value))


def write_json_lines(rewrite: Rewrite, file: BinaryIO) -> None:
    """Write an object a line; numbers have the digits that double precision needs."""
    cloud = cast("JsonLinesCloud", rewrite.cloud)
    for first, vectors, entries in cloud.stretches(lambda entry: entry):
        changed = rewrite.changed(vectors, first).tolist()
        for entry, vector in zip(entries, changed, strict=True):
            entry[cloud.column] = vector
        file.write(b"".join(line(entry) for entry in entries))


def line(entry: dict[str, Any]) -> bytes:
    """Return one object as a line of UTF-8."""
    try:
        return json.dumps(entry, ensure_ascii=False).encode() + b"\n"
    except UnicodeEncodeError:  # half of a surrogate pair, which only an escape can write down
        return json.dumps(entry).encode() + b"\n"
