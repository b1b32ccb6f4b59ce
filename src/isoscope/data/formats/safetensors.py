"""``.safetensors`` files, streamed.

The header is read here by hand because the ``safetensors`` library maps the file into memory,
which a stream must not do, and gives no bfloat16 to numpy. The format is 8 bytes with the length
of a JSON header, the header, and the tensors, row-major and little-endian. Written again, one
tensor is changed, and all others and the metadata are copied.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, BinaryIO

from isoscope.data.base import Cloud, Labels, checked_shape
from isoscope.data.formats.matrix import MatrixFileCloud, MatrixLayout
from isoscope.data.formats.registry import KEY, choose
from isoscope.data.location import Location, readable
from isoscope.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Callable

    from isoscope.data.rewrite import Rewrite


STORED = {"F16": "float16", "BF16": "bfloat16", "F32": "float32", "F64": "float64"}

# The limit that the format's own library sets.
LONGEST_HEADER = 100_000_000

# Name of the entry that is no tensor but text by name.
METADATA = "__metadata__"

# How the names of a model's own matrices end, whose rows are not a sample of anything.
PARAMETER = "weight"


def read_header(location: Location) -> tuple[dict[str, Any], int]:
    """Return the entry of each tensor and the byte at which the tensors begin."""
    entries, start = read_whole_header(location)
    entries.pop(METADATA, None)
    return entries, start


def read_whole_header(location: Location) -> tuple[dict[str, Any], int]:
    """Return the header as it stands, metadata included, and the byte behind it."""
    size = location.size()
    with location.open() as file:
        length = int.from_bytes(file.read(8), "little")
        if size < 8 or length > min(size - 8, LONGEST_HEADER):
            raise DataError(
                f"{location} is not a whole .safetensors file: it is {size:,} bytes long, too "
                "short for the header that it announces"
            )
        try:
            entries = json.loads(file.read(length))
        except (ValueError, RecursionError) as error:
            raise DataError(
                f"{location} is not a .safetensors file: its header is not JSON"
            ) from error
    if not isinstance(entries, dict):
        raise DataError(f"{location} is not a .safetensors file: its header is not a JSON object")
    return entries, 8 + length


def tensor_layout(entry: Any, where: str) -> tuple[MatrixLayout, int, int]:
    """Check one header entry: its layout and its first and last byte among the tensors."""
    entry = entry if isinstance(entry, dict) else {}
    offsets, shape, kind = (entry.get(key) for key in ("data_offsets", "shape", "dtype"))
    if not (whole_numbers(offsets) and len(offsets) == 2 and whole_numbers(shape)):
        raise DataError(f"{where} has a malformed header entry")
    if not isinstance(kind, str) or kind not in STORED:
        raise DataError(f"{where} holds {kind}; vectors are F16, BF16, F32 or F64")
    begin, end = offsets
    rows, width = checked_shape(shape, where)
    layout = MatrixLayout(rows, width, STORED[kind])
    if end - begin != layout.bytes:
        raise DataError(
            f"{where}: its header promises {rows:,} × {width:,} {layout.stored} "
            f"({layout.bytes:,} bytes), but sets {end - begin:,} bytes aside"
        )
    return layout, begin, end


def whole_numbers(value: Any) -> bool:
    """Whether a JSON value is a list of whole numbers, none below zero."""
    return isinstance(value, list) and all(type(v) is int and v >= 0 for v in value)


def open_safetensors(
    location: Location,
    column: str | None,
    name: str | None = None,
    labeller: Callable[[int, int], Labels] | None = None,
) -> Cloud:
    """Open one tensor of a ``.safetensors`` file."""
    entries, start = read_header(location)
    everything = {key: describe(entry) for key, entry in entries.items()}
    candidates = [key for key, entry in entries.items() if is_matrix(entry)]
    chosen = choose(column, candidates, everything, str(location))
    layout, begin, end = tensor_layout(entries[chosen], f"{location}:{chosen}")
    present = location.size() - start
    if end > present:
        raise DataError(
            f"{location}: its header promises {end:,} bytes of tensors, but {present:,} follow: "
            "the file is truncated"
        )
    named = name or f"{location.stem}:{chosen}"
    cloud = MatrixFileCloud(location, layout, start + begin, named, labeller)
    cloud.column, cloud.population = chosen, chosen.endswith(PARAMETER)
    return cloud


def is_matrix(entry: Any) -> bool:
    """Whether an entry describes a two-dimensional floating tensor with something in it."""
    if not isinstance(entry, dict) or not whole_numbers(entry.get("shape")):
        return False
    shape, kind = entry["shape"], entry.get("dtype")
    return len(shape) == 2 and isinstance(kind, str) and kind in STORED and min(shape) > 0


def describe(entry: Any) -> str:
    """Describe an entry in a few characters for a message."""
    if not isinstance(entry, dict) or not isinstance(entry.get("shape"), list):
        return "malformed"
    return f"{entry.get('dtype')} {tuple(entry['shape'])}"


# The header is filled up with spaces so that the first tensor starts at such a byte.
ALIGNMENT = 8

# Bytes copied at a time.
PIECE = 1 << 20


def safetensors_mark(location: Location) -> str | None:
    """Return what the file says of its corrections."""
    with readable(str(location)):
        mark = metadata_of(read_whole_header(location)[0]).get(KEY)
    return mark if mark is None else str(mark)


def metadata_of(header: dict[str, Any]) -> dict[str, Any]:
    """Take the metadata out of a header."""
    metadata = header.pop(METADATA, None)
    return metadata if isinstance(metadata, dict) else {}


def write_safetensors(rewrite: Rewrite, file: BinaryIO) -> None:
    """Write all tensors in the order in which they lie in the file."""
    location, change = rewrite.location, rewrite.change
    with readable(str(location)), location.open() as source:
        entries, start = read_whole_header(location)
        metadata = metadata_of(entries)
        order = sorted(entries, key=lambda name: begin_of(entries[name], f"{location}:{name}"))
        header: dict[str, Any] = {METADATA: {**metadata, KEY: rewrite.mark}}
        position = 0
        for name in order:
            begin, end = entries[name]["data_offsets"]
            entry, size = entries[name], end - begin
            if name == rewrite.cloud.column:
                entry = {**entry, "shape": [entry["shape"][0], change.new_width]}
                size = size // change.width * change.new_width
            header[name] = {**entry, "data_offsets": [position, position + size]}
            position += size
        write_header(header, file)
        for name in order:
            if name == rewrite.cloud.column:
                for batch in rewrite.batches():
                    file.write(batch.vectors.data)
            else:
                begin, end = entries[name]["data_offsets"]
                source.seek(start + begin)
                copy_bytes(source, file, end - begin, str(location))


def begin_of(entry: Any, where: str) -> int:
    """Return the first byte of a tensor, for sorting, or refuse a damaged entry."""
    offsets: Any = entry.get("data_offsets") if isinstance(entry, dict) else None
    if not whole_numbers(offsets) or len(offsets) != 2 or offsets[0] > offsets[1]:
        raise DataError(f"{where} has a malformed header entry")
    begin: int = offsets[0]
    return begin


def aligned(header: str) -> bytes:
    """Fill a header up with spaces so that the first tensor starts at a whole number of words."""
    try:
        text = header.encode()
    except UnicodeEncodeError as error:  # JSON may write half of a pair of surrogates as an escape
        raise DataError("the header of a tensor file holds text that is not Unicode") from error
    return text + b" " * (-len(text) % ALIGNMENT)


def write_header(header: dict[str, Any], file: BinaryIO) -> None:
    """Write the header behind its length."""
    text = aligned(json.dumps(header, separators=(",", ":"), ensure_ascii=False))
    file.write(len(text).to_bytes(8, "little") + text)


def copy_bytes(source: BinaryIO, target: BinaryIO, count: int, where: str) -> None:
    """Copy so many bytes from where a file stands."""
    while count:
        piece = source.read(min(PIECE, count))
        if not piece:
            raise DataError(f"{where} ends early: {count:,} bytes are missing")
        target.write(piece)
        count -= len(piece)
