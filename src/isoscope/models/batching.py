"""Which texts go through the network together.

Texts of a length fill a batch without padding, so they are sorted; not all of them, which would
have to be held in memory, but those of a window. Windows are cut by the texts alone: the order of
rows does not depend on the size of batches.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from isoscope.clouds.texts import Text
    from isoscope.models.tokens import TokenizedText

WINDOW_TEXTS = 4_096
WINDOW_CHARACTERS = 2**21
"""Texts that are sorted together: enough that neighbours have a length, few enough to hold."""

TOKEN_BUDGET = 4_096
"""Tokens in one forward pass, padding included: more make matrices no faster."""


def windows(
    texts: Iterable[Text], most: int = WINDOW_TEXTS, characters: int = WINDOW_CHARACTERS
) -> Iterator[list[Text]]:
    """Cut a stream of texts into windows."""
    window: list[Text] = []
    held = 0
    for text in texts:
        window.append(text)
        held += len(text.text)
        if len(window) >= most or held >= characters:
            yield window
            window, held = [], 0
    if window:
        yield window


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
