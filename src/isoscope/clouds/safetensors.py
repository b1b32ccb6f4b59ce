"""``.safetensors`` files, streamed.

The header is read here by hand because the ``safetensors`` library maps the file into memory,
which a stream must not do, and gives no bfloat16 to numpy. The format is 8 bytes with the length
of a JSON header, the header, and the tensors, row-major and little-endian.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from isoscope.clouds.candidates import choose
from isoscope.clouds.checks import checked_shape
from isoscope.clouds.matrix_file import MatrixFileCloud, MatrixLayout
from isoscope.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Callable

    from isoscope.clouds.contract import Cloud, Labels
    from isoscope.clouds.location import Location

STORED = {"F16": "float16", "BF16": "bfloat16", "F32": "float32", "F64": "float64"}

LONGEST_HEADER = 100_000_000
"""The limit that the format's own library sets."""

PARAMETER = "weight"
"""How the names of a model's own matrices end, whose rows are not a sample of anything."""


def read_header(location: Location) -> tuple[dict[str, Any], int]:
    """Return the entry of each tensor and the byte at which the tensors begin."""
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
    entries.pop("__metadata__", None)
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
    cloud.population = chosen.endswith(PARAMETER)
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
