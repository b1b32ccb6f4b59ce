"""Models of many languages: which of their own codes a language has.

mBART marks a source and a target by codes such as ``de_DE`` and ``en_XX``: the tokenizer writes
them, and the decoder starts from the target's.
"""

from __future__ import annotations

import re
from typing import Any

from isoscope.errors import UsageError


def set_languages(tokenizer: Any, languages: tuple[str, str] | None) -> str | None:
    """Tell a tokenizer its languages; return the target's code, None where it has no codes."""
    if languages is None or not hasattr(tokenizer, "src_lang"):
        return None
    codes = [code_of(tokenizer, language) for language in languages]
    tokenizer.src_lang, tokenizer.tgt_lang = codes
    return codes[1]


def code_of(tokenizer: Any, language: str) -> str:
    """Find the code of a language: itself, or itself with a country behind it."""
    vocabulary = tokenizer.get_vocab()
    if language in tokenizer.all_special_tokens:
        return language
    wanted = re.compile(rf"{re.escape(language)}_[A-Z]{{2}}")
    found = sorted(token for token in vocabulary if wanted.fullmatch(token))
    if not found:
        raise UsageError(
            f"the model has no code for the language {language!r}, such as {language}_XX; name "
            "the files by a language that it knows"
        )
    return found[0]


def decoder_start(labels: list[int], code: int | None) -> dict[str, int]:
    """Say how a text in the target's language begins, as its tokenizer marks it.

    With the code behind the text (mBART), the decoder starts from the code; with the code before
    it (mBART-50), the code is the first token that is written.
    """
    if code is None:
        return {}
    if labels[-1] == code:
        return {"decoder_start_token_id": code}
    if labels[0] == code:
        return {"forced_bos_token_id": code}
    return {}
