"""Vectors that are looked up are those that were computed, and nothing is computed twice."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pooled_for_tests import pooled

from isoscope.compute.vector_cache import ENDING, VectorCache
from isoscope.errors import DataError, UsageError
from isoscope.models import encode as encoding
from isoscope.models.encode import Encoder
from isoscope.models.model import Model, open_model
from isoscope.models.sentences.pooling import pooled_spaces

TEXTS = ["the cat sat on the boat", "a dog", "bird", "a dog", "", "the old dog, and a cat"]


@pytest.fixture
def bert(tiny_model: Callable[[str], Path]) -> Model:
    return open_model(str(tiny_model("bert")), device="cpu")


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The texts of every run of the model."""
    seen: list[list[str]] = []

    def counted(model: Model, texts: Sequence[str], *rest: Any, **options: Any) -> Any:
        seen.append(list(texts))
        return pooled_spaces(model, texts, *rest, **options)

    monkeypatch.setattr(encoding, "pooled_spaces", counted)
    return seen


def same(first: dict[str, np.ndarray], second: dict[str, np.ndarray]) -> bool:
    return list(first) == list(second) and all(
        first[name].tobytes() == second[name].tobytes() for name in first
    )


def test_cached_is_computed_bit_for_bit(bert: Model, tmp_path: Path, runs: list[list[str]]) -> None:
    cache = VectorCache(tmp_path)
    computed = Encoder(bert, cache=cache).encode(TEXTS)
    assert runs == [["the cat sat on the boat", "a dog", "bird", "", "the old dog, and a cat"]]
    again = Encoder(bert, cache=cache).encode(TEXTS)
    assert same(computed, again)
    assert len(runs) == 1
    assert same(Encoder(bert, cache=False).encode(TEXTS), computed)
    direct = pooled(bert, TEXTS)
    for name, rows in computed.items():
        np.testing.assert_allclose(rows, direct[name], atol=1e-5)


def test_a_shard_of_which_nothing_is_missing_is_not_computed(
    bert: Model, tmp_path: Path, runs: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(encoding, "SHARD_TEXTS", 3)
    encoder = Encoder(bert, cache=VectorCache(tmp_path))
    first = encoder.encode(TEXTS[:3], ["block 1"])
    both = encoder.encode(TEXTS, ["block 1"])
    assert runs[1] == ["", "the old dog, and a cat"]
    assert both["block 1"][:3].tobytes() == first["block 1"].tobytes()
    np.testing.assert_allclose(both["block 1"], pooled(bert, TEXTS)["block 1"], atol=1e-5)
    encoder.encode(TEXTS[:3], ["block 1", "block 2"])
    assert len(runs) == 3  # another layer


def test_settings_and_models_do_not_meet(bert: Model, tmp_path: Path) -> None:
    spaces = {
        Encoder(bert, pooling, special, longest=longest).space(layer)
        for pooling in ("mean", "last")
        for special in (True, False)
        for longest in (None, 5)
        for layer in ("block 1", "block 2")
    }
    assert len(spaces) == 16
    copy = tmp_path / "another-name"
    shutil.copytree(bert.source.folder, copy)
    assert Encoder(open_model(str(copy), device="cpu")).space("block 1") in spaces
    config = json.loads((copy / "config.json").read_text())
    (copy / "config.json").write_text(json.dumps({**config, "layer_norm_eps": 1e-3}))
    assert Encoder(open_model(str(copy), device="cpu")).space("block 1") not in spaces
    double = open_model(str(bert.source.folder), device="cpu", dtype="float64")
    assert Encoder(double).space("block 1") not in spaces


def test_weights_are_part_of_the_key(bert: Model, tmp_path: Path) -> None:
    copy = tmp_path / "tiny"
    shutil.copytree(bert.source.folder, copy)
    before = Encoder(open_model(str(copy), device="cpu")).space("block 1")
    content = bytearray((copy / "model.safetensors").read_bytes())
    content[-1] ^= 1
    (copy / "model.safetensors").write_bytes(content)
    assert Encoder(open_model(str(copy), device="cpu")).space("block 1") != before


def test_damage_is_computed_again(bert: Model, tmp_path: Path, runs: list[list[str]]) -> None:
    cache = VectorCache(tmp_path)
    computed = Encoder(bert, cache=cache).encode(TEXTS)
    for path in cache.folder.glob(f"*/*{ENDING}"):
        content = bytearray(path.read_bytes())
        content[-3] ^= 0x10
        path.write_bytes(content)
    assert same(Encoder(bert, cache=cache).encode(TEXTS), computed)
    assert len(runs) == 2
    assert same(Encoder(bert, cache=cache).encode(TEXTS), computed)
    assert len(runs) == 2
    shutil.rmtree(cache.folder)
    assert same(Encoder(bert, cache=cache).encode(TEXTS), computed)
    assert len(runs) == 3


def test_somebody_who_watches_sees_every_token_once(
    bert: Model, tmp_path: Path, runs: list[list[str]]
) -> None:
    cache = VectorCache(tmp_path)
    encoder = Encoder(bert, cache=cache)
    encoder.encode(TEXTS[:2], ["block 1"])
    seen: list[int] = []
    encoder.encode(TEXTS, ["block 1"], watch=lambda _, rows: seen.append(len(rows)))
    ids = bert.tokenizer(list(dict.fromkeys(TEXTS)))["input_ids"]
    assert sum(seen) == sum(map(len, ids))
    held = {path.stat().st_size for path in cache.folder.glob(f"*/*{ENDING}")}
    assert len(held) == 2  # two vectors and three: none is kept twice
    encoder.encode(TEXTS, ["block 1"])
    assert len(runs) == 2


def test_the_cache_can_be_off(bert: Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ISOSCOPE_CACHE", str(tmp_path))
    Encoder(bert, cache=False).encode(TEXTS[:1], ["block 1"])
    assert list(tmp_path.iterdir()) == []
    Encoder(bert).encode(TEXTS[:1], ["block 1"])
    assert list(tmp_path.rglob(f"*{ENDING}")) != []


def test_no_texts_and_wrong_ones(bert: Model) -> None:
    encoder = Encoder(bert, cache=False)
    assert encoder.encode([])["block 3"].shape == (0, 32)
    with pytest.raises(DataError, match="half of a surrogate pair"):
        encoder.encode(["\ud83d"])
    with pytest.raises(DataError, match="got int"):
        encoder.encode([3])  # type: ignore[list-item]
    with pytest.raises(UsageError, match="no pooling"):
        Encoder(bert, "sum")
    assert str(Encoder(bert, "cls", False, longest=9)) == (
        "cls pooling, special tokens out, at most 9 tokens a text"
    )
