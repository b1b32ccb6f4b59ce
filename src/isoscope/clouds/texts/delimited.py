"""Tables as text: ``.csv`` and ``.tsv``, whose first line names the columns.

Fields of a ``.csv`` file may be quoted, and then hold commas and line ends. In a ``.tsv`` file, as
its media type defines it, a quotation mark is a character like others: sentences begin with one.
"""

from __future__ import annotations

import csv
from contextlib import contextmanager
from typing import TYPE_CHECKING

from isoscope.clouds.location import steady
from isoscope.clouds.texts.columns import choose_column
from isoscope.clouds.texts.contract import TextRow, TextSource
from isoscope.clouds.texts.lines import text_lines
from isoscope.clouds.word_text import LONGEST_LINE
from isoscope.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from isoscope.clouds.location import Location


class DelimitedTexts(TextSource):
    """The texts of one column."""

    column: str

    def __init__(
        self, location: Location, header: list[str], column: str, document: str | None
    ) -> None:
        super().__init__(location.stem, str(location), column, document)
        self._location, self._size = location, location.size()
        self._header = header

    @property
    def location(self) -> Location:
        """The file."""
        return self._location

    def rows(self) -> Iterator[TextRow]:
        """Yield a row per line, or per several that a quoted field joins."""
        at = self._header.index(self.column)
        named = None if self.document is None else self._header.index(self.document)
        with steady(self._location, self._size), records(self._location) as table:
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
