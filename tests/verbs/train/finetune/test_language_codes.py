"""Codes of languages in models of many languages."""

from __future__ import annotations

from typing import Any

import pytest

transformers = pytest.importorskip("transformers")

from isoscope.errors import UsageError  # noqa: E402
from isoscope.verbs.train.finetune.generation import decoder_start, set_languages  # noqa: E402


def labels(tokenizer: Any) -> list[int]:
    return list(tokenizer(text_target=["a"])["input_ids"][0])


@pytest.mark.parametrize(
    ("kind", "start"),
    [("MBartTokenizer", "decoder_start_token_id"), ("MBart50Tokenizer", "forced_bos_token_id")],
)
def test_the_decoder_starts_as_the_tokenizer_marks_a_target(kind: str, start: str) -> None:
    tokenizer = getattr(transformers, kind)()
    assert set_languages(tokenizer, ("de", "en")) == "en_XX"
    assert (tokenizer.src_lang, tokenizer.tgt_lang) == ("de_DE", "en_XX")
    code = tokenizer.convert_tokens_to_ids("en_XX")
    assert tokenizer.convert_tokens_to_ids("de_DE") in tokenizer(["a"])["input_ids"][0]
    assert decoder_start(labels(tokenizer), code) == {start: code}
    assert set_languages(tokenizer, ("en", "ro_RO")) == "ro_RO"


def test_a_language_that_a_model_does_not_know() -> None:
    with pytest.raises(UsageError, match="no code for the language 'xx'"):
        set_languages(transformers.MBart50Tokenizer(), ("xx", "en"))


def test_models_of_one_language_have_no_codes() -> None:
    assert set_languages(object(), ("de", "en")) is None
    assert set_languages(transformers.MBart50Tokenizer(), None) is None
    assert decoder_start([5, 2], None) == {}
