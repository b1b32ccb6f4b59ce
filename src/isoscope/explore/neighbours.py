"""The nearest neighbours of a row among all rows of a space, by cosine."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from isoscope.explore.spaces import Space


class Neighbour(NamedTuple):
    """A row and its cosine to the one that was asked for."""

    row: int
    cosine: float


def nearest(space: Space, row: int, k: int) -> list[Neighbour]:
    """Return the k rows with the largest cosine to a row, itself left out.

    One product of all unit vectors with one of them, in float32. Rows with equal cosines come in
    their order. Rows without a direction are nobody's neighbours and have none.

    Parameters
    ----------
    space : Space
        Where to look.
    row : int
        Whose neighbours.
    k : int
        How many; fewer where there are fewer rows.
    """
    if not space.lengths[row] > 0:
        return []
    cosines = space.units @ space.units[row]
    cosines[space.lengths == 0] = -np.inf
    cosines[row] = -np.inf
    k = min(k, len(cosines))
    # Partition and sort only what is needed; all that tie with the last one take part.
    last = np.partition(cosines, len(cosines) - k)[len(cosines) - k]
    found = np.flatnonzero(cosines >= last)
    found = found[np.argsort(-cosines[found], kind="stable")][:k]
    return [
        Neighbour(int(one), min(1.0, float(cosines[one]))) for one in found if cosines[one] > -2
    ]
