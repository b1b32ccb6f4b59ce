"""Words and tokens are counted as a person would."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from isoscope.data.texts import open_texts
from isoscope.models import frequencies as counting
from isoscope.models.frequencies import token_counts, word_counts

TEXTS = ["It's the cat, the cat!", "Café — the end."]


def test_words_and_punctuation() -> None:
    assert dict(word_counts(open_texts(TEXTS))) == {
        "It's": 1, "the": 3, "cat": 2, ",": 1, "!": 1, "Café": 1, "—": 1, "end": 1, ".": 1,
    }  # fmt: skip


class Letters:
    """A tokenizer of single characters."""

    def __len__(self) -> int:
        return 300

    def __call__(self, texts: list[str], **options: Any) -> dict[str, list[list[int]]]:
        assert options == {"add_special_tokens": False, "verbose": False}
        return {"input_ids": [[ord(letter) for letter in text] for text in texts]}


def test_tokens_in_any_number_of_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = open_texts(["ab", "a", "b b"])
    whole = token_counts(Letters(), texts)
    assert (whole[ord("a")], whole[ord("b")], whole[ord(" ")], whole.sum()) == (2, 3, 1, 6)
    monkeypatch.setattr(counting, "AT_ONCE", 1)
    np.testing.assert_array_equal(token_counts(Letters(), texts), whole)
    assert len(token_counts(Letters(), texts, size=400)) == 400
