"""Which texts go through the network together.

Texts of a length fill a batch without padding, so they are sorted; not all of them, which would
have to be held in memory, but those of a window. Windows are cut by the texts alone: the order of
rows does not depend on the size of batches.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoscope.data.texts.shards import WINDOW_CHARACTERS, WINDOW_TEXTS, windows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from isoscope.data.texts.base import Text
    from isoscope.models.tokens import TokenizedText


__all__ = ["TOKEN_BUDGET", "WINDOW_CHARACTERS", "WINDOW_TEXTS", "batched", "windows"]

TOKEN_BUDGET = 4_096
"""Tokens in one forward pass, padding included: more make matrices no faster."""


def batched(
    texts: Iterable[Text],
    tokenize: Callable[[Sequence[Text]], list[TokenizedText]],
    budget: int = TOKEN_BUDGET,
) -> Iterator[list[TokenizedText]]:
    """Yield texts of about the same length whose padded size stays within the budget.

    A text that is longer than the budget goes alone. Texts without a token are passed over.
    """
    for window in windows(texts):
        ready = sorted(
            (text for text in tokenize(window) if len(text)),
            key=lambda text: (len(text), text.text.index),
        )
        batch: list[TokenizedText] = []
        for text in ready:
            if batch and (len(batch) + 1) * len(text) > budget:
                yield batch
                batch = []
            batch.append(text)
        if batch:
            yield batch
