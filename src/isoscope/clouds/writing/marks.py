"""The note in a file that says which corrections its vectors have been through.

Parquet and Arrow keep it with their schema, safetensors with its metadata, PostgreSQL with the
comment of a column. Other formats have no place for it.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from isoscope.errors import DataError, UsageError

if TYPE_CHECKING:
    from isoscope.clouds.writing.change import Change

KEY = "isoscope.corrections"
"""Under this name files hold a JSON list, an object a correction, in the order of application."""


def read_marks(text: str | None, where: str) -> list[dict[str, Any]]:
    """Return what a file says of its corrections."""
    if text is None:
        return []
    try:
        marks = json.loads(text)
    except (ValueError, RecursionError):
        marks = None
    if not isinstance(marks, list) or not all(isinstance(mark, dict) for mark in marks):
        raise DataError(f"{where}: its metadata {KEY!r} is not a JSON list of objects")
    return marks


def marked(text: str | None, change: Change, column: str | None, where: str) -> str:
    """Return the note with one more correction, or refuse to apply one for the second time."""
    marks = read_marks(text, where)
    mark = {"column": column, "correction": change.name, "fingerprint": change.fingerprint}
    for known in marks:
        if (known.get("column"), known.get("fingerprint")) == (column, change.fingerprint):
            raise UsageError(f"{where} already carries this correction ({change.name})")
    return json.dumps([*marks, mark], ensure_ascii=False)


def already_corrected(mark: dict[str, Any], where: str) -> UsageError:
    """Build the error for corrected vectors where uncorrected ones are wanted."""
    return UsageError(
        f"{where} holds vectors that {mark.get('correction')} has corrected; name new ones as "
        "they were before it"
    )
