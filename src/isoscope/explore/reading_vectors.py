"""From a source of vectors to what is explored."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.data.arrays import is_tensor
from isoscope.data.combine import clouds_of
from isoscope.data.open import open_cloud
from isoscope.data.sampling import lowest_indices
from isoscope.data.selection import RowSelection
from isoscope.errors import DataError, UsageError
from isoscope.explore.explored import Colouring, Explored
from isoscope.models.sources import CONFIG, GGUF
from isoscope.tasks.vocabulary import WORD, label_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from isoscope.compute.stage import Progress
    from isoscope.data.base import Batch, Cloud


MEMORY = 2 * 10**9
"""Bytes that vectors as they are may take; of larger sources a random part is read."""


def read_vectors(
    source: Any,
    *,
    column: str | None = None,
    words: str | None = None,
    drop_invalid: bool = False,
    seed: int = 0,
    progress: Progress | None = None,
) -> Explored:
    """Read a source of vectors into memory.

    Parameters
    ----------
    source : str, Path, array or CloudGroup
        What ``open_cloud`` takes; parts, as of ``layer_{layer}.npy``, are layers and must have the
        same rows.
    column : str, optional
        Which array of a file that holds several.
    words : str, optional
        Label that holds the words; by default ``word``, or the only one, or the rows' numbers.
    drop_invalid : bool
        Leave out rows that are not finite; of a single cloud only.
    seed : int
        Of the draw where not all rows fit into memory.
    progress : callable, optional
        Called with the name of the read, rows done, and rows in all.
    """
    refuse_model(source)
    group = open_cloud(source, column=column)
    clouds = clouds_of(group)
    if clouds is None:
        raise UsageError("explore takes a source of vectors, or a model with texts")
    if drop_invalid and len(clouds) > 1:
        raise UsageError("parts must keep the same rows: --drop-invalid is for a single cloud")
    room = max(2, MEMORY // (4 * sum(cloud.width for cloud in clouds.values())))
    layers: dict[str, NDArray[np.float32]] = {}
    names: NDArray[np.object_] | None = None
    places = np.empty(0, np.int64)
    total = 0
    for part, cloud in clouds.items():
        total = counted(cloud)
        kept = None if total <= room else lowest_indices(total, room, seed)
        vectors, own, rows = read_cloud(cloud, kept, words, drop_invalid, total, progress)
        if names is not None and (len(rows) != len(places) or not np.array_equal(own, names)):
            raise DataError(f"{part}: its rows are not those of {next(iter(layers))}")
        layers[part], names, places = vectors, own, rows
    assert names is not None
    protocol = f"{len(places):,} rows"
    if total > room:
        protocol += f" of {total:,}, drawn at random (seed {seed})"
    elif len(places) < total:
        protocol += f", numbered without the {total - len(places):,} that are not finite"
    name = group.names[0] if len(layers) == 1 else str(source)
    order = {"place in the source": Colouring(places.astype(np.float32))}
    return Explored(name, protocol, layers, names, names, order)


def refuse_model(source: Any) -> None:
    """Say what a model needs; its weights alone are files of vectors."""
    if not isinstance(source, str | os.PathLike):
        return
    path = Path(source)
    if path.suffix.lower() == GGUF or (path / CONFIG).is_file():
        raise UsageError(f"{source} is a model: add --text, which it reads")


def counted(cloud: Cloud) -> int:
    """Return the number of rows, by reading where nothing else tells."""
    if cloud.rows is not None:
        return cloud.rows
    return sum(len(batch.vectors) for batch in cloud.read())


def read_cloud(
    cloud: Cloud,
    kept: NDArray[np.int64] | None,
    words: str | None,
    drop_invalid: bool,
    total: int,
    progress: Progress | None,
) -> tuple[NDArray[np.float32], NDArray[np.object_], NDArray[np.int64]]:
    """Return vectors, words and places of all rows of a cloud, or of those that are kept."""
    vectors: list[NDArray[np.float32]] = []
    names: list[NDArray[np.object_]] = []
    places: list[NDArray[np.int64]] = []
    selection = RowSelection(cloud, drop_invalid=drop_invalid)
    for batch in batches_of(selection):
        last = batch.first_row + len(batch.vectors)
        rows = np.arange(batch.first_row, last)
        if kept is not None:
            rows = kept[np.searchsorted(kept, batch.first_row) : np.searchsorted(kept, last)]
        chosen = rows - batch.first_row
        vectors.append(in_memory(batch.vectors)[chosen])
        names.append(words_of(batch, words, cloud.name)[chosen])
        places.append(rows)
        if progress is not None:
            progress("read", last, total)
    if not vectors:
        raise DataError(f"{cloud.name}: no row is left to look at")
    return np.concatenate(vectors), np.concatenate(names), np.concatenate(places)


def batches_of(selection: RowSelection) -> Iterator[Batch]:
    """Yield the batches of a group of one."""
    for batches in selection.batches():
        yield from batches.values()


def in_memory(vectors: Any) -> NDArray[np.float32]:
    """Return vectors as float32, from wherever they are."""
    if is_tensor(vectors):
        vectors = vectors.float().cpu().numpy()
    return np.asarray(vectors, np.float32)


def words_of(batch: Batch, wanted: str | None, name: str) -> NDArray[np.object_]:
    """Return the word of every row of a batch: its label, or its number where there is none."""
    if wanted is None and WORD not in batch.labels and len(batch.labels) != 1:
        last = batch.first_row + len(batch.vectors)
        return np.array([str(row) for row in range(batch.first_row, last)], dtype=object)
    values = batch.labels[label_of(batch, wanted, name)]
    return np.array([str(value) for value in values], dtype=object)
