"""How frequent words and tokens are: counted in a text, or from the package wordfreq.

A text says something about every token; those that it lacks have a share of 0. wordfreq knows
English words, in any case, so that a token has a frequency where it may be a whole word: most
vocabularies mark where words begin (``Ġword``, ``▁word``), continue (``##word``) or end
(``word</w>``). A token at the start of a word may still be the first of several (``Ġpartic``); it
gets the frequency of the word that it spells, where there is one. Of tokens that differ in case
alone, such as ``Ġthe`` and ``ĠThe``, only the first has the frequency, which is that of all:
vocabularies have the more frequent tokens first. Special and unused tokens have no frequency in
either case: they do not occur in texts as people write them.

Zipf's law says that the word of rank r has a share p_r = r^(−s) / Σ_{k ≤ V} k^(−s) of the text. The
exponent s is the one with the highest likelihood of the counts c_r in order, which solves

    Σ_r c_r ln r / N = Σ_r r^(−s) ln r / Σ_r r^(−s);

a line fitted to logarithms would give all the weight to the many words that occur once.

References
----------
Speer (2022), rspeer/wordfreq v3.0. Zipf (1949), Human behavior and the principle of least effort.
Biś et al. (2021), Too much in common, figure 4.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isoscope.data.texts.base import TextSource
from isoscope.errors import DataError, MissingError
from isoscope.models.weights.embeddings import UNUSED, token_texts

# A word, with apostrophes inside, or one mark of punctuation.
WORD = re.compile(r"\w+(?:['’]\w+)*|[^\w\s]")

# Texts that are tokenized together.
AT_ONCE = 1_000


def word_counts(texts: TextSource) -> Counter[str]:
    """Count words as they are written, and marks of punctuation."""
    counts: Counter[str] = Counter()
    for text in texts.texts():
        counts.update(WORD.findall(text.text))
    return counts


def token_counts(tokenizer: Any, texts: TextSource, size: int | None = None) -> NDArray[np.int64]:
    """Count the tokens of a vocabulary in texts; none is cut, and none is added.

    Parameters
    ----------
    tokenizer : PreTrainedTokenizerFast
        Of a model.
    texts : TextSource
        What is counted.
    size : int, optional
        Rows of the vocabulary's matrix, where it has more than the tokenizer has tokens.
    """
    counts = np.zeros(max(len(tokenizer), size or 0), np.int64)
    every = (text.text for text in texts.texts())
    while some := list(islice(every, AT_ONCE)):
        found = tokenizer(some, add_special_tokens=False, verbose=False)["input_ids"]
        counts += np.bincount([token for ids in found for token in ids], minlength=len(counts))
    return counts


PACKAGE = "wordfreq"
LANGUAGE = "en"

# Marks of byte-level vocabularies, of SentencePiece, of WordPiece, and of older byte pairs.
BEGINS, SENTENCE_PIECE, GOES_ON, ENDS = "Ġ", "▁", "##", "</w>"

# Share of tokens with a mark from which on it is the vocabulary's: GPT-2 has tokens such as
# ``####``, and BERT letters such as ``ġ``, which mark nothing.
FEWEST_MARKED = 0.01

# Letters, with apostrophes inside. Numbers are out: wordfreq counts those of one length together
# and only guesses how they divide.
LETTERS = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")


@dataclass(frozen=True)
class Frequencies:
    """What is known of the tokens of a vocabulary.

    Attributes
    ----------
    shares : array
        For every id the share of all words or tokens; 0 for what the text lacks, NaN for tokens
        that have no frequency.
    source : str
        Whose they are.
    """

    shares: NDArray[np.float64]
    source: str

    @property
    def without(self) -> int:
        """How many tokens have no frequency."""
        return int(np.isnan(self.shares).sum())

    def log10(self, ids: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return logarithms of the shares of some tokens; NaN where there is none."""
        shares = self.shares[ids]
        return np.log10(np.where(shares > 0, shares, np.nan))


def from_text(tokenizer: Any, counts: NDArray[np.int64], name: str) -> Frequencies:
    """Turn counts of a vocabulary's tokens in a text into shares.

    Parameters
    ----------
    tokenizer : PreTrainedTokenizerFast
        Of the model.
    counts : array
        As ``token_counts`` gives them: a number for every id.
    name : str
        What the text is called.
    """
    ordinary = ordinary_tokens(tokenizer, len(counts))
    shares = np.where(ordinary, counts / max(int(counts.sum()), 1), np.nan)
    return Frequencies(shares, f"{int(counts.sum()):,} tokens of {name}")


def from_wordfreq(tokenizer: Any, size: int) -> Frequencies:
    """Look the whole words of a vocabulary up in wordfreq.

    Parameters
    ----------
    tokenizer : PreTrainedTokenizerFast
        Of the model.
    size : int
        Rows of the vocabulary's matrix.
    """
    if not has_wordfreq():
        raise MissingError(
            "frequencies of English words need the package wordfreq; pip install wordfreq"
        )
    from wordfreq import word_frequency

    words = whole_words(tokenizer, token_texts(tokenizer, size))
    rows: dict[str, int] = {}
    for row in np.flatnonzero(ordinary_tokens(tokenizer, size)).tolist():
        rows.setdefault(words[row].casefold(), row)
    rows.pop("", None)
    shares = np.full(size, np.nan)
    for word, row in rows.items():
        # Words that the package does not list have 0 there, which is no frequency.
        shares[row] = word_frequency(word, LANGUAGE) or np.nan
    known = size - int(np.isnan(shares).sum())
    return Frequencies(shares, f"{PACKAGE}, English, {known:,} of {size:,} tokens are words of it")


def has_wordfreq() -> bool:
    """Whether the package is installed."""
    return find_spec(PACKAGE) is not None


def ordinary_tokens(tokenizer: Any, size: int) -> NDArray[np.bool_]:
    """Tell which rows have a token that is neither special nor there for later."""
    special = set(tokenizer.all_special_ids)
    return np.array(
        [
            bool(token) and row not in special and UNUSED.fullmatch(token) is None
            for row, token in enumerate(token_texts(tokenizer, size))
        ]
    )


def whole_words(tokenizer: Any, tokens: list[str]) -> list[str]:
    """Return the word that each token may be as a whole, and nothing where it is none."""
    mark = mark_of(tokens)
    words = [without_mark(token, mark) for token in tokens]
    if mark == BEGINS:  # other letters than those of English are written as several bytes
        words = [
            word if word.isascii() else tokenizer.convert_tokens_to_string([word]) for word in words
        ]
    return [word if LETTERS.fullmatch(word) else "" for word in words]


@dataclass(frozen=True)
class WholeWords:
    """How a vocabulary writes a whole word.

    Attributes
    ----------
    prefix : str
        What stands before it, such as ``Ġ``; a vocabulary that marks how words go on has none.
    lowercase : bool
        Whether no token has a capital letter.
    """

    prefix: str
    lowercase: bool

    @classmethod
    def of(cls, tokenizer: Any, size: int) -> WholeWords:
        """Tell it from the tokens that are neither special nor there for later."""
        ordinary = ordinary_tokens(tokenizer, size)
        texts = token_texts(tokenizer, size)
        tokens = [text for text, kept in zip(texts, ordinary, strict=True) if kept]
        mark = mark_of(tokens)
        return cls(
            mark if mark in (BEGINS, SENTENCE_PIECE) else "",
            # ``Ġ`` is a capital letter as well, and so are other letters that stand for bytes.
            not any(one.isascii() and one.isupper() for token in tokens for one in token),
        )


def mark_of(tokens: Iterable[str]) -> str:
    """Return the mark that most tokens of a vocabulary have; nothing where it has no marks."""
    found = list(filter(None, tokens))
    counts = {
        BEGINS: sum(token.startswith(BEGINS) and len(token) > 1 for token in found),
        SENTENCE_PIECE: sum(token.startswith(SENTENCE_PIECE) and len(token) > 1 for token in found),
        GOES_ON: sum(token.startswith(GOES_ON) and token[2:3].isalnum() for token in found),
        ENDS: sum(token.endswith(ENDS) for token in found),
    }
    mark = max(counts, key=counts.__getitem__)
    return mark if counts[mark] and counts[mark] >= FEWEST_MARKED * len(found) else ""


def without_mark(token: str, mark: str) -> str:
    """Return what a token spells where it may be a whole word, and nothing where it is a part."""
    if not mark:
        return token
    if mark == GOES_ON:
        return "" if token.startswith(mark) else token
    if mark == ENDS:
        return token.removesuffix(mark) if token.endswith(mark) else ""
    return token.removeprefix(mark) if token.startswith(mark) else ""


# An exponent beyond which all of a text is one word.
STEEPEST = 20.0


@dataclass(frozen=True)
class Coverage:
    """Counts of different words, the most frequent first; those of 0 are no words of the text.

    Attributes
    ----------
    counts : array
        In falling order, all above 0.
    """

    counts: NDArray[np.int64]

    @classmethod
    def of(cls, counts: Iterable[int]) -> Coverage:
        """Sort counts."""
        found = np.sort(np.asarray(list(counts), np.int64))[::-1]
        found = found[found > 0]
        if not len(found):
            raise DataError("the text has no words to count")
        return cls(found)

    @property
    def total(self) -> int:
        """Words of the text."""
        return int(self.counts.sum())

    def share_of(self, first: int) -> float:
        """Return the share of the text that the so many most frequent words cover."""
        return float(self.counts[:first].sum() / self.total)

    def needed_for(self, share: float) -> int:
        """Return how many of the most frequent words cover at least a share of the text."""
        # In whole numbers: a sum of shares may miss one by rounding.
        covered = np.cumsum(self.counts)
        return int(np.searchsorted(covered, np.ceil(share * self.total - 1e-9)) + 1)

    def zipf_exponent(self) -> float | None:
        """Return s; None for a single word, which has no slope."""
        if len(self.counts) < 2:
            return None
        from scipy.optimize import brentq

        logs = np.log(np.arange(1, len(self.counts) + 1))
        mean = float(self.counts @ logs / self.total)

        def excess(exponent: float) -> float:
            weights = np.exp(-exponent * logs)
            return float(weights @ logs / weights.sum()) - mean

        if excess(STEEPEST) >= 0:
            return STEEPEST
        # Equal counts have exponent 0; sorted counts cannot have a lower one.
        return 0.0 if excess(0.0) <= 0 else float(brentq(excess, 0.0, STEEPEST, xtol=1e-12))

    def curve(self, points: int = 60) -> list[dict[str, float]]:
        """Return numbers of words and the shares that they cover, at even ratios."""
        places = np.unique(np.geomspace(1, len(self.counts), points).round().astype(int))
        covered = np.cumsum(self.counts) / self.total
        return [{"words": int(k), "share": float(covered[k - 1])} for k in places]
