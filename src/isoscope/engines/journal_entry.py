"""One step of a journal as a file: arrays and facts under a checksum over every byte.

The file is a valid ``.safetensors`` file, written and read here by hand so that a state of a
gigabyte is never copied. The checksum stands at a fixed place in the header, and is the SHA-256 of
the whole file with zeros in that place.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from isoscope.data.formats.safetensors import METADATA
from isoscope.data.location import readable
from isoscope.data.output import atomic_file
from isoscope.errors import DataError, UsageError

if TYPE_CHECKING:
    from pathlib import Path


STORED = {
    "float64": "F64", "float32": "F32", "float16": "F16", "bool": "BOOL",
    "int64": "I64", "int32": "I32", "int16": "I16", "int8": "I8",
    "uint64": "U64", "uint32": "U32", "uint16": "U16", "uint8": "U8",
}  # fmt: skip
"""Types that a journal keeps, by numpy's and by the format's name."""

FORMAT_VERSION = 1
BEGINNING = b'{"' + METADATA.encode() + b'":{"sha256":"'
"""What stands before the checksum in every header."""

ZEROS = b"0" * 64
ALIGNMENT = 8
"""The header is filled up with spaces so that the first array starts at such a byte."""

PIECE = 1 << 20
"""Bytes read at a time for the checksum."""


@dataclass(frozen=True)
class Entry:
    """What a step has come to."""

    step: str
    arrays: Mapping[str, NDArray[Any]]
    facts: Mapping[str, Any] = field(default_factory=dict)
    """Anything that JSON holds; keys are strings."""
    finished: bool = True
    """False for a state on the way."""


def write_entry(path: Path, entry: Entry) -> None:
    """Write an entry: a run that is killed leaves the old file or the new one."""
    stored = {name: as_stored(name, array) for name, array in entry.arrays.items()}
    header = header_of(entry, stored)
    start = len(BEGINNING)
    digest = hashlib.sha256(len(header).to_bytes(8, "little") + header)
    for array in stored.values():
        digest.update(raw(array))
    checksum = digest.hexdigest().encode()
    with atomic_file(path) as file:
        file.write(len(header).to_bytes(8, "little"))
        file.write(header[:start] + checksum + header[start + len(ZEROS) :])
        for array in stored.values():
            file.write(raw(array))


def header_of(entry: Entry, stored: Mapping[str, NDArray[Any]]) -> bytes:
    """Return the header with zeros for a checksum."""
    about = {
        "format_version": FORMAT_VERSION,
        "step": entry.step,
        "finished": entry.finished,
        "facts": dict(entry.facts),
    }
    header: dict[str, Any] = {METADATA: {"sha256": ZEROS.decode(), "journal": json.dumps(about)}}
    position = 0
    for name, array in stored.items():
        header[name] = {
            "dtype": STORED[array.dtype.name],
            "shape": list(array.shape),
            "data_offsets": [position, position + array.nbytes],
        }
        position += array.nbytes
    text = json.dumps(header, separators=(",", ":")).encode()
    return text + b" " * (-len(text) % ALIGNMENT)


def as_stored(name: str, array: NDArray[Any]) -> NDArray[Any]:
    """Return an array as it lies in the file, row by row and little-endian."""
    if array.dtype.name not in STORED:
        raise UsageError(f"the array {name} is {array.dtype}, which a journal does not keep")
    if name == METADATA:
        raise UsageError(f"an array of a journal cannot be called {name}")
    return np.asarray(array, array.dtype.newbyteorder("<"), order="C")


def raw(array: NDArray[Any]) -> memoryview:
    """Return the bytes of an array, without a copy."""
    return array.reshape(-1).view(np.uint8).data


def read_entry(path: Path) -> Entry:
    """Read an entry whole, or say which file to delete."""
    with readable(str(path)), path.open("rb") as file:
        header, about = checked_header(path, file)
        start, arrays = file.tell(), {}
        for name, description in header.items():
            kind = np.dtype(NUMPY_NAMES[description["dtype"]]).newbyteorder("<")
            begin, end = description["data_offsets"]
            content = np.empty(end - begin, np.uint8)
            file.seek(start + begin)
            if file.readinto(content.data) != len(content):
                raise damaged(path)
            array = content.view(kind).reshape(description["shape"])
            arrays[name] = array.astype(kind.newbyteorder("="), copy=False)
    return Entry(about["step"], arrays, about["facts"], about["finished"])


def read_about(path: Path) -> dict[str, Any]:
    """Check an entry whole, but return only what it says of its step."""
    with readable(str(path)), path.open("rb") as file:
        return checked_header(path, file)[1]


def checked_header(path: Path, file: BinaryIO) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the arrays' descriptions and the step's; the file then stands at the first array.

    The checksum comes first: behind it, everything is as ``write_entry`` left it.
    """
    length = int.from_bytes(file.read(8), "little")
    if length > path.stat().st_size:
        raise damaged(path)
    header = file.read(length)
    start, end = len(BEGINNING), len(BEGINNING) + len(ZEROS)
    digest = hashlib.sha256(length.to_bytes(8, "little") + header[:start] + ZEROS + header[end:])
    while piece := file.read(PIECE):
        digest.update(piece)
    if header[start:end] != digest.hexdigest().encode():
        raise damaged(path)
    entries = json.loads(header)
    about = json.loads(entries.pop(METADATA)["journal"])
    if about["format_version"] != FORMAT_VERSION:
        raise DataError(
            f"{path} has format {about['format_version']} of a journal, and this isoscope reads "
            f"{FORMAT_VERSION}; delete it, and --resume takes that step again"
        )
    file.seek(8 + length)
    return entries, about


def damaged(path: Path) -> DataError:
    """Say that a file is not what was written, and what to do."""
    return DataError(
        f"{path} was changed or damaged: its checksum does not match; delete it, and --resume "
        "takes that step again"
    )


NUMPY_NAMES = {stored: name for name, stored in STORED.items()}
