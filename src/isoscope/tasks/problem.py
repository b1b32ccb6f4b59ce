"""A task's data, ready to be scored in any space.

Whatever a task asks of vectors, it is scored in two steps: every item (a pair, a text, a query)
gets an *output* (a cosine, a predicted class, the ranks of its documents), and scores are functions
of the outputs of all items. So one piece of code can score a task on a split, or cross-fitted:
outputs of each fold from what was learned without it, then one score of them all.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from isoscope.compute.stats.estimates import Score
from isoscope.data.arrays import unit_rows
from isoscope.models.tokens import Mention
from isoscope.typing import Places, Vector

# Numbers of items, or of the rows that they stand on.
Items: TypeAlias = NDArray[np.intp]

# What vectors say of some items: a number, or a row of numbers, for each.
Outputs: TypeAlias = NDArray[np.float64]


class Problem(ABC):
    """What is scored, without the vectors.

    Attributes
    ----------
    task : str
        What results call it; the first part of the names of its scores.
    unit : str
        What an item is, in the plural: ``pairs``.
    texts : tuple of str
        The distinct texts that it stands on; empty where vectors are given.
    mentions : tuple of Mention, optional
        Where it is about words in texts, those words. Row k of the vectors is then mention k,
        otherwise text k.
    main : str
        The score that decides, one of the names that ``scores`` returns.
    learns : bool
        Whether outputs depend on the labels of items that may be learned from.
    """

    task: str
    unit: str
    texts: tuple[str, ...]
    mentions: tuple[Mention, ...] | None = None
    learns: bool = False

    @property
    @abstractmethod
    def main(self) -> str:
        """The score that decides."""

    @abstractmethod
    def __len__(self) -> int:
        """Return the number of items."""

    @abstractmethod
    def rows_of(self, items: Items) -> Items:
        """Return the rows of the vectors that some items stand on, each once."""

    @abstractmethod
    def outputs(self, vectors: NDArray[Any], learn: Items, held: Items) -> NDArray[np.float64]:
        """Return what the vectors say of every item in ``held``.

        Parameters
        ----------
        vectors : array
            A row for every text or mention; NaN for one without a vector.
        learn : array of int
            The items whose labels may be learned from; of no use to tasks that learn nothing.
        held : array of int
            The items that are scored; none of them is in ``learn``.

        Returns
        -------
        array
            A number, or a row of numbers, for every item in ``held``; NaN where there is none, as
            for the cosine of a zero vector.
        """

    @abstractmethod
    def scores(
        self, outputs: NDArray[np.float64], items: Items, level: float
    ) -> Mapping[str, Score]:
        """Score the outputs of some items, all of them finite.

        Names are what stands behind the task in the names of results, such as
        ``cosine/spearman``. The influences of a score are in the order of ``items`` (of those in
        its subset, where it is about one).
        """

    def ties_of(self, item: int) -> Items:
        """Return numbers of what ties an item to others: by default its texts."""
        return self._texts_of(np.array([item]))

    def held_out(self, items: Items) -> Items:
        """Return the rows that no fit for some items may see; of words, all of the same texts."""
        rows = self.rows_of(items)
        if self.mentions is None:
            return rows
        # Vectors of two words of one text come out of the same forward pass and know of each other,
        # so that no word of a scored text may be fitted on.
        texts = np.array([mention.text for mention in self.mentions], np.intp)
        return np.flatnonzero(np.isin(texts, texts[rows]))

    def fit_rows(self) -> Items | None:
        """Return the rows that are known before anything is asked, as the documents of a search.

        All corrections are then fitted on them. None where there are no such rows.
        """
        return None

    def texts_of(self, items: Items) -> list[str]:
        """Return the texts that some items stand on."""
        return [self.texts[place] for place in self._texts_of(items)]

    def _texts_of(self, items: Items) -> Items:
        rows = self.rows_of(items)
        if self.mentions is None:
            return rows
        return np.unique([self.mentions[row].text for row in rows]).astype(np.intp)


@dataclass(frozen=True)
class PairedRows(Problem):
    """A problem whose items are pairs of rows.

    Attributes
    ----------
    task, texts
        As in ``Problem``.
    first, second : array of int
        The two rows of every pair.
    """

    task: str
    texts: tuple[str, ...]
    first: Places
    second: Places

    def rows_of(self, items: Items) -> Items:
        """Return the two rows of some pairs."""
        return np.union1d(self.first[items], self.second[items])


def pair_cosines(vectors: NDArray[Any], first: Places, second: Places) -> Vector:
    """Return cos(x_i, x_j) = x_i · x_j / (‖x_i‖ ‖x_j‖) of some pairs of rows.

    It is NaN where a row has no vector, or one of norm 0.
    """
    units = unit_rows(np.asarray(vectors, np.float64))
    return np.asarray(np.einsum("ij,ij->i", units[first], units[second]))
