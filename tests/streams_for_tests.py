"""Files that are read from front to back, written and read the plain way, without isoscope."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from typing import Any

import numpy as np


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
    if len(head) == 2 and all(part.isdigit() for part in head):
        width = int(head[1])
        for separator in (b"\t", b" "):
            if width and len(numbers_of(follows.rsplit(separator, width)[1:])) == width:
                found = text_vectors(lines[1:], separator, width)
                if len(found) != int(head[0]):
                    raise ValueError("another number of lines than the header says")
                return found
        if len(follows.split()) != 2:
            raise ValueError("a header that the next line contradicts")
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
