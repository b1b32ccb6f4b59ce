"""Vectors of all layers on disk, between the first read and the second, within a limit.

Running the model again costs far more than writing and reading its layers; a long text does not
fit on a disk, though, and then it is run again.
"""

from __future__ import annotations

import tempfile
from typing import TYPE_CHECKING, Any, BinaryIO, cast

import numpy as np

from isoscope.clouds.dealing import Dealt

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from types import TracebackType
    from typing import Self

    import torch

LIMIT = 4 * 10**9
"""Bytes that are spooled at most unless somebody says otherwise."""


class Spool:
    """A temporary file of batches.

    Parameters
    ----------
    limit : int
        Bytes; what would grow beyond is thrown away and ``complete`` becomes false.
    """

    def __init__(self, limit: int = LIMIT) -> None:
        self._limit = limit
        self._file: BinaryIO | None = None
        if limit:
            self._file = cast("BinaryIO", tempfile.TemporaryFile())  # noqa: SIM115  held
        self._batches: list[tuple[list[tuple[str, tuple[int, ...], torch.dtype]], bool]] = []
        self._written = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.give_up()

    @property
    def complete(self) -> bool:
        """Whether everything that was written is still there."""
        return self._file is not None

    def give_up(self) -> None:
        """Throw away what was written."""
        if self._file is not None:
            self._file.close()
            self._file = None

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
        shapes = [(name, tuple(x.shape), x.dtype) for name, x in layers.items()]
        self._batches.append((shapes, dealt is not None))

    def read(self) -> Iterator[tuple[dict[str, torch.Tensor], Dealt | None]]:
        """Yield the batches as they were written."""
        import torch

        assert self._file is not None, "the spool was given up"
        self._file.seek(0)
        for shapes, with_groups in self._batches:
            layers = {}
            for name, shape, dtype in shapes:
                tensor = torch.empty(shape, dtype=dtype)
                self._fill(bytes_of(tensor))
                layers[name] = tensor
            dealt = None
            if with_groups:
                groups = np.empty(shapes[0][1][0], dtype=np.int64)
                self._fill(groups)
                dealt = Dealt(groups)
            yield layers, dealt

    def _fill(self, array: np.ndarray[Any, Any]) -> None:
        assert self._file is not None
        self._file.readinto(buffer_of(array))  # type: ignore[attr-defined]


def buffer_of(array: Any) -> memoryview:
    """Return the memory of a contiguous array as bytes."""
    return memoryview(array).cast("B")


def bytes_of(vectors: torch.Tensor) -> np.ndarray[Any, Any]:
    """Return a tensor of any type as an array on the host, over the same memory where it can be."""
    import torch

    host = vectors.detach().cpu().contiguous()
    # numpy has no bfloat16; the bits are all that is stored.
    return cast("np.ndarray[Any, Any]", host.view(torch.uint8).numpy())
