"""Texts that are in memory, or that somebody else's code makes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any

from isoscope.clouds.texts.contract import TextRow, TextSource
from isoscope.errors import DataError, UsageError


class MadeTexts(TextSource):
    """Strings of an iterable that a function makes anew every time; None counts as blank."""

    def __init__(self, make: Callable[[], Iterable[Any]], name: str = "texts") -> None:
        super().__init__(name)
        self._make = make

    def rows(self) -> Iterator[TextRow]:
        """Yield the strings in order."""
        for row, text in enumerate(self._make(), start=1):
            if not isinstance(text, str | None):
                raise DataError(f"{self.where}: text {row} is {type(text).__name__}, not a string")
            yield text, None


def open_strings(source: Any) -> TextSource:
    """Open a list of strings, or a function that makes an iterable of them."""
    if callable(source):
        return MadeTexts(source)
    if isinstance(source, Iterator):
        raise UsageError(
            f"a {type(source).__name__} can be read once, and texts are read twice; pass a "
            "function that makes it: open_texts(lambda: my_texts())"
        )
    if not isinstance(source, Iterable) or isinstance(source, bytes | Mapping):
        raise UsageError(
            f"{type(source).__name__} is nothing that texts can be read from; pass a file, a list "
            "of strings, or a function that makes an iterable of them"
        )
    return MadeTexts(partial(iter, source))  # which, unlike a lambda, other processes can be sent
