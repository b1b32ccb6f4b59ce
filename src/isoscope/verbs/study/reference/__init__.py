"""The numbers that papers print, as CSV, what they misprint, and the catalogue of studies."""

from __future__ import annotations

import csv
import math
import tomllib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from isoscope.errors import unknown_name

if TYPE_CHECKING:
    from collections.abc import Mapping

# Subject, part, correction and measure of a printed number.
Key: TypeAlias = tuple[str, str, str, str]


def printed_table(name: str) -> list[dict[str, str]]:
    """Return the rows of a paper's table by the name of its file, cells as they are printed."""
    return list(csv.DictReader(read(f"{name}.csv").splitlines()))


def read(file: str) -> str:
    """Return a file of this folder."""
    return Path(__file__).with_name(file).read_text("utf-8")


class Column(NamedTuple):
    """A column of a paper's table that holds numbers.

    Attributes
    ----------
    name : str
        What the table calls it.
    key : Key
        What rows of a result are called that have such a number. ``{model}`` stands for the cell
        of the column ``model`` in the same line.
    times, divided_by : int
        How the printed unit becomes ours: percentages are divided by 100, minutes times 60.
    """

    name: str
    key: Key
    times: int = 1
    divided_by: int = 1


def printed_numbers(
    table: str, *columns: Column, names: Mapping[str, str] | None = None
) -> dict[Key, float]:
    """Return the numbers of a paper's table under the names that rows of a result have.

    Cells that are empty or NaN are left out.

    Parameters
    ----------
    table : str
        Name of its file.
    columns : Column
        What is taken of every line.
    names : mapping, optional
        What is put into keys instead of a cell, where a paper has other names than isoscope.
    """
    found: dict[Key, float] = {}
    for line in printed_table(table):
        cells = {column: (names or {}).get(cell, cell) for column, cell in line.items()}
        for column in columns:
            value = float(line[column.name] or "nan")
            if not math.isnan(value):
                subject, part, correction, measure = (
                    field.format_map(cells) for field in column.key
                )
                key = (subject, part, correction, measure)
                found[key] = value * column.times / column.divided_by
    return found


def misprints(study: str) -> list[dict[str, str]]:
    """Return what is known to be misprinted in the table of a study."""
    return [row for row in printed_table("misprints") if row["study"] == study]


@cache
def catalogue() -> dict[str, Any]:
    """Return the papers, their studies, and the scales of these."""
    return tomllib.loads(read("studies.toml"))


def find_paper(name: str) -> str:
    """Return the letter before the ids of a paper's studies, by it or by an author or the year."""
    papers = catalogue()["papers"]
    wanted = name.casefold()
    for letter, paper in papers.items():
        if wanted == letter.casefold() or wanted in str(paper["document"]).casefold():
            return str(letter)
    authors = [str(paper["document"]).split()[0] for paper in papers.values()]
    raise unknown_name("paper", name, [*papers, *authors])
