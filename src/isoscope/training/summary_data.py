"""Articles and their summaries: CNN/DailyMail as a table.

    text,y          or          article,highlights

in ``cnn_dailymail.csv``, a sample whose end is held out, or in ``train.csv`` and ``test.csv`` (and
``validation.csv``), as the whole set is given out. Fields may be quoted and hold line ends.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoscope.data.location import Location
from isoscope.data.texts.readers import records
from isoscope.errors import DataError
from isoscope.tasks.data_folder import data_folder, find_file, lookup
from isoscope.training.pair_data import PairData, WrittenPair, hold_out, left_out_note, whole_pairs

if TYPE_CHECKING:
    from pathlib import Path


FAMILY = "summarize"
SAMPLE = "cnn_dailymail.csv"
WHOLE = "cnn_dailymail"
"""The folder of the whole set, so that no other task's ``train.csv`` is taken for it."""

COLUMNS = (("text", "y"), ("article", "highlights"))
HELD_OUT = 5
"""One in so many pairs of a sample is scored."""


def summary_data(data: str | Path | None = None) -> PairData:
    """Read articles and summaries.

    Parameters
    ----------
    data : str or Path, optional
        The folder, or the one above it; by default what ``ISOSCOPE_DATA`` names.
    """
    folder = data_folder(data)
    if folder is not None and lookup(folder, f"{WHOLE}/train.csv"):
        return whole_set(folder)
    path = find_file(
        folder,
        SAMPLE,
        f"summarize needs {SAMPLE}, or {WHOLE}/train.csv and {WHOLE}/test.csv, with columns text "
        "and y, or article and highlights",
    )
    pairs, notes = summaries(path)
    train, scored = hold_out(pairs, HELD_OUT, str(path))
    said = (
        f"{path.name} has one part only: its last {len(scored):,} pairs are scored, the "
        f"{len(train):,} before them are learned from"
    )
    return PairData(train, scored, notes=(*notes, said))


def whole_set(folder: Path) -> PairData:
    """Read train, validation and test."""
    expected = f"summarize needs it beside {WHOLE}/train.csv"
    paths = {part: find_file(folder, f"{WHOLE}/{part}.csv", expected) for part in ("train", "test")}
    dev = lookup(folder, f"{WHOLE}/validation.csv")[:1]
    (train, notes), (scored, more) = (summaries(path) for path in paths.values())
    chosen, rest = summaries(dev[0]) if dev else ((), ())
    return PairData(train, scored, chosen, (*notes, *more, *rest))


def summaries(path: Path) -> tuple[tuple[WrittenPair, ...], tuple[str, ...]]:
    """Read the pairs of one table, and notes about them."""
    with records(Location(str(path))) as table:
        _, header = next(table, (0, []))
        columns = next((both for both in COLUMNS if set(both) <= set(header)), None)
        if columns is None:
            raise DataError(
                f"{path} has the columns {', '.join(filter(None, header)) or '(none)'}; it needs "
                "text and y, or article and highlights"
            )
        places = [header.index(name) for name in columns]
        found = []
        for line, fields in table:
            if not fields:
                continue
            if len(fields) != len(header):
                raise DataError(
                    f"{path}: line {line} has {len(fields)} fields, the header has {len(header)}"
                )
            found.append((fields[places[0]], fields[places[1]]))
    pairs, empty = whole_pairs(found)
    if not pairs:
        raise DataError(f"{path} has no row with both {columns[0]} and {columns[1]}")
    return pairs, left_out_note(empty, path.name)
