"""Opening the files of a pattern, some of which may be bad."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias, TypeVar, get_args

from isoscope.clouds.streams import first_line
from isoscope.errors import DataError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from isoscope.clouds.location import Location

OnError: TypeAlias = Literal["stop", "skip"]
"""What becomes of a file that cannot be opened."""

Opened = TypeVar("Opened")


def check_on_error(on_error: str) -> None:
    """Refuse anything but the words that are known."""
    if on_error not in get_args(OnError):
        raise UsageError(f"on_error is {' or '.join(get_args(OnError))}, not {on_error!r}")


def open_all(
    files: Sequence[Location],
    opener: Callable[[Location, Opened | None], Opened],
    on_error: OnError,
) -> tuple[list[Opened], dict[str, str]]:
    """Open files that belong together.

    Parameters
    ----------
    files : sequence of Location
        At least one.
    opener : callable
        Opens a file, given also what became of the first good one; None for that itself.
    on_error : {"stop", "skip"}
        Whether a bad file is an error, or left out as long as another one is good. A wrong call,
        which is no fault of a file, always is an error.

    Returns
    -------
    list, dict of str to str
        What the good files hold, and what is wrong with each bad one.
    """
    good: list[Opened] = []
    bad: dict[str, str] = {}
    failures: list[Exception] = []
    for file in files:
        try:
            good.append(opener(file, good[0] if good else None))
        except (DataError, OSError) as error:
            if on_error == "stop":
                raise
            bad[str(file)] = first_line(error)
            failures.append(error)
    if not good:
        raise failures[0]
    return good, bad
