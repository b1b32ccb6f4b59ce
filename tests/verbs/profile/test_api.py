"""Profiles: against each layer's collected matrix, however the model is read."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import isoscope
from isoscope.data.texts import open_texts
from isoscope.errors import DataError, UsageError
from isoscope.models.layers import LayerClouds, TokenRule
from isoscope.models.model import Model, open_model
from isoscope.results.result import Result
from isoscope.verbs.profile.api import profile

torch = pytest.importorskip("torch")

WORDS = (
    "the",
    "a",
    "of",
    "and",
    "in",
    "is",
    "cat",
    "dog",
    "bird",
    "river",
    "bank",
    "money",
    "boat",
)
RANDOM = np.random.default_rng(7)
TEXTS = [" ".join(RANDOM.choice(WORDS, RANDOM.integers(2, 9))) for _ in range(90)]

CLOSE = 2e-5
"""Projections are float32 products of one batch or another; sums are float64 in both."""


def collected(model: Model, rule: TokenRule = TokenRule()) -> dict[str, NDArray[Any]]:  # noqa: B008
    group = LayerClouds(model, open_texts(TEXTS), rule)
    parts: dict[str, list[NDArray[Any]]] = {}
    for batches in group.batches():
        for name, batch in batches.items():
            parts.setdefault(name, []).append(batch.vectors.numpy())
    return {name: np.concatenate(found) for name, found in parts.items()}


def assert_same(found: Result, part: str, expected: Result) -> None:
    """All numbers of a part are those of a matrix."""
    for row in expected.rows:
        other = found.row(row.measure, row.correction, part)
        if row.value is None:
            assert other.value is None, row
        else:
            assert other.value == pytest.approx(row.value, rel=CLOSE, abs=CLOSE), row
        assert other.n == row.n


@pytest.fixture(params=["bert", "gpt-neox", "llama", "mbart"])
def model(request: pytest.FixtureRequest, tiny_model: Callable[[str], Path]) -> Model:
    return open_model(str(tiny_model(request.param)))


def test_a_profile_is_the_measures_of_each_layers_matrix(model: Model) -> None:
    found = profile(model, TEXTS, corrections="none,center,whiten", seed=3)
    for name, matrix in collected(model).items():
        expected = isoscope.measure(matrix, corrections="none,center,whiten", seed=3)
        kept = [row for row in expected.rows if not row.measure.startswith("cosine_quantiles")]
        assert_same(found, name, replace(expected, rows=kept))


def test_spooled_and_read_again_are_the_same(model: Model) -> None:
    spooled = profile(model, TEXTS)
    again = profile(model, TEXTS, spool_limit=0)
    short = profile(model, TEXTS, spool_limit=50_000)
    assert spooled.rows == again.rows == short.rows


def test_batches_change_nothing(model: Model) -> None:
    one, other = profile(model, TEXTS[:40]), profile(model, TEXTS[:40], budget=60)
    for row in one.rows:
        same = other.row(row.measure, row.correction, row.part)
        if row.value is not None and not row.measure.startswith("cosine_quantiles"):
            assert same.value == pytest.approx(row.value, rel=1e-4, abs=1e-5), row


@pytest.mark.parametrize("architecture", ["gpt-neox", "llama", "falcon"])
def test_a_rotary_models_embedding_knows_no_context(
    architecture: str, tiny_model: Callable[[str], Path]
) -> None:
    found = profile(str(tiny_model(architecture)), TEXTS, measures="intra_sim")
    assert found.value("intra_sim", part="embedding") == pytest.approx(1, abs=1e-6)
    assert found.value("intra_sim", part="block 1") < 1 - 1e-4


def with_a_sink(folder: Path) -> Model:
    """A model in which one word has an enormous embedding."""
    model = open_model(str(folder))
    *_, token = model.tokenizer("the cat", add_special_tokens=False)["input_ids"]
    with torch.no_grad():
        model.network.get_input_embeddings().weight[token] *= 400
    return model


def test_massive_tokens_are_summed_apart(tiny_model: Callable[[str], Path]) -> None:
    model = with_a_sink(tiny_model("llama"))
    found = profile(model, TEXTS)
    matrix = collected(model)["embedding"]
    lengths = np.linalg.norm(matrix, axis=1)
    massive = lengths > 5 * np.median(lengths)
    assert 0 < massive.sum() < len(massive) / 2
    quantiles = "cosine_quantiles"
    for part, rows in (("embedding", matrix), ("embedding, ordinary tokens", matrix[~massive])):
        expected = isoscope.measure(rows, corrections="none,center")
        kept = [row for row in expected.rows if not row.measure.startswith(quantiles)]
        assert_same(found, part, replace(expected, rows=kept))
    assert found.value("massive_activations/count", part="embedding") == massive.sum()
    shown = str(found)
    assert "embedding, ordinary tokens" in shown
    assert "massive tokens" in found.verdicts[0]["sentence"]
    table = found.table("massive_activations", part="embedding")
    assert table.rows[0]["times_median"] > 5


def test_massive_tokens_can_be_left_out(tiny_model: Callable[[str], Path]) -> None:
    model = with_a_sink(tiny_model("llama"))
    plain = profile(model, TEXTS, measures="mean_norm")
    found = profile(model, TEXTS, measures="mean_norm", max_norm_multiple=5)
    ordinary = plain.value("mean_norm", part="embedding, ordinary tokens")
    assert found.value("mean_norm", part="embedding") == ordinary
    everything = plain.value("mean_norm", part="embedding")
    assert found.value("mean_norm", part="embedding, all tokens") == everything


def test_which_tokens_count_is_said_and_decides(model: Model) -> None:
    plain = profile(model, TEXTS, measures="mean_norm")
    later = profile(model, TEXTS, measures="mean_norm", skip_first=2, special_tokens=True)
    assert "special tokens out" in plain.rows[0].protocol
    assert "special tokens in, without the first 2 positions" in later.rows[0].protocol
    matrix = collected(model, TokenRule(special=True, skip_first=2))
    for name, vectors in matrix.items():
        mean = np.linalg.norm(vectors.astype(np.float64), axis=1).mean()
        assert later.value("mean_norm", part=name) == pytest.approx(mean)


def test_only_what_is_asked_for_is_measured(model: Model) -> None:
    layer = model.stacks[0].layers[1]
    found = profile(model, TEXTS, measures="mean_cosine,intra_sim", layers=(layer,))
    assert {row.part for row in found.rows} == {layer}
    assert {row.measure.split("/")[0] for row in found.rows} == {"mean_cosine", "intra_sim"}


def test_a_result_comes_back_from_a_file(model: Model, tmp_path: Path) -> None:
    found = profile(model, TEXTS)
    found.save(tmp_path / "profile.json")
    loaded = isoscope.Result.load(tmp_path / "profile.json")
    assert str(loaded) == str(found)
    assert model.name in found.to_markdown()


def test_several_models_are_in_one_result(tiny_model: Callable[[str], Path]) -> None:
    folders = [str(tiny_model("bert")), str(tiny_model("gpt2"))]
    found = profile(folders, TEXTS, measures="mean_cosine")
    assert {row.subject for row in found.rows} == {"tiny-bert", "tiny-gpt2"}
    assert set(found.extra["models"]) == {"tiny-bert", "tiny-gpt2"}


def test_documents_widen_intervals(model: Model, tmp_path: Path) -> None:
    path = tmp_path / "texts.csv"
    lines = [f"{text},{number % 15}" for number, text in enumerate(TEXTS)]
    path.write_text("\n".join(["text,book", *lines]) + "\n")
    found = profile(model, path, document="book", measures="mean_cosine")
    row = found.rows[0]
    assert row.low is not None
    assert row.high is not None
    assert row.low < row.high
    assert profile(model, TEXTS, measures="mean_cosine", intervals=False).rows[0].low is None


def test_truncated_texts_are_counted(model: Model) -> None:
    short = ["a", "it", "is", "on"]
    found = profile(model, [" ".join(["cat"] * 300), *short], measures="mean_cosine", longest=12)
    (said,) = [why for why in found.left_out if "beyond the limit" in why]
    assert "1 text" in said
    assert found.left_out[said] > 200


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"measures": "mean_cosin"}, "mean_cosin"),
        ({"corrections": "flow"}, "not flow"),
        ({"layers": ("block 77",)}, "block 77"),
        ({"subwords": "middle"}, "middle"),
        ({"max_norm_multiple": 0.5}, "above 1"),
        ({"skip_first": -1}, "at least 0"),
        ({"measures": "local_i1"}, "local_i1"),
    ],
)
def test_wrong_options_are_named(
    options: dict[str, Any], message: str, tiny_model: Callable[[str], Path]
) -> None:
    with pytest.raises(UsageError, match=message):
        profile(str(tiny_model("bert")), TEXTS, **options)


def test_texts_too_short_to_count(tiny_model: Callable[[str], Path]) -> None:
    with pytest.raises(DataError, match="all tokens were excluded"):
        profile(str(tiny_model("bert")), ["a", "the"], skip_first=10)


def test_some_texts_can_be_drawn(tiny_model: Callable[[str], Path]) -> None:
    folder = str(tiny_model("bert"))
    found = profile(folder, TEXTS, measures="mean_norm", sample_texts=20, seed=1)
    assert f"20 of {len(TEXTS)} drawn, seed 1" in found.rows[0].protocol
    again = profile(folder, TEXTS, measures="mean_norm", sample_texts=20, seed=1)
    other = profile(folder, TEXTS, measures="mean_norm", sample_texts=20, seed=2)
    assert found.rows == again.rows
    assert found.value("mean_norm") != other.value("mean_norm")
    every = profile(folder, TEXTS, measures="mean_norm", sample_texts=10_000)
    assert every.value("mean_norm") == profile(folder, TEXTS, measures="mean_norm").value(
        "mean_norm"
    )


def test_models_in_folders_of_one_name_are_told_apart(
    tiny_model: Callable[[str], Path], tmp_path: Path
) -> None:
    for number in ("one", "two"):
        shutil.copytree(tiny_model("bert"), tmp_path / number / "model")
    folders = [str(tmp_path / number / "model") for number in ("one", "two")]
    found = profile(folders, TEXTS[:9], measures="mean_norm")
    assert {row.subject for row in found.rows} == {"one/model", "two/model"}
    with pytest.raises(UsageError, match="two models are called"):
        profile([folders[0], folders[0]], TEXTS[:9], measures="mean_norm")
