"""Which rows count, decided once, here, for every source; rows that are kept while others read."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.data.arrays import is_tensor, on_host, square_norms
from isoscope.data.base import Batch, LazyLabels, WrappedGroup, identity_of, shards_of
from isoscope.data.sampling import SampleTaker
from isoscope.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from isoscope.data.base import CloudGroup, Labels, Shard


# Why rows are left out that are null, or hold a null number.
NULL = "null"


class RowSelection(WrappedGroup):
    """A cloud group without the rows that must not count.

    Rows that are null, or hold NaN or an infinity, stop the run, named by index and label, unless
    ``drop_invalid`` leaves them out. After a read ``left_out`` says how many went and why.

    Parameters
    ----------
    group : CloudGroup
        Where the rows come from.
    drop_invalid : bool
        Leave out rows that are not finite, in all clouds of the group, instead of stopping.
    """

    def __init__(self, group: CloudGroup, *, drop_invalid: bool = False) -> None:
        super().__init__(group)
        self._drop_invalid = drop_invalid
        self.left_out: dict[str, int] = {}

    @property
    def group(self) -> CloudGroup:
        """Where the rows come from."""
        return self._group

    def over(self, group: CloudGroup) -> RowSelection:
        """Return the same selection from another group, such as a piece of this one."""
        return RowSelection(group, drop_invalid=self._drop_invalid)

    def shards(self, rows: int | None) -> list[Shard]:
        """Cut what is selected from, and select in every shard."""
        below = shards_of(self._group, rows)
        return [replace(shard, group=self.over(shard.group)) for shard in below]

    def identity(self) -> Any:
        """Return the identity of what is selected from."""
        return identity_of(self._group)

    @property
    def certain_rows(self) -> int | None:
        """Number of rows that will be read; None when some may be left out."""
        return None if self._drop_invalid else self._group.rows

    def batches(self) -> Iterator[Mapping[str, Batch]]:
        """Read from the start; rows are numbered anew where some are left out."""
        self.left_out = {}
        positions = dict.fromkeys(self.names, 0)
        for batches in self._group.batches():
            finite = missing = None
            summed = {}
            for name, batch in batches.items():
                squares = finite_squares(batch.vectors)
                good = None if squares is not None else finite_rows(batch.vectors)
                if good is None:
                    summed[name] = squares
                    continue
                if not self._drop_invalid:
                    raise DataError(self._not_finite(name, batch, good))
                # A row that is bad in one layer is left out of all: rows that are read together
                # stay together.
                finite = good if finite is None else finite & good
                if batch.nulls is not None:
                    missing = batch.nulls if missing is None else missing | batch.nulls
            if finite is not None:
                nulls = 0 if missing is None else int(missing.sum())
                self._leave_out(NULL, nulls)
                self._leave_out(self.invalid, int(len(finite) - finite.sum()) - nulls)
                batches = {name: keep(batch, finite) for name, batch in batches.items()}
            kept = {
                name: batch._replace(
                    first_row=positions[name],
                    squares=summed[name] if finite is None else None,
                )
                for name, batch in batches.items()
                if len(batch.vectors)
            }
            for name, batch in kept.items():
                positions[name] += len(batch.vectors)
            if kept:
                yield kept

    def _leave_out(self, why: str, count: int) -> None:
        """Count rows that are left out."""
        if count:
            self.left_out[why] = self.left_out.get(why, 0) + count

    def _not_finite(self, name: str, batch: Batch, good: NDArray[np.bool_]) -> str:
        """Name the first row that is not finite."""
        bad = int(np.flatnonzero(~good)[0])
        row, fault = batch.first_row + bad, self.fault
        if batch.nulls is not None and batch.nulls[bad]:
            whole = bool(np.isnan(batch.vectors[bad]).all())
            fault = "has no vector (null)" if whole else "holds a null number"
        return (
            f"{self.place(name, row)}{label_of(batch.labels, bad)} {fault}; "
            "--drop-invalid (drop_invalid=True) leaves such rows out and counts them"
        )


def finite_squares(vectors: Any) -> NDArray[np.float64] | None:
    """Return ‖x‖² of every row where it shows that all numbers are finite, None where not.

    NaN and infinities reach a sum of squares, at half the time of a look at every number; and
    whoever takes moments needs these sums anyway.
    """
    if is_tensor(vectors) or not vectors.flags.c_contiguous or vectors.dtype.itemsize < 4:
        return None
    with np.errstate(over="ignore", invalid="ignore"):
        squares = square_norms(vectors)
        # Where the sum is not finite, large numbers may be the reason.
        return squares if np.isfinite(squares.sum()) else None


def finite_rows(vectors: Any) -> NDArray[np.bool_] | None:
    """Tell which rows are finite; None when all are, the case that must be fast."""
    if is_tensor(vectors):
        good = vectors.isfinite().all(dim=1)
        return None if bool(good.all()) else np.asarray(good.cpu().numpy(), dtype=np.bool_)
    if vectors.flags.c_contiguous and vectors.dtype.itemsize >= 4:
        # NaN and infinities reach a sum of squares, and BLAS makes one at half the time of a
        # look at every number; where it is not finite, large numbers may be the reason.
        flat = vectors.reshape(-1)
        with np.errstate(over="ignore", invalid="ignore"):
            if np.isfinite(np.dot(flat, flat)):
                return None
    elements = np.isfinite(vectors)
    return None if elements.all() else elements.all(axis=1)


def keep(batch: Batch, mask: NDArray[np.bool_]) -> Batch:
    """Return the rows of a batch that the mask names, labels included."""
    chosen = np.flatnonzero(mask)
    makers = {key: (lambda key=key: batch.labels[key][chosen]) for key in batch.labels}
    return Batch(batch.vectors[chosen], batch.first_row, LazyLabels(makers))


def label_of(labels: Labels, row: int) -> str:
    """Return the first label of a row in brackets, or nothing."""
    for key in labels:
        label = labels[key][row]
        return f" ({key} {label.item() if isinstance(label, np.generic) else label!r})"
    return ""


class ObservedCloud(WrappedGroup):
    """A group of one cloud whose rows are looked at when it is first read, and only then."""

    def __init__(self, group: CloudGroup) -> None:
        super().__init__(group)
        self._started = False

    def batches(self) -> Iterator[Mapping[str, Batch]]:
        """Read from the start, and look at what passes by the first time."""
        first, self._started = not self._started, True
        for batches in self._group.batches():
            if first:
                self._observe(batches[self.names[0]])
            yield batches

    def _observe(self, batch: Batch) -> None:
        raise NotImplementedError


class WatchedCloud(ObservedCloud):
    """A group of one cloud that keeps a random sample of its rows.

    Parameters
    ----------
    group : CloudGroup
        Where the rows come from.
    size : int
        How many rows to keep.
    seed : int
        Which ones.
    """

    def __init__(self, group: CloudGroup, size: int, seed: int = 0) -> None:
        super().__init__(group)
        self._taker = SampleTaker(group.widths[0], size, seed, group.rows)

    def _observe(self, batch: Batch) -> None:
        self._taker.add(batch)

    def sample(self) -> NDArray[np.float64]:
        """Return the rows kept, in their order, without those that are not finite."""
        rows = self._taker.result().vectors
        good = finite_rows(rows)
        return rows if good is None else rows[good]


class PickedRows(ObservedCloud):
    """A group of one cloud that keeps some of its rows by their numbers.

    Parameters
    ----------
    group : CloudGroup
        Where the rows come from.
    wanted : array of int
        Their numbers, rising, each once.
    """

    def __init__(self, group: CloudGroup, wanted: NDArray[np.int64]) -> None:
        super().__init__(group)
        self._wanted = wanted
        self._found: list[NDArray[np.float64]] = []
        self._read = 0

    def _observe(self, batch: Batch) -> None:
        self._read = batch.first_row + len(batch.vectors)
        here = picked(self._wanted, batch)
        if len(here):
            self._found.append(on_host(batch.vectors, here))

    def found(self) -> NDArray[np.float64]:
        """Return the rows in their order, NaN in place of those that are not finite."""
        if len(self._wanted) and self._wanted[-1] >= self._read:
            raise DataError(
                f"{self.names[0]} has {self._read:,} rows, from 0; there is no row "
                f"{int(self._wanted[-1]):,}"
            )
        rows = np.concatenate([np.empty((0, self.widths[0])), *self._found])
        rows[~np.isfinite(rows).all(axis=1)] = np.nan
        return rows


def picked(wanted: NDArray[np.int64], batch: Batch) -> NDArray[np.int64]:
    """Return where in a batch the rows of some rising numbers are, as far as it has them."""
    ends = batch.first_row, batch.first_row + len(batch.vectors)
    return wanted[slice(*np.searchsorted(wanted, ends))] - batch.first_row


def count_rows(group: CloudGroup) -> int:
    """Return the number of rows of a group of one cloud; by reading where only that tells."""
    if group.rows is not None:
        return group.rows
    return sum(len(batches[group.names[0]].vectors) for batches in group.batches())
