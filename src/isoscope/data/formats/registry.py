"""Which reader a file's ending calls for, and which of several arrays in a file is meant."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from isoscope.data.location import Location, redacted, refuse_special
from isoscope.errors import DataError, UsageError, cut, unknown_name
from isoscope.registry import load

# Under this name files hold a JSON list, an object a correction, in the order of application.
KEY = "isoscope.corrections"


# What packages, addresses, patterns and parts have in their names, and files hardly ever.
NO_PLAIN_NAME = re.compile(r"^package:|://|[*?\[{]")

# Arrays of a file that a message names.
SHOWN = 8


def some(names: Iterable[str]) -> str:
    """List the first few of many names, each cut where it is long."""
    known = [cut(name) for name in names]
    more = len(known) - SHOWN
    return ", ".join(known[:SHOWN]) + (f" and {more:,} more" if more > 0 else "")


def choose(
    column: str | None, candidates: Sequence[str], everything: Mapping[str, str], where: str
) -> str:
    """Return the named array, or the only one that could be meant.

    Parameters
    ----------
    column : str or None
        What the user named.
    candidates : sequence of str
        Two-dimensional floating arrays.
    everything : mapping of str to str
        Every array of the container, with a description such as ``float32 (100, 3)``.
    where : str
        The file, for messages.
    """
    if column is not None:
        if column in everything:
            return column
        raise unknown_name(f"array in {where}", column, candidates or everything)
    if len(candidates) == 1:
        return candidates[0]
    if not candidates:
        held = some(f"{name}: {what}" for name, what in everything.items()) or "nothing"
        raise DataError(f"{where} holds no two-dimensional float array; it holds {held}")
    listed = some(f"{name} {everything[name]}" for name in candidates)
    raise UsageError(
        f"{where} holds {len(candidates)} arrays; choose one with --column (column= in Python): "
        f"{listed}"
    )


@dataclass(frozen=True)
class Format:
    """How files with some ending are read and written, by functions named ``module:function``.

    Their modules are imported when the first file of the format is opened.
    """

    opener: str
    writer: str = ""
    """Nothing for files that are only read; endings with the same writer are one family."""
    mark: str = ""
    """Reads what a file says of its corrections; nothing where a format has no room for that."""
    streamed: bool = False
    """Read from front to back, so that it may be compressed as well."""
    columns: bool = True
    """Whether there may be several arrays in a file, so that the opener takes the name of one."""


def format_of(module: str, name: str, *, marks: bool = False, **how: bool) -> Format:
    """Name the functions of a format that is read and written, after the usual pattern."""
    place = f"isoscope.data.formats.{module}"
    mark = f"{place}:{name}_mark" if marks else ""
    return Format(f"{place}:open_{name}", f"{place}:write_{name}", mark, **how)


ARROW = format_of("arrow", "arrow", marks=True)
WORD_TEXT = format_of("word_text", "word_text", streamed=True, columns=False)
FAISS = Format("isoscope.data.formats.faiss.cloud:open_faiss", columns=False)

# What every file ending means. A new format is a file of its own and a line here.
FORMATS: dict[str, Format] = {
    ".npy": format_of("npy", "npy"),
    ".npz": format_of("npz", "npz"),
    ".safetensors": format_of("safetensors", "safetensors", marks=True),
    ".parquet": format_of("parquet", "parquet", marks=True),
    ".arrow": ARROW,
    ".feather": ARROW,
    ".txt": WORD_TEXT,
    ".vec": WORD_TEXT,
    ".bin": format_of("word2vec", "word2vec", streamed=True, columns=False),
    ".fvecs": format_of("fvecs", "fvecs", streamed=True, columns=False),
    ".jsonl": format_of("jsonl", "json_lines", streamed=True),
    ".faiss": FAISS,
    ".index": FAISS,
}

# How the names of packages begin, and what opens the vectors that they hold.
PREFIX = "package:"
PACKAGES = {
    "glove": "isoscope.data.formats.packages:open_glove",
    "minilm": "isoscope.data.formats.packages:open_minilm",
}

# Names of vectors that can be opened without a file.
VECTORS = tuple(PREFIX + name for name in PACKAGES)


def opener_of(
    location: Location, formats: Mapping[str, Format], packaged: Iterable[str]
) -> Callable[..., Any]:
    """Return the opener for a file that is there, with the arguments of ``known_format``."""
    opener: Callable[..., Any] = load(known_format(location, formats, packaged).opener)
    return opener


def known_format(
    location: Location, formats: Mapping[str, Format], packaged: Iterable[str]
) -> Format:
    """Return the format of a file that is there, by its ending.

    Parameters
    ----------
    location : Location
        The file.
    formats : mapping of str to Format
        What every ending means.
    packaged : iterable of str
        What can be opened without a file, for the message that there is none.
    """
    if not location.is_remote and location.path.is_dir():
        inside = sorted(p.name for p in location.path.iterdir() if p.suffix in formats)
        held = f"; in it: {', '.join(inside[:5])}" if inside else ""
        raise UsageError(f"{location} is a folder; name a file{held}")
    if not location.exists():
        raise UsageError(
            f"there is no file {redacted(str(location))}; to try isoscope without one: "
            f"{', '.join(packaged)}"
        )
    if not location.is_remote:
        refuse_special(location.path, location)
    found = formats.get(location.ending)
    if found is None:
        raise UsageError(
            f"{location}: isoscope does not read {location.ending or 'files without an ending'}; "
            f"it reads {', '.join(formats)}"
        )
    if location.compression and not found.streamed:
        raise UsageError(
            f"{location}: a {location.ending} file is read by seeking in it, which "
            f"{location.compression} does not allow; decompress it first"
        )
    return found


def check_source(text: str) -> None:
    """Refuse a source of vectors that is plainly a file, and none that could be opened.

    Whoever calls a command with the name of a file that is not there need not wait for numpy.
    """
    if text and not NO_PLAIN_NAME.search(text):
        known_format(Location(text), FORMATS, VECTORS)


def refuse_column(source: str, column: str | None) -> None:
    """Say that this source has nothing to choose from."""
    if column is not None:
        raise UsageError(f"{source} is one matrix; leave --column out")
