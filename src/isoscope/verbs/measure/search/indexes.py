"""The nearest rows of every query: exactly, by indexes, and by codes.

Exactly, with all rows that are as near as the last of them: faiss finds a few more than asked for,
in single precision from products; their distances are then taken again from differences, which do
not depend on where a row stands. So equal vectors are equally far, and what is as near as the k-th
neighbour is known.

HNSW, IVF, int8 and binary codes are approximate, with a fixed effort. Indexes find most of the
nearest at a fraction of the work. A change of the space changes how much they find at the same
effort; what they could find with more effort is another question.

Codes take the place of vectors: a byte a dimension, or a bit. What a code finds is the list that is
sorted by it; ``RESCORED`` times as many candidates, sorted by their true distance, are what it
finds with rescoring.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from isoscope.compute.nearest_neighbours import load_faiss
from isoscope.verbs.measure.search.directions import NOBODY, SearchSpace

if TYPE_CHECKING:
    from isoscope.typing import Ids, Single, Vector


# Neighbours beyond k that are looked at: products round, and ties go on behind the k-th.
MARGIN = 6

# Distances that differ by less, as a share of the k-th, are one distance and its rounding.
SAME = 1e-5

# So are those below this share of the mean squared length: equal vectors, rounded apart.
NOTHING = 1e-12

# Unit vectors are rounded by 1e-16: of a cloud of one direction nothing else is left.
ROUNDED = 1e-28

# Fills up the lists of near rows, and is no row of any other list.
NONE_LEFT = -2

# Few enough that the differences to their neighbours stay in the cache.
QUERIES_AT_ONCE = 64


@dataclass(frozen=True)
class Neighbours:
    """The k nearest rows of every query, and what counts as one of them.

    Attributes
    ----------
    ids : array of int
        The k nearest of every query, nearest first, ties by row.
    near : array of int
        All rows as near as the k-th, as far as they were looked at; filled up with -2.
    floors, limits : array
        The squared distances from which on, and up to which, a row is as near as the k-th.
    nearer : array of int
        How many rows are nearer than the k-th.
    unsettled : array of int
        Queries with more rows as near as the k-th than were looked at.
    """

    space: SearchSpace
    ids: Ids
    near: Ids
    floors: Vector
    limits: Vector
    nearer: Ids
    unsettled: Ids

    @property
    def k(self) -> int:
        """How many neighbours."""
        return int(self.ids.shape[1])

    def recall(self, found: Ids) -> Vector:
        """Return for every query which share of its k nearest was found.

        A row counts if it is as near as the k-th nearest: of two equal rows, either one will do,
        but neither in place of one that is nearer.
        Lists of more than k are those that are then sorted by their true distance: all of the k
        nearest that are in them come first.

        Parameters
        ----------
        found : array of int
            A list of rows for each of the first queries, none twice; -1 stands for no row.
        """
        near, nearer = self.near[: len(found)], self.nearer[: len(found)]
        first = np.zeros(len(found), np.int64)
        tied = np.zeros(len(found), np.int64)
        for place in range(near.shape[1]):
            hit = (found == near[:, place, None]).any(axis=1)
            first += hit & (place < nearer)
            tied += hit & (place >= nearer)
        some = self.unsettled[self.unsettled < len(found)]
        if len(some):
            apart = squared_distances(self.space, found[some], some)
            apart[found[some] == NOBODY] = np.inf
            before = apart < self.floors[some, None]
            # A list may hold the query itself, which is no neighbour.
            first[some] = np.minimum(before.sum(axis=1), nearer[some])
            tied[some] = ((apart <= self.limits[some, None]) & ~before).sum(axis=1)
        return (first + np.minimum(tied, self.k - nearer)) / self.k


def exact_neighbours(space: SearchSpace, k: int, queries: int | None = None) -> Neighbours:
    """Find the k nearest rows of the first queries, by default of all."""
    most = min(k + MARGIN, space.findable)
    ids, apart = nearest(space, most, queries)
    spread = float(np.einsum("ij,ij->", space.base.moved, space.base.moved)) / space.rows
    last = apart[:, k - 1]
    slack = NOTHING * spread + ROUNDED
    floors, limits = (last * (1 + sign * SAME) + sign * slack for sign in (-1, 1))
    near = np.where(apart <= limits[:, None], ids, NONE_LEFT)
    nearer = (apart < floors[:, None]).sum(axis=1)
    unsettled = (apart[:, -1] <= limits) & (most < space.findable)
    return Neighbours(space, ids[:, :k], near, floors, limits, nearer, np.flatnonzero(unsettled))


def nearest(space: SearchSpace, most: int, queries: int | None = None) -> tuple[Ids, Vector]:
    """Return the rows nearest to the first queries, nearest first, and their distances."""
    index = load_faiss().IndexFlatL2(space.width)
    index.add(space.base.moved)
    asked = space.queries.moved[:queries]
    _, found = index.search(asked, min(most + 1, space.rows))
    ids = without_itself(found, space.itself)[:, :most]
    apart = squared_distances(space, ids)
    order = np.lexsort((ids, apart), axis=1)
    return np.take_along_axis(ids, order, 1), np.take_along_axis(apart, order, 1)


def squared_distances(space: SearchSpace, ids: Ids, queries: Ids | None = None) -> Vector:
    """Return the squared distance of queries to the rows of their lists, from differences.

    Lists are those of the first queries, or of the ones that are named.
    """
    asked = space.queries.moved[: len(ids)] if queries is None else space.queries.moved[queries]
    apart = np.empty(ids.shape)
    for first in range(0, len(ids), QUERIES_AT_ONCE):
        some = slice(first, first + QUERIES_AT_ONCE)
        steps: Single = space.base.moved[ids[some]]
        steps -= asked[some, None, :]
        apart[some] = np.einsum("qij,qij->qi", steps, steps)
    return apart


def without_itself(found: Ids, itself: Ids) -> Ids:
    """Take every query out of its own list, or the last row where it is not in it."""
    if (itself == NOBODY).all():
        return found
    kept = found != itself[: len(found), None]
    kept[kept.all(axis=1), -1] = False
    return np.asarray(found[kept].reshape(len(found), found.shape[1] - 1))


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
