"""What can happen to a file, a decompressor or a network while it is read, in one line."""

from __future__ import annotations

import zlib
from contextlib import contextmanager
from typing import TYPE_CHECKING

from isoscope.errors import DataError, IsoscopeError

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def readable(where: str) -> Iterator[None]:
    """Turn what file systems and decompressors raise into one clear line."""
    try:
        yield
    except IsoscopeError:
        raise
    except (EOFError, OSError, zlib.error) as error:
        raise DataError(f"{where} cannot be read: {first_line(error)}") from error


def first_line(error: Exception) -> str:
    """Return the first line of an exception's message, which may be long."""
    text = str(error).strip() or type(error).__name__
    return text.splitlines()[0]
