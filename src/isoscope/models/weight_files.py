"""The files in which a folder holds a model's weights."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from isoscope.data.arrays import ArrayCloud
from isoscope.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import numpy as np

    from isoscope.data.base import Cloud
    from isoscope.models.stored_names import Shape


SAFETENSORS = "model.safetensors"
PICKLE = "pytorch_model.bin"
INDEX = ".index.json"

PIECE = 1 << 22
"""Bytes that are read at a time."""


class WeightFiles(ABC):
    """Tensors by their stored names, each read by itself."""

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """All stored names."""

    @abstractmethod
    def shape(self, name: str) -> Shape:
        """Return the shape of a tensor."""

    @abstractmethod
    def array(self, name: str) -> np.ndarray:
        """Read a tensor; half precision becomes single."""

    @abstractmethod
    def pieces(self, name: str) -> Iterator[bytes]:
        """Yield the bytes of a tensor as they are stored."""

    def cloud(self, name: str, rows: int, called: str) -> Cloud:
        """Return the first rows of a matrix."""
        return ArrayCloud(self.array(name)[:rows], called)


def places(folder: Path, model: str) -> dict[Path, tuple[str, ...]]:
    """Return the files that hold the weights, with their tensors where an index says so."""
    for kind in (SAFETENSORS, PICKLE):
        if (folder / kind).is_file():
            return {folder / kind: ()}
        if (folder / (kind + INDEX)).is_file():
            found: dict[Path, tuple[str, ...]] = {}
            for tensor, file in sorted(read_index(folder / (kind + INDEX)).items()):
                found[folder / file] = (*found.get(folder / file, ()), tensor)
            return found
    raise DataError(f"{model} has no weights: {folder} holds neither {SAFETENSORS} nor {PICKLE}")


def read_index(path: Path) -> dict[str, str]:
    """Read which tensor is in which file of several."""
    try:
        entries = json.loads(path.read_text("utf-8"))["weight_map"].items()
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise DataError(f"{path} is not an index of weights: it has no weight_map") from error
    return {str(tensor): str(file) for tensor, file in entries}


def check_present(path: Path, model: str) -> None:
    """Refuse an index that names a file that is not there."""
    if not path.is_file():
        raise DataError(f"{model} is not complete: {path} is missing")
