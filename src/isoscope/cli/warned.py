"""Warnings on the command line: one line each, without the place in the code."""

from __future__ import annotations

import sys
import warnings
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def plain_warnings() -> Iterator[None]:
    """Print warnings as errors are printed."""
    with warnings.catch_warnings():
        warnings.showwarning = say
        yield


@contextmanager
def warnings_shown(*, quiet: bool) -> Iterator[None]:
    """Print warnings as errors are printed, or none at all."""
    with plain_warnings():
        if quiet:
            warnings.simplefilter("ignore")
        yield


def say(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """Print a warning; the arguments are those that Python gives."""
    del category, filename, lineno, line
    print(f"isoscope: warning: {' '.join(str(message).split())}", file=file or sys.stderr)
