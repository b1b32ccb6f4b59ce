"""Words where they stand in texts, and which tokens they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from isoscope.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from isoscope.models.tokens import TokenizedText


@dataclass(frozen=True)
class Mention:
    """A word where it stands.

    Attributes
    ----------
    text : int
        Which text of a list.
    start, end : int
        Where the word begins and ends in it, in characters.
    """

    text: int
    start: int
    end: int


def by_text(mentions: Sequence[Mention], texts: Sequence[str]) -> dict[int, list[int]]:
    """Return the numbers of the mentions in every text; each must lie inside its text."""
    found: dict[int, list[int]] = {}
    for number, mention in enumerate(mentions):
        if not 0 <= mention.text < len(texts):
            raise DataError(f"mention {number}: there is no text {mention.text}")
        if not 0 <= mention.start < mention.end <= len(texts[mention.text]):
            raise DataError(
                f"mention {number}: characters {mention.start} to {mention.end} are not in "
                f"{texts[mention.text][:40]!r}"
            )
        found.setdefault(mention.text, []).append(number)
    return found


def mentioned_tokens(
    batch: Sequence[TokenizedText],
    kept: Sequence[NDArray[np.bool_]],
    mentions: Sequence[Mention],
    of_text: Mapping[int, Sequence[int]],
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Find the tokens of every mention in some texts.

    A token belongs to a mention where the tokenizer's word that it is a part of overlaps the
    mention's characters: a mention such as *mother-in-law* may be several of those words.

    Returns
    -------
    tuple of array
        The numbers of the mentions that have tokens, how many each has, and the places of these
        among all tokens that count.
    """
    numbers: list[int] = []
    counts: list[int] = []
    places: list[NDArray[np.int64]] = []
    before = 0
    for text, keep in zip(batch, kept, strict=True):
        words = text.words[keep]
        for number in of_text.get(text.text.index, ()):
            mention = mentions[number]
            overlaps = (text.word_starts < mention.end) & (text.word_ends > mention.start)
            tokens = np.flatnonzero(np.isin(words, np.flatnonzero(overlaps)))
            if len(tokens):
                numbers.append(number)
                counts.append(len(tokens))
                places.append(before + tokens)
        before += len(words)
    chosen = np.concatenate(places) if places else np.empty(0, np.int64)
    return np.array(numbers, np.int64), np.array(counts, np.int64), chosen
