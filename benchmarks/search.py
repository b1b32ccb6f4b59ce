"""What does it cost to know what a search would notice?

    python benchmarks/search.py                all of it, about five minutes
    python benchmarks/search.py neighbours     some parts of it

``measure --neighbours`` beside one exact search: faiss's flat index, top 10 of the sampled queries
in all rows, on both cores. Sides alternate and the best of several rounds counts: machines are
noisy.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import faiss
import numpy as np
from sides import best, cloud, run

import isoscope
from isoscope.compute.nearest_neighbours import one_faiss_thread
from isoscope.compute.threads import one_blas_thread
from isoscope.corrections import fit_together, make_correction
from isoscope.data.sampling import lowest_indices
from isoscope.measures.views import DEFAULT_CORRECTIONS, NONE
from isoscope.verbs.measure.search.directions import search_space
from isoscope.verbs.measure.search.indexes import (
    RESCORED,
    by_bits,
    by_hnsw,
    by_int8,
    by_ivf,
    exact_neighbours,
)
from isoscope.verbs.measure.search.names import SAMPLE, SEARCHES, K
from isoscope.verbs.measure.search.recall import neighbours

ROUNDS = 3
SHAPE = (100_000, 384)
LIMIT = 3.0


def measured(vectors: np.ndarray) -> None:
    """Do what ``isoscope measure FILE --neighbours`` does with its defaults."""
    isoscope.measure(vectors)
    neighbours(vectors)


def exact_search(vectors: np.ndarray) -> Callable[[], object]:
    """Return the search for the ten nearest of the sampled rows among all; all else is done."""
    units = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    index = faiss.IndexFlatIP(units.shape[1])
    index.add(units)
    queries = units[lowest_indices(len(units), SAMPLE, 0)]
    return lambda: index.search(queries, K)


def beside_one_search() -> None:
    """Time the whole call and the search, and where the time of the call goes."""
    vectors = cloud(*SHAPE)
    print(f"\nmeasure --neighbours, {SHAPE[0]:,} × {SHAPE[1]} float32, ", end="")
    print(f"{SAMPLE:,} sampled rows, {len(DEFAULT_CORRECTIONS)} spaces, best of {ROUNDS}")
    whole, search = "measure --neighbours", f"faiss: {SAMPLE:,} queries in {SHAPE[0]:,} rows"
    sides = {whole: lambda: measured(vectors), search: exact_search(vectors)}
    times = best(sides, ROUNDS)
    for name, seconds in times.items():
        print(f"  {name:<42} {seconds:7.2f} s")
    print(f"  ratio {times[whole] / times[search]:.2f} ×, at most {LIMIT:.0f}")
    where_it_goes(vectors)


def where_it_goes(vectors: np.ndarray) -> None:
    """Time the parts one after the other; spaces are searched one on each core."""
    names = [name for name in DEFAULT_CORRECTIONS if name != NONE]
    timed("measure", lambda: isoscope.measure(vectors))
    timed("fit", lambda: fit_together([make_correction(name) for name in names], vectors))
    sample = vectors[lowest_indices(len(vectors), SAMPLE, 0)].astype(np.float64)
    timed("space, each", lambda: search_space(sample, None))
    space, _, _ = search_space(sample, None)
    parts = {
        "exact": lambda: exact_neighbours(space, K),
        "HNSW": lambda: by_hnsw(space, K, SEARCHES),
        "IVF": lambda: by_ivf(space, K, SEARCHES, 0),
        "int8": lambda: by_int8(space, RESCORED * K, SEARCHES),
        "binary": lambda: by_bits(space, RESCORED * K, SEARCHES),
    }
    with one_blas_thread(), one_faiss_thread():
        for name, call in parts.items():
            timed(f"{name}, each, one thread", call)


def timed(name: str, call: Callable[[], object]) -> None:
    """Print how long a part takes."""
    start = time.perf_counter()
    call()
    print(f"    {name:<40} {time.perf_counter() - start:7.2f} s")


PARTS = {"neighbours": beside_one_search}

if __name__ == "__main__":
    run(PARTS, sys.argv[1:])
