"""Files of every format, written and read without isoscope: by the format's own library, or here.

``FORMATS`` has a name for every format and compression that tests go through. A writer makes a
file of vectors and words; a reference reader makes vectors of a file, and raises whatever it
likes for what is none.
"""

from __future__ import annotations

import gzip
import io
import zipfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow
import safetensors.numpy
from pyarrow import feather, parquet
from streams_for_tests import (
    read_fvecs,
    read_jsonl,
    read_text,
    read_word2vec,
    text_lines,
    write_fvecs,
    write_headed,
    write_jsonl,
    write_word2vec,
)

Writer = Callable[[list[str], np.ndarray, Mapping[str, Any]], bytes]
Reader = Callable[[bytes], np.ndarray]

ARROW_TYPES = {
    "float16": pyarrow.float16(),
    "float32": pyarrow.float32(),
    "float64": pyarrow.float64(),
}


@dataclass(frozen=True)
class FileFormat:
    """How one kind of file is written and read by others."""

    write: Writer
    read: Reader
    dtypes: tuple[str, ...] = ("float32",)
    label: str = ""
    """Name of the label that holds the words; nothing where the format has none."""
    options: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    """What else may differ between files: each option with its possible values."""
    compression: str = ""


def write_npy(_: list[str], vectors: np.ndarray, options: Mapping[str, Any]) -> bytes:
    file = io.BytesIO()
    kind = vectors.dtype.newbyteorder(options.get("byte_order", "="))
    np.save(file, np.asarray(vectors.astype(kind), order=options.get("order", "C")))
    return file.getvalue()


def write_npz(_: list[str], vectors: np.ndarray, options: Mapping[str, Any]) -> bytes:
    file = io.BytesIO()
    save = np.savez_compressed if options.get("compressed") else np.savez
    save(file, ids=np.arange(3), v=np.asarray(vectors, order=options.get("order", "C")))
    return file.getvalue()


def read_npz(content: bytes) -> np.ndarray:
    """Read the only matrix; np.load refuses bytes before the archive and bad neighbours too."""
    matrices = []
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        for name in archive.namelist():
            with suppress(Exception), archive.open(name) as member:
                array = np.lib.format.read_array(member)
                if array.ndim == 2 and array.size and array.dtype.kind in "fV":
                    matrices.append(array)
    (chosen,) = matrices
    return chosen


def write_safetensors(_: list[str], vectors: np.ndarray, __: Mapping[str, Any]) -> bytes:
    return safetensors.numpy.save({"ids": np.arange(3), "v": np.ascontiguousarray(vectors)})


def read_safetensors(content: bytes) -> np.ndarray:
    arrays = safetensors.numpy.load(content)
    (chosen,) = [a for a in arrays.values() if a.ndim == 2 and a.size and a.dtype.kind == "f"]
    return np.asarray(chosen)


def arrow_table(words: list[str], vectors: np.ndarray, options: Mapping[str, Any]) -> pyarrow.Table:
    value = ARROW_TYPES[vectors.dtype.name]
    kinds = {
        "list": pyarrow.list_(value),
        "large list": pyarrow.large_list(value),
        "fixed list": pyarrow.list_(value, vectors.shape[1]),
    }
    column = pyarrow.array(list(vectors), kinds[options.get("kind", "list")])
    return pyarrow.table({"word": words, "v": column})


def write_parquet(words: list[str], vectors: np.ndarray, options: Mapping[str, Any]) -> bytes:
    file = io.BytesIO()
    parquet.write_table(
        arrow_table(words, vectors, options),
        file,
        row_group_size=options.get("stretch", 100),
        compression=options.get("codec", "none"),
        use_dictionary=options.get("dictionary", False),
    )
    return file.getvalue()


def write_feather(words: list[str], vectors: np.ndarray, options: Mapping[str, Any]) -> bytes:
    file = io.BytesIO()
    feather.write_feather(
        arrow_table(words, vectors, options),
        file,
        chunksize=options.get("stretch", 100),
        compression=options.get("codec", "uncompressed").replace("none", "uncompressed"),
    )
    return file.getvalue()


def vector_column(schema: pyarrow.Schema) -> int:
    """Find the only column of lists of floats: what is wrong with the others does not matter."""
    (chosen,) = [
        k
        for k, kind in enumerate(schema.types)
        if hasattr(kind, "value_type")
        and not pyarrow.types.is_dictionary(kind)
        and kind.value_type in ARROW_TYPES.values()
    ]
    return chosen


def read_parquet(content: bytes) -> np.ndarray:
    file = parquet.ParquetFile(io.BytesIO(content))
    name = file.schema_arrow.names[vector_column(file.schema_arrow)]
    return matrix_of(file.read(columns=[name]).column(name))


def read_feather(content: bytes) -> np.ndarray:
    position = vector_column(pyarrow.ipc.open_file(content).schema)
    options = pyarrow.ipc.IpcReadOptions(included_fields=[position])
    return matrix_of(pyarrow.ipc.open_file(content, options=options).read_all().column(0))


def matrix_of(column: pyarrow.ChunkedArray) -> np.ndarray:
    column.validate(full=True)
    rows = column.to_pylist()
    kind = {value: name for name, value in ARROW_TYPES.items()}[column.type.value_type]
    width = next(len(row) for row in rows if row is not None)
    # Nulls are no numbers; which rows have some is told beside the vectors.
    filled = [[None] * width if row is None else row for row in rows]
    return np.array([np.array(row, np.float64).astype(kind) for row in filled])


def compress(content: bytes, compression: str) -> bytes:
    if compression == ".gz":
        return gzip.compress(content, mtime=0)
    if compression == ".zst":
        return bytes(pyarrow.Codec("zstd").compress(content, asbytes=True))
    return content


FLOATS = ("float16", "float32", "float64")
ORDERS = ("C", "F")
COLUMN_OPTIONS: Mapping[str, tuple[Any, ...]] = {
    "kind": ("list", "large list", "fixed list"),
    "stretch": (1, 7, 100),
    "codec": ("none", "zstd", "lz4"),
}
TEXT = {"separator": (" ", "\t"), "end": ("\n", "\r\n", " \n")}

PLAIN: dict[str, FileFormat] = {
    ".npy": FileFormat(
        write_npy,
        lambda content: np.load(io.BytesIO(content)),
        FLOATS,
        options={"order": ORDERS, "byte_order": ("<", ">")},
    ),
    ".npz": FileFormat(
        write_npz, read_npz, FLOATS, options={"order": ORDERS, "compressed": (False, True)}
    ),
    ".safetensors": FileFormat(write_safetensors, read_safetensors, FLOATS),
    ".parquet": FileFormat(
        write_parquet,
        read_parquet,
        FLOATS,
        "word",
        {**COLUMN_OPTIONS, "dictionary": (False, True)},
    ),
    ".feather": FileFormat(
        write_feather,
        read_feather,
        FLOATS,
        "word",
        COLUMN_OPTIONS,
    ),
    ".txt": FileFormat(text_lines, read_text, label="word", options=TEXT),
    ".vec": FileFormat(write_headed, read_text, label="word", options=TEXT),
    ".bin": FileFormat(write_word2vec, read_word2vec, label="word", options={"end": (b"", b"\n")}),
    ".fvecs": FileFormat(write_fvecs, read_fvecs),
    ".jsonl": FileFormat(write_jsonl, read_jsonl, ("float64",), "word", {"ascii": (True, False)}),
}
STREAMED = (".txt", ".vec", ".bin", ".fvecs", ".jsonl")


def compressed(ending: str, compression: str) -> FileFormat:
    plain = PLAIN[ending]

    def write(words: list[str], vectors: np.ndarray, options: Mapping[str, Any]) -> bytes:
        return compress(plain.write(words, vectors, options), compression)

    def read(content: bytes) -> np.ndarray:
        if compression == ".gz":
            return plain.read(gzip.decompress(content))
        with pyarrow.CompressedInputStream(pyarrow.BufferReader(content), "zstd") as stream:
            return plain.read(stream.read())

    return FileFormat(write, read, plain.dtypes, plain.label, plain.options, compression)


FORMATS: dict[str, FileFormat] = {
    **PLAIN,
    **{
        ending + compression: compressed(ending, compression)
        for ending in STREAMED
        for compression in (".gz", ".zst")
    },
}
