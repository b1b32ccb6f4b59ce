"""Pooled vectors against pooling by hand, one text at a time and without padding."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pooled_for_tests import pooled

from isoscope.corrections import Center, Whiten
from isoscope.errors import DataError, UsageError
from isoscope.models.model import Model, open_model
from isoscope.models.sentences.pooling import POOLINGS, pooled_spaces

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

TEXTS = [
    "the cat sat on the boat",
    "a dog",
    "the old dog, and a cat",
    "bird",
    "",
    "it is the river bank that ran on",
    "a dog",
]
TOLERANCE = 1e-5
"""Products of other shapes round differently in float32; the vectors are of order one."""

BY_HAND: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "mean": lambda tokens: tokens.mean(axis=0),
    "max": lambda tokens: tokens.max(axis=0),
    "cls": lambda tokens: tokens[0],
    "last": lambda tokens: tokens[-1],
}


@pytest.fixture
def bert(tiny_model: Callable[[str], Path]) -> Model:
    return open_model(str(tiny_model("bert")), device="cpu")


@cache
def hidden_states(folder: Path, text: str) -> tuple[list[np.ndarray], np.ndarray]:
    """The tokens of a text in every layer of BERT, and which of them are special."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    network = transformers.AutoModel.from_pretrained(folder).eval()
    inputs = tokenizer(text, return_tensors="pt", return_special_tokens_mask=True)
    special = inputs.pop("special_tokens_mask")[0].numpy().astype(bool)
    with torch.no_grad():
        states = network(**inputs, output_hidden_states=True).hidden_states
    return [state[0].numpy() for state in states], special


@pytest.mark.parametrize("special", [True, False])
@pytest.mark.parametrize("pooling", POOLINGS)
def test_every_layer_is_pooled_as_by_hand(
    bert: Model, tiny_model: Callable[[str], Path], pooling: str, special: bool
) -> None:
    found = pooled(bert, TEXTS, None, pooling, special, budget=16)
    assert list(found) == ["embedding", "block 1", "block 2", "block 3"]
    for number, text in enumerate(TEXTS):
        states, added = hidden_states(tiny_model("bert"), text)
        for layer, tokens in zip(found, states, strict=True):
            kept = tokens if special else tokens[~added]
            row = found[layer][number]
            if not len(kept):
                assert np.isnan(row).all()
                continue
            np.testing.assert_allclose(row, BY_HAND[pooling](kept), atol=TOLERANCE)


def test_special_tokens_are_in_by_default(bert: Model) -> None:
    given, default = pooled(bert, TEXTS, special_tokens=True), pooled(bert, TEXTS)
    np.testing.assert_array_equal(given["block 3"], default["block 3"])


@pytest.mark.parametrize("architecture", ["gpt2", "llama", "t5"])
def test_decoders_and_pairs_of_stacks_have_a_row_for_every_text(
    tiny_model: Callable[[str], Path], architecture: str
) -> None:
    model = open_model(str(tiny_model(architecture)), device="cpu")
    known = [layer for stack in model.stacks for layer in stack.layers]
    together, alone = pooled(model, TEXTS), [pooled(model, [text]) for text in TEXTS]
    assert list(together) == known
    for layer, rows in together.items():
        for row, one in zip(rows, alone, strict=True):
            np.testing.assert_allclose(row, one[layer][0], atol=10 * TOLERANCE)


@pytest.mark.parametrize("pooling", POOLINGS)
def test_tokens_are_corrected_before_they_are_pooled(
    bert: Model, tiny_model: Callable[[str], Path], pooling: str
) -> None:
    tokens: list[np.ndarray] = []
    pooled(bert, TEXTS, ["block 2"], watch=lambda _, rows: tokens.append(rows.numpy().copy()))
    whiten = Whiten(renormalize=True).fit(np.concatenate(tokens).astype(np.float64))
    layers = ["block 2", "block 3"]
    found = pooled(bert, TEXTS, layers, pooling, True, {"block 2": whiten})
    for number, text in enumerate(TEXTS):
        states, _ = hidden_states(tiny_model("bert"), text)
        expected = BY_HAND[pooling](whiten.transform(states[2].astype(np.float64)))
        np.testing.assert_allclose(found["block 2"][number], expected, atol=1e-3)
    np.testing.assert_array_equal(found["block 3"], pooled(bert, TEXTS, layers, pooling)["block 3"])


def test_several_corrections_share_a_pass_and_others_transformers_are_taken(bert: Model) -> None:
    class Doubled:
        def transform(self, rows: np.ndarray) -> np.ndarray:
            assert isinstance(rows, np.ndarray)
            return 2 * rows

    center = Center().fit(pooled(bert, TEXTS)["block 1"])
    passes = 0

    def watch(layer: str, _: Any) -> None:
        nonlocal passes
        passes += layer == "block 1"

    spaces = {"block 1": {"none": None, "twice": Doubled(), "center": center}}
    found = pooled_spaces(bert, TEXTS, ["block 1"], "mean", True, spaces, watch=watch)["block 1"]
    np.testing.assert_array_equal(found["twice"], 2 * found["none"])
    np.testing.assert_allclose(found["center"], center.transform(found["none"]), atol=1e-6)
    assert passes == 1


def test_nothing_to_pool(bert: Model) -> None:
    assert pooled(bert, [])["block 1"].shape == (0, 32)
    assert np.isnan(pooled(bert, ["", " "], special_tokens=False)["block 1"]).all()


def test_wrong_calls(bert: Model) -> None:
    with pytest.raises(UsageError, match="no pooling is called 'sum'"):
        pooled(bert, TEXTS, pooling="sum")
    with pytest.raises(UsageError, match="no layer of tiny-bert is called 'block 9'"):
        pooled(bert, TEXTS, ["block 9"])
    with pytest.raises(UsageError, match="a list of texts"):
        pooled(bert, "the cat")
    with pytest.raises(UsageError, match="layer that is pooled"):
        pooled(bert, TEXTS, ["block 1"], correction_by_layer={"block 2": Center()})
    with pytest.raises(DataError, match="text 2 is int"):
        pooled(bert, ["the cat", 3])  # type: ignore[list-item]
    with pytest.raises(DataError, match="half of a surrogate pair"):
        pooled(bert, ["the \ud83d"])
