"""Small files of records, to be kept with a project.

A record is a result without its long tables and without the folders of the machine that made it.
The same figures give the same bytes.
"""

from __future__ import annotations

import gzip
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isoscope.data.output import write_atomically
from isoscope.results.result import Result, Row

if TYPE_CHECKING:
    from isoscope.verbs.study.api import StudyRun

ENDING = ".json.gz"

# Fields of a result that are made again from the rest, or say what was asked on one machine.
LEFT_OUT = ("asked", "claims")

# Digits of numbers that nobody reads by themselves: replicates, of which only the spread counts.
DIGITS = 7

# The folders before the name of a file or folder that is named in full.
FOLDERS = re.compile(r"(?<![\w.:/~-])~?/(?:[\w.@+-]+/)+")


def save_record(run: StudyRun, folder: Path) -> Path:
    """Write the record of a study."""
    extra = {name: value for name, value in run.result.extra.items() if name not in LEFT_OUT}
    rows = [shortened(row) for row in run.result.rows]
    result = replace(run.result, rows=rows, tables=[], extra=extra)
    values = without_folders(json.loads(result.to_json(indent=None)))
    text = json.dumps(values, ensure_ascii=False, allow_nan=False)
    content = gzip.compress(text.encode(), 9, mtime=0)
    path = folder / f"{run.study.id}{ENDING}"
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, content)
    return path


def shortened(row: Row) -> Row:
    """Return a row whose lists of numbers have fewer digits."""

    def short(value: Any) -> Any:
        if isinstance(value, list) and value and all(isinstance(one, float) for one in value):
            return [float(f"{one:.{DIGITS}g}") for one in value]
        return value

    return replace(row, extra={name: short(value) for name, value in row.extra.items()})


def without_folders(value: Any) -> Any:
    """Leave the folders out of every text that names a file in full.

    Examples
    --------
    >>> without_folders("isoscope study run L-LN --model /home/me/models/bert --data ./data")
    'isoscope study run L-LN --model bert --data ./data'
    """
    if isinstance(value, str):
        return FOLDERS.sub("", value)
    if isinstance(value, dict):
        return {name: without_folders(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [without_folders(one) for one in value]
    return value


def load_record(path: Path) -> Result:
    """Read a record."""
    return Result.from_json(gzip.decompress(path.read_bytes()).decode())
