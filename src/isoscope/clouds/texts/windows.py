"""Windows: stretches of texts that are held, and sorted by length, together.

They are cut by the texts alone, so that whatever follows from them depends neither on the size of
batches nor on how many workers read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from isoscope.clouds.texts.contract import Text

WINDOW_TEXTS = 4_096
WINDOW_CHARACTERS = 2**21
"""Texts that are sorted together: enough that neighbours have a length, few enough to hold."""


def windows(
    texts: Iterable[Text], most: int = WINDOW_TEXTS, characters: int = WINDOW_CHARACTERS
) -> Iterator[list[Text]]:
    """Cut a stream of texts into windows, each as soon as it is full."""
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
