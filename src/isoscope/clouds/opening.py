"""One way in: from whatever the user has to a cloud."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.clouds.addresses import is_postgres
from isoscope.clouds.arrays import ArrayCloud, TensorCloud, is_tensor
from isoscope.clouds.bad_files import check_on_error, open_all
from isoscope.clouds.batches import is_batches, open_batches, refuse_one_shot
from isoscope.clouds.binary_vectors import open_fvecs, open_word2vec
from isoscope.clouds.columns import open_arrow, open_parquet
from isoscope.clouds.contract import CloudGroup
from isoscope.clouds.faiss_index import open_faiss
from isoscope.clouds.formats import Format, opener_of
from isoscope.clouds.joined import JoinedCloud, check_alike
from isoscope.clouds.jsonl import open_json_lines
from isoscope.clouds.location import Location, matches
from isoscope.clouds.npy import open_npy
from isoscope.clouds.npz import open_npz
from isoscope.clouds.packages import PACKAGES, PREFIX, open_package, refuse_column
from isoscope.clouds.parts import FileParts, find_parts, is_pattern
from isoscope.clouds.safetensors import open_safetensors
from isoscope.clouds.streams import readable
from isoscope.clouds.word_text import open_word_text
from isoscope.errors import DataError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from isoscope.clouds.bad_files import OnError
    from isoscope.clouds.contract import Cloud


FORMATS: dict[str, Format[Callable[[Location, str | None], Cloud]]] = {
    ".npy": Format(open_npy),
    ".npz": Format(open_npz),
    ".safetensors": Format(open_safetensors),
    ".parquet": Format(open_parquet),
    ".arrow": Format(open_arrow),
    ".feather": Format(open_arrow),
    ".txt": Format(open_word_text, streamed=True),
    ".vec": Format(open_word_text, streamed=True),
    ".bin": Format(open_word2vec, streamed=True),
    ".fvecs": Format(open_fvecs, streamed=True),
    ".jsonl": Format(open_json_lines, streamed=True),
    ".faiss": Format(open_faiss),
    ".index": Format(open_faiss),
}
"""What every file ending means. A new format is a file of its own and a line here."""


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
        Which array of a file that holds several.
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
        raise DataError("a masked array says nothing of how to fill its gaps; pass .filled() of it")
    try:
        array = np.asarray(source)
    except ValueError as error:
        raise DataError(f"the rows do not make an array: {error}") from error
    if array.ndim == 0:
        raise DataError(f"{type(source).__name__} is nothing that vectors can be read from")
    return ArrayCloud(array)


def open_location(text: str, column: str | None, on_error: OnError) -> CloudGroup:
    """Open what a string names: a package, a file, or a pattern of files."""
    if not text:
        raise UsageError("name a file")
    if text.startswith(PREFIX):
        return open_package(text, column)
    if is_postgres(text):
        from isoscope.clouds.postgres import open_postgres

        return open_postgres(text, column)
    if is_pattern(text) and not Location(text).exists():
        found = find_parts(text)
        return FileParts({part: open_file(Location(name), column) for part, name in found.items()})
    files = [Location(text)] if Location(text).exists() else matches(text)
    if len(files) == 1:
        return open_file(files[0], column)

    def open_alike(file: Location, first: Cloud | None) -> Cloud:
        cloud = open_file(file, column)
        if first is not None:
            check_alike(cloud, first, text)
        return cloud

    clouds, bad = open_all(files, open_alike, on_error)
    return JoinedCloud(clouds, text, bad)


def open_file(location: Location, column: str | None) -> Cloud:
    """Open one file by its ending."""
    opener = opener_of(location, FORMATS, [PREFIX + name for name in PACKAGES])
    with readable(str(location)):
        return opener(location, column)
