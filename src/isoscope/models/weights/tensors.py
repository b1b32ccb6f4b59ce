"""Single tensors of a model by module path, without loading the rest; digests of its weights."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.data.base import Cloud
from isoscope.errors import DataError
from isoscope.models.weights.tensor_names import Shape, StoredNames
from isoscope.models.weights.weight_files import (
    INDEX,
    SAFETENSORS,
    DequantisedTensors,
    PickleFiles,
    SafetensorsFiles,
    WeightFiles,
    check_present,
    check_whole,
    places,
)

if TYPE_CHECKING:
    from isoscope.models.model import Model


class StoredWeights:
    """The tensors of a model by the paths of its modules.

    Parameters
    ----------
    files : WeightFiles
        Where they are.
    names : StoredNames
        What they are called there.
    """

    def __init__(self, files: WeightFiles, names: StoredNames) -> None:
        self._files, self._names = files, names

    def shape(self, path: str) -> Shape:
        """Return the shape of a tensor."""
        return self._files.shape(self._names.find(path))

    def tensor(self, path: str) -> np.ndarray:
        """Read a tensor as float32, or as float64 where it is stored so."""
        return self._files.array(self._names.find(path))

    def cloud(self, path: str, rows: int, called: str) -> Cloud:
        """Return the first rows of a matrix as a cloud."""
        return self._files.cloud(self._names.find(path), rows, called)

    def fingerprint(self, path: str) -> str:
        """Hash the bytes of a tensor as they are stored: equal ones are the same numbers."""
        return self._files.digest(self._names.find(path))

    def missing(self, paths: Iterable[str]) -> tuple[str, ...]:
        """Return those paths under which nothing is stored."""
        return tuple(path for path in paths if not self._names.is_stored(path))

    def are_one(self, first: str, second: str) -> bool:
        """Whether two paths that share a tensor in the network do so in the files as well.

        Some files hold a tensor for both. Then they are one if the numbers are the same.
        """
        own = self._names.find_own(second)
        stored = self._names.find(first)
        digest = self._files.digest
        return own is None or own == stored or digest(own) == digest(stored)


def check_weights(folder: Path, model: str) -> None:
    """Refuse missing files and truncated ones, before a library that says less about it."""
    for path in places(folder, model):
        check_present(path, model)
        if path.suffix == ".safetensors":
            check_whole(path)


def open_weights(model: Model) -> WeightFiles:
    """Open the files of a model, safetensors rather than pickles."""
    model.source.fetch_weights()
    folder = model.source.folder
    if model.source.gguf is not None:
        return DequantisedTensors(model)
    if any((folder / file).is_file() for file in (SAFETENSORS, SAFETENSORS + INDEX)):
        return SafetensorsFiles(folder, model.name)
    return PickleFiles(folder, model.name)


def stored_weights(model: Model, skeleton: Any, prefix: str) -> StoredWeights:
    """Open the tensors of a model, whose whole network without numbers says what there is.

    Parameters
    ----------
    model : Model
        Whose files are opened.
    skeleton : transformers.PreTrainedModel
        The network with its head, without numbers.
    prefix : str
        Path of the network without a head in it, with a dot behind, or nothing.
    """
    files = open_weights(model)
    names = StoredNames(skeleton, prefix, files.names, files.shape, model.name)
    return StoredWeights(files, names)


def weights_digest(model: Model) -> str:
    """Return the SHA-256 over the digests of the stored bytes of all parameters.

    Parameters are those of the network, so that buffers, the number of files and their format do
    not matter. Where a network arranges its parameters otherwise than they are stored, it is all
    tensors that are stored.
    """
    try:
        found = {path: model.fingerprint(path) for path in parameters(model)}
    except DataError:
        files = open_weights(model)
        found = {name: files.digest(name) for name in files.names}
    lines = "".join(f"{name} {digest}\n" for name, digest in sorted(found.items()))
    return hashlib.sha256(lines.encode()).hexdigest()


def parameters(model: Model) -> list[str]:
    """Return the paths of the parameters; a pooler, which many checkpoints lack, is in no layer."""
    names = [name for name, _ in model.skeleton.named_parameters()]
    paths = [name for name in names if "pooler" not in name.split(".")]
    head = model.parts.unembedding
    return paths if head is None else [*paths, head]
