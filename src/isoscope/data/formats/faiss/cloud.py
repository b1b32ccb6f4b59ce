"""The vectors of a FAISS index file, as a child process gives them out.

faiss trusts what a file says: a forged one may corrupt the memory of the process that reads it.
Therefore a child reads it, with limits on memory and time, and this process only gets numbers.
"""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import IO, Any, Self

import numpy as np
from numpy.typing import NDArray

from isoscope.data.base import (
    NO_LABELS,
    Batch,
    Cloud,
    FileCloud,
    check_rows,
    checked_shape,
    rows_per_batch,
)
from isoscope.data.location import Location
from isoscope.errors import DataError, UsageError

# Seconds that an answer may take, and bytes of the file or the answer that earn another second.
PATIENCE = 120.0
SLOWEST = 2_000_000

# Every thread of the child would reserve address space, which is limited.
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


class FaissCloud(FileCloud):
    """The vectors of an index, in the order in which they were added, or of their ids.

    Parameters
    ----------
    location : Location
        The file.
    """

    def __init__(self, location: Location) -> None:
        self._reader = Reader(location)
        about = self._reader.about
        rows, width = checked_shape((about["rows"], about["width"]), str(location))
        super().__init__(location, location.stem, rows, width, "float32")
        self.caveat = about["caveat"]
        self._ids: NDArray[np.int64] | None = None
        if about["ids"]:
            self._ids = np.frombuffer(self._reader.ask({"ids": True}, rows * 8), np.int64)

    def __copy__(self) -> Self:
        # With the same child: an index is in memory once.
        copied = object.__new__(type(self))
        copied.__dict__.update(self.__dict__)
        return copied

    def __reduce__(self) -> tuple[Any, ...]:
        # Another process reads the file by a child of its own.
        kept = {name: value for name, value in vars(self).items() if name != "_reader"}
        return FaissCloud, (self._location,), kept

    def read(self) -> Iterator[Batch]:
        """Yield the rows in order, with their ids as labels where they have any."""
        rows, step = self.rows or 0, rows_per_batch(self.width)
        for first in range(0, rows, step):
            last = min(first + step, rows)
            vectors = self._vectors({"rows": [first, last]}, last - first)
            labels = NO_LABELS if self._ids is None else {"id": self._ids[first:last]}
            yield Batch(vectors, first, labels)

    def read_rows(self, indices: NDArray[np.int64]) -> NDArray[Any]:
        """Return some rows."""
        check_rows(indices, self.rows, self.where)
        if not len(indices):
            return np.empty((0, self.width), np.float32)
        return self._vectors({"indices": indices.tolist()}, len(indices))

    def _vectors(self, question: dict[str, Any], count: int) -> NDArray[np.float32]:
        answer = self._reader.ask(question, count * self.width * 4)
        return np.frombuffer(answer, np.float32).reshape(count, self.width)


class Reader:
    """A child process that holds an index and answers questions about it.

    Questions are lines of JSON; an answer is a line of JSON and the bytes that it announces.

    Parameters
    ----------
    location : Location
        The file; one that is elsewhere is copied first, so that the child needs no credentials.
    """

    def __init__(self, location: Location) -> None:
        self._where = str(location)
        self._lock = threading.Lock()
        self._size = location.size()
        # The modules of this process are those of the child; -P keeps the current folder out.
        path = os.pathsep.join(entry for entry in sys.path if entry)
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "isoscope.data.formats.faiss.index"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,  # what native libraries print is not meant for the user
            env={**os.environ, **ONE_THREAD, "PYTHONPATH": path},
        )
        self._finalizer = weakref.finalize(self, end, self._process)
        with local_copy(location) as file:
            question = {"file": file, "where": self._where, "size": self._size}
            self.about = self._answer(question)[0]

    def ask(self, question: dict[str, Any], size: int) -> bytearray:
        """Return the bytes of an answer, which must be as many as expected."""
        with self._lock:
            return self._answer(question, size)[1]

    def _answer(self, question: dict[str, Any], size: int = 0) -> tuple[Any, bytearray]:
        """Put a question, and wait for its answer as long as its size allows."""
        limit = PATIENCE + (self._size + size) / SLOWEST
        late = threading.Event()

        def stop() -> None:
            late.set()
            self._process.kill()

        timer = threading.Timer(limit, stop)
        timer.daemon = True
        timer.start()
        try:
            assert self._process.stdin is not None
            assert self._process.stdout is not None
            with suppress(BrokenPipeError):  # a child that has ended is noticed below
                self._process.stdin.write(json.dumps(question).encode() + b"\n")
                self._process.stdin.flush()
            line = self._process.stdout.readline()
            if not line:
                raise self._ended(limit, timed_out=late.is_set())
            answer = json.loads(line)
            if "error" in answer:
                kind = DataError if answer["kind"] == DataError.__name__ else UsageError
                raise kind(answer["error"])
            content = bytearray(size)
            if not filled(self._process.stdout, content):
                raise self._ended(limit, timed_out=late.is_set())
        except BaseException:
            self._finalizer()
            raise
        finally:
            timer.cancel()
        return answer, content

    def _ended(self, limit: float, *, timed_out: bool) -> DataError:
        """Say why there is no answer."""
        code = self._process.wait()
        if timed_out:
            why = f"faiss took longer than {limit:,.0f} seconds"
        elif code < 0:
            why = f"faiss crashed ({signal.Signals(-code).name})"
        else:
            why = f"faiss ended with exit code {code}"
        return DataError(f"{self._where} cannot be read: {why}; the file is damaged or forged")


def filled(file: IO[bytes], content: bytearray) -> bool:
    """Fill a buffer from a pipe; False where the pipe ends before."""
    view, position = memoryview(content), 0
    while position < len(view):
        read = file.readinto(view[position:])  # type: ignore[attr-defined]
        if not read:
            return False
        position += read
    return True


def end(process: subprocess.Popen[bytes]) -> None:
    """End a child that nobody asks any more."""
    process.kill()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with suppress(OSError):
                pipe.close()
    process.wait()


@contextmanager
def local_copy(location: Location) -> Iterator[str]:
    """Give out the path of a file, or of a temporary copy of one that is elsewhere."""
    if not location.is_remote:
        yield str(location.path.absolute())
        return
    with tempfile.NamedTemporaryFile(prefix="isoscope-") as copy, location.open() as file:
        shutil.copyfileobj(file, copy, 1 << 20)
        copy.flush()
        yield copy.name


def open_faiss(location: Location) -> Cloud:
    """Open an index file."""
    if importlib.util.find_spec("faiss") is None:
        raise UsageError(
            f"{location} needs faiss, which is not installed; pip install 'isoscope[search]'"
        )
    return FaissCloud(location)
