"""JSON lines: an object a line, one of whose fields is a text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoscope.clouds.jsonl import objects
from isoscope.clouds.location import steady
from isoscope.clouds.texts.columns import choose_column
from isoscope.clouds.texts.contract import TextRow, TextSource
from isoscope.clouds.texts.lines import text_lines
from isoscope.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from isoscope.clouds.location import Location


class JsonTexts(TextSource):
    """The texts of one field; an object without it, or with null in it, counts as blank."""

    column: str

    def __init__(self, location: Location, column: str, document: str | None) -> None:
        super().__init__(location.stem, str(location), column, document)
        self._location, self._size = location, location.size()

    @property
    def location(self) -> Location:
        """The file."""
        return self._location

    def rows(self) -> Iterator[TextRow]:
        """Yield a row per object."""
        with steady(self._location, self._size), text_lines(self._location, self.where) as lines:
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
