"""What goes through a model: distinct texts, or words in them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from isoscope.models.mentions import Mention, by_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


@dataclass(frozen=True)
class Entries:
    """What is to be encoded: the distinct texts, or words in texts.

    Attributes
    ----------
    entries : list of tuple
        A text, with where the word begins and ends in it; both 0 for the whole text.
    order : array of int
        The place of what was asked for among the entries.
    words : bool
        Whether entries are words.
    """

    entries: list[tuple[str, int, int]]
    order: NDArray[np.intp]
    words: bool

    @classmethod
    def of(cls, asked: Sequence[tuple[str, int, int]], *, words: bool) -> Entries:
        """Number what is asked for without repeats."""
        places: dict[tuple[str, int, int], int] = {}
        order = [places.setdefault(entry, len(places)) for entry in asked]
        return cls(list(places), np.array(order, np.intp), words)

    @classmethod
    def texts(cls, texts: Sequence[str]) -> Entries:
        """Encode whole texts."""
        return cls.of([(text, 0, 0) for text in texts], words=False)

    @classmethod
    def mentions(cls, texts: Sequence[str], mentions: Sequence[Mention]) -> Entries:
        """Encode words in texts."""
        by_text(mentions, texts)
        return cls.of([(texts[one.text], one.start, one.end) for one in mentions], words=True)

    @property
    def keys(self) -> list[str]:
        """What tells the entries apart."""
        if not self.words:
            return [text for text, _, _ in self.entries]
        return [f"{start} {end} {text}" for text, start, end in self.entries]

    def some(self, chosen: NDArray[np.bool_]) -> Entries:
        """Return the chosen entries alone."""
        entries = [self.entries[k] for k in np.flatnonzero(chosen)]
        return Entries.of(entries, words=self.words)

    def inputs(self) -> tuple[list[str], list[Mention] | None]:
        """Return the distinct texts, and the words in them."""
        places: dict[str, int] = {}
        for text, _, _ in self.entries:
            places.setdefault(text, len(places))
        mentions = [Mention(places[text], start, end) for text, start, end in self.entries]
        return list(places), mentions if self.words else None
