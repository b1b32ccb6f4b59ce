"""Writing word2vec's binary form and ``.fvecs``."""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO

import numpy as np

from isoscope.clouds.binary_vectors import WordStream
from isoscope.clouds.contract import rows_per_batch
from isoscope.clouds.streams import readable
from isoscope.clouds.writing.word_text import header_line
from isoscope.errors import DataError

if TYPE_CHECKING:
    from isoscope.clouds.writing.change import Rewrite


def write_word2vec(rewrite: Rewrite, file: BinaryIO) -> None:
    """Write words, byte for byte, with changed vectors."""
    where, cloud = str(rewrite.location), rewrite.cloud
    total, step = cloud.rows or 0, rows_per_batch(cloud.width)
    with readable(where), rewrite.location.stream() as source:
        source.readline()
        stream = WordStream(source, 4 * cloud.width, where)
        file.write(header_line(total, rewrite.change.new_width))
        for first in range(0, total, step):
            words, numbers = stream.take(min(step, total - first), first)
            rows = rewrite.changed(np.frombuffer(numbers, "<f4").reshape(-1, cloud.width), first)
            file.write(
                b"".join(word + b" " + row.tobytes() for word, row in zip(words, rows, strict=True))
            )
        if stream.has_more():
            raise DataError(f"{where} holds more than the {total:,} vectors of its header")


def write_fvecs(rewrite: Rewrite, file: BinaryIO) -> None:
    """Write the new width before every vector."""
    width = rewrite.change.new_width
    for batch in rewrite.batches():
        words = np.empty((len(batch.vectors), width + 1), "<i4")
        words[:, 0] = width
        words[:, 1:] = batch.vectors.view("<i4")
        file.write(words.data)
