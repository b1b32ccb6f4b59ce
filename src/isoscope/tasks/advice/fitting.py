"""Corrections fitted on all rows but those of some folds, from one read of the rows.

Rows are put together by the folds that stand on them. The sums of each such group are taken once,
and merged anew for every fit; corrections that do not follow from sums get the rows themselves.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.compute.map_reduce import merged
from isoscope.corrections.closed_form import ClosedForm
from isoscope.corrections.fit import parts_together
from isoscope.corrections.named import NamedCorrection, fitted
from isoscope.corrections.summary import Summary
from isoscope.data.arrays import ArrayCloud
from isoscope.errors import DataError
from isoscope.measures.kernels import moments_kernel_for

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from numpy.typing import NDArray

    from isoscope.measures.reads.moments import MomentParts, Moments


MOST_ROWS = 50_000
"""Rows that a correction sees which does not follow from sums."""


@dataclass(frozen=True)
class Background:
    """Vectors that no item stands on: they are fitted on in every fold.

    Attributes
    ----------
    moments : Moments or None
        Their sums; None where there are none.
    sample : array
        Some of them, for corrections that do not follow from sums.
    stored : str
        Type in which they are stored.
    """

    moments: Moments | None
    sample: NDArray[Any]
    stored: str


class FoldedRows:
    """The rows to fit on, by the folds that must not see them.

    Parameters
    ----------
    vectors : array
        A row for every text; rows with NaN are left out.
    folds : sequence of array of int
        The rows that the items of each fold stand on.
    usable : array of bool
        Which rows may be fitted on at all.
    parts : MomentParts
        What is summed.
    background : Background, optional
        Other vectors of the same space.
    """

    def __init__(
        self,
        vectors: NDArray[Any],
        folds: Sequence[NDArray[np.intp]],
        usable: NDArray[np.bool_],
        parts: MomentParts,
        background: Background | None = None,
    ) -> None:
        masks = np.zeros(len(vectors), np.int64)
        for number, rows in enumerate(folds):
            masks[rows] |= 1 << number
        usable = usable & np.isfinite(vectors).all(axis=1)
        self._rows = {
            int(mask): vectors[usable & (masks == mask)] for mask in np.unique(masks[usable])
        }
        self._sums = {mask: moments_of(rows, parts) for mask, rows in self._rows.items()}
        self.holds_out = any(mask for mask in self._rows)
        """Whether some fold leaves rows out of a fit."""
        self._stored = str(vectors.dtype)
        self._background = background
        self._fitted: dict[int, Summary] = {}

    def count(self, without: Collection[int] = ()) -> int:
        """Return how many rows are fitted on, without those of some folds."""
        some = sum(len(self._rows[mask]) for mask in self._kept(without))
        behind = None if self._background is None else self._background.moments
        return some + (0 if behind is None else behind.rows)

    def fit(
        self, corrections: Sequence[NamedCorrection], without: Collection[int] = ()
    ) -> tuple[NamedCorrection, ...]:
        """Return copies of the corrections that have seen no row of some folds."""
        from sklearn.base import clone

        if not self.count(without):
            raise DataError(
                "every text is in every fold, so that none is left to fit on; name other texts or "
                "vectors to fit on with --fit-on"
            )
        copies = [
            NamedCorrection(one.name, clone(one.transformer, safe=False)) for one in corrections
        ]
        summary: Summary | None = None
        others = []
        for one in copies:
            if isinstance(one.transformer, ClosedForm):
                summary = self._summary(without) if summary is None else summary
                one.transformer._forget_names(summary.moments.width)
                one.transformer._fit_summary(summary)
            else:
                others.append(one)
        ready = {one.name: one for one in copies}
        if others:
            cloud = ArrayCloud(self._sample(without), "rows to fit on", fewest=1)
            ready |= {one.name: one for one in fitted(others, cloud, None)}
        return tuple(ready.values())

    def _kept(self, without: Collection[int]) -> list[int]:
        held = sum(1 << fold for fold in set(without))
        return [mask for mask in self._rows if not mask & held]

    def _summary(self, without: Collection[int]) -> Summary:
        key = sum(1 << fold for fold in set(without))
        if key not in self._fitted:
            states = [self._sums[mask] for mask in self._kept(without)]
            if self._background is not None and self._background.moments is not None:
                states.append(self._background.moments)
            total = merged(states)
            assert total is not None
            self._fitted[key] = Summary(total, self._stored)
        return self._fitted[key]

    def _sample(self, without: Collection[int]) -> NDArray[Any]:
        parts = [self._rows[mask] for mask in self._kept(without)]
        behind = self._background
        if behind is None or behind.moments is None:
            return some_rows(np.concatenate(parts), MOST_ROWS)
        sample = behind.sample.astype(parts[0].dtype if parts else np.float32)
        if not parts:
            return sample
        # Each side gets its share of the rows: the sample stands for far more than itself.
        own = np.concatenate(parts)
        total = len(own) + behind.moments.rows
        room = min(total, MOST_ROWS)
        size = max(1, round(room * len(own) / total))
        return np.concatenate([some_rows(own, size), some_rows(sample, room - size)])


def some_rows(rows: NDArray[Any], size: int) -> NDArray[Any]:
    """Draw some rows at random, in their order; all where there are no more."""
    if len(rows) <= size:
        return rows
    chosen = np.random.default_rng(0).choice(len(rows), size, replace=False)
    return np.asarray(rows[np.sort(chosen)])


def moments_of(rows: NDArray[Any], parts: MomentParts) -> Moments:
    """Sum over some rows in memory."""
    kernel = moments_kernel_for(rows, parts, double=False)
    for batch in ArrayCloud(rows, "rows to fit on", fewest=1).read():
        kernel.add(batch.vectors)
    found = kernel.result()
    assert found is not None
    return found


def parts_of(corrections: Sequence[NamedCorrection]) -> MomentParts:
    """Return the sums that some corrections need between them."""
    closed = [one.transformer for one in corrections if isinstance(one.transformer, ClosedForm)]
    return parts_together(closed)
