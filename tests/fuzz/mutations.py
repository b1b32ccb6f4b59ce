"""Mutations of files: bytes in any file, and values in files whose structure is known.

A case is a dictionary of file names and contents. A structured mutation takes a file apart, changes
some values, and puts it together so that lengths and checksums are right again: otherwise nearly
every case would end at the first check.
"""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections.abc import Callable
from random import Random
from typing import Any

Files = dict[str, bytes]
Mutator = Callable[[bytes, Random], bytes]

DEEP = 3_000

NUMBERS = (
    "0", "-0", "-1", "1", "2", "3", "7", "255", "256", "65536", "2147483647", "2147483648",
    "-2147483649", "4294967296", "9223372036854775807", "9223372036854775808",
    "18446744073709551616", "1e308", "1e309", "-1e309", "1e-320", "0.5", "1e400", "nan", "inf",
    "-inf", "NaN", "Infinity", "1_0", "0x10", "1.", ".5", "１２", "9" * 400, "9" * 5_000, "",
)  # fmt: skip

TEXTS = (
    "", " ", "\x00", "\n", "\r", "\u2028", "\ufeff", "é", "日本", "🙂", "\u202e", "<img src=x>",
    "a" * 5_000, "../..", "/", "'", '"', "\\", "%s", "{0}", "none", "null", "float32", "F32",
    "F8_E4M3", "whiten", "center", "measure", "__metadata__", "\x1b[31m", "mean_cosine",
)  # fmt: skip


def changed_bytes(content: bytes, random: Random) -> bytes:
    """Change bytes in one to three places; headers are hit as often as all the rest."""
    changed = bytearray(content)
    for _ in range(random.randint(1, 3)):
        part = random.random()
        size = len(changed)
        first, last = (0, size) if part < 0.4 else (0, min(size, 200))
        if part > 0.8:
            first, last = max(size - 300, 0), size
        at = random.randrange(first, max(last, first + 1))
        kind = random.randrange(8)
        if kind == 0 and changed:
            changed[at % size] = random.randrange(256)
        elif kind == 1 and changed:
            changed[at % size] ^= 1 << random.randrange(8)
        elif kind == 2:
            del changed[at : at + random.randint(1, 20)]
        elif kind == 3:
            changed[at:at] = changed[at : at + random.randint(1, 40)]
        elif kind == 4:
            changed[at:at] = random.randbytes(random.randint(1, 8))
        elif kind == 5:
            del changed[max(at, 1) :]
        elif kind == 6:
            width = random.choice((1, 2, 4, 8))
            number = random.choice((0, 1, -1, 2 ** (8 * width - 1) - 1, 2 ** (8 * width - 1), 1000))
            order = random.choice(("little", "big"))
            changed[at : at + width] = (number % (1 << 8 * width)).to_bytes(width, order)  # type: ignore[arg-type]
        else:
            other = random.randrange(max(size, 1))
            changed[at : at + 16] = changed[other : other + 16]
    return bytes(changed)


def changed_tokens(content: bytes, random: Random) -> bytes:
    """Change fields, numbers and lines of a text."""
    changed = content
    for _ in range(random.randint(1, 3)):
        kind = random.randrange(7)
        if kind < 3:
            found = list(re.finditer(rb"[^\s,;:\[\]{}\"']+", changed))
            if found:
                one = random.choice(found)
                new = random.choice(NUMBERS if kind < 2 else TEXTS).encode()
                changed = changed[: one.start()] + new + changed[one.end() :]
            continue
        lines = changed.split(b"\n")
        at = random.randrange(len(lines))
        if kind == 3:
            lines.insert(at, lines[random.randrange(len(lines))])
        elif kind == 4:
            del lines[at]
        elif kind == 5:
            fields = re.split(rb"([\t, ])", lines[at])
            where = random.randrange(len(fields))
            fields[where : where + 1] = random.choice(
                ([], [fields[where]] * 3, [b'"'], [b"\t"], [b","], [random.randbytes(3)])
            )
            lines[at] = b"".join(fields)
        else:
            lines[at] = random.choice(TEXTS).encode()
        changed = b"\n".join(lines)
    return changed


class Raw(str):
    """JSON that is written as it stands."""


def any_value(random: Random, old: Any = None) -> Any:
    """Return a value that may not be expected where it will stand."""
    kind = random.randrange(12)
    if kind == 0:
        return random.choice((None, True, False))
    if kind <= 2:
        return Raw(random.choice(NUMBERS[:23]) or "0")
    if kind == 3:
        return Raw(random.choice(("NaN", "Infinity", "-Infinity", "9" * 5_000, "1e400", "-0.0")))
    if kind == 4:
        return random.choice(TEXTS)
    if kind == 5:
        return random.choice(([], {}, [[]], {"": {}}, [None], [0], {"a": 1}))
    if kind == 6:
        return Raw(random.choice(("[" * DEEP + "]" * DEEP, '{"a":' * DEEP + "1" + "}" * DEEP)))
    if kind == 7:
        return Raw(r'"\ud800"')
    if isinstance(old, bool):
        return not old
    if isinstance(old, int) and old.bit_length() > 1_000:  # too large to be a float or a text
        return Raw(random.choice(("9" * 5_000, "1e400", "-1", "0")))
    if isinstance(old, int | float):
        return random.choice((old + 1, old - 1, -old, old * 1000, float(old), str(old)))
    if isinstance(old, str):
        return random.choice((old[:-1], old * 2, old.upper(), [old], old + "x"))
    if isinstance(old, list):
        return random.choice((old[:-1], old + old[:1], old[::-1], [old], dict(enumerate(old))))
    return [old]


def places_of(value: Any, found: list[tuple[Any, Any]] | None = None) -> list[tuple[Any, Any]]:
    """Return all containers with their keys, so that a value can be replaced in its place."""
    found = [] if found is None else found
    items: Any = ()
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, list):
        items = enumerate(value)
    for key, one in items:
        found.append((value, key))
        places_of(one, found)
    return found


def changed_value(value: Any, random: Random) -> Any:
    """Change one to three places of a value as JSON has them."""
    for _ in range(random.choice((1, 1, 2, 3))):
        places = places_of(value)
        if not places or random.random() < 0.02:
            return any_value(random, value)
        holder, key = random.choice(places)
        kind = random.randrange(10)
        if kind == 0:
            del holder[key]
        elif kind == 1:
            other, place = random.choice(places)
            try:
                holder[key] = json.loads(dumped(other[place]))
            except (LookupError, ValueError, RecursionError):
                holder[key] = None
        elif kind == 2 and isinstance(holder, dict):
            holder[random.choice(TEXTS)] = any_value(random)
        elif kind == 2:
            holder.insert(key, any_value(random, holder[key]))
        elif kind == 3 and isinstance(holder, dict):
            holder[random.choice(TEXTS)] = holder.pop(key)
        else:
            holder[key] = any_value(random, holder[key])
    return value


def dumped(value: Any) -> str:
    """Write JSON that may hold what JSON does not allow."""
    if isinstance(value, Raw):
        return str(value)
    if isinstance(value, dict):
        return "{" + ",".join(f"{json.dumps(str(k))}:{dumped(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ",".join(map(dumped, value)) + "]"
    return json.dumps(value)


def changed_json(content: bytes, random: Random) -> bytes:
    """Change a JSON file, or its bytes where it is none any more."""
    try:
        value = json.loads(content)
    except (ValueError, RecursionError):
        return changed_bytes(content, random)
    return dumped(changed_value(value, random)).encode("utf-8", "surrogatepass")


def changed_json_lines(content: bytes, random: Random) -> bytes:
    """Change one line of JSON lines, or the lines."""
    if random.random() < 0.3:
        return changed_tokens(content, random)
    lines = content.split(b"\n")
    at = random.randrange(len(lines))
    lines[at] = changed_json(lines[at], random)
    return b"\n".join(lines)


def changed_npy(content: bytes, random: Random) -> bytes:
    """Change the header of an array file; its length is right again."""
    size = int.from_bytes(content[8:10], "little")
    if content[:6] != b"\x93NUMPY" or len(content) < 10 + size:
        return changed_bytes(content, random)
    header, data = content[10 : 10 + size], content[10 + size :]
    kinds = (b"<f2", b"<f4", b"<f8", b">f4", b"|b1", b"<i8", b"|O", b"<c8", b"|S3", b"<U2", b"|V4",
             b"<m8[s]", b"<f16", b"f4,f4")  # fmt: skip
    shapes = (b"()", b"(0,)", b"(12,)", b"(0, 3)", b"(12, 0)", b"(3, 12)", b"(36, 1)", b"(2, 6, 3)",
              b"(-1, 3)", b"(12, -3)", b"(4611686018427387904, 4)", b"(1e3, 3)", b"(12L, 3L)",
              b"(True, 3)", b"(" + b"1," * 70 + b")", b"99999999999999999999999, 3")  # fmt: skip
    kind = random.randrange(5)
    if kind == 0:
        header = re.sub(rb"'[<>|=]?\w\d+'", b"'" + random.choice(kinds) + b"'", header)
    elif kind == 1:
        header = re.sub(rb"\([^)]*\)", random.choice(shapes), header, count=1)
    elif kind == 2:
        header = header.replace(b"False", b"True") if b"False" in header else header[::-1]
    elif kind == 3:
        header = changed_tokens(header, random)
    else:
        data = changed_numbers(data, random)
    version = bytes(random.choice(((1, 0), (1, 0), (1, 0), (2, 0), (3, 0), (9, 9))))
    length = len(header).to_bytes(2 if version[0] == 1 else 4, "little")
    return content[:6] + version + length + header + data


def changed_numbers(data: bytes, random: Random) -> bytes:
    """Put unusual numbers into the bytes of an array."""
    import struct

    changed = bytearray(data)
    for _ in range(random.randint(1, 4)):
        kind = random.choice("efd")
        values = (float("nan"), float("inf"), 0.0, -0.0, 1.0, 6e4, 1e-7)
        size = struct.calcsize(kind)
        if len(changed) < size:
            return bytes(changed)
        at = random.randrange(0, len(changed) - size + 1) // size * size
        value = random.choice((*values, 3e38, 1e-45) if kind == "f" else values)
        changed[at : at + size] = struct.pack(f"<{kind}", value)
    return bytes(changed)


def split_safetensors(content: bytes) -> tuple[dict[str, Any], bytes]:
    """Return the header and the tensors of a safetensors file; a ``ValueError`` if it is none."""
    size = int.from_bytes(content[:8], "little")
    if len(content) < 8 + size:
        raise ValueError
    return json.loads(content[8 : 8 + size]), content[8 + size :]


def joined_safetensors(header: Any, data: bytes) -> bytes:
    """Put a safetensors file together."""
    text = dumped(header).encode("utf-8", "surrogatepass")
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text + data


def changed_safetensors(content: bytes, random: Random) -> bytes:
    """Change the header or the numbers of a safetensors file; its length is right again."""
    try:
        header, data = split_safetensors(content)
    except (ValueError, RecursionError):
        return changed_bytes(content, random)
    if random.random() < 0.3:
        return joined_safetensors(header, changed_numbers(data, random))
    return joined_safetensors(changed_value(header, random), data)


def changed_zip(inner: Mutator) -> Mutator:
    """Return a mutation of the members of an archive."""

    def change(content: bytes, random: Random) -> bytes:
        try:
            with zipfile.ZipFile(io.BytesIO(content)) as archive:
                members = [(name, archive.read(name)) for name in archive.namelist()]
        except Exception:
            return changed_bytes(content, random)
        at = random.randrange(max(len(members), 1))
        kind = random.randrange(6)
        if members and kind == 0:
            members[at] = (random.choice(TEXTS), members[at][1])
        elif members and kind == 1:
            del members[at]
        elif members:
            members[at] = (members[at][0], inner(members[at][1], random))
        made = io.BytesIO()
        how = random.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2))
        with zipfile.ZipFile(made, "w", how) as archive:
            for name, data in dict(members).items():  # of two with one name, zipfile would warn
                if name and "\x00" not in name:
                    archive.writestr(zipfile.ZipInfo(name), data, compress_type=how)
        return made.getvalue()

    return change


def spliced(content: bytes, other: bytes, random: Random) -> bytes:
    """Join the beginning of one file and the end of another."""
    return content[: random.randint(0, len(content))] + other[random.randint(0, len(other)) :]
