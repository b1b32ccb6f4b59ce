"""Counts and lists of names in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


def counted(number: int, thing: str) -> str:
    """Return a number with its thing, in the plural where it takes one."""
    return f"{number:,} {thing}" if number == 1 else f"{number:,} {thing}s"


def listed(given: Iterable[str] | str | None, default: Sequence[str]) -> list[str]:
    """Turn a comma-separated string or an iterable into a list of names."""
    if given is None:
        return list(default)
    names = given.split(",") if isinstance(given, str) else list(given)
    stripped = [name.strip() if isinstance(name, str) else name for name in names]
    return [name for name in stripped if name != ""]
