"""What a probe is asked, and what it answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from isoscope.compute.stats.folds import dealt_by_class

if TYPE_CHECKING:
    from collections.abc import Sequence


Matrix = NDArray[np.floating[Any]]
Codes = NDArray[np.intp]

CHOOSING = 5
"""One row in this many is held back to choose on, where the data do not say which."""


@dataclass(frozen=True)
class Lesson:
    """Features with their classes, and features whose classes are asked for.

    Attributes
    ----------
    features : array of rows × width
        What is learned from.
    codes : array of int
        The class of every row, 0 … K − 1.
    asked : array of rows × width
        What is to be classified.
    choosing : array of bool, optional
        The rows of ``features`` on which a probe chooses its settings, as a release's dev part;
        without it, or where it leaves a class unseen, every fifth row of a class, at random.
    blocks : int
        Of how many blocks of one width the features consist, as of u, v, |u − v| and u ∘ v.
    """

    features: Matrix
    codes: Codes
    asked: Matrix
    choosing: NDArray[np.bool_] | None = None
    blocks: int = 1

    def held_back(self, seed: int) -> NDArray[np.bool_]:
        """Tell which rows settings are chosen on; none where every class is too small for it.

        All classes are among the other rows.
        """
        given = self.choosing
        if (
            given is not None
            and given.any()
            and np.array_equal(np.unique(self.codes[~given]), np.unique(self.codes))
        ):
            return given
        return np.asarray(dealt_by_class(self.codes, CHOOSING, seed) == CHOOSING - 1)


class Probe(Protocol):
    """A classifier of frozen features.

    Attributes
    ----------
    name : str
        What stands in front of its scores, as in ``logistic/accuracy``.
    """

    @property
    def name(self) -> str: ...  # noqa: D102 - see the class

    def __str__(self) -> str:
        """Say how it learns, for a protocol."""

    def predict(self, lesson: Lesson) -> Codes:
        """Return the class of every row that is asked for; at least two are learned from."""


@runtime_checkable
class EpochProbe(Probe, Protocol):
    """A probe that learns in epochs."""

    def epochs_of(self, lesson: Lesson) -> Sequence[tuple[float, Codes]]:
        """Return the loss of every epoch, and the classes of what is asked for after it.

        All rows are learned from, none is held back.
        """
