"""Tokens of whole texts against a direct forward pass, and the draw of texts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from isoscope.data.texts import open_texts
from isoscope.errors import DataError, UsageError
from isoscope.models import token_table as token_sample
from isoscope.models.layers import TokenRule
from isoscope.models.token_table import TokenSample, drawn_texts, read_tokens

if TYPE_CHECKING:
    from isoscope.models.model import Model

pytest.importorskip("transformers")

Folder = Callable[[str], Path]
TEXTS = [
    "the cats sat on the old tree.", "a small dog ran.", "it was the river bank",
    "the bird flew and the boat saw money", "green and red.", "the new boat was in the river",
    "a cat and a dog", "money is old", "birds saw the red tree", "it ran on and on and on",
]  # fmt: skip
ENOUGH = 10_000


def opened(tiny_model: Folder, architecture: str) -> Model:
    from isoscope.models.model import open_model

    return open_model(str(tiny_model(architecture)))


def encoded(model: Model, text: str) -> Any:
    return model.tokenizer(text, return_special_tokens_mask=True)


def kept_ids(model: Model, text: str, special: bool = False) -> list[int]:
    """Tokens of a text that count."""
    found = encoded(model, text)
    pairs = zip(found["input_ids"], found["special_tokens_mask"], strict=True)
    return [token for token, mask in pairs if special or not mask]


def texts_of(sample: TokenSample, model: Model, *, special: bool = False) -> list[str]:
    """Tell which of the texts were read, in order, by the tokens of each."""
    known = {tuple(kept_ids(model, text, special)): text for text in TEXTS}
    return [
        known[tuple(sample.ids[sample.sentences == k].tolist())]
        for k in np.unique(sample.sentences)
    ]


def forward(model: Model, text: str) -> list[np.ndarray]:
    """Return every hidden state of one text, by transformers itself."""
    import torch
    import transformers

    network = transformers.AutoModel.from_pretrained(model.source.folder).eval()
    inputs = model.tokenizer(text, return_tensors="pt")
    inputs.pop("token_type_ids", None)
    with torch.no_grad():
        found = network(**inputs, output_hidden_states=True).hidden_states
    return [state[0].numpy() for state in found]


@pytest.mark.parametrize("special", [False, True])
def test_every_layer_is_that_of_a_forward_pass(tiny_model: Folder, special: bool) -> None:
    model = opened(tiny_model, "bert")
    sample = read_tokens(model, open_texts(TEXTS), ENOUGH, special=special)
    assert list(sample.layers) == ["embedding", "block 1", "block 2", "block 3"]
    texts = texts_of(sample, model, special=special)
    assert sorted(texts) == sorted(TEXTS)
    for number, text in enumerate(texts):
        mine = sample.sentences == number
        found = encoded(model, text)
        kept = [k for k, mask in enumerate(found["special_tokens_mask"]) if special or not mask]
        assert sample.positions[mine].tolist() == kept
        assert sample.ids[mine].tolist() == [found["input_ids"][k] for k in kept]
        assert sample.tokens[mine].tolist() == [found.tokens()[k] for k in kept]
        for vectors, state in zip(sample.layers.values(), forward(model, text), strict=True):
            # In batches of other lengths float32 sums differ in the last digits.
            assert vectors[mine] == pytest.approx(state[kept], abs=2e-5)
    counts = [len(kept_ids(model, text, special)) for text in TEXTS]
    assert len(sample) == sum(counts)
    assert {len(vectors) for vectors in sample.layers.values()} == {sum(counts)}
    assert {vectors.dtype for vectors in sample.layers.values()} == {np.dtype(np.float32)}
    words = "special tokens in" if special else "special tokens out"
    assert sample.protocol == f"{sum(counts)} tokens of 10 texts (texts), {words}"


def test_a_decoder_ends_behind_its_final_norm(tiny_model: Folder) -> None:
    model = opened(tiny_model, "gpt2")
    sample = read_tokens(model, open_texts(TEXTS), ENOUGH, special=True)
    first = texts_of(sample, model, special=True)[0]
    states = forward(model, first)
    mine = sample.sentences == 0
    assert sample.layers["embedding"][mine] == pytest.approx(states[0], abs=2e-5)
    assert sample.layers["final norm"][mine] == pytest.approx(states[-1], abs=2e-5)
    assert sample.layers["block 2"][mine] == pytest.approx(states[2], abs=2e-5)


def test_tokens_are_in_the_order_of_reading(tiny_model: Folder) -> None:
    """Texts of a length go through the network together, whatever their number."""
    model = opened(tiny_model, "bert")
    sample = read_tokens(model, open_texts(TEXTS), ENOUGH)
    assert (np.diff(sample.sentences) >= 0).all()
    same = np.diff(sample.sentences) == 0
    assert (np.diff(sample.positions)[same] == 1).all()
    assert sample.positions.min() == 1  # behind [CLS]
    assert np.unique(sample.sentences).tolist() == list(range(10))


def test_words_of_pieces(tiny_model: Folder) -> None:
    model = opened(tiny_model, "bert")
    sample = read_tokens(model, open_texts(["the cats sat.", "  "]), ENOUGH, special=True)
    assert sample.tokens.tolist() == ["[CLS]", "the", "cat", "##s", "sat", ".", "[SEP]"]
    assert sample.words.tolist() == ["", "the", "cats", "cats", "sat", ".", ""]
    assert sample.positions.tolist() == list(range(7))
    assert sample.sentences.tolist() == [0] * 7


def test_some_layers_only(tiny_model: Folder) -> None:
    model = opened(tiny_model, "bert")
    everything = read_tokens(model, open_texts(TEXTS), ENOUGH)
    some = read_tokens(model, open_texts(TEXTS), ENOUGH, layers=["block 2"])
    assert list(some.layers) == ["block 2"]
    assert np.array_equal(some.layers["block 2"], everything.layers["block 2"])
    with pytest.raises(UsageError, match="block 9"):
        read_tokens(model, open_texts(TEXTS), ENOUGH, layers=["block 9"])


def test_of_two_stacks_the_encoder_is_read(tiny_model: Folder) -> None:
    sample = read_tokens(opened(tiny_model, "bart"), open_texts(TEXTS), ENOUGH)
    assert list(sample.layers) == [
        "encoder embedding", "encoder block 1", "encoder block 2", "encoder block 3"
    ]  # fmt: skip


def test_seeds_draw_other_texts(tiny_model: Folder) -> None:
    model = opened(tiny_model, "bert")
    drawn = [
        texts_of(read_tokens(model, open_texts(TEXTS), 20, seed), model) for seed in (0, 0, 1, 2)
    ]
    assert drawn[0] == drawn[1]
    assert drawn[0] != drawn[2] != drawn[3] != drawn[0]
    assert all(set(texts) < set(TEXTS) for texts in drawn)


@pytest.mark.parametrize("limit", [8, 15, 30])
@pytest.mark.parametrize("special", [False, True])
def test_as_many_whole_texts_as_fit(tiny_model: Folder, limit: int, special: bool) -> None:
    """A longer draw goes on where a shorter one ended, and the next text would not fit."""
    model = opened(tiny_model, "bert")
    everything, total = drawn_texts(model, open_texts(TEXTS), ENOUGH, TokenRule(), 0)
    assert sorted(everything) == sorted(TEXTS)
    assert total == 10
    sample = read_tokens(model, open_texts(TEXTS), limit, special=special)
    texts = texts_of(sample, model, special=special)
    counts = [len(kept_ids(model, text, special)) for text in everything]
    fit = max(int((np.cumsum(counts) <= limit).sum()), 1)
    assert texts == everything[:fit]
    assert len(sample) == sum(counts[:fit])
    assert f" tokens of {fit} texts of 10, drawn at random (texts)" in sample.protocol


def test_the_first_text_is_read_in_any_case(tiny_model: Folder) -> None:
    model = opened(tiny_model, "bert")
    sample = read_tokens(model, open_texts(TEXTS[:1]), 2)
    assert len(sample) == len(kept_ids(model, TEXTS[0])) > 2


def test_memory_limits_the_tokens(tiny_model: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    model = opened(tiny_model, "bert")
    by_tokens = read_tokens(model, open_texts(TEXTS), 20)
    # 20 tokens of four layers of 32 numbers, and not quite 21
    monkeypatch.setattr(token_sample, "MEMORY", 21 * 4 * 4 * 32 - 1)
    by_memory = read_tokens(model, open_texts(TEXTS), ENOUGH)
    assert np.array_equal(by_memory.ids, by_tokens.ids)
    assert by_memory.protocol == by_tokens.protocol
    one_layer = read_tokens(model, open_texts(TEXTS), ENOUGH, layers=["block 1"])
    assert len(one_layer) > len(by_memory)  # a layer alone leaves room for more tokens
    monkeypatch.setattr(token_sample, "MEMORY", 1)
    assert len(np.unique(read_tokens(model, open_texts(TEXTS), ENOUGH).sentences)) == 1


def test_the_draw_does_not_prefer_short_texts(tiny_model: Folder) -> None:
    """Half of the texts are ten times as long; over seeds half of those that are drawn are."""
    model = opened(tiny_model, "bert")
    short, long = ["cat sat"] * 200, [" ".join(["cat sat"] * 10)] * 200
    source = open_texts([text for pair in zip(short, long, strict=True) for text in pair])
    lengths = [
        len(text)
        for seed in range(40)
        for text in drawn_texts(model, source, 400, TokenRule(), seed)[0]
    ]
    share = float(np.mean([length > 10 for length in lengths]))
    # Some 1,400 draws: a deviation is 0.013. The text that ends a draw is more often a long one,
    # which takes 0.01 off.
    assert len(lengths) > 1_000
    assert share == pytest.approx(0.49, abs=0.05)


def test_long_texts_are_cut_where_the_model_ends(tiny_model: Folder) -> None:
    from tiny_models import POSITIONS

    model = opened(tiny_model, "bert")
    sample = read_tokens(model, open_texts(["the cat " * 60]), ENOUGH, special=True)
    assert sample.positions.tolist() == list(range(POSITIONS))


def test_progress_counts_texts(tiny_model: Folder) -> None:
    done: list[tuple[str, int, int | None]] = []
    read_tokens(
        opened(tiny_model, "bert"), open_texts(TEXTS), ENOUGH,
        progress=lambda *report: done.append(report),
    )  # fmt: skip
    assert done[-1] == ("texts", 10, 10)


def test_no_token_is_an_error(tiny_model: Folder) -> None:
    """A text of a character that the tokenizer drops has special tokens alone."""
    model = opened(tiny_model, "bert")
    nothing = "\u200b"
    assert kept_ids(model, nothing) == []
    with pytest.raises(DataError, match=r"texts: all tokens were excluded \(special tokens out"):
        read_tokens(model, open_texts([nothing]), ENOUGH)
