"""faiss, which few calls need: brought in when one does, and held to a thread."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from isoscope.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator


def load_faiss() -> Any:
    """Return the library, or say what to install."""
    try:
        import faiss
    except ImportError as error:
        raise UsageError(
            "searching the sample needs faiss; pip install 'isoscope[search]'"
        ) from error
    return faiss


@contextmanager
def one_faiss_thread() -> Iterator[None]:
    """Hold faiss to one thread in the thread that asks, for a while.

    Threads that insert into one HNSW graph at a time make another graph at every call, and sums
    that threads share round differently: one each gives the same lists every time.
    """
    faiss = load_faiss()
    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)
    try:
        yield
    finally:
        faiss.omp_set_num_threads(before)
