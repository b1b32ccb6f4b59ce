"""Single tensors that torch reads: out of pickles, and out of a network that is loaded."""

from __future__ import annotations

from abc import abstractmethod
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any

from isoscope.errors import DataError
from isoscope.models.quantisation import dequantised
from isoscope.models.quiet import first_line, library
from isoscope.models.weight_files import PIECE, WeightFiles, check_present, places

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import numpy as np

    from isoscope.models.opening import Model
    from isoscope.models.stored_names import Shape


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


class PickleFiles(TorchTensors):
    """``pytorch_model.bin``, or several with an index, read as tensors only and never run."""

    def __init__(self, folder: Path, model: str) -> None:
        self._model, self._places = model, places(folder, model)
        self._load = cache(load_pickle)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """All stored names."""
        return tuple(self._files)

    @cached_property
    def _files(self) -> dict[str, Path]:
        found = {}
        for path, names in self._places.items():
            found.update(dict.fromkeys(names or tuple(self._load(path)), path))
        return found

    def tensor(self, name: str) -> Any:
        """Return a tensor, of which nothing is read before its numbers are used."""
        path = self._files[name]
        check_present(path, self._model)
        tensors = self._load(path)
        if name not in tensors:
            raise DataError(f"{path} has no {name}, although the index says so")
        return tensors[name]


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
