"""What can go wrong, in one line each.

The message says what is wrong, where, and what to do. The command line prints it as it stands
and leaves with ``exit_code``; a traceback appears only with ``--debug``.
"""

from __future__ import annotations

import re
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable


# Characters of a message, and of one name in it: names may come from files that anybody made.
LONGEST_MESSAGE = 300
LONGEST_NAME = 60

# What no word of ours is; paths, which may well be so long, stay whole.
LONG_WORD = re.compile(r"[^\s/\\]{120,}")

# The folder of the file that a message begins with.
FOLDER = re.compile(r"\S*[/\\]")


def plain_reason(error: Exception) -> str:
    """Return what was wrong with a stored file, where Python would speak of its own limits.

    Examples
    --------
    >>> plain_reason(RecursionError("maximum recursion depth exceeded"))
    'it is nested too deeply'
    """
    said = str(error)
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    if DIGITS in said:
        return "it holds a number of more than 4,300 digits"
    absent = MISSING.search(said) if isinstance(error, KeyError | TypeError) else None
    return said if absent is None else f"it lacks {absent[1]}"


def cut(name: str) -> str:
    """Cut a name that is too long for a message.

    Examples
    --------
    >>> len(cut("x" * 1_000))
    61
    """
    return name if len(name) <= LONGEST_NAME else f"{name[:LONGEST_NAME]}…"


def shortened(message: str) -> str:
    """Cut the middle of a message that is too long, its folder aside.

    It begins with what is wrong and ends with what to do; what a file holds stands between.

    Examples
    --------
    >>> len(shortened(f"x.json holds {'so much ' * 100}; write it again"))
    300
    """
    folder = FOLDER.match(message)
    room = LONGEST_MESSAGE + (0 if folder is None else folder.end() - len("x/"))
    if len(message) <= room:
        return message
    end = LONGEST_MESSAGE // 3
    return f"{message[: room - end - 1]}…{message[-end:]}"


# What Python says of numbers that are too long to be read, and of fields that are not there.
DIGITS = "for integer string conversion"
MISSING = re.compile(r"(?:missing \d+ required [\w-]+ arguments?: |^)('\w+'.*)$")


class IsoscopeError(ValueError):
    """Anything that isoscope refuses, with a message meant for a person.

    The message is one line: names out of a file may hold line feeds and worse, which are escaped,
    and may be thousands of characters long, which are cut.
    """

    exit_code = 1

    def __init__(self, message: str) -> None:
        printable = "".join(c if c.isprintable() else repr(c)[1:-1] for c in message)
        super().__init__(LONG_WORD.sub(lambda word: cut(word[0]), printable))


class DataError(IsoscopeError):
    """The data cannot be used as it is: truncated, not finite, of the wrong kind.

    Whatever the data hold, the message has at most 300 characters.
    """

    exit_code = 1

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.args = (shortened(str(self)),)


class UsageError(IsoscopeError):
    """The call is wrong: a missing file, an unknown name, options that contradict each other."""

    exit_code = 2


def unknown_name(kind: str, name: str, known: Iterable[str]) -> UsageError:
    """Build the error for a name that does not exist, with near names first and then all.

    Of many names only so many are listed that the message stays readable.
    """
    import difflib  # here, as few names are wrong

    names = sorted(known)
    # A name in other letters, such as bt1 for B-T1, is the one that was meant.
    same = [one for one in names if letters_of(one) == letters_of(name)]
    close = difflib.get_close_matches(name, names, n=3, cutoff=0.5)
    near = [cut(one) for one in dict.fromkeys([*same, *close])][:3]
    hint = f"did you mean {' or '.join(near)}? " if near else ""
    begin = f"no {kind} is called {cut(name)!r}; {hint}"
    if not names:
        return UsageError(f"{begin}there are none")
    room, listed = LONGEST_MESSAGE - len(begin) - len("known:  and 1,000,000 more"), [cut(names[0])]
    for one in names[1:]:
        room -= len(listed[-1]) + 2
        if room < len(cut(one)):
            break
        listed.append(cut(one))
    more = f" and {len(names) - len(listed):,} more" if len(names) > len(listed) else ""
    return UsageError(f"{begin}known: {', '.join(listed)}{more}")


def letters_of(name: str) -> str:
    """Return a name without what people mistype first: capitals, hyphens and blanks.

    Examples
    --------
    >>> letters_of("B-T1"), letters_of("all_but the-top")
    ('bt1', 'allbutthetop')
    """
    return "".join(one for one in name.casefold() if one.isalnum() or one == ".")


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


def one_of(name: str, value: object, choices: Iterable[str]) -> None:
    """Refuse anything but some words.

    Examples
    --------
    >>> one_of("precision", "half", ("double", "single"))
    Traceback (most recent call last):
        ...
    isoscope.errors.UsageError: precision must be double or single, got 'half'
    """
    known = tuple(choices)
    if value not in known:
        listed = " or ".join([", ".join(known[:-1]), known[-1]])
        raise UsageError(f"{name} must be {listed}, got {value!r}")


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
