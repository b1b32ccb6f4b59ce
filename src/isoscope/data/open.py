"""One way in: from whatever the user has to a cloud."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any, TypeVar, get_args

import numpy as np

from isoscope.data.arrays import (
    ArrayCloud,
    TensorCloud,
    is_batches,
    is_tensor,
    open_batches,
    refuse_one_shot,
)
from isoscope.data.base import Cloud, CloudGroup
from isoscope.data.base import OnError as OnError
from isoscope.data.combine import FileParts, JoinedCloud, check_alike, find_parts, is_pattern
from isoscope.data.formats.packages import open_package
from isoscope.data.formats.registry import FORMATS, PREFIX, VECTORS, opener_of, refuse_column
from isoscope.data.location import Location, first_line, is_postgres, matches, readable
from isoscope.data.selection import RowSelection
from isoscope.errors import DataError, UsageError, one_of
from isoscope.registry import load

Opened = TypeVar("Opened")


def check_on_error(on_error: str) -> None:
    """Refuse anything but the words that are known."""
    one_of("on_error", on_error, get_args(OnError))


def open_all(
    files: Sequence[Location],
    opener: Callable[[Location, Opened | None], Opened],
    on_error: OnError,
) -> tuple[list[Opened], dict[str, str]]:
    """Open files that belong together.

    Parameters
    ----------
    files : sequence of Location
        At least one.
    opener : callable
        Opens a file, given also what became of the first good one; None for that itself.
    on_error : {"stop", "skip"}
        Whether a bad file is an error, or left out as long as another one is good. A wrong call,
        which is no fault of a file, always is an error.

    Returns
    -------
    list, dict of str to str
        What the good files hold, and what is wrong with each bad one.
    """
    good: list[Opened] = []
    bad: dict[str, str] = {}
    failures: list[Exception] = []
    for file in files:
        try:
            good.append(opener(file, good[0] if good else None))
        except (DataError, OSError) as error:
            if on_error == "stop":
                raise
            bad[str(file)] = first_line(error)
            failures.append(error)
    if not good:
        raise failures[0]
    return good, bad


def open_cloud(source: Any, column: str | None = None, *, on_error: OnError = "stop") -> CloudGroup:
    """Open a cloud of vectors.

    Parameters
    ----------
    source : str, Path, array, tensor or batches
        A file (``.npy``, ``.npz``, ``.safetensors``, ``.parquet``, ``.feather``, ``.arrow``,
        ``.txt``, ``.vec``, ``.bin``, ``.fvecs``, ``.jsonl``, ``.faiss``, ``.index``), a path or
        any fsspec address; ``parts-*.parquet`` joins files, ``layer_{layer}.npy`` makes a part of
        each; ``package:glove`` or ``package:minilm``; a column of a PostgreSQL table,
        ``postgresql://host/database?table=…&column=…``; a two-dimensional numpy array, torch
        tensor, or anything numpy makes an array of; a list of such batches, or a function that
        returns a new iterable of them. A cloud is returned as it is.
    column : str, optional
        Array, column or field, if the file has several.
    on_error : {"stop", "skip"}
        What becomes of files of ``parts-*.parquet`` that cannot be opened, or that do not have the
        width and type of the others: ``"skip"`` leaves them out, and ``bad`` of the cloud says why.
        A file that is named, or that is a part, is always an error.

    Returns
    -------
    CloudGroup
        The cloud; nothing but its header has been read.

    Examples
    --------
    >>> import numpy as np, isoscope
    >>> isoscope.open_cloud(np.eye(3))
    <ArrayCloud 'array': 3 × 3 float64>
    """
    check_on_error(on_error)
    if isinstance(source, str | os.PathLike):
        return open_location(os.fspath(source), column, on_error)
    refuse_column("a cloud that is not a file", column)
    if isinstance(source, CloudGroup):
        return source
    if is_tensor(source):
        return TensorCloud(source)
    refuse_one_shot(source)
    if is_batches(source):
        return open_batches(source)
    if np.ma.isMaskedArray(source):
        raise DataError(
            "a masked array does not say how its gaps are to be filled; pass array.filled(value)"
        )
    try:
        array = np.asarray(source)
    except ValueError as error:
        raise DataError(f"the rows do not form an array: {error}") from error
    if array.ndim == 0:
        raise DataError(f"{type(source).__name__} is not something that vectors can be read from")
    return ArrayCloud(array)


def open_location(text: str, column: str | None, on_error: OnError) -> CloudGroup:
    """Open what a string names: a package, a file, or a pattern of files."""
    if not text:
        raise UsageError("name a file")
    if text.startswith(PREFIX):
        return open_package(text, column)
    if is_postgres(text):
        table: CloudGroup = load("isoscope.data.postgres.cloud:open_postgres")(text, column)
        return table
    if is_pattern(text) and not Location(text).exists():
        found = find_parts(text)
        return FileParts({part: open_file(Location(name), column) for part, name in found.items()})
    files = [Location(text)] if Location(text).exists() else matches(text)

    def open_alike(file: Location, first: Cloud | None) -> Cloud:
        cloud = open_file(file, column)
        if first is not None:
            check_alike(cloud, first, text)
        return cloud

    clouds, bad = open_all(files, open_alike, on_error)
    return JoinedCloud(clouds, text, bad) if len(files) > 1 else clouds[0]


def open_file(location: Location, column: str | None) -> Cloud:
    """Open one file by its ending."""
    opener = opener_of(location, FORMATS, VECTORS)
    named = (column,) if FORMATS[location.ending].columns else ()
    if not named:
        refuse_column(str(location), column)
    with readable(str(location)):
        cloud: Cloud = opener(location, *named)
        return cloud


def one_cloud(source: Any) -> RowSelection:
    """Open a source that must hold one cloud, and let only finite rows pass."""
    group = open_cloud(source)
    if len(group.names) != 1:
        raise UsageError(
            f"a correction is fitted on one cloud, and there are {len(group.names)}: "
            f"{', '.join(group.names[:8])}; name one of them (open_cloud(path, column=...))"
        )
    return group if isinstance(group, RowSelection) else RowSelection(group)
