"""Files of every format, written and read without isoscope: by the format's own library, or here.

``FORMATS`` has a name for every format and compression that tests go through. A writer makes a
file of vectors and words; a reference reader makes vectors of a file, and raises whatever it
likes for what is none.
"""

from __future__ import annotations

import gzip
import io
import json
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow
import safetensors.numpy
from pyarrow import feather, parquet

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
    with np.load(io.BytesIO(content)) as archive:
        arrays = {name: archive[name] for name in archive.files}
    (chosen,) = [a for a in arrays.values() if a.ndim == 2 and a.size and a.dtype.kind in "fV"]
    return np.asarray(chosen)


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


def read_vector_column(table: pyarrow.Table) -> np.ndarray:
    (chosen,) = [
        column
        for column, kind in zip(table.columns, table.schema.types, strict=True)
        if hasattr(kind, "value_type")
        and not pyarrow.types.is_dictionary(kind)
        and kind.value_type in ARROW_TYPES.values()
    ]
    rows = chosen.to_pylist()
    kind = {value: name for name, value in ARROW_TYPES.items()}[chosen.type.value_type]
    if any(number is None for row in rows for number in row):
        raise ValueError("a null number")
    return np.array([np.array(row, kind) for row in rows])


def text_lines(words: list[str], vectors: np.ndarray, options: Mapping[str, Any]) -> bytes:
    separator, end = options.get("separator", " "), options.get("end", "\n")
    lines = [
        separator.join([word, *(repr(float(number)) for number in row)]) + end
        for word, row in zip(words, vectors, strict=True)
    ]
    return "".join(lines).encode()


def write_headed(words: list[str], vectors: np.ndarray, options: Mapping[str, Any]) -> bytes:
    header = f"{len(vectors)} {vectors.shape[1]}\n".encode()
    return header + text_lines(words, vectors, options)


def read_text(content: bytes) -> np.ndarray:
    """Read lines of a word and numbers, behind a header or not, the slow and plain way.

    The first line that shows the width is one whose fields, from the second on or the last as
    many as the header says, are all numbers, by tabs or by spaces.
    """
    lines = content.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    head, follows = lines[0].split(), lines[1].rstrip() if len(lines) > 1 else b""
    if len(head) == 2 and all(part.isdigit() and len(part) < 19 for part in head):
        width = int(head[1])
        for separator in (b"\t", b" "):
            if width and len(numbers_of(follows.rsplit(separator, width)[1:])) == width:
                found = text_vectors(lines[1:], separator, width)
                if len(found) != int(head[0]):
                    raise ValueError("another number of lines than the header says")
                return found
    for separator in (b"\t", b" "):
        if width := len(numbers_of(lines[0].rstrip().split(separator)[1:])):
            return text_vectors(lines, separator, width)
    raise ValueError("no word and numbers in the first line")


def numbers_of(fields: list[bytes]) -> list[float]:
    """Return numbers, or none at all when one of the fields is not a number."""
    try:
        return [float(part.replace(b"_", b"x")) for part in fields]
    except ValueError:
        return []


def text_vectors(lines: list[bytes], separator: bytes, width: int) -> np.ndarray:
    rows = []
    for line in lines:
        if line.strip():
            whole = line.removesuffix(b"\r").removesuffix(separator)
            rows.append(numbers_of(whole.rsplit(separator, width)[1:]))
            if len(rows[-1]) != width:
                raise ValueError("not a word and its numbers")
    with np.errstate(over="ignore"):
        return np.array(rows, np.float32)


def write_word2vec(words: list[str], vectors: np.ndarray, options: Mapping[str, Any]) -> bytes:
    end = options.get("end", b"")
    rows = [
        word.encode() + b" " + row.tobytes() + end for word, row in zip(words, vectors, strict=True)
    ]
    return f"{len(vectors)} {vectors.shape[1]}\n".encode() + b"".join(rows)


def read_word2vec(content: bytes) -> np.ndarray:
    header, rest = content.split(b"\n", 1)
    count, width = (int(part) for part in header.split())
    rows = []
    for _ in range(count):
        rest = rest[rest.index(b" ") + 1 :]
        rows.append(np.frombuffer(rest[: 4 * width], "<f4", width))
        rest = rest[4 * width :]
    if rest.strip():
        raise ValueError("something follows")
    return np.array(rows)


def write_fvecs(_: list[str], vectors: np.ndarray, __: Mapping[str, Any]) -> bytes:
    width = struct.pack("<i", vectors.shape[1])
    return b"".join(width + row.tobytes() for row in vectors)


def read_fvecs(content: bytes) -> np.ndarray:
    (width,) = struct.unpack("<i", content[:4])
    rows = np.frombuffer(content, "<i4").reshape(-1, width + 1)
    if (rows[:, 0] != width).any():
        raise ValueError("mixed widths")
    return rows[:, 1:].copy().view("<f4")


def write_jsonl(words: list[str], vectors: np.ndarray, options: Mapping[str, Any]) -> bytes:
    lines = [
        json.dumps({"word": word, "v": row.tolist()}, ensure_ascii=options.get("ascii", True))
        for word, row in zip(words, vectors, strict=True)
    ]
    return ("\n".join(lines) + "\n").encode()


def read_jsonl(content: bytes) -> np.ndarray:
    entries = [json.loads(line) for line in content.split(b"\n") if line.strip()]
    (chosen,) = [
        key
        for key, value in entries[0].items()
        if isinstance(value, list) and value and all(type(v) in (int, float) for v in value)
    ]
    return np.array([[float(number) for number in entry[chosen]] for entry in entries])


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
        lambda content: read_vector_column(parquet.ParquetFile(io.BytesIO(content)).read()),
        FLOATS,
        "word",
        {**COLUMN_OPTIONS, "dictionary": (False, True)},
    ),
    ".feather": FileFormat(
        write_feather,
        lambda content: read_vector_column(feather.read_table(io.BytesIO(content))),
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
