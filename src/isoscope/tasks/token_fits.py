"""Corrections fitted on the tokens of texts, in every layer, from one pass over them.

Corrections that follow from sums see every token. Others (clusters, flows, anybody else's) see a
random sample of at most so many tokens a layer, as all of them would not fit in memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.corrections.closed_form import ClosedForm
from isoscope.corrections.fit import fit_summary_together, parts_together
from isoscope.corrections.named import NamedCorrection, fitted
from isoscope.data.arrays import ArrayCloud
from isoscope.data.sampling import row_keys
from isoscope.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from isoscope.measures.kernels.torch_kernel import TorchMoments


MOST_TOKENS = 50_000
"""Tokens of a layer that a correction sees which does not follow from sums."""


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
        self._sums: dict[str, TorchMoments] = {}
        self._samples: dict[str, TokenSample] = {}
        self.tokens = 0
        """Tokens of a layer so far."""
        self._first = ""
        self._stored = "float32"

    def add(self, layer: str, tokens: Any) -> None:
        """Take some tokens of a layer into account."""
        from isoscope.measures.kernels.torch_kernel import TorchMoments

        self._first = self._first or layer
        self._stored = str(tokens.dtype).removeprefix("torch.")
        if self._closed:
            if layer not in self._sums:
                parts = parts_together([one.transformer for one in self._closed])  # type: ignore[misc]
                self._sums[layer] = TorchMoments(parts, double=False)
            self._sums[layer].add(tokens)
        if self._others:
            sample = self._samples.setdefault(layer, TokenSample(self._most, self._seed))
            sample.add(tokens)
        if layer == self._first:
            self.tokens += len(tokens)

    def fit(self, layer: str) -> tuple[NamedCorrection, ...]:
        """Return copies that have learned from the tokens of a layer; its sums are let go."""
        from sklearn.base import clone

        if not self.tokens:
            raise DataError("the texts to fit on have no token that counts")
        closed = [
            NamedCorrection(one.name, clone(one.transformer, safe=False)) for one in self._closed
        ]
        if closed:
            moments = self._sums.pop(layer).result()
            assert moments is not None
            fit_summary_together([one.transformer for one in closed], moments, self._stored)  # type: ignore[misc]
        others: tuple[NamedCorrection, ...] = ()
        if self._others:
            rows = self._samples.pop(layer).rows()
            others = fitted(self._others, ArrayCloud(rows, layer, fewest=1), None)
        return (*closed, *others)


def sees_a_sample(correction: NamedCorrection) -> bool:
    """Whether a correction does not follow from sums, so that it sees a sample of the tokens."""
    given = correction.transformer
    return given is not None and not isinstance(given, ClosedForm)


class TokenSample:
    """A random sample of tokens, the same whatever the layer and the size of batches."""

    def __init__(self, most: int, seed: int) -> None:
        self._most, self._seed = most, seed
        self._keys = np.empty(0, np.uint64)
        self._rows: list[NDArray[Any]] = []
        self._seen = 0

    def add(self, tokens: Any) -> None:
        """Look at some tokens."""
        wide = tokens.float() if tokens.element_size() < 4 else tokens
        self.add_rows(wide.cpu().numpy())

    def add_rows(self, rows: NDArray[Any]) -> None:
        """Look at some vectors in an array."""
        keys = row_keys(np.arange(self._seen, self._seen + len(rows)), self._seed)
        self._seen += len(rows)
        chosen = np.arange(len(keys))
        if len(self._keys) >= self._most:
            chosen = np.flatnonzero(keys < self._keys.max())
        if not len(chosen):
            return
        self._rows.append(rows[chosen])
        self._keys = np.concatenate((self._keys, keys[chosen]))
        if len(self._keys) > self._most * 5 // 4:
            self._prune()

    def _prune(self) -> None:
        kept = np.sort(np.argsort(self._keys, kind="stable")[: self._most])
        self._rows, self._keys = [np.concatenate(self._rows)[kept]], self._keys[kept]

    def rows(self) -> NDArray[Any]:
        """Return the sampled vectors in the order in which they came."""
        if not self._rows:
            return np.empty((0, 0), np.float32)
        self._prune()
        return self._rows[0]
