"""Lines of a file that anybody may have made."""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO

from isoscope.data.formats.word_text import LONGEST_LINE
from isoscope.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Iterator


def bounded_lines(file: BinaryIO, where: str, content: str) -> Iterator[bytes]:
    """Yield the lines of a file; one that never ends, as forged archives have, is refused.

    Parameters
    ----------
    file : binary file
        What is read.
    where : str
        The file, for messages.
    content : str
        What a line should be, such as "one vector".
    """
    number = 0
    while line := file.readline(LONGEST_LINE):
        number += 1
        if len(line) == LONGEST_LINE and not line.endswith(b"\n"):
            raise DataError(
                f"{where}: line {number} has over {LONGEST_LINE:,} bytes, which is not {content}"
            )
        yield line
