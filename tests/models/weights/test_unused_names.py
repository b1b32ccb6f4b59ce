"""Which tokens are unused, by their names."""

from __future__ import annotations

import pytest

from isoscope.models.weights.embeddings import UNUSED


@pytest.mark.parametrize(
    "token", ["[unused0]", "[UNUSED12]", "<unused99>", "<|reserved_special_token_7|>",
              "<reserved12>", "<|extra_3|>"]
)  # fmt: skip
def test_tokens_for_later(token: str) -> None:
    assert UNUSED.fullmatch(token)


@pytest.mark.parametrize(
    "token", ["<extra_id_0>", "unused", "[MASK]", "<s>", "[unused]", "<|im_end|>"]
)
def test_tokens_that_are_trained(token: str) -> None:
    assert not UNUSED.fullmatch(token)
