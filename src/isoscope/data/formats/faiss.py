"""Vectors in a FAISS index file: those of flat indexes as they were, others as far as codes tell.

faiss reads an index as a whole, so that memory is the index, and rows are then taken out of it
batch by batch. Nothing is normalised: vectors come as the index holds them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from isoscope.data.base import (
    NO_LABELS,
    Batch,
    Cloud,
    FileCloud,
    check_rows,
    checked_shape,
    rows_per_batch,
)
from isoscope.data.location import Location
from isoscope.errors import DataError, require

# What files of binary indexes begin with.
BINARY = b"IB"

# Indexes that hold vectors as they were, by their classes without ``Index``.
EXACT = (
    "Flat", "FlatL2", "FlatIP", "Flat1D", "IVFFlat", "HNSWFlat", "NSGFlat", "NNDescentFlat",
    "FlatL2Panorama", "FlatIPPanorama", "IVFFlatPanorama",
)  # fmt: skip

# What faiss puts before its messages.
CALL = re.compile(r"^Error in .*? at \S+:\d+: (Error: )?")


class FaissCloud(FileCloud):
    """The vectors of an index, in the order in which they were added, or of their ids.

    Parameters
    ----------
    location : Location
        The file.
    faiss : module
        The library.
    index : faiss.Index
        What it read.
    """

    def __init__(self, location: Location, faiss: ModuleType, index: Any) -> None:
        where = str(location)
        rows, width = checked_shape((int(index.ntotal), int(index.d)), where)
        super().__init__(location, location.stem, rows, width, "float32")
        self._owner = index  # which lets go of what is below it
        self._ids: NDArray[np.int64] | None = None
        if isinstance(index, faiss.IndexIDMap | faiss.IndexIDMap2):
            self._ids = faiss.vector_to_array(index.id_map).copy()
            index = faiss.downcast_index(index.index)
        self._index, self._keys = index, None
        lossy = codes(faiss, index, where)
        if lossy:
            self.caveat = f"lossy codes: {lossy}"
        with faiss_errors(where, "reconstructed"):
            self._keys = self._inverted_keys(faiss)
            # One alone first: where an index cannot, several at once end the whole process.
            index.reconstruct(0 if self._keys is None else int(self._keys[0]))
        if self._ids is None:
            self._ids = self._keys

    def _inverted_keys(self, faiss: ModuleType) -> NDArray[np.int64] | None:
        """Prepare inverted lists, and return their ids, rising; None where they count up from 0.

        ``reconstruct_n`` gives arbitrary numbers for ids that are not there.
        """
        if isinstance(self._index, faiss.IndexRefine):
            return None
        extracted = faiss.try_extract_index_ivf(self._index)
        if extracted is None:
            return None
        lists = faiss.downcast_index(extracted)
        if isinstance(lists, faiss.IndexIVFFastScan):
            # faiss ends the whole process when it is asked for one of these.
            raise DataError(
                f"{self.where} cannot be reconstructed: its lists are packed for fast scans"
            )
        found = [np.empty(0, np.int64)]
        for k in range(lists.nlist):
            size = lists.invlists.list_size(k)
            if size:
                found.append(faiss.rev_swig_ptr(lists.invlists.get_ids(k), size).copy())
        ids = np.sort(np.concatenate(found))
        if len(ids) != self.rows or (np.diff(ids) == 0).any():
            raise DataError(f"{self.where}: several of its vectors share an id")
        in_order = bool(ids[0] == 0 and ids[-1] == len(ids) - 1)
        kind = faiss.DirectMap.Array if in_order else faiss.DirectMap.Hashtable
        lists.set_direct_map_type(kind)
        return None if in_order else ids

    def read(self) -> Iterator[Batch]:
        """Yield the rows in order, with their ids as labels where they have any."""
        rows, step = self.rows or 0, rows_per_batch(self.width)
        for first in range(0, rows, step):
            last = min(first + step, rows)
            if self._keys is None:
                vectors = self._index.reconstruct_n(first, last - first)
            else:
                vectors = self._index.reconstruct_batch(self._keys[first:last])
            labels = NO_LABELS if self._ids is None else {"id": self._ids[first:last]}
            yield Batch(vectors, first, labels)

    def read_rows(self, indices: NDArray[np.int64]) -> NDArray[Any]:
        """Return some rows."""
        check_rows(indices, self.rows, self.where)
        if not len(indices):
            return np.empty((0, self.width), np.float32)
        keys = indices if self._keys is None else self._keys[indices]
        return cast("NDArray[Any]", self._index.reconstruct_batch(keys))


def codes(faiss: ModuleType, index: Any, where: str) -> str:
    """Name the codes of an index that does not hold its vectors as they were, or nothing."""
    name = type(index).__name__.removeprefix("Index")
    if name in EXACT:
        return ""
    if isinstance(index, faiss.IndexPreTransform):
        return transformed_codes(faiss, index, where)
    if isinstance(index, faiss.IndexRefine):
        return codes(faiss, faiss.downcast_index(index.refine_index), where)
    if hasattr(index, "storage"):
        if index.storage is None:
            raise DataError(f"{where} holds a graph without its vectors")
        return codes(faiss, faiss.downcast_index(index.storage), where)
    if hasattr(index, "sq"):
        return "SQ" + scalar_code(faiss, index.sq.qtype)
    if hasattr(index, "pq"):
        return f"PQ{index.pq.M}x{index.pq.nbits}"
    return str(name)


def transformed_codes(faiss: ModuleType, index: Any, where: str) -> str:
    """Name what is lost before and in an index; a rotation loses nothing."""
    size = index.chain.size()
    chain = [faiss.downcast_VectorTransform(index.chain.at(k)) for k in range(size)]
    lossy = [
        type(one).__name__.removesuffix("Matrix")
        for one in chain
        if one.d_in != one.d_out or not getattr(one, "is_orthonormal", False)
    ]
    inner = codes(faiss, faiss.downcast_index(index.index), where)
    return ", ".join(filter(None, [*lossy, inner]))


def scalar_code(faiss: ModuleType, kind: int) -> str:
    """Return the short name of a scalar quantiser's code, such as 8 or fp16."""
    for name, value in vars(faiss.ScalarQuantizer).items():
        if name.startswith("QT_") and value == kind:
            return str(name).removeprefix("QT_").replace("bit", "")
    return "?"


@contextmanager
def faiss_errors(where: str, what: str) -> Iterator[None]:
    """Turn what faiss raises into one clear line."""
    try:
        yield
    except (RuntimeError, MemoryError) as error:
        # What faiss says, without where in its code it says so.
        said = CALL.sub("", str(error).replace("\n", " ")) or type(error).__name__
        raise DataError(f"{where} cannot be {what}: {said}") from error


@contextmanager
def no_larger_than(faiss: ModuleType, size: int) -> Iterator[None]:
    """Let faiss believe no length in a file that is longer than the file.

    It would ask for the memory first: a damaged file of some bytes takes all there is.
    """
    if not hasattr(faiss, "set_deserialization_vector_byte_limit"):  # older releases
        yield
        return
    before = faiss.get_deserialization_vector_byte_limit()
    faiss.set_deserialization_vector_byte_limit(size)
    try:
        yield
    finally:
        faiss.set_deserialization_vector_byte_limit(before)


def open_faiss(location: Location) -> Cloud:
    """Open an index file."""
    faiss = require(
        "faiss", f"{location} needs faiss, which is not installed; pip install 'isoscope[search]'"
    )
    size = location.size()
    with location.open() as file, faiss_errors(str(location), "read"), no_larger_than(faiss, size):
        if file.read(2) == BINARY:
            raise DataError(f"{location} is a binary index: it holds bits, no vectors")
        file.seek(0)
        remote = location.is_remote
        source = faiss.PyCallbackIOReader(file.read) if remote else str(location.path)
        index = faiss.read_index(source)
    return FaissCloud(location, faiss, index)
