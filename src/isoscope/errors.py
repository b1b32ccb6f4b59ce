"""What can go wrong, in one line each.

The message says what is wrong, where, and what to do. The command line prints it as it stands
and leaves with ``exit_code``; a traceback appears only with ``--debug``.
"""

from __future__ import annotations

import difflib
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable


class IsoscopeError(ValueError):
    """Anything that isoscope refuses, with a message meant for a person.

    The message is one line: names out of a file may hold line feeds and worse, which are escaped.
    """

    exit_code = 1

    def __init__(self, message: str) -> None:
        super().__init__("".join(c if c.isprintable() else repr(c)[1:-1] for c in message))


class DataError(IsoscopeError):
    """The data cannot be used as it is: truncated, not finite, of the wrong kind."""

    exit_code = 1


class UsageError(IsoscopeError):
    """The call is wrong: a missing file, an unknown name, options that contradict each other."""

    exit_code = 2


# Names that a message lists: more than isoscope has of any kind, fewer than a file may have.
MOST_NAMES = 100


def unknown_name(kind: str, name: str, known: Iterable[str]) -> UsageError:
    """Build the error for a name that does not exist, with near names first and then all."""
    names = sorted(known)
    near = difflib.get_close_matches(name, names, n=3, cutoff=0.5)
    hint = f"did you mean {' or '.join(near)}? " if near else ""
    more = f" and {len(names) - MOST_NAMES:,} more" if len(names) > MOST_NAMES else ""
    listed = f"known: {', '.join(names[:MOST_NAMES])}{more}" if names else "there are none"
    return UsageError(f"no {kind} is called {name!r}; {hint}{listed}")


def check_name(kind: str, name: str, known: Iterable[str]) -> None:
    """Refuse a name that does not exist, as ``unknown_name`` says it."""
    names = tuple(known)
    if name not in names:
        raise unknown_name(kind, name, names)


def at_least(name: str, value: int, least: int) -> None:
    """Refuse a number that is too small.

    Examples
    --------
    >>> at_least("workers", 0, 1)
    Traceback (most recent call last):
        ...
    isoscope.errors.UsageError: workers must be at least 1, got 0
    """
    if value < least:
        raise UsageError(f"{name} must be at least {least}, got {value}")


def one_of(name: str, value: object, choices: Iterable[str], between: str = " or ") -> None:
    """Refuse anything but some words.

    Examples
    --------
    >>> one_of("precision", "half", ("double", "single"))
    Traceback (most recent call last):
        ...
    isoscope.errors.UsageError: precision is double or single, not 'half'
    """
    known = tuple(choices)
    if value not in known:
        raise UsageError(f"{name} is {between.join(known)}, not {value!r}")


def require(module: str, message: str) -> Any:
    """Import a package that not everybody has; the message says what needs it and what to install.

    Examples
    --------
    >>> require("no_such_package", "pictures need it; pip install 'isoscope[report]'")
    Traceback (most recent call last):
        ...
    isoscope.errors.UsageError: pictures need it; pip install 'isoscope[report]'
    """
    try:
        return import_module(module)
    except ImportError as error:
        raise UsageError(message) from error


class MissingError(UsageError):
    """A topic lacks something: a text, a folder of data, checkpoints."""
