"""Indexes that find most of the nearest at a fraction of the work, with their effort fixed.

A change of the space changes how much they find at that effort; what they could find with more is
another question.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from isoscope.search.exact import without_itself
from isoscope.search.faiss_library import load_faiss

if TYPE_CHECKING:
    from isoscope.search.spaces import SearchSpace
    from isoscope.typing import Ids


LINKS, BUILD_EFFORT, SEARCH_EFFORT = 16, 64, 40
"""M, efConstruction and efSearch of HNSW: what pgvector takes unless told otherwise."""

FEWEST_A_CELL = 1
"""faiss warns of cells with few rows on standard error; samples are small on purpose."""


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
