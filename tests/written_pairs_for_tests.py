"""A toy language of twenty words, whose translation is the words backwards in another spelling."""

from __future__ import annotations

import gzip
import random
from pathlib import Path

WORDS = [
    "cat", "dog", "bird", "tree", "river", "bank", "money", "boat", "red", "green",
    "old", "new", "big", "small", "saw", "ran", "sat", "flew", "in", "of",
]  # fmt: skip


def toy_pairs(count: int, seed: int = 0, longest: int = 4) -> list[tuple[str, str]]:
    """Return sentences of a few words, and the same words in capitals, last one first."""
    chance = random.Random(seed)
    sentences = [chance.choices(WORDS, k=chance.randint(2, longest)) for _ in range(count)]
    return [(" ".join(words), " ".join(words[::-1]).upper()) for words in sentences]


def save_aligned(
    folder: Path, stem: str, pairs: list[tuple[str, str]], *, packed: bool = False
) -> None:
    """Save pairs as two line-aligned files of the languages xx and yy."""
    folder.mkdir(parents=True, exist_ok=True)
    for language, texts in zip(("xx", "yy"), zip(*pairs, strict=True), strict=True):
        content = "".join(f"{text}\n" for text in texts).encode()
        if packed:
            (folder / f"{stem}.{language}.gz").write_bytes(gzip.compress(content))
        else:
            (folder / f"{stem}.{language}").write_bytes(content)
