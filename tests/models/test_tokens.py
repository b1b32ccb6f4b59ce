"""Vectors of words in texts, against hidden states and offsets taken by hand."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from isoscope.compute.vector_cache import VectorCache
from isoscope.errors import DataError
from isoscope.models.encode import Encoder
from isoscope.models.model import open_model
from isoscope.models.tokens import Mention

torch = pytest.importorskip("torch")

TEXTS = ["the cat sat on the boat", "a dog, and a mother-in-law", "the dog ran"]
WORDS = [(0, "boat"), (1, "mother-in-law"), (1, "dog"), (0, "cat"), (2, "ran"), (1, "dog")]
MENTIONS = [
    Mention(text, TEXTS[text].index(word), TEXTS[text].index(word) + len(word))
    for text, word in WORDS
]


@pytest.mark.parametrize("architecture", ["bert", "gpt2", "llama"])
@pytest.mark.parametrize("special", [True, False])
def test_a_word_is_the_mean_of_its_tokens(
    tiny_model: Callable[[str], Path], architecture: str, special: bool
) -> None:
    model = open_model(str(tiny_model(architecture)), device="cpu")
    encoder = Encoder(model, "cls", special, cache=False)
    found = encoder.encode(TEXTS, ["block 1"], mentions=MENTIONS)["block 1"]
    for row, mention in zip(found, MENTIONS, strict=True):
        inputs = model.tokenizer(
            TEXTS[mention.text], return_tensors="pt", return_offsets_mapping=True
        )
        offsets = inputs.pop("offset_mapping")[0].tolist()
        with torch.inference_mode():
            hidden = model.network(**inputs, output_hidden_states=True).hidden_states[1][0]
        word_ids = inputs.word_ids()
        # A blank before a word may be a token of its own: it is a part of the word.
        inside = {
            word_ids[k]
            for k, (a, b) in enumerate(offsets)
            if a < mention.end and b > mention.start and b > a
        }
        tokens = [k for k, word in enumerate(word_ids) if word in inside]
        np.testing.assert_allclose(row, hidden[tokens].mean(dim=0).numpy(), atol=1e-5)


def test_words_are_cached_apart_from_texts(
    tiny_model: Callable[[str], Path], tmp_path: Path
) -> None:
    encoder = Encoder(
        open_model(str(tiny_model("bert")), device="cpu"), cache=VectorCache(tmp_path)
    )
    first = encoder.encode(TEXTS, ["block 1"], mentions=MENTIONS)["block 1"]
    again = encoder.encode(TEXTS, ["block 1"], mentions=MENTIONS)["block 1"]
    assert first.tobytes() == again.tobytes()
    assert first[2].tobytes() == first[5].tobytes()
    whole = encoder.encode(TEXTS, ["block 1"])["block 1"]
    assert whole.shape == (3, first.shape[1])
    seen: list[int] = []
    encoder.encode(
        TEXTS, ["block 1"], mentions=MENTIONS[:1], watch=lambda _, rows: seen.append(len(rows))
    )
    assert sum(seen) == len(encoder.model.tokenizer(TEXTS[0])["input_ids"])


def test_a_word_that_is_cut_off_has_no_vector(tiny_model: Callable[[str], Path]) -> None:
    model = open_model(str(tiny_model("bert")), device="cpu")
    found = Encoder(model, longest=4, cache=False).encode(TEXTS, ["block 1"], mentions=MENTIONS)
    assert np.isnan(found["block 1"][0]).all()
    assert np.isfinite(found["block 1"][3]).all()


@pytest.mark.parametrize("mention", [Mention(3, 0, 1), Mention(0, 4, 4), Mention(0, 20, 99)])
def test_a_mention_lies_in_its_text(tiny_model: Callable[[str], Path], mention: Mention) -> None:
    model = open_model(str(tiny_model("bert")), device="cpu")
    with pytest.raises(DataError, match="mention 0"):
        Encoder(model, cache=False).encode(TEXTS, ["block 1"], mentions=[mention])
