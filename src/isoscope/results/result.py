"""Rows, tables and results: lookup, JSON, files."""

from __future__ import annotations

import hashlib
import json
import math
import platform
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar

import numpy as np

from isoscope.compute.memory import check_bytes
from isoscope.data.output import write_atomically
from isoscope.errors import DataError, IsoscopeError, UsageError, cut, plain_reason, require
from isoscope.measures.registry import find_measure
from isoscope.registry import load
from isoscope.results.destination import check_ending
from isoscope.version import __version__
from isoscope.wording import visible

if TYPE_CHECKING:
    import pandas

    from isoscope.compute.journal import Journal


SCHEMA_VERSION = 2

# The field of a file that holds the checksum of all others.
CHECKSUM = "checksum"


def checksum_of(values: Mapping[str, Any]) -> str:
    """SHA-256 of the fields of a stored result, whatever their order and layout in the file."""
    text = json.dumps(values, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


# Bytes of memory for each byte of a file: its text, what JSON makes of it, and rows with tables.
HELD = 6


def check_size(path: Path) -> None:
    """Refuse a file of a result that would not fit into memory."""
    size = path.stat().st_size
    check_bytes(HELD * size, f"reading {path}", f"{size:,} bytes of JSON", "name a smaller file")


class NewerSchemaError(DataError):
    """A file that a newer isoscope wrote, which is to be kept for it."""


class Estimated(Protocol):
    """A number with the ends of its interval: an estimate, an effect, or a row."""

    @property
    def value(self) -> float | None:
        """The number; None where it is undefined."""

    @property
    def low(self) -> float | None:
        """Lower end of the interval; None where there is none."""

    @property
    def high(self) -> float | None:
        """Upper end of the interval; None where there is none."""


@dataclass(frozen=True)
class Record:
    """What is stored as one flat dictionary.

    Fields that this version does not know are kept in ``extra``, the last field of every record; in
    JSON they stand beside the others.
    """

    def to_dict(self) -> dict[str, Any]:
        """Return everything as one dictionary."""
        own = {f.name: getattr(self, f.name) for f in fields(self)}
        extra = own.pop("extra")
        return {**own, **extra}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Rebuild a record from its dictionary."""
        known = {f.name for f in fields(cls)} - {"extra"}
        own = {key: value for key, value in values.items() if key in known}
        extra = {key: value for key, value in values.items() if key not in known}
        return cls(**own, extra=extra)  # type: ignore[call-arg]


@dataclass(frozen=True)
class Row(Record):
    """One number about one space."""

    subject: str
    part: str
    correction: str
    measure: str
    value: float | None
    log10: float | None = None
    low: float | None = None
    high: float | None = None
    n: int | None = None
    protocol: str = ""
    note: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict)
    """Further fields, such as i1's sign_low; in JSON they stand beside the others."""

    @classmethod
    def of(
        cls,
        found: Estimated | float | None,
        subject: str,
        part: str,
        correction: str,
        measure: str,
        *,
        n: int | None = None,
        protocol: str = "",
        note: str = "",
        extra: Mapping[str, Any] | None = None,
    ) -> Row:
        """Return an estimate as a row.

        Parameters
        ----------
        found : Estimate, float or None
            Value and interval. Where it has a ``n`` or a ``note``, these are used unless others
            are given. A float has no interval.
        subject, part, correction, measure : str
            What the number is about.
        n : int, optional
            How many items the number is of.
        protocol, note : str
            How the number was found, and what is to be said about it.
        extra : mapping, optional
            Further fields.
        """
        return cls(
            subject,
            part,
            correction,
            measure,
            found if found is None or isinstance(found, int | float) else found.value,
            low=getattr(found, "low", None),
            high=getattr(found, "high", None),
            n=getattr(found, "n", None) if n is None else n,
            protocol=protocol,
            note=note or getattr(found, "note", ""),
            extra=extra or {},
        )

    @property
    def family(self) -> str:
        """The measure or task that the number is one of: what stands before the first slash."""
        return self.measure.split("/")[0]


@dataclass(frozen=True)
class Table(Record):
    """A structured measure of one space: rows that are dictionaries with the same keys."""

    subject: str
    part: str
    correction: str
    measure: str
    rows: list[dict[str, Any]]
    note: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict)


Found = TypeVar("Found", Row, Table)
Shown = TypeVar("Shown")


@dataclass(frozen=True)
class Result(Record):
    """What a command found.

    Attributes
    ----------
    rows : list of Row
        A row per subject, part, correction and measure.
    tables : list of Table
        Measures that are more than a number.
    verdicts : list of dict
        One per cloud: the likely cause and what it does and does not imply.
    left_out : dict
        Rows that did not count, by reason.
    seeds, versions : dict
        What it takes to get the same numbers again.
    command : str
        The command line, or the call, that made the result.
    """

    rows: list[Row]
    tables: list[Table] = field(default_factory=list)
    verdicts: list[dict[str, Any]] = field(default_factory=list)
    left_out: dict[str, int] = field(default_factory=dict)
    seeds: dict[str, int] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    command: str = ""
    schema_version: int = SCHEMA_VERSION
    extra: Mapping[str, Any] = field(default_factory=dict)

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def row(self, measure: str, correction: str = "none", part: str | None = None) -> Row:
        """Return the row of a measure, by name or alias, and correction."""
        with suppress(UsageError):
            measure = find_measure(measure).text
        found = _first(self.rows, measure, correction, part)
        if found is None:
            raise KeyError(f"no row for {measure} with correction {correction}")
        return found

    def value(
        self, measure: str, correction: str = "none", part: str | None = None
    ) -> float | None:
        """Return the value of a measure and correction; None where it is undefined."""
        return self.row(measure, correction, part).value

    def table(self, measure: str, correction: str = "none", part: str | None = None) -> Table:
        """Return a structured measure."""
        found = _first(self.tables, measure, correction, part)
        if found is None:
            raise KeyError(f"no table {measure} with correction {correction}")
        return found

    def to_rows(self) -> list[dict[str, Any]]:
        """Return the rows as flat dictionaries."""
        return [row.to_dict() for row in self.rows]

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain dictionaries and lists."""
        values = super().to_dict()
        values["rows"] = self.to_rows()
        values["tables"] = [table.to_dict() for table in self.tables]
        return {"schema_version": values.pop("schema_version"), **values}

    def to_json(self, indent: int | None = 2) -> str:
        """Return the result as JSON; what is undefined or infinite is null, never NaN."""
        return json.dumps(
            _finite(self.to_dict()), indent=indent, ensure_ascii=False, allow_nan=False
        )

    @classmethod
    def from_json(cls, text: str) -> Result:
        """Rebuild a result from its JSON."""
        try:
            values = json.loads(text)
            if isinstance(values, dict):
                values.pop(CHECKSUM, None)  # of the file, which ``verify`` compares
            if not isinstance(values, dict) or "schema_version" not in values:
                raise DataError("this is not an isoscope result")
            # Newer files may mean something else by the same fields; unknown fields are harmless.
            version = values.get("schema_version")
            if not isinstance(version, int) or version > SCHEMA_VERSION:
                raise NewerSchemaError(
                    f"this result has schema version {cut(repr(version))}; "
                    f"this isoscope reads up to {SCHEMA_VERSION}"
                )
            values["rows"] = [Row.from_dict(row) for row in values["rows"]]
            values["tables"] = [Table.from_dict(table) for table in values.get("tables", [])]
            result = cls.from_dict(values)
        except DataError:
            raise
        except (ValueError, AttributeError, KeyError, TypeError, RecursionError) as error:
            raise DataError(
                f"this is not an isoscope result: {plain_reason(error):.200}"
            ) from error
        check_result(result, text)
        return result

    def save(self, path: str | Path) -> None:
        """Write the result as JSON, or as Markdown when the name ends in ``.md``; atomically.

        JSON gets a checksum as its last field, for ``isoscope verify``.
        """
        target = Path(path)
        check_ending(target)
        if target.suffix.lower() == ".md":
            text = self.to_markdown()
        else:
            values = json.loads(self.to_json())  # as it will be read: keys have become strings
            values[CHECKSUM] = checksum_of(values)
            text = json.dumps(values, indent=2, ensure_ascii=False, allow_nan=False)
        write_atomically(target, text + "\n")

    @classmethod
    def load(cls, path: str | Path) -> Result:
        """Read a result that ``save`` wrote as JSON."""
        try:
            check_size(Path(path))
            text = Path(path).read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"{path} cannot be read as a result: {error}") from error
        return cls.from_json(text)

    def to_markdown(self) -> str:
        """Return a table with corrections side by side, the verdict below."""
        return self._rendered("markdown")

    def to_pandas(self) -> pandas.DataFrame:
        """Return the rows as a data frame."""
        library = require("pandas", "to_pandas needs pandas; pip install pandas")
        frame: pandas.DataFrame = library.DataFrame(self.to_rows())
        return frame

    def __repr__(self) -> str:
        return self._rendered("plain")

    def _repr_html_(self) -> str:
        return self._rendered("html")

    def _rendered(self, form: str) -> str:
        # By name: how results look is to the right of what they are, and loads every measure.
        text: str = shown(lambda: load(f"isoscope.results.render:{form}")(self))
        return visible(text)


def shown(show: Callable[[], Shown]) -> Shown:
    """Return what ``show`` makes of results, or say that one of them is damaged.

    Files of results may hold anything in the fields that only one kind of result has.
    """
    try:
        return show()
    except IsoscopeError:
        raise
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        what = f"{type(error).__name__}: {error!s:.100}"
        raise DataError(
            f"the result cannot be shown, as parts of it are damaged ({what})"
        ) from error


def _first(
    records: Iterable[Found], measure: str, correction: str, part: str | None
) -> Found | None:
    """Return the first row or table of a measure and correction, of one part or of any."""
    for one in records:
        if (one.measure, one.correction) == (measure, correction) and part in (None, one.part):
            return one
    return None


def _finite(value: Any) -> Any:
    # json.dumps would write NaN and Infinity, which are not JSON and stop other readers.
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {key: _finite(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(entry) for entry in value]
    return value


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
        raise type(error)(f"{path}: {error}") from error
    return result


# Half of a character beyond the first 65,536, which may stand alone in JSON and in no output.
SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


def check_result(result: Result, text: str) -> None:
    """Refuse a result whose parts do not have the types that they should; ``text`` is its JSON."""
    for number, row in enumerate(result.rows, start=1):
        if not is_sound(row):
            raise DataError(f"row {number} of the result is damaged: {row.to_dict()!r:.100}")
    for number, table in enumerate(result.tables, start=1):
        if not is_sound_table(table):
            raise DataError(f"table {number} of the result is damaged: {table.to_dict()!r:.100}")
    if not is_list_of(result.verdicts, dict):
        raise DataError(f"the verdicts of the result are damaged: {result.verdicts!r:.100}")
    for name in ("left_out", "seeds", "versions"):
        if not isinstance(getattr(result, name), dict):
            raise DataError(f"{name} of the result is damaged: {getattr(result, name)!r:.100}")
    if not isinstance(result.command, str):
        raise DataError(f"command of the result is damaged: {result.command!r:.100}")
    if SURROGATE.search(text):
        try:
            json.dumps(result.to_dict(), ensure_ascii=False).encode()
        except UnicodeEncodeError as error:
            raise DataError(
                "the result holds half of a surrogate pair, which is not valid text"
            ) from error


def is_sound(row: Row) -> bool:
    """Whether the fields of a row have the types that they should."""
    return (
        all(isinstance(getattr(row, name), str) for name in (*TEXTS, "note"))
        and all(is_number(getattr(row, name)) for name in (*NUMBERS, "n"))
        and all(isinstance(name, str) for name in row.extra)
    )


def is_number(value: object) -> bool:
    """Whether a value is a number that a double can hold, or undefined."""
    if value is None:
        return True
    if not isinstance(value, int | float) or isinstance(value, bool):
        return False
    return -sys.float_info.max <= value <= sys.float_info.max


def is_sound_table(table: Table) -> bool:
    """Whether a table has rows with the same columns."""
    texts = [getattr(table, name) for name in ("subject", "part", "correction", "measure", "note")]
    if not all(isinstance(text, str) for text in texts) or not is_list_of(table.rows, dict):
        return False
    return all(row.keys() == table.rows[0].keys() for row in table.rows)


def is_list_of(value: object, kind: type) -> bool:
    """Whether a value is a list of one type."""
    return isinstance(value, list) and all(isinstance(one, kind) for one in value)


def versions() -> dict[str, str]:
    """Return the versions that numbers could depend on."""
    return {
        "isoscope": __version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
    }


def kept_result(journal: Journal | None, model: str) -> Result | None:
    """Return the result of a model that was finished before; None where there is none."""
    entry = None if journal is None else journal.load(result_step(model))
    return None if entry is None else Result.from_json(json.dumps(entry.facts))


def keep_result(journal: Journal | None, model: str, result: Result) -> None:
    """Keep the result of a model, unless it is kept."""
    if journal is not None and not journal.done(result_step(model)):
        journal.save(result_step(model), {}, json.loads(result.to_json()))


def result_step(model: str) -> str:
    """Return the name of the step; that of a checkpoint has the revision in it."""
    return f"{model} result"
