"""Cloud groups in shards, which other threads, processes or machines read by themselves.

A cut follows from the source alone, never from who reads it: shards are whole batches, and their
batches, one after the other, are those of the group.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from isoscope.data.base import Cloud, rows_per_batch
from isoscope.data.combine import FileParts, clouds_of
from isoscope.data.selection import RowSelection

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoscope.data.base import CloudGroup


SHARD_BATCHES = 64
"""Batches of a shard: some hundred megabytes, which are read again soon when a worker dies."""

UNCOUNTED = 40
"""Bits for the rows of a shard where nobody has counted those before it."""


@dataclass(frozen=True)
class Shard:
    """A part of a cloud group that is read by itself; one of files can be pickled."""

    name: str
    """The file, and which of its rows where it has several shards."""
    base: int
    """Added to the row numbers of its batches, which count from 0: no two rows of a cloud share
    one then. Where all rows before are counted, they are numbered as in the whole."""
    group: CloudGroup


def shards_of(group: CloudGroup, rows: int | None = None) -> list[Shard]:
    """Cut a group into shards.

    Parameters
    ----------
    group : CloudGroup
        What is to be read. Files that can only be read from front to back stay whole, as does
        what is not in files or arrays.
    rows : int, optional
        Rows of a shard at most, rounded down to whole batches, of which it has at least one; by
        default those of 64 batches. Row groups of Parquet and record batches of Arrow stay whole.

    Returns
    -------
    list of Shard
        In the order of the rows. Those of several parts have one part each, and number its rows.
    """
    if isinstance(group, RowSelection):
        below = shards_of(group.group, rows)
        return [replace(shard, group=group.over(shard.group)) for shard in below]
    clouds = clouds_of(group)
    if clouds is None:
        return [Shard(" to ".join(dict.fromkeys((group.names[0], group.names[-1]))), 0, group)]
    shards: list[Shard] = []
    for part, cloud in clouds.items():
        pieces = cloud.cut(whole_batches(rows, cloud.width))
        before: int | None = 0
        for name, piece in zip(names_of(pieces), pieces, strict=True):
            base = len(shards) << UNCOUNTED if before is None else before
            read = group.only(part, piece) if isinstance(group, FileParts) else piece
            shards.append(Shard(name, base, read))
            before = None if before is None or piece.rows is None else before + piece.rows
    return shards


def whole_batches(rows: int | None, width: int) -> int:
    """Return the rows of a shard."""
    step = rows_per_batch(width)
    return step * (SHARD_BATCHES if rows is None else max(rows // step, 1))


def names_of(pieces: Sequence[Cloud]) -> list[str]:
    """Name pieces by their files, and by their rows where several are of one file."""
    files = [str(piece.location or piece.where) for piece in pieces]
    counts = Counter(files)
    return [
        file if counts[file] == 1 else f"{file}, {row_range(piece)}"
        for file, piece in zip(files, pieces, strict=True)
    ]


def row_range(piece: Cloud) -> str:
    """Say which rows of its file a piece has."""
    return f"rows {piece.start:,} to {piece.start + (piece.rows or 0) - 1:,}"
