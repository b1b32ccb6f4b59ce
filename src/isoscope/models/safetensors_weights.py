"""Single tensors out of ``.safetensors`` files."""

from __future__ import annotations

import math
import os
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.data.formats.matrix import MatrixFileCloud, MatrixLayout, fill
from isoscope.data.formats.safetensors import STORED, read_header, tensor_layout, whole_numbers
from isoscope.data.location import Location
from isoscope.errors import DataError
from isoscope.models.weight_files import PIECE, WeightFiles, check_present, places

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from isoscope.data.base import Cloud
    from isoscope.models.stored_names import Shape


class SafetensorsFiles(WeightFiles):
    """One ``.safetensors`` file, or several with an index; of each only what is asked for."""

    def __init__(self, folder: Path, model: str) -> None:
        self._model = model
        self._files = {}
        for path, names in places(folder, model).items():
            held = names or tuple(read_header(Location(str(path)))[0])
            self._files.update(dict.fromkeys(held, path))
        self._headers = cache(lambda path: read_header(Location(str(path))))

    @property
    def names(self) -> tuple[str, ...]:
        """All stored names."""
        return tuple(self._files)

    def shape(self, name: str) -> Shape:
        """Return the shape of a tensor."""
        return tuple(self._entry(name)[0]["shape"])

    def array(self, name: str) -> np.ndarray:
        """Read a tensor; half precision becomes single."""
        entry, location, first, last = self._entry(name)
        kind = STORED.get(str(entry.get("dtype")))
        if kind is None:
            raise DataError(f"{location}:{name} holds {entry.get('dtype')}, not floating numbers")
        layout = MatrixLayout(1, math.prod(entry["shape"]), kind)
        if last - first != layout.bytes:
            raise DataError(f"{location}:{name} has a malformed header entry")
        raw = np.empty(layout.width, layout.dtype)
        with location.open() as file:
            file.seek(first, os.SEEK_SET)
            fill(file, raw, str(location))
        array = layout.native(raw).reshape(entry["shape"])
        return array.astype(np.float32) if kind == "float16" else array

    def pieces(self, name: str) -> Iterator[bytes]:
        """Yield the bytes of a tensor as they are stored."""
        _, location, first, last = self._entry(name)
        with location.open() as file:
            file.seek(first, os.SEEK_SET)
            for begin in range(first, last, PIECE):
                raw = np.empty(min(PIECE, last - begin), np.uint8)
                fill(file, raw, str(location))
                yield raw.tobytes()

    def cloud(self, name: str, rows: int, called: str) -> Cloud:
        """Return the first rows of a matrix, streamed from the file."""
        entry, location, first, _ = self._entry(name)
        layout, _, _ = tensor_layout(entry, f"{location}:{name}")
        return MatrixFileCloud(location, replace(layout, rows=rows), first, called)

    def _entry(self, name: str) -> tuple[dict[str, Any], Location, int, int]:
        path = self._files[name]
        check_present(path, self._model)
        location = Location(str(path))
        entries, start = self._headers(path)
        if name not in entries:
            raise DataError(f"{path} has no {name}, although the index says so")
        first, last = tensor_bytes(entries[name], f"{path}:{name}")
        check_length(location, start, last)
        return entries[name], location, start + first, start + last


def check_whole(path: Path) -> None:
    """Refuse a file that ends before its tensors do."""
    location = Location(str(path))
    entries, start = read_header(location)
    ends = [tensor_bytes(entry, f"{path}:{name}")[1] for name, entry in entries.items()]
    check_length(location, start, max(ends, default=0))


def check_length(location: Location, start: int, promised: int) -> None:
    """Refuse a file that holds fewer bytes of tensors than its header promises."""
    present = location.size() - start
    if promised > present:
        raise DataError(
            f"{location}: its header promises {promised:,} bytes of tensors, but {present:,} "
            "follow: the file is truncated"
        )


def tensor_bytes(entry: Any, where: str) -> tuple[int, int]:
    """Return the first and the last byte of a tensor of any shape and type."""
    offsets = entry.get("data_offsets", []) if isinstance(entry, dict) else []
    if not whole_numbers(offsets) or len(offsets) != 2 or not whole_numbers(entry.get("shape")):
        raise DataError(f"{where} has a malformed header entry")
    return offsets[0], offsets[1]
