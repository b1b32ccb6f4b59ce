"""What every source of vectors looks like to the rest of isoscope.

A *cloud* is n vectors of one width. Several clouds that are read together, such as the layers of
a model in one forward pass, are a *cloud group*; a single cloud is a group of one. Everything to
the right of this package sees batches only, so that n never has to fit into memory.

A group is read by several workers in *shards*. A cut follows from the source alone, never from who
reads it: shards are whole batches, and their batches, one after the other, are those of the group.
"""

from __future__ import annotations

import copy
import hashlib
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, BinaryIO, Literal, NamedTuple, Protocol, Self, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import DTypeLike, NDArray

from isoscope.data.location import Location, steady
from isoscope.errors import DataError, UsageError


def checked_shape(shape: Sequence[int], where: str, fewest: int = 2) -> tuple[int, int]:
    """Return (rows, width) of a two-dimensional, non-empty array, or say what is wrong with it."""
    if len(shape) != 2:
        raise DataError(
            f"{where} is {len(shape)}-dimensional, shape {tuple(shape)}; "
            "a cloud has two dimensions: one row per vector"
        )
    rows, width = int(shape[0]), int(shape[1])
    if width == 0:
        raise DataError(f"{where} has shape ({rows}, 0): vectors without dimensions")
    if rows == 0:
        raise DataError(f"{where} has shape (0, {width}): there are no vectors in it")
    if rows < fewest:
        raise DataError(
            f"{where} holds a single vector; how evenly a space is filled needs at least two"
        )
    return rows, width


def check_rows(indices: NDArray[np.int64], rows: int | None, where: str) -> None:
    """Refuse rows that are not sorted, not different, or not there."""
    if len(indices) and (
        indices[0] < 0 or (rows is not None and indices[-1] >= rows) or (np.diff(indices) < 1).any()
    ):
        raise UsageError(f"{where}: rows to read must be sorted, distinct, and from 0 to rows − 1")


def stored_type(dtype: DTypeLike, where: str) -> str:
    """Name the floating type behind a numpy dtype, or refuse it.

    numpy has no bfloat16: files written from ``ml_dtypes`` carry it as two bytes of ``void``.
    """
    kind = np.dtype(dtype)
    if kind.name in EPSILON:
        return kind.name
    if kind.kind == "V" and kind.itemsize == 2 and kind.names is None:
        return "bfloat16"
    if kind.hasobject:
        raise DataError(
            f"{where} holds Python objects (which are never unpickled), not numbers; "
            "make one plain float array of the vectors"
        )
    raise DataError(
        f"{where} holds {kind.name}; vectors are float16, bfloat16, float32 or float64 "
        "(numpy: array.astype('float32'))"
    )


def is_cloud(shape: Sequence[int], dtype: DTypeLike) -> bool:
    """Whether an array could be meant as a cloud."""
    try:
        stored_type(dtype, "")
    except DataError:
        return False
    return len(shape) == 2 and shape[0] > 0 and shape[1] > 0


def widen_bfloat16(bits: np.ndarray) -> np.ndarray:
    """Turn the bits of bfloat16 into float32: its upper half, so a shift is exact."""
    wide = bits.astype(np.uint32)
    np.left_shift(wide, 16, out=wide)
    return wide.view(np.float32)


# A two-dimensional numpy array or torch tensor.
Array: TypeAlias = Any

Labels: TypeAlias = Mapping[str, NDArray[Any]]

# What becomes of a run with a file or a shard that cannot be read.
OnError: TypeAlias = Literal["stop", "skip"]

# Distance from 1 to the next number, for each dtype in which vectors may be stored.
EPSILON = {
    "float16": 2.0**-10,
    "bfloat16": 2.0**-7,
    "float32": 2.0**-23,
    "float64": 2.0**-52,
}

# Numbers in one batch: 2,048 rows of 768. Large enough for BLAS, small enough for the cache.
BATCH_ELEMENTS = 1_572_864


class Batch(NamedTuple):
    """Consecutive rows of a cloud.

    A batch is never written to again by the source that gave it out: several may be in flight.
    """

    vectors: Array
    first_row: int
    labels: Labels
    nulls: NDArray[np.bool_] | None = None
    """Rows that are null or hold a null number, where the source can tell: NaN stands for these."""
    squares: NDArray[np.float64] | None = None
    """‖x‖² of every row in the type of the rows, where the look for NaN has summed them already."""


@runtime_checkable
class CloudGroup(Protocol):
    """Clouds that are read together, batch by batch, in the same order every time."""

    @property
    def names(self) -> tuple[str, ...]:
        """Name of each cloud."""

    @property
    def widths(self) -> tuple[int, ...]:
        """Number of dimensions of each cloud."""

    @property
    def dtypes(self) -> tuple[str, ...]:
        """Name of the type in which each cloud is stored, a key of ``EPSILON``."""

    @property
    def rows(self) -> int | None:
        """Number of rows, or None when only reading tells."""

    def batches(self) -> Iterator[Mapping[str, Batch]]:
        """Read from the start. May be called any number of times."""


class Cloud(ABC):
    """n vectors of one width: a cloud group of one.

    Parameters
    ----------
    name : str
        What results call the cloud.
    rows : int or None
        Number of vectors; None when only reading tells.
    width : int
        Number of dimensions.
    dtype : str
        Type in which the vectors are stored, a key of ``EPSILON``.
    """

    population = False
    """Whether the rows are all there are, such as a vocabulary: then a number has no error."""
    column: str | None = None
    """Which array of its file this is, where a file may hold several."""
    caveat = ""
    """What a reader of numbers about the cloud must know, such as that its codes are lossy."""
    fault = "holds NaN or an infinity"
    """What is wrong with a row that is not finite, for messages."""
    invalid = "not finite"
    """The same as a reason for leaving rows out."""
    nullable = False
    """Whether a row may be null, which is NaN where single rows are read."""
    start = 0
    """Row of its file that is row 0 here: only a piece of a cloud begins further on."""
    portable = True
    """Whether other processes can read it."""

    def __init__(self, name: str, rows: int | None, width: int, dtype: str) -> None:
        self.name = name
        self.rows = rows
        self.width = width
        self.dtype = dtype

    @property
    def names(self) -> tuple[str, ...]:
        """Name of the cloud, as a group of one."""
        return (self.name,)

    @property
    def widths(self) -> tuple[int, ...]:
        """Number of dimensions, as a group of one."""
        return (self.width,)

    @property
    def dtypes(self) -> tuple[str, ...]:
        """Stored type, as a group of one."""
        return (self.dtype,)

    @property
    def where(self) -> str:
        """Where the vectors are, for messages: the file, where there is one."""
        return self.name

    @property
    def location(self) -> Location | None:
        """The file that the vectors are in; None where they are elsewhere, or in several."""
        return None

    def place(self, name: str, row: int) -> str:
        """Say where a row is, for messages; a group of one knows which cloud is meant."""
        del name
        return f"{self.where}: row {self.start + row}"

    def batches(self) -> Iterator[Mapping[str, Batch]]:
        """Read from the start, one batch after the other."""
        for batch in self.read():
            yield {self.name: batch}

    @abstractmethod
    def read(self) -> Iterator[Batch]:
        """Yield the batches of this cloud from its first row on."""

    def read_rows(self, indices: NDArray[np.int64]) -> Array | None:
        """Return some rows without reading the rest, or None where that cannot be done.

        Parameters
        ----------
        indices : array of int64
            Rows to read, sorted, each once.

        Returns
        -------
        array or None
            The same rows, in the same type, as a read of everything gives; None where rows can
            only be found by reading those before them, as in text or compressed files.
        """
        del indices
        return None

    def cut(self, rows: int) -> Sequence[Cloud]:
        """Return pieces that are read by themselves; the cloud where it can only be read whole.

        The batches of the pieces, one after the other, are those of the cloud, but rows are
        numbered from 0 within each piece.

        Parameters
        ----------
        rows : int
            Rows of a piece at most, a multiple of ``rows_per_batch(width)``. A file that is read
            in stretches of its own, such as Parquet's row groups, is cut between them only.
        """
        del rows
        return (self,)

    def shards(self, rows: int | None) -> list[Shard]:
        """Cut into shards; see ``shards_of``."""
        return cut_clouds({self.name: self}, rows, lambda _, piece: piece)

    def identity(self) -> Any:
        """Return what tells this source from another; see ``identity_of``."""
        if self.location is None:
            return described(self)
        return {**self.location.identity(), "column": self.column}

    def _even_pieces(self, rows: int) -> Iterator[tuple[Self, int, int]]:
        """Yield a copy for every ``rows`` rows, its first row, and the one behind its last.

        What the copy reads is left to whoever knows how the rows are stored.
        """
        count = self.rows or 0
        for first in range(0, count, rows):
            last = min(first + rows, count)
            piece = copy.copy(self)
            piece.rows, piece.start = last - first, self.start + first
            yield piece, first, last

    def __repr__(self) -> str:
        rows = "?" if self.rows is None else f"{self.rows:,}"
        return f"<{type(self).__name__} {self.name!r}: {rows} × {self.width} {self.dtype}>"


class FileCloud(Cloud):
    """A cloud in one file."""

    def __init__(
        self, location: Location, name: str, rows: int | None, width: int, dtype: str
    ) -> None:
        super().__init__(name, rows, width, dtype)
        self._location = location

    @property
    def where(self) -> str:
        """The file."""
        return str(self._location)

    @property
    def location(self) -> Location:
        """The file."""
        return self._location


class StreamedCloud(FileCloud):
    """A cloud in a file that is read from front to back, compressed or not."""

    def __init__(
        self, location: Location, name: str, rows: int | None, width: int, dtype: str
    ) -> None:
        super().__init__(location, name, rows, width, dtype)
        self._size = location.size()

    @contextmanager
    def stream(self) -> Iterator[BinaryIO]:
        """Open the file, and make sure that it is still the one that was opened before."""
        with steady(self._location, self._size), self._location.stream() as file:
            yield file


class LazyLabels(Mapping[str, NDArray[Any]]):
    """Labels that are made when somebody asks for them, as most readers never do."""

    def __init__(self, makers: Mapping[str, Callable[[], NDArray[Any]]]) -> None:
        self._makers = makers

    def __getitem__(self, key: str) -> NDArray[Any]:
        return self._makers[key]()

    def __iter__(self) -> Iterator[str]:
        return iter(self._makers)

    def __len__(self) -> int:
        return len(self._makers)


NO_LABELS: Labels = {}


def rows_per_batch(width: int) -> int:
    """Rows of this width that make a batch of ``BATCH_ELEMENTS``, within sensible bounds."""
    # Of very wide vectors fewer than 128 rows would make products too thin to be fast; of very
    # narrow ones more than 4,096 would make one batch of a whole small cloud.
    return int(np.clip(BATCH_ELEMENTS // max(width, 1), 128, 4_096))


class WrappedGroup:
    """What a group says of its clouds, passed on; how they are read is up to the wrapper."""

    def __init__(self, group: CloudGroup) -> None:
        self._group = group
        self.names, self.widths, self.dtypes = group.names, group.widths, group.dtypes
        self.portable = is_portable(group)
        self.fault: str = getattr(group, "fault", Cloud.fault)
        self.invalid: str = getattr(group, "invalid", Cloud.invalid)

    @property
    def rows(self) -> int | None:
        """Number of rows before anything is left out, which is what progress counts."""
        return self._group.rows

    def place(self, name: str, row: int) -> str:
        """Say where a row is, for messages."""
        below = getattr(self._group, "place", None)
        return f"{name}: row {row}" if below is None else str(below(name, row))


# How numbers of each stored type are held; numpy has no bfloat16, so that is its bits.
STORED_AS: dict[str, np.dtype[Any]] = {
    "float16": np.dtype(np.float16),
    "bfloat16": np.dtype(np.uint16),
    "float32": np.dtype(np.float32),
    "float64": np.dtype(np.float64),
}

# Batches of a shard: some hundred megabytes, which are read again soon when a worker dies.
SHARD_BATCHES = 64

# Bits for the rows of a shard where nobody has counted those before it: a million million rows a
# shard, and room for eight million shards in 64 bits with a sign.
UNCOUNTED = 40


@dataclass(frozen=True)
class Shard:
    """A part of a cloud group that is read by itself; one of files can be pickled."""

    name: str
    """The file, and which of its rows where it has several shards."""
    base: int
    """Added to the row numbers of its batches, which count from 0: no two rows of a cloud share
    one then. Where all rows before are counted, they are numbered as in the whole."""
    group: CloudGroup


def shards_of(group: CloudGroup, rows: int | None = None) -> list[Shard]:
    """Cut a group into shards.

    Parameters
    ----------
    group : CloudGroup
        What is to be read. Files that can only be read from front to back stay whole, as does
        what is not in files or arrays.
    rows : int, optional
        Rows of a shard at most, rounded down to whole batches, of which it has at least one; by
        default those of 64 batches. Row groups of Parquet and record batches of Arrow stay whole.

    Returns
    -------
    list of Shard
        In the order of the rows. Those of several parts have one part each, and number its rows.
    """
    cut = getattr(group, "shards", None)
    if cut is not None:
        return list(cut(rows))
    return [Shard(" to ".join(dict.fromkeys((group.names[0], group.names[-1]))), 0, group)]


def cut_clouds(
    clouds: Mapping[str, Cloud], rows: int | None, read: Callable[[str, Cloud], CloudGroup]
) -> list[Shard]:
    """Cut clouds that are read one by one; ``read`` makes a group of a piece of one of them."""
    shards: list[Shard] = []
    for part, cloud in clouds.items():
        pieces = cloud.cut(whole_batches(rows, cloud.width))
        before: int | None = 0
        for name, piece in zip(names_of(pieces), pieces, strict=True):
            # Behind a shard of unknown size, the shard's own number in the upper bits keeps row
            # numbers, and with them samples and blocks, apart.
            base = len(shards) << UNCOUNTED if before is None else before
            shards.append(Shard(name, base, read(part, piece)))
            before = None if before is None or piece.rows is None else before + piece.rows
    return shards


def whole_batches(rows: int | None, width: int) -> int:
    """Return the rows of a shard."""
    step = rows_per_batch(width)
    # Whole batches, so that batches are the same however a source is cut: the order of additions
    # within a batch is BLAS's own.
    return step * (SHARD_BATCHES if rows is None else max(rows // step, 1))


def names_of(pieces: Sequence[Cloud]) -> list[str]:
    """Name pieces by their files, and by their rows where several are of one file."""
    files = [str(piece.location or piece.where) for piece in pieces]
    counts = Counter(files)
    names = []
    for file, piece in zip(files, pieces, strict=True):
        last = piece.start + (piece.rows or 0) - 1
        names.append(file if counts[file] == 1 else f"{file}, rows {piece.start:,} to {last:,}")
    return names


def total_rows(counts: Iterable[int | None]) -> int | None:
    """Add numbers of rows up; None where one of them is not known."""
    total = 0
    for count in counts:
        if count is None:
            return None
        total += count
    return total


def is_portable(source: CloudGroup) -> bool:
    """Whether other processes can read a source."""
    return bool(getattr(source, "portable", True))


def identity_of(source: Any) -> Any:
    """Return what tells whether a source is still the one that a run began with.

    A journal compares it. Of a file these are its address, size and time of change; of arrays, and
    of texts that are in no file, a digest; of anything else what it says of itself.

    Parameters
    ----------
    source : CloudGroup or TextSource
        Where vectors or texts come from.

    Returns
    -------
    dict or list
        Such as JSON holds.
    """
    own = getattr(source, "identity", None)
    return described(source) if own is None else own()


def described(group: CloudGroup) -> dict[str, Any]:
    """Return what a group says of its clouds."""
    return {
        "names": list(group.names),
        "widths": list(group.widths),
        "dtypes": list(group.dtypes),
        "rows": group.rows,
    }


def add_text(digest: Any, text: str, errors: str = "strict") -> None:
    """Add a text to a digest behind its length, which keeps "ab", "c" apart from "a", "bc"."""
    content = text.encode("utf-8", errors)
    digest.update(b"%d\n" % len(content))
    digest.update(content)


def digest_of_labels(labels: Labels) -> str:
    """Return the SHA-256 of labels, which may be anything that can be printed."""
    digest = hashlib.sha256()
    for key in sorted(labels):
        for text in (key, *map(str, labels[key].tolist())):
            add_text(digest, text, "surrogatepass")
    return digest.hexdigest()
