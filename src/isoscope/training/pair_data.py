"""Texts and what is to be written from them: translations, summaries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from isoscope.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Iterable

ORDER_SEED = 0
"""Of the order in which ``limit`` takes pairs: the same for every run."""


class WrittenPair(NamedTuple):
    """A text, and what a model should write when it reads it."""

    source: str
    target: str


@dataclass(frozen=True)
class PairData:
    """The pairs of a task.

    Attributes
    ----------
    train, scored : tuple of WrittenPair
        What is learned from, and what is scored.
    dev : tuple of WrittenPair
        To choose settings on; empty where the data have no such part.
    notes : tuple of str
        What was left out, and what is scored where the data have no test set.
    languages : tuple of str, optional
        Of sources and of targets, where they differ.
    """

    train: tuple[WrittenPair, ...]
    scored: tuple[WrittenPair, ...]
    dev: tuple[WrittenPair, ...] = ()
    notes: tuple[str, ...] = ()
    languages: tuple[str, str] | None = None

    def first(self, limit: int | None) -> tuple[WrittenPair, ...]:
        """Return so many training pairs after shuffling them once, or all in their order."""
        if limit is None or limit >= len(self.train):
            return self.train
        order = np.random.default_rng(ORDER_SEED).permutation(len(self.train))[:limit]
        return tuple(self.train[k] for k in order)


def whole_pairs(pairs: Iterable[tuple[str, str]]) -> tuple[tuple[WrittenPair, ...], int]:
    """Keep the pairs that have both texts; return them, and how many have not."""
    stripped = [WrittenPair(source.strip(), target.strip()) for source, target in pairs]
    kept = tuple(pair for pair in stripped if pair.source and pair.target)
    return kept, len(stripped) - len(kept)


def hold_out(
    pairs: tuple[WrittenPair, ...], one_in: int, where: str
) -> tuple[tuple[WrittenPair, ...], tuple[WrittenPair, ...]]:
    """Cut off the last pairs, one in so many; they are scored, and never learned from."""
    count = len(pairs) // one_in
    if not count:
        raise DataError(
            f"{where} has {len(pairs)} pairs: too few to hold out one in {one_in} of them for "
            "scoring"
        )
    return pairs[:-count], pairs[-count:]


def left_out_note(count: int, where: str) -> tuple[str, ...]:
    """Say how many pairs had an empty side, where any had."""
    if not count:
        return ()
    what = "pair that has" if count == 1 else "pairs that have"
    return (f"{count:,} {what} an empty side left out of {where}",)
