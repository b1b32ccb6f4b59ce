"""Writing clouds that have no file of their own format: ``.npy``, or text with their words."""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO

import numpy as np

from isoscope.clouds.writing.change import STORED_AS
from isoscope.clouds.writing.npy import write_rows
from isoscope.clouds.writing.word_text import header_line, text_lines
from isoscope.errors import UsageError

if TYPE_CHECKING:
    from isoscope.clouds.writing.change import Rewrite


def write_packaged_npy(rewrite: Rewrite, file: BinaryIO) -> None:
    """Write the rows as an array."""
    write_rows(rewrite, STORED_AS[rewrite.cloud.dtype], file)


def write_packaged_text(rewrite: Rewrite, file: BinaryIO) -> None:
    """Write words and vectors in word2vec's text form, with a header."""
    file.write(header_line(rewrite.cloud.rows or 0, rewrite.change.new_width))
    for batch in rewrite.batches():
        if "word" not in batch.labels:
            raise UsageError(f"the rows of {rewrite.cloud.name} have no words; write a .npy file")
        words = [str(word).encode() for word in batch.labels["word"]]
        file.write(text_lines(words, batch.vectors.astype(np.float32, copy=False), b" "))
