"""What a search is tried on: a sample of a cloud, and corrections that all of its rows taught."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.corrections.named import NamedCorrection, fitted, in_memory
from isoscope.data.sampling import draw
from isoscope.data.selection import PickedRows, RowSelection, WatchedCloud
from isoscope.errors import DataError, UsageError
from isoscope.tasks.encoding import open_source

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from isoscope.progress import Progress
    from isoscope.typing import Matrix


@dataclass(frozen=True)
class Gathered:
    """Sampled rows in random order, and fitted corrections.

    Attributes
    ----------
    name : str
        The cloud's.
    rows : array
        The sample, in random order: what is equally near must not be found in the order of the
        file, in which neighbours often stand together.
    corrections : tuple of NamedCorrection
        Fitted on the whole cloud.
    whole : int or None
        Rows of the cloud, where that is known.
    left_out : dict
        Rows that did not count, by reason.
    wanted : array, optional
        The rows that were asked for by number, NaN where one is not finite.
    caveat : str
        What must be known of the source, such as that its codes are lossy.
    """

    name: str
    rows: Matrix
    corrections: tuple[NamedCorrection, ...]
    whole: int | None
    left_out: dict[str, int]
    wanted: Matrix | None = None
    caveat: str = ""

    @property
    def of_all(self) -> str:
        """Behind a number of rows: of how many, where that is known."""
        return "" if self.whole is None else f" of {self.whole:,}"

    @property
    def remark(self) -> str:
        """What a protocol says of the source, at its end."""
        return f"; {self.caveat}" if self.caveat else ""


def gather(
    cloud: Any,
    corrections: Sequence[NamedCorrection],
    size: int,
    *,
    seed: int,
    column: str | None,
    drop_invalid: bool,
    progress: Progress | None,
    wanted: NDArray[np.int64] | None = None,
) -> Gathered:
    """Fit corrections on a whole cloud, and draw a sample of it while it is read for that.

    Parameters
    ----------
    cloud : str, Path, array, tensor or CloudGroup
        Anything that ``open_cloud`` takes.
    corrections : sequence of NamedCorrection
        Copies of them are fitted; those that follow from sums share one read.
    size : int
        Rows of the sample.
    seed : int
        Which rows, and in which order.
    column : str, optional
        Which array of a file that holds several.
    drop_invalid : bool
        Leave out rows that are not finite, instead of stopping.
    progress : callable, optional
        Called with the name of the read, rows done, and rows in all.
    wanted : array of int, optional
        Numbers of rows to keep beside the sample, rising.
    """
    group = open_source(cloud, column=column)
    picked = PickedRows(group, np.empty(0, np.int64) if wanted is None else wanted)
    if wanted is None and all(one.transformer is None for one in corrections):
        selection = RowSelection(draw(group, size, seed), drop_invalid=drop_invalid)
        rows = in_memory(selection).astype(np.float64)
        done = tuple(corrections)
    else:
        watched = WatchedCloud(picked, size, seed)
        selection = RowSelection(watched, drop_invalid=drop_invalid)
        done = fitted(corrections, selection, progress)
        rows = watched.sample()
    order = np.random.default_rng(seed).permutation(len(rows))
    return Gathered(
        group.names[0],
        rows[order],
        done,
        group.rows,
        dict(selection.left_out),
        None if wanted is None else picked.found(),
        str(getattr(group, "caveat", "")),
    )


def chosen_rows(cloud: Any, column: str | None, drop_invalid: bool) -> RowSelection:
    """Open one cloud, without the rows that must not count."""
    return RowSelection(open_source(cloud, column=column), drop_invalid=drop_invalid)


def sampled_queries(
    queries: Any, width: int, size: int, seed: int, column: str | None, drop_invalid: bool
) -> Matrix:
    """Return a sample of a second cloud, whose rows are looked for in the first."""
    group = open_source(queries, column=column)
    if group.widths[0] != width:
        raise DataError(
            f"queries have {group.widths[0]:,} dimensions, the vectors that they are looked for "
            f"in {width:,}; both must come from one model"
        )
    drawn = RowSelection(draw(group, size, seed), drop_invalid=drop_invalid)
    return in_memory(drawn).astype(np.float64)


def check_sizes(sample: int, k: int, seed: int) -> None:
    """Refuse a sample in which k neighbours say nothing."""
    if k < 1:
        raise UsageError(f"k is at least 1, not {k}")
    if seed < 0:
        raise UsageError(f"seed is at least 0, not {seed}")
    if sample < 2 * k:
        raise UsageError(
            f"a sample of {sample:,} rows is too small for {k} neighbours each; take at least "
            f"{2 * k:,}, and thousands for figures that mean something"
        )


def check_rows(name: str, rows: int, k: int) -> None:
    """Refuse a cloud in which k neighbours are most of the rows."""
    if rows < 2 * k:
        raise DataError(
            f"{name} has {rows:,} rows with a direction; {k} neighbours each take at least "
            f"{2 * k:,} (ask for fewer with --k)"
        )
