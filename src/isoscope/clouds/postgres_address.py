"""Which table and column of which database an address names."""

from __future__ import annotations

from dataclasses import dataclass, field
from urllib.parse import unquote

from isoscope.clouds.addresses import OWN_PARAMETERS, redacted
from isoscope.errors import UsageError

EXAMPLE = "postgresql://host:5432/database?table=documents&column=embedding"


@dataclass(frozen=True)
class PostgresAddress:
    """A column of vectors in a table, and how to get there."""

    connection: str = field(repr=False)
    """What libpq connects to; it may hold a password."""
    shown: str
    """The address as messages and results show it."""
    table: str
    """Name, or schema and name with a dot between them."""
    column: str | None
    id: str | None


def parse_address(text: str, column: str | None = None) -> PostgresAddress:
    """Take isoscope's own parameters out of an address; the rest is libpq's.

    Parameters
    ----------
    text : str
        ``postgresql://user:password@host:port/database?table=…&column=…&id=…``.
    column : str, optional
        The column, where it is named beside the address.
    """
    shown = redacted(text)
    head, _, query = text.partition("?")
    own: dict[str, str] = {}
    others: list[str] = []
    for part in filter(None, query.split("&")):
        key, _, value = part.partition("=")
        if key not in OWN_PARAMETERS:
            others.append(part)
        elif key in own:
            raise UsageError(f"{shown} names {key} twice")
        else:
            own[key] = unquote(value)
    if not own.get("table"):
        raise UsageError(f"{shown} names no table; write {EXAMPLE}, in quotes because of the &")
    named = own.get("column") or None
    if column is not None and named not in (None, column):
        raise UsageError(f"{shown} names the column {named!r}, and --column names {column!r}")
    return PostgresAddress(
        connection=head + ("?" + "&".join(others) if others else ""),
        shown=shown,
        table=own["table"],
        column=named or column,
        id=own.get("id") or None,
    )
