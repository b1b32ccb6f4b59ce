"""Random-looking numbers of words, token types and occurrences: who is sampled, whatever the order.

A number depends on what a thing is (the text of a word, the id of a type, the place of an
occurrence) and on the seed, never on when it was read. So what has the lowest numbers is a random
sample that any order and any batching of the texts agree on.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING

import numpy as np

from isoscope.data.sampling import row_keys

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray


HIGHEST = 2**64 - 1


def word_hashes(words: Iterable[str], seed: int) -> list[int]:
    """Return 64 bits of each word's UTF-8 bytes; lone surrogates count as they are."""
    key = (seed % 2**64).to_bytes(8, "little")
    digests = (
        blake2b(word.encode("utf-8", "surrogatepass"), digest_size=8, key=key).digest()
        for word in words
    )
    return [int.from_bytes(digest, "little") for digest in digests]


def type_hashes(token_ids: Iterable[int], seed: int) -> list[int]:
    """Return 64 bits of each token id."""
    found: list[int] = row_keys(np.array(list(token_ids), np.int64), seed).tolist()
    return found


def occurrence_keys(
    sentences: NDArray[np.int64], positions: NDArray[np.int64], seed: int
) -> NDArray[np.uint64]:
    """Return 64 bits for the place of each occurrence: its text, and its position there."""
    return row_keys(row_keys(sentences, seed).view(np.int64) + positions, seed)
