"""The files in which a folder holds a model's weights."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from isoscope.clouds.location import Location
from isoscope.clouds.safetensors import read_header
from isoscope.errors import DataError

if TYPE_CHECKING:
    from pathlib import Path

SAFETENSORS = "model.safetensors"
PICKLE = "pytorch_model.bin"
INDEX = ".index.json"


def weight_files(folder: Path, name: str) -> list[Path]:
    """Return the files that hold the weights, safetensors rather than pickles."""
    for kind in (SAFETENSORS, PICKLE):
        if (folder / kind).is_file():
            return [folder / kind]
        if (folder / (kind + INDEX)).is_file():
            return [
                folder / file for file in sorted(set(read_index(folder / (kind + INDEX)).values()))
            ]
    raise DataError(f"{name} has no weights: {folder} holds neither {SAFETENSORS} nor {PICKLE}")


def read_index(path: Path) -> dict[str, str]:
    """Read which tensor is in which file of several."""
    try:
        places = json.loads(path.read_text("utf-8"))["weight_map"]
        return {str(tensor): str(file) for tensor, file in places.items()}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise DataError(f"{path} is not an index of weights: it has no weight_map") from error


def check_weights(folder: Path, name: str) -> None:
    """Refuse missing files and truncated ones, before a library that says less about it."""
    for path in weight_files(folder, name):
        if not path.is_file():
            raise DataError(f"{name} is not complete: {path} is missing")
        if path.suffix == ".safetensors":
            check_length(path)


def check_length(path: Path) -> None:
    """Refuse a .safetensors file that ends before its tensors do."""
    location = Location(str(path))
    entries, start = read_header(location)
    promised = max((entry["data_offsets"][1] for entry in entries.values()), default=0)
    present = location.size() - start
    if promised > present:
        raise DataError(
            f"{path}: its header promises {promised:,} bytes of tensors, but {present:,} follow: "
            "the file is truncated"
        )
