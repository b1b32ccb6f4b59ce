"""Which column holds the texts, and which tells their documents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from isoscope.errors import DataError, UsageError, unknown_name

if TYPE_CHECKING:
    from collections.abc import Mapping

USUAL = ("text", "sentence", "content")
"""What a column of texts is called where there are others."""

PLAIN = (str, int, float)
"""What can be the name of a document."""


def choose_column(
    column: str | None, document: str | None, columns: Mapping[str, bool], where: str
) -> str:
    """Return the column that is named, or the only one that could be meant.

    Parameters
    ----------
    column, document : str or None
        What the user named.
    columns : mapping of str to bool
        Every column, and whether it holds text.
    where : str
        The file, for messages.
    """
    for name in (document, column):
        if name is not None and name not in columns:
            raise unknown_name(f"column of {where}", name, columns)
    if column is not None:
        if not columns[column]:
            raise DataError(f"{where}: the column {column!r} does not hold text{listed(columns)}")
        return column
    candidates = [name for name, text in columns.items() if text and name != document]
    usual = [name for name in candidates if name.lower() in USUAL]
    for found in (candidates, usual):
        if len(found) == 1:
            return found[0]
    if not candidates:
        raise DataError(f"{where} has no column of text; it has {', '.join(columns) or 'none'}")
    raise UsageError(
        f"{where} has {len(candidates)} columns of text; name one with --column "
        f"(column= in Python): {', '.join(candidates)}"
    )


def listed(columns: Mapping[str, bool]) -> str:
    """Name the columns that do hold text, where there are any."""
    names = [name for name, text in columns.items() if text]
    return f"; these do: {', '.join(names)}" if names else ""


def document_name(value: Any, column: str, where: str, row: int) -> str:
    """Return a cell as the name of a document."""
    if not isinstance(value, PLAIN) or not str(value).strip():
        raise DataError(
            f"{where}: row {row} has no name of a document in {column!r}; fill it in, or leave "
            "--document out"
        )
    return str(value)
