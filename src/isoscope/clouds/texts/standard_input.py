"""Texts from standard input, a line each."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import weakref
from contextlib import suppress

from isoscope.clouds.location import Location
from isoscope.clouds.streams import readable
from isoscope.clouds.texts.lines import LineTexts, refuse_columns
from isoscope.files import PREFIX

STANDARD_INPUT = "-"
NAME = "standard input"


class StandardInput(LineTexts):
    """What came through the pipe, from a temporary file: texts are read twice."""

    def __init__(self) -> None:
        descriptor, path = tempfile.mkstemp(prefix=PREFIX, suffix=".txt")
        weakref.finalize(self, remove, path)
        with readable(NAME), os.fdopen(descriptor, "wb") as spool:
            shutil.copyfileobj(sys.stdin.buffer, spool, 1 << 20)
        super().__init__(Location(path), NAME, NAME)


def remove(path: str) -> None:
    """Delete a file that may be gone already."""
    with suppress(FileNotFoundError):
        os.unlink(path)  # noqa: PTH108  pathlib may be gone when the interpreter leaves


def open_standard_input(column: str | None, document: str | None) -> StandardInput:
    """Take all of standard input in."""
    refuse_columns(NAME, column, document)
    return StandardInput()
