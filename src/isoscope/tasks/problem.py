"""A task's data, ready to be scored in any space.

Whatever a task asks of vectors, it is scored in two steps: every item (a pair, a text, a query)
gets an *output* (a cosine, a predicted class, the ranks of its documents), and scores are functions
of the outputs of all items. So one piece of code can score a task on a split, or cross-fitted:
outputs of each fold from what was learned without it, then one score of them all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray

    from isoscope.compute.stats.estimates import Score
    from isoscope.models.tokens import Mention

    Items = NDArray[np.intp]


class Problem(Protocol):
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

    @property
    def task(self) -> str: ...  # noqa: D102 - see the class
    @property
    def unit(self) -> str: ...  # noqa: D102
    @property
    def texts(self) -> tuple[str, ...]: ...  # noqa: D102
    @property
    def mentions(self) -> tuple[Mention, ...] | None: ...  # noqa: D102
    @property
    def main(self) -> str: ...  # noqa: D102
    @property
    def learns(self) -> bool: ...  # noqa: D102

    def __len__(self) -> int:
        """Return the number of items."""

    def rows_of(self, items: Items) -> Items:
        """Return the rows of the vectors that some items stand on, each once."""

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

    def scores(
        self, outputs: NDArray[np.float64], items: Items, level: float
    ) -> Mapping[str, Score]:
        """Score the outputs of some items, all of them finite.

        Names are what stands behind the task in the names of results, such as
        ``cosine/spearman``. The influences of a score are in the order of ``items`` (of those in
        its subset, where it is about one).
        """
