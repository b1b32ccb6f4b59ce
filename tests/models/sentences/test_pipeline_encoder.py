"""When the pipeline of a folder is used, what is kept of it, and who computes it."""

from __future__ import annotations

import pickle
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("sentence_transformers")

from pooled_for_tests import pooled
from sentence_folders_for_tests import (
    HIDDEN,
    PROMPTS,
    TEXTS,
    by_the_library,
    change_json,
    dense,
    parts,
    pooling,
    save_sentence_folder,
)
from tiny_models import LAYERS

from isoscope.compute.processes import Processes
from isoscope.compute.vector_cache import VectorCache
from isoscope.errors import UsageError
from isoscope.models import encode as encoding
from isoscope.models.encode import Encoder
from isoscope.models.model import Model, open_model
from isoscope.models.sentences.pipeline_encoder import PipelineEncoder, PipelineWork, encoder_for
from isoscope.models.tokens import Mention

LAST = f"block {LAYERS}"
SOME = ["the cat sat", "a dog", "the bird flew"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_sentence_folder(
        tmp_path_factory.mktemp("sentences") / "model",
        pooling("cls", include_prompt=False), dense(HIDDEN, 8), parts.Normalize(), prompts=PROMPTS,
    )  # fmt: skip


@pytest.fixture(scope="module")
def model(folder: Path) -> Model:
    return open_model(folder, device="cpu")


def test_the_last_layer_is_what_modules_json_makes_of_it(folder: Path, model: Model) -> None:
    encoder = encoder_for(model, [LAST], cache=False)
    found = encoder.encode(TEXTS)
    assert list(found) == [LAST]
    assert np.abs(found[LAST] - by_the_library(folder)).max() < 1e-5
    assert str(encoder) == (
        "modules.json: cls pooling without the prompt, dense 32 → 8 (Tanh), unit norm, at most 16 "
        "tokens a text, no prompt"
    )
    shorter = encoder_for(model, [LAST], longest=5, cache=False)
    assert "at most 5 tokens" in str(shorter)
    assert not np.allclose(shorter.encode(TEXTS)[LAST], found[LAST])


@pytest.mark.parametrize(
    ("layers", "options", "reason"),
    [
        ([LAST], {"pooling": "mean"}, "a pooling is given"),
        ([LAST], {"pooling": "max"}, "a pooling is given"),
        (["block 1"], {}, "it applies to the last layer only"),
        (["block 1", LAST], {}, "it applies to the last layer only"),
        ([LAST], {"special_tokens": False}, "special tokens are left out"),
        ([LAST], {"of_tokens": True}, "tokens are corrected"),
    ],
)
def test_whatever_else_is_asked_for_is_a_pooling_of_layers_and_says_so(
    model: Model, layers: list[str], options: dict[str, Any], reason: str
) -> None:
    encoder = encoder_for(model, layers, cache=False, **options)
    found = encoder.encode(SOME, layers)
    special = options.get("special_tokens", True)
    expected = pooled(model, SOME, layers, options.get("pooling", "mean"), special)
    for layer in layers:
        assert np.array_equal(found[layer], expected[layer])
    assert str(encoder).endswith(f", not the pipeline in modules.json ({reason})")


def test_without_modules_json_nothing_is_different(tiny_model: Callable[[str], Path]) -> None:
    model = open_model(tiny_model("bert"), device="cpu")
    encoder = encoder_for(model, [LAST], cache=False)
    assert type(encoder) is Encoder
    assert str(encoder) == "mean pooling, special tokens in"
    assert np.array_equal(encoder.encode(SOME, [LAST])[LAST], pooled(model, SOME, [LAST])[LAST])


def test_prompts_stand_in_front_of_texts(folder: Path, model: Model) -> None:
    encoder = encoder_for(model, [LAST], cache=False).with_prompts("a tree: ", "the cat: ")
    queries = np.array([1, 3])
    found = encoder.encode(TEXTS, queries=queries)[LAST]
    documents = by_the_library(folder, way="encode_document")
    asked = by_the_library(folder, way="encode_query")
    expected = np.where(np.isin(np.arange(len(TEXTS)), queries)[:, None], asked, documents)
    assert np.abs(found - expected).max() < 1e-5
    assert np.abs(documents - asked).max() > 1e-3
    assert "prompts: 'the cat: ' for queries, 'a tree: ' for documents" in str(encoder)
    same = encoder.with_prompts("a tree: ")
    assert np.abs(same.encode(TEXTS, queries=queries)[LAST] - documents).max() < 1e-5
    assert str(same).endswith("prompt 'a tree: '")


def test_a_pooling_of_layers_takes_prompts_too(tiny_model: Callable[[str], Path]) -> None:
    model = open_model(tiny_model("gpt2"), device="cpu")
    encoder = Encoder(model, cache=False).with_prompts("is ", "the ")
    queries = np.array([0])
    expected = pooled(model, ["the the cat sat", "is a dog", "is the bird flew"])
    assert encoder.prompted(SOME, queries=queries) == ["the the cat sat", *(
        f"is {text}" for text in SOME[1:])]  # fmt: skip
    for layer, rows in encoder.encode(SOME, queries=queries).items():
        assert np.allclose(rows, expected[layer], atol=1e-6)
    assert str(encoder).endswith("prompts: 'the ' for queries, 'is ' for documents")


def test_words_and_watched_tokens_are_those_of_the_layer(model: Model, tmp_path: Path) -> None:
    cache = VectorCache(tmp_path)
    pipeline, plain = PipelineEncoder(model, cache=cache), Encoder(model, cache=False)
    mentions = [Mention(0, 4, 7), Mention(2, 4, 8)]
    found = pipeline.encode(SOME, [LAST], mentions=mentions)[LAST]
    assert np.array_equal(found, plain.encode(SOME, [LAST], mentions=mentions)[LAST])
    seen: list[int] = []
    watched = pipeline.encode(SOME, [LAST], watch=lambda _, tokens: seen.append(len(tokens)))[LAST]
    assert sum(seen) > len(SOME)
    assert watched.shape[1] == HIDDEN
    assert pipeline.encode(SOME)[LAST].shape[1] == 8  # what was watched is not taken for it


def test_another_layer_is_not_given_out_for_the_last(model: Model) -> None:
    with pytest.raises(UsageError, match=f"modules.json is for {LAST} of model alone"):
        PipelineEncoder(model, cache=False).encode(SOME, ["block 1"])


def test_what_is_kept_depends_on_pipeline_and_prompt(folder: Path, tmp_path: Path) -> None:
    other = tmp_path / "model"
    shutil.copytree(folder, other)
    cache = VectorCache(tmp_path / "vectors")
    first = PipelineEncoder(open_model(other, device="cpu"), cache=cache)
    kept = first.encode(SOME)[LAST]
    network = PipelineEncoder(open_model(other, device="cpu"), cache=cache)
    network.model.__dict__["network"] = None  # which is not needed: all are held
    assert np.array_equal(network.encode(SOME)[LAST], kept)
    # The same letters with another prompt: of the one four tokens are left out, of the other none.
    texts = [f"the cat: {text}" for text in SOME]
    spaces = [first.with_prompts(prompt).space(LAST) for prompt in ("", "the cat: ")]
    assert spaces[0] != spaces[1]
    assert not np.allclose(
        first.encode(texts)[LAST], first.with_prompts("the cat: ").encode(SOME)[LAST]
    )
    # A file of a module, which is in no digest of the network's files.
    change_json(other / "1_Pooling" / "config.json", lambda given: {**given, "pooling_mode": "max"})
    changed = PipelineEncoder(open_model(other, device="cpu"), cache=cache)
    assert not np.allclose(changed.encode(SOME)[LAST], kept)
    assert np.abs(changed.encode(SOME)[LAST] - by_the_library(other, SOME)).max() < 1e-5


@pytest.fixture
def _small_shards(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(encoding, "SHARD_TEXTS", 2)
    return


def test_a_worker_opens_the_modules_again(model: Model) -> None:
    work = pickle.loads(pickle.dumps(PipelineWork(model, LAST, "is it ", None)))
    shard = encoding.EncodingShard(0, [f"is it {text}" for text in SOME], None, np.arange(3))
    said: list[int] = []
    found = work(shard, said.append)[LAST]
    assert said[-1] == len(SOME)
    here = encoder_for(model, [LAST], cache=False).with_prompts("is it ")
    assert np.allclose(found, here.encode(SOME)[LAST], atol=1e-6)
    assert len(pickle.dumps(work)) < 2_000  # names of files, not weights


@pytest.mark.slow
@pytest.mark.usefixtures("_small_shards")
def test_processes_find_what_sentence_transformers_finds(folder: Path, model: Model) -> None:
    found = []
    for workers in (1, 2):
        with Processes(workers) as pool:
            encoder = encoder_for(model, [LAST], cache=False, pool=pool)
            encoder = encoder.with_prompts("a tree: ", "the cat: ")
            found.append(encoder.encode(TEXTS, queries=np.arange(0))[LAST])
    assert found[0].tobytes() == found[1].tobytes()
    assert np.abs(found[0] - by_the_library(folder, way="encode_document")).max() < 1e-5
