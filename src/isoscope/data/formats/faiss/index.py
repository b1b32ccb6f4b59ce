"""What the child process of a FAISS cloud does: read an index, check it, and give out its vectors.

faiss reads an index as a whole, so that memory is the index, and rows are then taken out of it
batch by batch. Nothing is normalised: vectors come as the index holds them, those of flat indexes
as they were, others as far as codes tell.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from isoscope.data.base import checked_shape
from isoscope.data.formats.faiss.consistency import check_index
from isoscope.errors import DataError, IsoscopeError

# What files of binary indexes begin with.
BINARY = b"IB"

# Indexes that hold vectors as they were, by their classes without ``Index``.
EXACT = (
    "Flat", "FlatL2", "FlatIP", "Flat1D", "IVFFlat", "HNSWFlat", "NSGFlat", "NNDescentFlat",
    "FlatL2Panorama", "FlatIPPanorama", "IVFFlatPanorama",
)  # fmt: skip

# What faiss puts before its messages.
CALL = re.compile(r"^Error in .*? at \S+:\d+: (Error: )?")

# Address space that the child may take beside that of its libraries: a gigabyte, and the index
# several times over, as maps from ids to places may be built for it.
SPARE = 1 << 30
TIMES = 4


class IndexRows:
    """The vectors of an index, by their rows.

    Parameters
    ----------
    faiss : module
        The library.
    index : faiss.Index
        What it read.
    where : str
        The file, for messages.
    """

    def __init__(self, faiss: ModuleType, index: Any, where: str) -> None:
        if index is None:
            raise DataError(f"{where} cannot be read: it holds an empty index")
        self.where = where
        self.rows, self.width = checked_shape((int(index.ntotal), int(index.d)), where)
        check_index(faiss, index, where)
        self._owner = index  # which lets go of what is below it
        self.ids: NDArray[np.int64] | None = None
        if isinstance(index, faiss.IndexIDMap | faiss.IndexIDMap2):
            self.ids = faiss.vector_to_array(index.id_map).copy()
            index = faiss.downcast_index(index.index)
        self._index, self._keys = index, None
        lossy = codes(faiss, index, where)
        self.caveat = f"lossy codes: {lossy}" if lossy else ""
        with faiss_errors(where, "reconstructed"):
            self._keys = self._inverted_keys(faiss)
            # One alone first: where an index cannot, several at once end the whole process.
            index.reconstruct(0 if self._keys is None else int(self._keys[0]))
        if self.ids is None:
            self.ids = self._keys

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

    def between(self, first: int, last: int) -> NDArray[np.float32]:
        """Return consecutive rows."""
        with faiss_errors(self.where, "reconstructed"):
            if self._keys is None:
                return self._as_stored(self._index.reconstruct_n(first, last - first))
            return self._as_stored(self._index.reconstruct_batch(self._keys[first:last]))

    def at(self, indices: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return some rows."""
        keys = indices if self._keys is None else self._keys[indices]
        with faiss_errors(self.where, "reconstructed"):
            return self._as_stored(self._index.reconstruct_batch(keys))

    @staticmethod
    def _as_stored(vectors: Any) -> NDArray[np.float32]:
        return np.ascontiguousarray(vectors, np.float32)


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
    except IsoscopeError:
        raise
    except Exception as error:  # faiss's own, and what Python makes of a forged object
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


def limit_memory(size: int) -> None:
    """Hold this process to what an index of this many bytes can need."""
    try:
        import resource
    except ImportError:  # no such limits on this system
        return
    pages = int(Path("/proc/self/statm").read_text().split()[0]) if sys.platform == "linux" else 0
    limit = pages * resource.getpagesize() + SPARE + TIMES * size
    _, most = resource.getrlimit(resource.RLIMIT_AS)
    if most != resource.RLIM_INFINITY:
        limit = min(limit, most)
    resource.setrlimit(resource.RLIMIT_AS, (limit, most))


def read_index(file: str, where: str, size: int) -> IndexRows:
    """Read an index file, and check it before any vector is taken out of it."""
    import faiss

    limit_memory(size)
    with Path(file).open("rb") as opened:
        if opened.read(len(BINARY)) == BINARY:
            raise DataError(f"{where} is a binary index: it holds bits, no vectors")
    with faiss_errors(where, "read"), no_larger_than(faiss, size):
        index = faiss.read_index(file)
    return IndexRows(faiss, index, where)


def answer(index: IndexRows, question: dict[str, Any]) -> NDArray[Any]:
    """Return what a question asks for."""
    if "rows" in question:
        return index.between(*question["rows"])
    if "indices" in question:
        return index.at(np.asarray(question["indices"], np.int64))
    assert index.ids is not None
    return index.ids


def serve(questions: IO[bytes], answers: IO[bytes]) -> None:
    """Answer questions until there are no more; the first names the file."""
    index: IndexRows | None = None
    for line in questions:
        content: NDArray[Any] = np.empty(0)
        try:
            question = json.loads(line)
            if index is None:
                index = read_index(**question)
                facts: dict[str, Any] = {
                    "rows": index.rows,
                    "width": index.width,
                    "caveat": index.caveat,
                    "ids": index.ids is not None,
                }
            else:
                content, facts = answer(index, question), {}
        except IsoscopeError as error:
            facts = {"error": str(error), "kind": type(error).__name__}
        answers.write(json.dumps(facts).encode() + b"\n")
        answers.write(content.reshape(-1).view(np.uint8).data)
        answers.flush()


if __name__ == "__main__":
    # Whatever a library prints must not get between the answers.
    with os.fdopen(os.dup(1), "wb") as _answers:
        os.dup2(2, 1)
        serve(sys.stdin.buffer, _answers)
