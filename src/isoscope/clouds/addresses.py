"""Addresses without what nobody else should read: users, passwords, keys."""

from __future__ import annotations

import re

POSTGRES = ("postgresql://", "postgres://")
"""How libpq's addresses begin."""

OWN_PARAMETERS = ("table", "column", "id")
"""What isoscope takes out of the address of a table; all else is libpq's."""

SHOWN = frozenset((*OWN_PARAMETERS, "host", "hostaddr", "port", "dbname", "service", "sslmode"))
"""Parameters that may be seen by anybody; what is not listed may be a secret."""

HIDDEN = "…"
ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
PLACE = re.compile(r"(\[[0-9A-Fa-f:.%]*\]|[\w.%-]*)(:\d*)?")


def is_postgres(text: object) -> bool:
    """Whether a source is the address of a table in PostgreSQL."""
    return isinstance(text, str) and text.startswith(POSTGRES)


def redacted(address: str) -> str:
    """Return an address without user, password and parameters that may be secret.

    Where signs that should be percent-encoded make it doubtful which part is the password, all
    of the address is hidden. What is no address stays as it is.
    """
    scheme, sign, rest = address.partition("://")
    if not sign:
        return address
    if not is_postgres(address):
        authority, slash, path = rest.partition("/")
        place = authority.rpartition("@")[2]
        if "@" in path and not PLACE.fullmatch(place):  # a slash in a password
            return f"{scheme}://{HIDDEN}"
        if scheme.startswith("http"):  # signed addresses have their secret behind the ?
            path = path.partition("?")[0]
        return f"{scheme}://{place}{slash}{path}"
    head, _, query = rest.partition("?")
    place = head.rpartition("@")[2]
    hosts = place.partition("/")[0].split(",")
    if "@" in query or not all(PLACE.fullmatch(host) for host in hosts):
        return f"{scheme}://{HIDDEN}"
    shown = [part for part in query.split("&") if part.partition("=")[0] in SHOWN]
    return f"{scheme}://{place}" + ("?" + "&".join(shown) if shown else "")


def redacted_argument(argument: str) -> str:
    """Return an argument of a command line, such as ``--out=ADDRESS``, without secrets."""
    found = ADDRESS.search(argument)
    if found is None:
        return argument
    return argument[: found.start()] + redacted(argument[found.start() :])
