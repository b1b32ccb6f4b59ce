"""Plain text: a text per line, as UTF-8.

Only a line feed ends a line, with or without a carriage return before it: texts may hold other
characters that Unicode counts as line ends.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, BinaryIO

from isoscope.clouds.location import steady
from isoscope.clouds.streams import readable
from isoscope.clouds.texts.contract import TextRow, TextSource
from isoscope.clouds.word_text import LONGEST_LINE, skip_signature
from isoscope.errors import DataError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from isoscope.clouds.location import Location


class LineTexts(TextSource):
    """The lines of a file, compressed or not."""

    def __init__(self, location: Location, name: str = "", where: str = "") -> None:
        super().__init__(name or location.stem, where or str(location))
        self._location, self._size = location, location.size()

    @property
    def location(self) -> Location:
        """The file."""
        return self._location

    def rows(self) -> Iterator[TextRow]:
        """Yield a row per line."""
        with steady(self._location, self._size), text_lines(self._location, self.where) as lines:
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
    number = 0
    while line := file.readline(LONGEST_LINE):
        number += 1
        if len(line) == LONGEST_LINE and not line.endswith(b"\n"):
            raise DataError(
                f"{where}: line {number} has over {LONGEST_LINE:,} bytes, which is not one text"
            )
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
