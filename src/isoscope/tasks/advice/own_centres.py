"""Queries that are centred on their own mean, fold by fold, beside documents on theirs."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.corrections.own_centre import centred_on, has_centre
from isoscope.corrections.query_centre import OWN
from isoscope.errors import DataError, UsageError
from isoscope.tasks.advice.candidates import Candidate

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from isoscope.corrections.named import NamedCorrection


class OwnCentres:
    """Corrects queries with their own mean in place of the documents'.

    Parameters
    ----------
    vectors : array
        A row for everything that items stand on.
    query_rows : array of int
        Which of them are queries.
    folds : sequence of array of int
        The rows that the items of each fold stand on: the mean for a fold leaves its queries out.
    """

    def __init__(
        self,
        vectors: NDArray[np.float64],
        query_rows: NDArray[np.intp],
        folds: Sequence[NDArray[np.intp]],
    ) -> None:
        self._vectors, self._folds = vectors, folds
        self._is_query = np.zeros(len(vectors), np.bool_)
        self._is_query[query_rows] = True
        self._finite = np.isfinite(vectors).all(axis=1)

    def mean(self, without: Collection[int] = ()) -> NDArray[np.float64]:
        """Return the mean of all queries but those of some folds."""
        counted = self._is_query & self._finite
        for fold in without:
            counted[self._folds[fold]] = False
        if not counted.any():
            raise DataError("no query is left to take a mean of; there should be some in each fold")
        return np.asarray(self._vectors[counted].mean(axis=0))

    def applied(
        self,
        correction: NamedCorrection,
        rows: NDArray[np.intp],
        changed: NDArray[np.float64],
        without: Collection[int],
    ) -> NDArray[np.float64]:
        """Put queries with their own centre in the place of those with the documents'."""
        queries = self._is_query[rows]
        if queries.any():
            own = centred_on(correction.transformer, self.mean(without))
            changed = changed.copy()
            changed[queries] = own.transform(self._vectors[rows[queries]])
        return changed


def with_own_centres(tried: Sequence[Candidate]) -> tuple[Candidate, ...]:
    """Return those candidates that subtract a mean, under a name that says whose."""
    return tuple(
        Candidate(one.name + OWN, one.settings)
        for one in tried
        if all(has_centre(setting.transformer) for setting in one.settings)
    )


def check_own(tried: Sequence[Candidate]) -> None:
    """Refuse own centres where nothing subtracts a mean."""
    if not with_own_centres(tried):
        names = ", ".join(one.name for one in tried)
        raise UsageError(f"none of {names} subtracts a mean that queries could have of their own")


def is_own(name: Any) -> bool:
    """Whether a correction gives queries a centre of their own."""
    return str(name).endswith(OWN)
