"""One file of vectors under their keys, every part of it checked before it is believed.

It has a line of JSON (rows, width, type, SHA-256 of the index), the index (the keys, then the
CRC-32 of every vector), and the vectors. So the vectors of a few keys are read without the others.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from isoscope.typing import Keys

    Vectors = NDArray[np.floating[Any]]

FORMAT = "isoscope vectors 1"
KEY_BYTES = 32
CHECK_BYTES = 4
LONGEST_HEADER = 1_000
TYPES = ("<f4", "<f8")


class DamagedFileError(ValueError):
    """What a file holds is not what was written."""


def file_bytes(keys: Keys, vectors: Vectors) -> bytes:
    """Return the content of a file."""
    kind = TYPES[vectors.dtype.itemsize == 8]
    rows = np.ascontiguousarray(vectors, dtype=kind)
    checks = np.array([zlib.crc32(row.data) for row in rows], dtype="<u4")
    index = np.ascontiguousarray(keys, np.uint8).tobytes() + checks.tobytes()
    header = {
        "format": FORMAT,
        "rows": len(rows),
        "width": rows.shape[1],
        "dtype": kind,
        "sha256": hashlib.sha256(index).hexdigest(),
    }
    return json.dumps(header).encode() + b"\n" + index + rows.tobytes()


class VectorFile:
    """A file that ``file_bytes`` made, or what is left of it."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def lookup(self, keys: Keys) -> tuple[NDArray[np.int64], Vectors]:
        """Return which of the keys have a vector here, and these vectors.

        Anything that is not as it was written raises ``DamagedFileError``.
        """
        with self._path.open("rb") as file:
            line = file.readline(LONGEST_HEADER)
            rows, width, kind, digest = self._parsed(line)
            index = file.read(rows * (KEY_BYTES + CHECK_BYTES))
            if hashlib.sha256(index).hexdigest() != digest:
                raise DamagedFileError(f"{self._path}: the index is damaged")
            held = np.frombuffer(index, f"V{KEY_BYTES}", rows).tolist()
            places = {key: row for row, key in enumerate(held)}
            asked = [places.get(key.tobytes(), -1) for key in keys]
            known = np.array([k for k, row in enumerate(asked) if row >= 0], np.int64)
            wanted = np.array([row for row in asked if row >= 0], np.int64)
            if not len(wanted):
                return known, np.empty((0, width), kind)
            first, last = int(wanted.min()), int(wanted.max()) + 1
            size = width * np.dtype(kind).itemsize
            file.seek(len(line) + len(index) + first * size)
            content = file.read((last - first) * size)
        if len(content) != (last - first) * size:
            raise DamagedFileError(f"{self._path} is cut off")
        checks = np.frombuffer(index, "<u4", rows, offset=rows * KEY_BYTES)
        found = np.frombuffer(content, kind).reshape(-1, width)[wanted - first]
        for row, vector in zip(wanted, found, strict=True):
            if zlib.crc32(vector.data) != checks[row]:
                raise DamagedFileError(f"{self._path}: vector {row} is damaged")
        return known, found

    def _parsed(self, line: bytes) -> tuple[int, int, str, str]:
        try:
            header = json.loads(line)
            rows, width = header["rows"], header["width"]
            kind, digest = header["dtype"], header["sha256"]
            good = header["format"] == FORMAT and kind in TYPES
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise DamagedFileError(f"{self._path} has no header") from error
        size = self._path.stat().st_size
        if not (good and type(rows) is int and type(width) is int and 0 < rows <= size):
            raise DamagedFileError(f"{self._path} has a header that is none")
        expected = len(line) + rows * (KEY_BYTES + CHECK_BYTES + width * np.dtype(kind).itemsize)
        if width < 1 or size != expected:
            raise DamagedFileError(f"{self._path} is not as long as its header says")
        return rows, width, kind, str(digest)
