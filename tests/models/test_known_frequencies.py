"""Frequencies of tokens, from a text and from a package that may be missing."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from isoscope.data.texts import open_texts
from isoscope.errors import MissingError
from isoscope.models.frequencies import (
    Frequencies,
    from_text,
    from_wordfreq,
    has_wordfreq,
    mark_of,
    token_counts,
    whole_words,
)
from isoscope.models.model import open_model

Folder = Callable[[str], Path]
KNOWN = {"the": 0.05, "cat": 0.0001, "a": 0.02, "s": 0.001, "café": 1e-6, "unused": 1e-5}


@pytest.fixture
def wordfreq(monkeypatch: pytest.MonkeyPatch) -> None:
    """A package of a few words, in the place of the real one."""

    def word_frequency(word: str, language: str) -> float:
        assert language == "en"
        return KNOWN.get(word.casefold(), 0.0)

    module = ModuleType("wordfreq")
    module.__spec__ = ModuleSpec("wordfreq", None)
    module.word_frequency = word_frequency  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "wordfreq", module)


def test_shares_of_a_text(tiny_model: Folder) -> None:
    tokenizer = open_model(str(tiny_model("bert"))).tokenizer
    texts = open_texts(["the cat", "the dogs %"])  # the, cat, the, dog, ##s, [UNK]
    known = from_text(tokenizer, token_counts(tokenizer, texts, 200), "a text")
    row = tokenizer.get_vocab()
    shares = {token: known.shares[row[token]] for token in ("the", "cat", "dog", "##s", "bird")}
    assert shares == {"the": 2 / 6, "cat": 1 / 6, "dog": 1 / 6, "##s": 1 / 6, "bird": 0.0}
    for token in ("[CLS]", "[UNK]", "[unused3]"):
        assert np.isnan(known.shares[row[token]])
    assert np.isnan(known.shares[len(tokenizer) :]).all()  # rows that no token has
    assert known.without == 5 + 10 + 200 - len(tokenizer)
    assert known.source == "6 tokens of a text"


def test_logarithms_of_what_is_there() -> None:
    known = Frequencies(np.array([0.01, 0.0, np.nan, 1.0]), "made")
    found = known.log10(np.array([3, 0, 1, 2, 0]))
    assert found == pytest.approx([0, -2, np.nan, np.nan, -2], nan_ok=True)


@pytest.mark.usefixtures("wordfreq")
def test_only_whole_words_have_a_frequency(tiny_model: Folder) -> None:
    tokenizer = open_model(str(tiny_model("bert"))).tokenizer
    known = from_wordfreq(tokenizer, 200)
    row = tokenizer.get_vocab()
    for token in ("the", "cat", "a", "s"):
        assert known.shares[row[token]] == KNOWN[token]
    assert known.without == 200 - 4  # ##s is a part of a word, dog is not listed
    assert known.source == "wordfreq, English, 4 of 200 tokens are words of it"


@pytest.mark.usefixtures("wordfreq")
def test_marks_of_byte_pairs_tell_words_from_parts(tiny_model: Folder) -> None:
    tokenizer = open_model(str(tiny_model("gpt2"))).tokenizer
    known = from_wordfreq(tokenizer, len(tokenizer))
    found = {
        tokenizer.convert_ids_to_tokens(int(row)): known.shares[row]
        for row in np.flatnonzero(~np.isnan(known.shares))
    }
    assert found == {"Ġthe": KNOWN["the"], "Ġcat": KNOWN["cat"], "Ġa": KNOWN["a"]}
    words = whole_words(tokenizer, ["ĠcafÃ©", "the", "Ġthe", "Ġ3", "Ġ,", "Ġdon't", "Ġ"])
    assert words == ["café", "", "the", "", "", "don't", ""]


@pytest.mark.parametrize(
    ("tokens", "mark", "words"),
    [
        (["the", "##s", "cat", "####"], "##", ["the", "", "cat", ""]),
        (["▁the", "s", "▁", "▁cat"], "▁", ["the", "", "", "cat"]),
        (["the</w>", "s", "cat</w>"], "</w>", ["the", "", "cat"]),
        (["the", "cat", "a1", "", "_", "b"], "", ["the", "cat", "", "", "", "b"]),
        (["the", "##", "cat", "####"], "", ["the", "", "cat", ""]),
    ],
)
def test_marks(tokens: list[str], mark: str, words: list[str]) -> None:
    assert mark_of(tokens) == mark
    assert whole_words(None, tokens) == words


def test_a_stray_sign_is_no_mark() -> None:
    assert mark_of([*(f"w{k}" for k in range(100)), "Ġorġ"]) == ""
    assert mark_of([*(f"w{k}" for k in range(98)), "Ġa", "Ġb"]) == "Ġ"


class Cased:
    """A vocabulary with one word in three cases."""

    all_special_ids = (0,)

    def get_vocab(self) -> dict[str, int]:
        return {"<s>": 0, "The": 3, "the": 1, "Cat": 2, "THE": 4}


@pytest.mark.usefixtures("wordfreq")
def test_the_first_of_several_cases_has_the_frequency() -> None:
    shares = from_wordfreq(Cased(), 5).shares
    expected = [np.nan, KNOWN["the"], KNOWN["cat"], np.nan, np.nan]
    assert shares == pytest.approx(expected, nan_ok=True)


def test_the_package_may_be_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "wordfreq", None)
    assert not has_wordfreq()
    with pytest.raises(MissingError, match="pip install wordfreq"):
        from_wordfreq(Cased(), 5)


@pytest.mark.needs_package("wordfreq", "wordfreq")
def test_the_package_itself(tiny_model: Folder) -> None:
    tokenizer = open_model(str(tiny_model("bert"))).tokenizer
    known, row = from_wordfreq(tokenizer, len(tokenizer)), tokenizer.get_vocab()
    the, cat, river = (known.shares[row[word]] for word in ("the", "cat", "river"))
    assert 0.03 < the < 0.08  # about one word of twenty
    assert the > 100 * cat
    assert cat > river / 10 > 0
    assert np.isnan(known.shares[row["."]])
