"""Tensors by module path; digests.

Single tensors of a model out of its files, without loading the rest.

One digest of all weights of a model, to find checkpoints that are the same.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

from isoscope.errors import DataError
from isoscope.models.weights.tensor_names import StoredNames
from isoscope.models.weights.weight_files import (
    INDEX,
    SAFETENSORS,
    DequantisedTensors,
    PickleFiles,
    SafetensorsFiles,
    check_present,
    check_whole,
    places,
)

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import numpy as np

    from isoscope.data.base import Cloud
    from isoscope.models.model import Model
    from isoscope.models.weights.tensor_names import Shape
    from isoscope.models.weights.weight_files import WeightFiles


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
        return self._hash(self._names.find(path))

    def are_one(self, first: str, second: str) -> bool:
        """Whether two paths that share a tensor in the network do so in the files as well.

        Some files hold a tensor for both. Then they are one if the numbers are the same.
        """
        own = self._names.find_own(second)
        stored = self._names.find(first)
        return own is None or own == stored or self._hash(own) == self._hash(stored)

    def _hash(self, name: str) -> str:
        digest = hashlib.sha256()
        for piece in self._files.pieces(name):
            digest.update(piece)
        return digest.hexdigest()


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


def stored_weights(model: Model, skeleton: Any) -> StoredWeights:
    """Open the tensors of a model, whose whole network without numbers says what there is."""
    files = open_weights(model)
    names = StoredNames(skeleton, model.parts.prefix, files.names, files.shape, model.name)
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
        found = stored_digests(model)
    return joint_digest(found)


def parameters(model: Model) -> list[str]:
    """Return the paths of the parameters; a pooler, which many checkpoints lack, is in no layer."""
    names = [name for name, _ in model.skeleton.named_parameters()]
    paths = [name for name in names if "pooler" not in name.split(".")]
    head = model.parts.unembedding
    return paths if head is None else [*paths, head]


def stored_digests(model: Model) -> dict[str, str]:
    """Return the digest of every tensor by the name under which it is stored."""
    files = open_weights(model)
    found = {}
    for name in files.names:
        digest = hashlib.sha256()
        for piece in files.pieces(name):
            digest.update(piece)
        found[name] = digest.hexdigest()
    return found


def joint_digest(digests: Mapping[str, str]) -> str:
    """Return one digest of several, whatever their order."""
    lines = "".join(f"{name} {digest}\n" for name, digest in sorted(digests.items()))
    return hashlib.sha256(lines.encode()).hexdigest()
