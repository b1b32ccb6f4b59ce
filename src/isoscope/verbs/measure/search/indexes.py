"""HNSW, IVF, int8 and binary codes: approximate searches with a fixed effort.

Indexes find most of the nearest at a fraction of the work. A change of the space changes how much
they find at the same effort; what they could find with more effort is another question.

Codes take the place of vectors: a byte a dimension, or a bit. What a code finds is the list that is
sorted by it; ``RESCORED`` times as many candidates, sorted by their true distance, are what it
finds with rescoring.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from isoscope.compute.nearest_neighbours import load_faiss
from isoscope.verbs.measure.search.exact import without_itself

if TYPE_CHECKING:
    from isoscope.typing import Ids, Single
    from isoscope.verbs.measure.search.directions import SearchSpace


# M, efConstruction and efSearch of HNSW: what pgvector takes unless told otherwise.
LINKS, BUILD_EFFORT, SEARCH_EFFORT = 16, 64, 40

# faiss warns of cells with few rows on standard error; samples are small on purpose.
FEWEST_A_CELL = 1


def by_hnsw(space: SearchSpace, k: int, queries: int) -> Ids:
    """Build an HNSW graph, and return what it finds for the first queries.

    Malkov & Yashunin (2020), Efficient and robust approximate nearest neighbor search using
    hierarchical navigable small world graphs. Rows are inserted one after the other.
    """
    index = load_faiss().IndexHNSWFlat(space.width, LINKS)
    index.hnsw.efConstruction = BUILD_EFFORT
    index.add(space.base.moved)
    index.hnsw.efSearch = max(SEARCH_EFFORT, k + 1)
    _, found = index.search(space.queries.moved[:queries], k + 1)
    return without_itself(found, space.itself)[:, :k]


def by_ivf(space: SearchSpace, k: int, queries: int, seed: int) -> Ids:
    """Deal the rows into cells of k-means, and return what the nearest cells hold."""
    faiss = load_faiss()
    cells, visited = ivf_effort(space.rows)
    index = faiss.IndexIVFFlat(faiss.IndexFlatL2(space.width), space.width, cells)
    index.cp.min_points_per_centroid, index.cp.seed = FEWEST_A_CELL, seed
    index.train(space.base.moved)
    index.add(space.base.moved)
    index.nprobe = visited
    _, found = index.search(space.queries.moved[:queries], k + 1)
    return without_itself(found, space.itself)[:, :k]


def ivf_effort(rows: int) -> tuple[int, int]:
    """Return nlist and nprobe: √n cells, of which the root is visited."""
    cells = max(1, round(math.sqrt(rows)))
    return cells, max(1, round(math.sqrt(cells)))


# Candidates a neighbour that are rescored.
RESCORED = 4


class Int8:
    """Every dimension in 256 steps between its smallest and largest value in the base.

    Queries keep their numbers; a score is the product of a query with the middles of the steps.
    faiss calls it ``QT_8bit``.

    Parameters
    ----------
    units : array
        The vectors of the base, in float32.
    """

    def __init__(self, units: Single) -> None:
        faiss = load_faiss()
        self._quantizer = faiss.ScalarQuantizer(units.shape[1], faiss.ScalarQuantizer.QT_8bit)
        self._quantizer.train(np.ascontiguousarray(units))

    def rounded(self, units: Single) -> Single:
        """Return what vectors are after being stored."""
        codes = self._quantizer.compute_codes(np.ascontiguousarray(units))
        return np.asarray(self._quantizer.decode(codes))


def by_int8(space: SearchSpace, most: int, queries: int) -> Ids:
    """Return the candidates of the first queries by codes of a byte a dimension, best first.

    Decoded vectors are searched with matrix products: the same scores as faiss's own search in
    codes, which decodes every vector for every query, in a sixth of the time.
    """
    units = space.base.units(space.shift)
    index = load_faiss().IndexFlatIP(space.width)
    index.add(Int8(units).rounded(units))
    asked = space.queries.units(space.shift)[:queries]
    _, found = index.search(asked, min(most + 1, space.rows))
    return without_itself(found, space.itself)[:, :most]


def by_bits(space: SearchSpace, most: int, queries: int) -> Ids:
    """Return the candidates of the first queries by signs and Hamming distance, best first.

    Many rows are equally far by such codes. They come in the order of the base, which is random:
    on average over queries that is what any order would find.
    """
    index = load_faiss().IndexBinaryFlat(8 * space.base.signs.shape[1])
    index.add(space.base.signs)
    _, found = index.search(space.queries.signs[:queries], min(most + 1, space.rows))
    return without_itself(found, space.itself)[:, :most]
