"""Corrections fitted without the rows of some folds, or on the tokens of every layer.

Corrections that follow from sums (number, mean and scatter of rows) see every row: the sums of each
group of rows are taken once, in one read, and merged anew for every fit. All others (clusters,
flows, transformers of somebody else) see a random sample of at most 50,000 rows, as all of them may
not fit in memory.

For folds, rows are grouped by the set of folds that stand on them: a fit without fold k merges the
groups whose set does not contain k.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isoscope.compute.map_reduce import merged
from isoscope.corrections.closed_form import ClosedForm
from isoscope.corrections.fit import Summary, parts_together
from isoscope.corrections.named import NamedCorrection, fitted
from isoscope.data.arrays import ArrayCloud
from isoscope.data.sampling import TokenSample
from isoscope.errors import DataError
from isoscope.measures.kernels import MomentsKernel, moments_kernel_for
from isoscope.measures.reads.moments import MomentParts, Moments

# Rows that a correction sees which does not follow from sums.
MOST_ROWS = 50_000


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


def fit_copies(
    corrections: Sequence[NamedCorrection],
    summary: Callable[[], Summary],
    sample: Callable[[], ArrayCloud],
) -> tuple[NamedCorrection, ...]:
    """Return fitted copies of corrections, in their order.

    Parameters
    ----------
    corrections : sequence of NamedCorrection
        What is to be fitted; these stay as they are.
    summary : callable
        Returns the sums of all rows, for corrections that follow from them.
    sample : callable
        Returns some of the rows, for all others.
    """
    from sklearn.base import clone

    # Copies, because the same correction is fitted once for every fold, and the caller's own must
    # stay as it was given.
    copies = {
        one.name: NamedCorrection(one.name, clone(one.transformer, safe=False))
        for one in corrections
    }
    closed = [one.transformer for one in copies.values() if isinstance(one.transformer, ClosedForm)]
    if closed:
        sums = summary()
        for transformer in closed:
            transformer.fit_summary(sums)
    others = [one for one in copies.values() if not isinstance(one.transformer, ClosedForm)]
    if others:
        copies |= {one.name: one for one in fitted(others, sample(), None)}
    return tuple(copies.values())


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
        # Bit k of a row's mask says that fold k stands on it; there are at most 20 folds.
        # Where texts are dealt whole, a row is in one fold or none, and there are as many groups as
        # folds and one. Only rows that several folds stand on make further ones.
        masks = np.zeros(len(vectors), np.int64)
        for number, rows in enumerate(folds):
            masks[rows] |= 1 << number
        usable = usable & np.isfinite(vectors).all(axis=1)
        self._rows = {
            int(mask): vectors[usable & (masks == mask)] for mask in np.unique(masks[usable])
        }
        # Added up anew for every fit, never subtracted from a total: what is left of two large
        # numbers would have lost its digits, and a maximum cannot be taken back at all.
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
        if not self.count(without):
            raise DataError(
                "every text is in every fold, so that none is left to fit on; name other texts or "
                "vectors to fit on with --fit-on"
            )
        return fit_copies(
            corrections,
            lambda: self._summary(without),
            lambda: ArrayCloud(self._sample(without), "rows to fit on", fewest=1),
        )

    def _kept(self, without: Collection[int]) -> list[int]:
        # A row is left out as soon as one of the folds stands on it.
        held = sum(1 << fold for fold in set(without))
        return [mask for mask in self._rows if not mask & held]

    def _summary(self, without: Collection[int]) -> Summary:
        # The same pair of folds is asked for by every correction with settings. A summary keeps its
        # decomposition, so that twenty settings cost one.
        key = sum(1 << fold for fold in set(without))
        if key not in self._fitted:
            # In the order of the masks, which np.unique has sorted: the same order, and so the same
            # bits, whichever fit comes first.
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
        # The same rows for every correction of a fold: some_rows always draws with one seed.
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
    # The same seed in every call, so that corrections are compared on the same rows.
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


# Tokens of a layer that a correction sees which does not follow from sums.
MOST_TOKENS = 50_000


class TokenFits:
    """Takes the tokens of several layers, and fits corrections on them.

    Parameters
    ----------
    corrections : sequence of NamedCorrection
        What is to be fitted in every layer.
    most : int
        Tokens in the sample of a layer.
    seed : int
        Of the sample. The same tokens are drawn in every layer.
    """

    def __init__(
        self, corrections: Sequence[NamedCorrection], most: int = MOST_TOKENS, seed: int = 0
    ) -> None:
        self._closed = [one for one in corrections if isinstance(one.transformer, ClosedForm)]
        self._others = [one for one in corrections if sees_a_sample(one)]
        self._most, self._seed = most, seed
        self._sums: dict[str, MomentsKernel] = {}
        self._samples: dict[str, TokenSample] = {}
        self.tokens = 0
        """Tokens of a layer so far."""
        self._first = ""
        self._stored = "float32"

    def add(self, layer: str, tokens: Any) -> None:
        """Take some tokens of a layer into account."""
        self._first = self._first or layer
        self._stored = str(tokens.dtype).removeprefix("torch.")
        if self._closed:
            if layer not in self._sums:
                parts = parts_of(self._closed)
                self._sums[layer] = moments_kernel_for(tokens, parts, double=False)
            self._sums[layer].add(tokens)
        if self._others:
            sample = self._samples.setdefault(layer, TokenSample(self._most, self._seed))
            sample.add(tokens)
        if layer == self._first:
            self.tokens += len(tokens)

    def fit(self, layer: str) -> tuple[NamedCorrection, ...]:
        """Return copies that have learned from the tokens of a layer; its sums are let go."""
        if not self.tokens:
            raise DataError("the texts to fit on have no token that counts")
        return fit_copies(
            [*self._closed, *self._others],
            lambda: self._summary(layer),
            lambda: ArrayCloud(self._samples.pop(layer).rows(), layer, fewest=1),
        )

    def _summary(self, layer: str) -> Summary:
        moments = self._sums.pop(layer).result()
        assert moments is not None
        return Summary(moments, self._stored)


def sees_a_sample(correction: NamedCorrection) -> bool:
    """Whether a correction does not follow from sums, so that it sees a sample of the tokens."""
    given = correction.transformer
    return given is not None and not isinstance(given, ClosedForm)
