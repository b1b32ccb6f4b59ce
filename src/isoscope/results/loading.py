"""Results out of files, several at once."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from isoscope.errors import DataError, UsageError
from isoscope.results.result import Result

if TYPE_CHECKING:
    from collections.abc import Iterable

    from isoscope.results.result import Row

ENDING = ".json"
TEXTS = ("subject", "part", "correction", "measure", "protocol")
NUMBERS = ("value", "log10", "low", "high")


def load_results(paths: Iterable[str | Path]) -> list[Result]:
    """Read results that ``--out`` or ``save`` wrote; what is wrong is said with the file's name."""
    return [load_result(Path(path)) for path in paths]


def load_result(path: Path) -> Result:
    """Read one result and check that its rows are what they should be."""
    if path.suffix.lower() != ENDING:
        raise UsageError(f"{path}: a result is a {ENDING} file, as --out RESULT{ENDING} writes it")
    if not path.is_file():
        raise UsageError(f"there is no result {path}")
    try:
        result = Result.load(path)
    except DataError as error:
        raise DataError(f"{path}: {error}") from error
    except RecursionError as error:
        raise DataError(f"{path}: this is not an isoscope result") from error
    for number, row in enumerate(result.rows, start=1):
        if not is_sound(row):
            raise DataError(
                f"{path}: row {number} of the result is damaged: {row.to_dict()!r:.100}"
            )
    return result


def is_sound(row: Row) -> bool:
    """Whether the fields of a row have the types that they should."""
    numbers = [getattr(row, name) for name in NUMBERS]
    return all(isinstance(getattr(row, name), str) for name in TEXTS) and all(
        number is None or (isinstance(number, int | float) and not isinstance(number, bool))
        for number in numbers
    )
