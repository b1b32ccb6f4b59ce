"""Several spaces of the same rows."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from isoscope.engines.local import in_parallel
from isoscope.errors import DataError
from isoscope.search.spaces import restricted, search_space

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from isoscope.search.spaces import SearchSpace

    Mask = NDArray[np.bool_]
    Matrix = NDArray[np.float64]


def spaces_together(
    makers: Mapping[str, Callable[[Matrix], Matrix]], base: Matrix, queries: Matrix | None = None
) -> tuple[dict[str, SearchSpace], int]:
    """Change vectors in every way; rows that have no direction in one are left out of all.

    Every figure is then about the same rows and queries, so that differences are paired.

    Returns
    -------
    dict of SearchSpace, and the number of vectors that are left out
    """

    def make(change: Callable[[Matrix], Matrix]) -> tuple[SearchSpace, Mask, Mask]:
        return search_space(change(base), None if queries is None else change(queries))

    made = in_parallel([partial(make, change) for change in makers.values()])
    for name, (_, has, known) in zip(makers, made, strict=True):
        if not (has.any() and known.any()):
            raise DataError(f"{name} leaves no vector with a direction: nothing can be searched")
    here = np.logical_and.reduce([has for _, has, _ in made])
    asked = np.logical_and.reduce([known for _, _, known in made])
    without = int((~here).sum()) + (0 if queries is None else int((~asked).sum()))
    spaces = {
        name: restricted(space, here, asked)
        for name, (space, _, _) in zip(makers, made, strict=True)
    }
    return spaces, without
