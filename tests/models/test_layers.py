"""Layers as clouds: against a forward pass written out by hand, for every architecture."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tiny_models import ARCHITECTURES

import isoscope
from isoscope.data.texts import open_texts
from isoscope.errors import UsageError
from isoscope.models.layers import LayerClouds, TokenRule
from isoscope.models.model import Model, open_model

torch = pytest.importorskip("torch")

TEXTS = [
    "the cat sat on the boat",
    "a dog",
    "the old dog, and a cat",
    "bird",
    "it is the river bank that ran on",
]

BLOCKS = {
    "bert": ["encoder.layer"],
    "roberta": ["encoder.layer"],
    "distilbert": ["transformer.layer"],
    "mpnet": ["encoder.layer"],
    "gpt2": ["h"],
    "gpt-neox": ["layers"],
    "opt": ["decoder.layers"],
    "falcon": ["h"],
    "llama": ["layers"],
    "bart": ["encoder.layers", "decoder.layers"],
    "mbart": ["encoder.layers", "decoder.layers"],
    "t5": ["encoder.block", "decoder.block"],
}
"""Where each architecture keeps its blocks, written down by hand."""

FINAL_NORMS = {
    "gpt2": ["ln_f"],
    "gpt-neox": ["final_layer_norm"],
    "opt": ["decoder.final_layer_norm"],
    "falcon": ["ln_f"],
    "llama": ["norm"],
    "mbart": ["encoder.layer_norm", "decoder.layer_norm"],
    "t5": ["encoder.final_layer_norm", "decoder.final_layer_norm"],
}
TOLERANCE = 1e-5
"""Products of other shapes round differently in float32; the vectors are of order one."""


def collected(group: LayerClouds) -> dict[str, np.ndarray]:
    parts: dict[str, list[np.ndarray]] = {name: [] for name in group.names}
    for batches in group.batches():
        for name, batch in batches.items():
            parts[name].append(batch.vectors.numpy())
    return {name: np.concatenate(found) for name, found in parts.items()}


def labels_of(group: LayerClouds, label: str) -> list[Any]:
    found = []
    for batches in group.batches():
        found += list(next(iter(batches.values())).labels[label])
    return found


def by_hand(model: Model, text: str) -> dict[str, np.ndarray]:
    """One text alone, without padding, through the network with hooks of its own."""
    architecture = model.name
    network = model.network
    ids = torch.tensor([model.tokenizer(text)["input_ids"]])
    seen: dict[str, np.ndarray] = {}
    handles = []

    def keep(name: str, value: Any) -> None:
        hidden = value[0] if isinstance(value, tuple) else value
        seen[name] = hidden[0].detach().numpy().copy()

    for k, path in enumerate(BLOCKS[architecture]):
        side = f"{path.split('.')[0]} " if len(BLOCKS[architecture]) == 2 else ""
        blocks = network.get_submodule(path)
        handles.append(
            blocks[0].register_forward_pre_hook(
                lambda _, args, kwargs, side=side: keep(
                    f"{side}embedding", args or kwargs["hidden_states"]
                ),
                with_kwargs=True,
            )
        )
        for number, block in enumerate(blocks, start=1):
            handles.append(
                block.register_forward_hook(
                    lambda _, __, out, name=f"{side}block {number}": keep(name, out)
                )
            )
        if architecture in FINAL_NORMS:
            norm = network.get_submodule(FINAL_NORMS[architecture][k])
            handles.append(
                norm.register_forward_hook(
                    lambda _, __, out, side=side: keep(f"{side}final norm", out)
                )
            )
    inputs = {"input_ids": ids}
    if model.is_seq2seq:
        inputs["decoder_input_ids"] = ids
    with torch.no_grad():
        network(**inputs)
    for handle in handles:
        handle.remove()
    return seen


@pytest.fixture(params=ARCHITECTURES)
def model(request: pytest.FixtureRequest, tiny_model: Any) -> Model:
    folder: Path = tiny_model(request.param)
    opened = open_model(str(folder))
    opened.name = request.param
    return opened


def test_layers_are_those_of_a_forward_pass_by_hand(model: Model) -> None:
    texts = open_texts(TEXTS)
    group = LayerClouds(model, texts, TokenRule(special=True), budget=40)
    found = collected(group)
    sentences = np.array(labels_of(group, "sentence"))
    positions = np.array(labels_of(group, "position"))
    for number, text in enumerate(TEXTS):
        expected = by_hand(model, text)
        assert set(expected) == set(group.names)
        rows = np.flatnonzero(sentences == number)
        rows = rows[np.argsort(positions[rows])]
        for name, vectors in expected.items():
            np.testing.assert_allclose(found[name][rows], vectors, atol=TOLERANCE, err_msg=name)


def test_a_final_norm_changes_what_the_last_block_gave(model: Model) -> None:
    group = LayerClouds(model, open_texts(TEXTS))
    found = collected(group)
    for name in group.names:
        if name.endswith("final norm"):
            last = group.names[group.names.index(name) - 1]
            assert np.abs(found[name] - found[last]).max() > 0.01


def test_batches_and_padding_side_change_nothing(model: Model) -> None:
    texts = open_texts(TEXTS * 3)
    expected = collected(LayerClouds(model, texts, budget=10_000))
    for budget in (1, 23, 64):
        found = collected(LayerClouds(model, texts, budget=budget))
        for name, vectors in expected.items():
            np.testing.assert_allclose(found[name], vectors, atol=TOLERANCE)
    model.tokenizer.padding_side = "left"
    for name, vectors in collected(LayerClouds(model, texts)).items():
        np.testing.assert_allclose(vectors, expected[name], atol=TOLERANCE)


def test_measuring_a_layer_is_measuring_its_matrix(model: Model) -> None:
    group = LayerClouds(model, open_texts(TEXTS * 4))
    streamed = isoscope.measure(group, "mean_cosine,effective_rank,mean_norm", "none,center")
    for name, matrix in collected(group).items():
        whole = isoscope.measure(matrix, "mean_cosine,effective_rank,mean_norm", "none,center")
        for correction in ("none", "center"):
            for item in ("mean_cosine", "effective_rank", "mean_norm"):
                assert streamed.value(item, correction, name) == pytest.approx(
                    whole.value(item, correction), rel=1e-5, abs=1e-6
                )


@pytest.fixture
def bert(tiny_model: Any) -> Model:
    return open_model(str(tiny_model("bert")))


def test_labels_say_what_a_token_is(bert: Model) -> None:
    group = LayerClouds(bert, open_texts(["the cat, sat", "a dog"]), TokenRule(special=True))
    tokens, words = labels_of(group, "token"), labels_of(group, "word")
    assert tokens[0] == "[CLS]"
    assert words[0] == ""
    numbers = labels_of(group, "word index")
    assert numbers[0] == -1
    for token, word in zip(tokens, words, strict=True):
        assert token.startswith("[") or token.removeprefix("##") in word
    joined = {n: word for n, word in zip(numbers, words, strict=True) if n >= 0}
    assert list(joined.values()) == ["a", "dog", "the", "cat", ",", "sat"]
    of_short = len(bert.tokenizer("a dog")["input_ids"])
    assert labels_of(group, "document") == ["1"] * of_short + ["0"] * (len(tokens) - of_short)


def test_special_tokens_and_first_ones_count_when_asked_for(bert: Model) -> None:
    texts = open_texts(TEXTS)
    every = labels_of(LayerClouds(bert, texts, TokenRule(special=True)), "token")
    plain = labels_of(LayerClouds(bert, texts), "token")
    assert [token for token in every if token not in ("[CLS]", "[SEP]")] == plain
    later = labels_of(LayerClouds(bert, texts, TokenRule(skip_first=2)), "position")
    assert min(later) == 2


def test_what_is_cut_off_is_counted(bert: Model) -> None:
    long = " ".join(["cat"] * 40)
    group = LayerClouds(bert, open_texts([long, "a dog"]), longest=10)
    list(group.batches())
    assert group.so_far.truncation.texts == 1
    assert group.so_far.truncation.tokens == len(bert.tokenizer(long)["input_ids"]) - 10
    assert group.rows == group.so_far.counted


def test_rows_are_numbered_from_a_base(bert: Model) -> None:
    """No two shards of a text number a token the same."""
    group = LayerClouds(bert, open_texts(TEXTS * 3), budget=16)
    every, based = list(group.batches()), list(group.batches(base=1 << 40))
    position = 0
    for one, other in zip(every, based, strict=True):
        for layer in group.names:
            assert one[layer].first_row == position
            assert other[layer].first_row == (1 << 40) + position
            assert torch.equal(one[layer].vectors, other[layer].vectors)
        position += len(one["block 1"].vectors)
    assert group.rows == position


def test_an_unknown_layer_is_named(bert: Model) -> None:
    with pytest.raises(UsageError, match="block 9"):
        LayerClouds(bert, open_texts(TEXTS), layers=["block 9"])


def test_a_chosen_layer_comes_alone(bert: Model) -> None:
    group = LayerClouds(bert, open_texts(TEXTS), layers=["block 2"])
    assert group.names == ("block 2",)
    assert set(next(iter(group.batches()))) == {"block 2"}
