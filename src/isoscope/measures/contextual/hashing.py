"""Random-looking numbers of words, token types and occurrences: who is sampled, whatever the order.

A number depends on what a thing is (the text of a word, the id of a type, the place of an
occurrence) and on the seed, never on when it was read. So what has the lowest numbers is a random
sample that any order and any batching of the texts agree on.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING

import numpy as np

from isoscope.clouds.row_keys import row_keys

if TYPE_CHECKING:
    from numpy.typing import NDArray

HIGHEST = 2**64 - 1


def word_hash(word: str, seed: int) -> int:
    """Return 64 bits of a word's UTF-8 bytes; lone surrogates count as they are."""
    key = (seed % 2**64).to_bytes(8, "little")
    digest = blake2b(word.encode("utf-8", "surrogatepass"), digest_size=8, key=key).digest()
    return int.from_bytes(digest, "little")


def type_hash(token_id: int, seed: int) -> int:
    """Return 64 bits of a token id."""
    return int(row_keys(np.array([token_id], np.int64), seed)[0])


def occurrence_keys(
    sentences: NDArray[np.int64], positions: NDArray[np.int64], seed: int
) -> NDArray[np.uint64]:
    """Return 64 bits for the place of each occurrence: its text, and its position there."""
    return row_keys(row_keys(sentences, seed).view(np.int64) + positions, seed)
