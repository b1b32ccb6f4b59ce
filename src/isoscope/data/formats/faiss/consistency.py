"""Whether the parts of a FAISS index agree on dimensions and counts.

A file states them for every index and transform of a chain, and faiss compares few of them: it
would write vectors of 64 numbers into room for one. All are compared here before a vector is read.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

from isoscope.errors import DataError


class Consistency:
    """Compares what the parts of one index say.

    Parameters
    ----------
    faiss : module
        The library.
    where : str
        The file, for messages.
    """

    def __init__(self, faiss: ModuleType, where: str) -> None:
        self._faiss = faiss
        self._where = where

    def equal(self, what: str, outer: Any, inner: Any) -> None:
        """Refuse two figures that should be one."""
        if int(outer) != int(inner):
            raise DataError(
                f"{self._where} is damaged or forged: its {what} do not agree "
                f"({int(outer):,} and {int(inner):,})"
            )

    def chained(self, index: Any, inner: Any, rows: int | None = None) -> None:
        """Compare an index with one that it is made of, and look into that one."""
        if inner is None:
            raise DataError(f"{self._where} is damaged or forged: a part of its index is missing")
        inner = self._faiss.downcast_index(inner)
        self.equal("dimensions", index.d, inner.d)
        self.equal("numbers of vectors", index.ntotal if rows is None else rows, inner.ntotal)
        self.check(inner)

    def check(self, index: Any) -> None:
        """Check an index and all that it is made of."""
        faiss = self._faiss
        if index.d < 1 or index.ntotal < 0:
            raise DataError(
                f"{self._where} is damaged or forged: it says that it holds {index.ntotal} vectors "
                f"of {index.d} dimensions"
            )
        if isinstance(index, faiss.IndexIDMap):
            self.equal("numbers of ids and vectors", index.id_map.size(), index.ntotal)
            self.chained(index, index.index)
        elif isinstance(index, faiss.IndexPreTransform):
            self.transforms(index)
        elif isinstance(index, faiss.IndexRefine):
            self.chained(index, index.base_index)
            self.chained(index, index.refine_index)
        elif isinstance(index, faiss.IndexIVF):
            self.inverted(index)
        elif getattr(index, "storage", None) is not None:
            self.chained(index, index.storage)
        if hasattr(index, "codes") and hasattr(index, "code_size"):
            if isinstance(index, faiss.IndexFlat):
                self.equal("bytes of a vector", index.code_size, index.d * 4)
            held, needed = index.codes.size(), index.ntotal * index.code_size
            # Codes for fast scans are padded to whole blocks.
            if not isinstance(index, faiss.IndexFastScan) or held < needed:
                self.equal("bytes of codes", held, needed)
        self.quantizers(index)

    def transforms(self, index: Any) -> None:
        """Check that every transform takes what the one before it gives."""
        width = index.d
        for k in range(index.chain.size()):
            one = self._faiss.downcast_VectorTransform(index.chain.at(k))
            self.equal("dimensions", width, one.d_in)
            if hasattr(one, "A"):
                self.equal("sizes of a matrix", one.A.size(), one.d_in * one.d_out)
            if getattr(one, "have_bias", False):
                self.equal("sizes of an offset", one.b.size(), one.d_out)
            width = one.d_out
        if index.index is None:
            raise DataError(f"{self._where} is damaged or forged: a part of its index is missing")
        inner = self._faiss.downcast_index(index.index)
        self.equal("dimensions", width, inner.d)
        self.equal("numbers of vectors", index.ntotal, inner.ntotal)
        self.check(inner)

    def inverted(self, index: Any) -> None:
        """Check inverted lists and the index of their centres."""
        self.chained(index, index.quantizer, rows=index.nlist)
        lists = index.invlists
        if lists is None:
            raise DataError(f"{self._where} is damaged or forged: its inverted lists are missing")
        self.equal("numbers of lists", index.nlist, lists.nlist)
        held = sum(lists.list_size(k) for k in range(lists.nlist))
        self.equal("numbers of vectors", index.ntotal, held)
        if not isinstance(index, self._faiss.IndexIVFFastScan):  # which packs several into one
            self.equal("bytes of codes", index.code_size, lists.code_size)

    def quantizers(self, index: Any) -> None:
        """Check the codebooks of an index that stores codes."""
        if getattr(index, "sq", None) is not None:
            self.equal("dimensions", index.d, index.sq.d)
            if hasattr(index, "code_size"):
                self.equal("bytes of a code", index.code_size, index.sq.code_size)
        if getattr(index, "pq", None) is not None:
            pq = index.pq
            self.equal("dimensions", index.d, pq.d)
            self.equal("dimensions", pq.d, pq.M * pq.dsub)
            self.equal("sizes of a codebook", pq.centroids.size(), pq.d * pq.ksub)


def check_index(faiss: ModuleType, index: Any, where: str) -> None:
    """Refuse an index whose parts do not agree.

    Parameters
    ----------
    faiss : module
        The library.
    index : faiss.Index
        What it read.
    where : str
        The file, for messages.
    """
    try:
        Consistency(faiss, where).check(faiss.downcast_index(index))
    except (AttributeError, TypeError) as error:  # a part that faiss leaves empty
        raise DataError(f"{where} is damaged or forged: {error}") from error
