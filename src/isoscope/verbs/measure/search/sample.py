"""What a search is tried on: a sample of a cloud, and corrections that all of its rows taught."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.compute.memory import check_held
from isoscope.compute.nearest_neighbours import load_faiss
from isoscope.corrections.named import NamedCorrection, fitted, in_memory
from isoscope.data.sampling import draw
from isoscope.data.selection import PickedRows, RowSelection, WatchedCloud
from isoscope.errors import DataError, UsageError, at_least
from isoscope.results.result import Result, versions
from isoscope.tasks.encoding import open_source
from isoscope.verbs.measure.search.names import REMARKS, SAMPLE, K

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from isoscope.progress import Progress
    from isoscope.results.result import Row
    from isoscope.typing import Matrix


@dataclass(frozen=True, kw_only=True)
class SearchOptions:
    """What all questions about a search take: keywords of ``neighbours`` and ``reduce``.

    Parameters
    ----------
    sample : int
        Rows of the cloud, and of queries, that take part.
    k : int
        How many neighbours.
    seed : int
        Of the sample, of its order, and of the cells of IVF.
    column : str, optional
        Array, column or field, if the file has several.
    drop_invalid : bool
        Exclude rows with NaN or infinity, and pairs that name one, instead of stopping.
    progress : callable, optional
        Called with the name of the work, rows done, and rows in all.
    command : str
        Kept in the result.
    """

    sample: int = SAMPLE
    k: int = K
    seed: int = 0
    column: str | None = None
    drop_invalid: bool = False
    progress: Progress | None = None
    command: str = ""

    def __post_init__(self) -> None:
        """Refuse a sample in which k neighbours say nothing."""
        at_least("k", self.k, 1)
        at_least("seed", self.seed, 0)
        if self.sample < 2 * self.k:
            raise UsageError(
                f"a sample of {self.sample:,} rows is too small for {self.k} neighbours each; take "
                f"at least {2 * self.k:,}, and thousands for figures that mean something"
            )

    def rows_of(self, cloud: Any) -> RowSelection:
        """Open one cloud, without the rows that must not count."""
        group = open_source(cloud, column=self.column)
        return RowSelection(group, drop_invalid=self.drop_invalid)

    def sampled_queries(self, queries: Any, dimension: int) -> Matrix:
        """Return a sample of a second cloud, whose rows are looked for in the first."""
        group = open_source(queries, column=self.column)
        if group.widths[0] != dimension:
            raise DataError(
                f"queries have {group.widths[0]:,} dimensions, the vectors that they are looked "
                f"for in {dimension:,}; both must come from one model"
            )
        drawn = draw(group, self.sample, self.seed)
        return in_memory(RowSelection(drawn, drop_invalid=self.drop_invalid)).astype(np.float64)


@dataclass(frozen=True)
class SearchSample:
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

    def result(
        self, rows: list[Row], options: SearchOptions, kind: str, remarks: list[str], count: int
    ) -> Result:
        """Return rows about a search among so many of the sampled rows, as a result."""
        return Result(
            rows,
            left_out=self.left_out,
            seeds={"seed": options.seed},
            versions={**versions(), "faiss": load_faiss().__version__},
            command=options.command,
            extra={kind: {REMARKS: remarks, "k": options.k, "sample": count}},
        )


def draw_sample(
    cloud: Any,
    corrections: Sequence[NamedCorrection],
    options: SearchOptions,
    wanted: NDArray[np.int64] | None = None,
) -> SearchSample:
    """Fit corrections on a whole cloud, and draw a sample of it while it is read for that.

    Parameters
    ----------
    cloud : str, Path, array, tensor or CloudGroup
        Anything that ``open_cloud`` takes.
    corrections : sequence of NamedCorrection
        Copies of them are fitted; those that follow from sums share one read.
    options : SearchOptions
        How many rows, which and in which order, and of what.
    wanted : array of int, optional
        Numbers of rows to keep beside the sample, rising.
    """
    group = open_source(cloud, column=options.column)
    size, seed = options.sample, options.seed
    check_held(
        size if group.rows is None else min(size, group.rows), group.widths[0],
        f"searching {group.names[0]}", "take a smaller --neighbour-sample",
    )  # fmt: skip
    picked = PickedRows(group, np.empty(0, np.int64) if wanted is None else wanted)
    if wanted is None and all(one.transformer is None for one in corrections):
        drawn = draw(group, size, seed)
        selection = RowSelection(drawn, drop_invalid=options.drop_invalid)
        rows = in_memory(selection).astype(np.float64)
        done = tuple(corrections)
    else:
        watched = WatchedCloud(picked, size, seed)
        selection = RowSelection(watched, drop_invalid=options.drop_invalid)
        done = fitted(corrections, selection, options.progress)
        rows = watched.sample()
    order = np.random.default_rng(seed).permutation(len(rows))
    return SearchSample(
        group.names[0],
        rows[order],
        done,
        group.rows,
        dict(selection.left_out),
        None if wanted is None else picked.found(),
        str(getattr(group, "caveat", "")),
    )


def check_rows(name: str, rows: int, k: int) -> None:
    """Refuse a cloud in which k neighbours are most of the rows."""
    if rows < 2 * k:
        raise DataError(
            f"{name} has {rows:,} rows with a direction; {k} neighbours each take at least "
            f"{2 * k:,} (ask for fewer with --k)"
        )
