"""Files of weights behind one interface: safetensors, pickles of torch, GGUF.

Every tensor is read by itself, by the name under which it is stored. A folder has one file, or
several with an index that says which tensor is in which.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.data.arrays import ArrayCloud
from isoscope.data.base import Cloud
from isoscope.data.formats.matrix import MatrixFileCloud, MatrixLayout, fill
from isoscope.data.formats.safetensors import STORED, read_header, tensor_layout, whole_numbers
from isoscope.data.location import Location
from isoscope.errors import DataError
from isoscope.models.runtime import first_line, library
from isoscope.models.weights.gguf_header import check_header
from isoscope.models.weights.tensor_names import Shape

if TYPE_CHECKING:
    from isoscope.models.model import Model


# Types of tensors that are not quantised.
WHOLE = ("F64", "F32", "F16", "BF16")


def quantisation_of(path: Path) -> str:
    """Describe how the tensors of a GGUF file are stored, the commonest type first."""
    gguf = library("gguf")
    reader = open_gguf(path)
    counts = Counter(str(tensor.tensor_type.name) for tensor in reader.tensors)
    listed = ", ".join(f"{count} {kind}" for kind, count in counts.most_common())
    listed = f"tensors: {listed}"
    if set(counts) <= set(WHOLE):
        return f"none ({listed})"
    field = reader.get_field("general.file_type")
    names = {int(kind): kind.name for kind in gguf.LlamaFileType}
    common = next(kind for kind, _ in counts.most_common() if kind not in WHOLE)
    kind = common if field is None else names.get(int(field.contents()), common)
    return f"dequantised from {kind.removeprefix('MOSTLY_')} ({listed})"


def open_gguf(path: Path) -> Any:
    """Read the head of a GGUF file; its library raises errors of any kind for a forged one."""
    check_header(path)
    try:
        return library("gguf").GGUFReader(str(path))
    except Exception as error:
        raise DataError(f"{path} is not a whole GGUF file: {first_line(error)}") from error


def dequantised(path: Path, name: str) -> Any:
    """Read one tensor of a GGUF file that is stored row by row, such as the unembedding."""
    gguf, torch = library("gguf"), library("torch")
    reader = open_gguf(path)
    found = next((tensor for tensor in reader.tensors if tensor.name == name), None)
    if found is None:
        raise DataError(f"{path} has no {name}")
    rows = gguf.quants.dequantize(found.data, found.tensor_type)
    return torch.from_numpy(rows.astype("float32"))


SAFETENSORS = "model.safetensors"
PICKLE = "pytorch_model.bin"
INDEX = ".index.json"

# Bytes that are read at a time.
PIECE = 1 << 22


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

    def digest(self, name: str) -> str:
        """Hash the bytes of a tensor as they are stored: equal ones are the same numbers."""
        found = hashlib.sha256()
        for piece in self.pieces(name):
            found.update(piece)
        return found.hexdigest()


class IndexedFiles(WeightFiles):
    """One file, or several with an index that says which tensor is in which.

    Parameters
    ----------
    folder : Path
        Where the files are.
    model : str
        What messages call the model.
    """

    def __init__(self, folder: Path, model: str) -> None:
        self._model = model
        self._contents = cache(self.read_contents)
        self._files: dict[str, Path] = {}
        for path, names in places(folder, model).items():
            self._files.update(dict.fromkeys(names or tuple(self._contents(path)[0]), path))

    @staticmethod
    @abstractmethod
    def read_contents(path: Path) -> tuple[dict[str, Any], int]:
        """Return what a file has by the name of each tensor, and where in it the tensors begin."""

    @property
    def names(self) -> tuple[str, ...]:
        """All stored names."""
        return tuple(self._files)

    def entry(self, name: str) -> tuple[Path, Any, int]:
        """Return the file of a tensor, what it has of it, and where in it the tensors begin."""
        path = self._files[name]
        check_present(path, self._model)
        entries, start = self._contents(path)
        if name not in entries:
            raise DataError(f"{path} has no {name}, although the index says so")
        return path, entries[name], start


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


class SafetensorsFiles(IndexedFiles):
    """``.safetensors``: of every file only what is asked for."""

    @staticmethod
    def read_contents(path: Path) -> tuple[dict[str, Any], int]:
        """Read the header, which has the type, the shape and the place of each tensor."""
        return read_header(Location(str(path)))

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
        path, found, start = self.entry(name)
        location = Location(str(path))
        first, last = tensor_bytes(found, f"{path}:{name}")
        check_length(location, start, last)
        return found, location, start + first, start + last


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


class TorchTensors(WeightFiles):
    """Tensors that torch holds."""

    @abstractmethod
    def tensor(self, name: str) -> Any:
        """Return a tensor."""

    def shape(self, name: str) -> Shape:
        """Return the shape of a tensor."""
        return tuple(self.tensor(name).shape)

    def array(self, name: str) -> np.ndarray:
        """Return a tensor on the host; half precision becomes single."""
        tensor = self.tensor(name).detach().cpu()
        array: np.ndarray = (tensor.float() if tensor.element_size() < 4 else tensor).numpy()
        return array

    def pieces(self, name: str) -> Iterator[bytes]:
        """Yield the bytes of a tensor."""
        flat = self.tensor(name).detach().cpu().contiguous().flatten()
        raw = flat.view(library("torch").uint8).numpy()
        for begin in range(0, len(raw), PIECE):
            yield raw[begin : begin + PIECE].tobytes()


class PickleFiles(IndexedFiles, TorchTensors):
    """``pytorch_model.bin``, read as tensors only and never run."""

    @staticmethod
    def read_contents(path: Path) -> tuple[dict[str, Any], int]:
        """Read the tensors, mapped into memory where that is possible."""
        return load_pickle(path), 0

    def tensor(self, name: str) -> Any:
        """Return a tensor, of which nothing is read before its numbers are used."""
        return self.entry(name)[1]


def load_pickle(path: Path) -> dict[str, Any]:
    """Read the tensors of a pickle, mapped into memory where its format allows."""
    torch = library("torch")
    try:
        try:
            tensors = torch.load(path, map_location="cpu", weights_only=True, mmap=True)
        except RuntimeError:  # older than the format that can be mapped
            tensors = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:
        raise DataError(f"{path} cannot be read as tensors: {first_line(error)}") from error
    if not isinstance(tensors, dict) or not all(map(torch.is_tensor, tensors.values())):
        raise DataError(f"{path} holds something other than tensors by name")
    return tensors


class DequantisedTensors(TorchTensors):
    """The tensors of a GGUF file, as transformers dequantises and arranges them."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._head = model.parts.unembedding if model.parts.tied is False else None

    @property
    def names(self) -> tuple[str, ...]:
        """Paths in the network without a head, and the head's where it is not tied."""
        names = tuple(self._model.network.state_dict())
        return names if self._head is None else (*names, self._head)

    def tensor(self, name: str) -> Any:
        """Return a tensor of the loaded network."""
        return self._output if name == self._head else self._model.network.state_dict()[name]

    @property
    def _output(self) -> Any:
        path = self._model.source.folder / str(self._model.source.gguf)
        return dequantised(path, "output.weight")
