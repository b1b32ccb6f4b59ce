"""Several spaces of the same rows."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from isoscope.compute.threads import in_parallel
from isoscope.errors import DataError
from isoscope.search.spaces import restricted, search_space

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from isoscope.search.spaces import SearchSpace
    from isoscope.typing import Mask, Matrix

    Change = Callable[[Matrix], Matrix]


def spaces_together(
    makers: Mapping[str, Change],
    base: Matrix,
    queries: Matrix | None = None,
    of_queries: Mapping[str, Change] | None = None,
) -> tuple[dict[str, SearchSpace], int]:
    """Change vectors in every way; rows that have no direction in one are left out of all.

    Every figure is then about the same rows and queries, so that differences are paired. Queries
    are changed as the others are, unless ``of_queries`` has another way for them.

    Returns
    -------
    dict of SearchSpace, and the number of vectors that are left out
    """
    asking = {**makers, **(of_queries or {})}

    def make(name: str) -> tuple[SearchSpace, Mask, Mask]:
        changed = None if queries is None else asking[name](queries)
        return search_space(makers[name](base), changed)

    made = in_parallel([partial(make, name) for name in makers])
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
