"""Vectors of all layers on disk, between the first read and the second, within a limit.

Running the model again costs far more than writing and reading its layers; a long text does not
fit on a disk, though, and then it is run again. There is a file for each shard, so that any worker
of this machine may read what another one wrote.
"""

from __future__ import annotations

import json
import os
import tempfile
from contextlib import AbstractContextManager, nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Self, cast

import numpy as np

from isoscope.data.blocks import Dealt

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import torch


# Bytes that are spooled at most unless somebody says otherwise.
LIMIT = 4 * 10**9


def spool_folder(limit: int) -> AbstractContextManager[str | None]:
    """Return a temporary folder for spooled shards, gone when it is closed; None if limit is 0."""
    return tempfile.TemporaryDirectory(prefix="isoscope-") if limit else nullcontext()


class Spool:
    """The batches of one shard in a file.

    Parameters
    ----------
    path : Path or None
        The file; None spools nothing.
    limit : int
        Bytes; what would grow beyond is thrown away.
    """

    def __init__(self, path: Path | None, limit: int = LIMIT) -> None:
        self._path, self._limit = path, limit
        self._index = None if path is None else path.with_suffix(".json")
        self._file: BinaryIO | None = None
        self._batches: list[tuple[list[tuple[str, list[int], str]], bool]] = []
        self._written = 0

    def __enter__(self) -> Self:
        if self._path is not None and self._path.parent.is_dir() and self._limit:
            self._file = self._path.open("wb")
        return self

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        if self._file is None or self._index is None:
            return
        if kind is not None:
            self.give_up()
            return
        self._file.close()
        self._file = None
        # Renamed when it is whole: without an index there is no spool.
        half = self._index.with_suffix(".half")
        half.write_text(json.dumps(self._batches))
        os.replace(half, self._index)  # noqa: PTH105  beside the line above

    @property
    def complete(self) -> bool:
        """Whether all batches of the shard are there."""
        return self._index is not None and self._index.exists()

    def give_up(self) -> None:
        """Delete what was written; the model is then run again."""
        if self._file is not None and self._path is not None:
            self._file.close()
            self._file = None
            with suppress(OSError):
                self._path.unlink()

    def write(self, layers: Mapping[str, torch.Tensor], dealt: Dealt | None) -> None:
        """Append a batch of every layer, and how its rows are dealt."""
        if self._file is None:
            return
        pieces = [bytes_of(vectors) for vectors in layers.values()]
        pieces += [] if dealt is None else [dealt.groups]
        self._written += sum(piece.nbytes for piece in pieces)
        if self._written > self._limit:
            self.give_up()
            return
        try:
            for piece in pieces:
                self._file.write(buffer_of(piece))
        except OSError:  # a full disk: the model is run again
            self.give_up()
            return
        shapes = [
            (name, list(x.shape), str(x.dtype).removeprefix("torch.")) for name, x in layers.items()
        ]
        self._batches.append((shapes, dealt is not None))

    def read(self) -> Iterator[tuple[dict[str, torch.Tensor], Dealt | None]]:
        """Yield the batches as they were written."""
        import torch

        assert self._path is not None, "nothing was spooled"
        assert self._index is not None, "nothing was spooled"
        with self._path.open("rb") as file:
            for shapes, with_groups in json.loads(self._index.read_text()):
                layers = {}
                for name, shape, dtype in shapes:
                    tensor = torch.empty(shape, dtype=getattr(torch, dtype))
                    fill(file, bytes_of(tensor))
                    layers[name] = tensor
                dealt = None
                if with_groups:
                    groups = np.empty(shapes[0][1][0], dtype=np.int64)
                    fill(file, groups)
                    dealt = Dealt(groups)
                yield layers, dealt


def fill(file: BinaryIO, array: np.ndarray[Any, Any]) -> None:
    """Fill an array with the next bytes of a file."""
    file.readinto(buffer_of(array))  # type: ignore[attr-defined]


def buffer_of(array: Any) -> memoryview:
    """Return the memory of a contiguous array as bytes."""
    return memoryview(array).cast("B")


def bytes_of(vectors: torch.Tensor) -> np.ndarray[Any, Any]:
    """Return a tensor of any type as an array on the host, over the same memory where it can be."""
    import torch

    host = vectors.detach().cpu().contiguous()
    # numpy has no bfloat16; the bits are all that is stored.
    return cast("np.ndarray[Any, Any]", host.view(torch.uint8).numpy())
