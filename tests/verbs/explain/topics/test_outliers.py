"""Outlier dimensions that were planted are found and explain the mean cosine; others are not."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import isoscope
from isoscope.errors import MissingError
from isoscope.measures.context.definitions import persistence
from isoscope.models.token_table import TokenSample
from isoscope.results.result import Result
from isoscope.verbs.explain.topics.base import Question
from isoscope.verbs.explain.topics.outliers import (
    MARGIN,
    OUTLIERS,
    LayerExtremes,
    list_dimensions,
    outliers_in,
)

Folder = Callable[[str], Path]
PLANTED = 11


def sample_of(layers: dict[str, np.ndarray]) -> TokenSample:
    """Tokens of which only the vectors matter."""
    rows = len(next(iter(layers.values())))
    none, words = np.zeros(rows, np.int64), np.full(rows, "", object)
    vectors = {name: array.astype(np.float32) for name, array in layers.items()}
    return TokenSample(vectors, none, words, words, none, none, f"{rows} made tokens")


def made(seed: int, offsets: dict[str, dict[int, float]], width: int = 128) -> TokenSample:
    """Normal vectors with an offset in some dimensions of each layer."""
    rng = np.random.default_rng(seed)
    layers = {}
    for name, planted in offsets.items():
        layers[name] = rng.standard_normal((300, width))
        for dimension, offset in planted.items():
            layers[name][:, dimension] += offset
    return sample_of(layers)


def mean_cosine(vectors: np.ndarray) -> float:
    units = vectors.astype(np.float64)
    units /= np.linalg.norm(units, axis=1, keepdims=True)
    pairs = units @ units.T
    return float(pairs[np.triu_indices(len(pairs), 1)].mean())


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_planted_dimension_is_found(seed: int) -> None:
    offsets = {"embedding": {}, "block 1": {7: 9.0}, "block 2": {7: 14.0}, "block 3": {}}
    sample = made(seed, offsets)
    found = OUTLIERS.explain(question_with(sample))
    assert found.found
    result = Result(found.rows, found.tables)
    vectors = sample.layers["block 2"].copy()
    before = mean_cosine(vectors)
    vectors[:, 7] = 0.0
    after = mean_cosine(vectors)
    clip = "clip:dimensions=7"
    assert result.value("mean_cosine", part="block 2") == pytest.approx(before, abs=1e-12)
    assert result.value("mean_cosine", clip, part="block 2") == pytest.approx(after, abs=1e-12)
    change = result.row("mean_cosine/change", clip, part="block 2")
    assert change.value == pytest.approx(after - before, abs=1e-12)
    assert change.value < -0.4
    assert (change.n, change.protocol) == (300, "300 made tokens")
    assert found.sentence == (
        "Dimension 7 is the maximum in 100 % of the vectors of block 2 and stands out in 2 of 3 "
        f"layers; clipping it takes the mean cosine of block 2 from {before:.2f} to {after:.2f}."
    )
    # Where nothing stands out there is nothing to clip.
    assert [row.measure for row in found.rows if row.part == "block 3"] == ["mean_cosine"]
    assert all(row.subject == "" for row in found.rows)


def question_with(sample: TokenSample) -> Question:
    """A question whose text was read already."""
    nothing: Any = None
    question = Question(nothing)
    question.__dict__["sample"] = sample
    return question


@pytest.mark.parametrize("seed", [0, 1, 2, 3])
def test_a_control_has_none(seed: int) -> None:
    found = outliers_in(made(seed, {"embedding": {}, "block 1": {}, "block 2": {}}))
    assert not found.found
    assert found.sentence.startswith("No dimension stands out: ")
    assert " % of its vectors, and no mean entry is more than " in found.sentence
    assert {row.correction for row in found.rows} == {"none"}
    tables = {table.measure: table.rows for table in found.tables}
    assert tables["outliers"] == tables["persistence"] == []


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_vectors_alike_in_no_dimension_of_their_own_are_a_control(seed: int) -> None:
    """A common offset in a random direction: the largest of its entries are always the extremes."""
    rng = np.random.default_rng(seed)
    offset = rng.standard_normal(384)
    sample = sample_of({"block 1": 0.8 * rng.standard_normal((300, 384)) + offset})
    found = outliers_in(sample)
    assert mean_cosine(sample.layers["block 1"]) > 0.5
    assert not found.found
    assert found.rows[-1].measure == "mean_cosine/change"
    assert -MARGIN < (found.rows[-1].value or 0) < 0
    assert "stand out (" in found.sentence
    assert "but clipping lowers the mean cosine nowhere by more than 0.05" in found.sentence


def test_few_dimensions_need_more_than_the_margin() -> None:
    rng = np.random.default_rng(5)
    fell = 0
    for _ in range(20):
        offset = rng.standard_normal(24)
        found = outliers_in(sample_of({"block 1": 0.6 * rng.standard_normal((200, 24)) + offset}))
        fell += (found.rows[-1].value or 0) < -MARGIN
        assert not found.found
    assert fell > 5  # so that the margin alone would have found something


def test_outliers_of_the_input_do_not_count() -> None:
    found = outliers_in(made(0, {"encoder embedding": {3: 20.0}, "encoder block 1": {}}))
    assert not found.found
    assert found.sentence.startswith("No dimension stands out: ")
    result = Result(found.rows, found.tables)
    change = result.value("mean_cosine/change", "clip:dimensions=3", part="encoder embedding")
    assert (change or 0) < -0.5
    only = outliers_in(made(0, {"embedding": {3: 20.0}}))
    assert (only.found, only.sentence) == (False, "There is no layer behind the input to look at.")


def test_several_dimensions_of_several_layers() -> None:
    offsets = {
        "embedding": {20: 30.0},
        "block 1": {3: 10.0, 5: -9.0},
        "block 2": {3: 10.0, 5: -15.0},
        "block 3": {5: -15.0, 9: 0.0},
    }
    sample = made(1, offsets)
    sample.layers["block 3"][:, 9] *= 40
    found = outliers_in(sample)
    result = Result(found.rows, found.tables)
    changes = {row.part: row.value for row in found.rows if row.measure == "mean_cosine/change"}
    assert list(changes) == list(offsets)
    both = "clip:dimensions=3+5"
    assert found.found
    assert found.sentence == (
        "Dimension 5 is the minimum in 100 % of the vectors of block 2 and stands out in 3 of 3 "
        "layers; clipping it alone takes the mean cosine of block 2 from "
        f"{result.value('mean_cosine', part='block 2'):.2f} to "
        f"{result.value('mean_cosine', 'clip:dimensions=5', part='block 2'):.2f}, clipping 3 as "
        f"well to {result.value('mean_cosine', both, part='block 2'):.2f}."
    )
    listed = result.table("persistence").rows
    assert [row["dimension"] for row in listed] == [5, 3, 9]
    assert listed[0]["which"] == ["block 1", "block 2", "block 3"]
    assert (listed[1]["layers"], listed[1]["of_layers"]) == (2, 3)
    blocks = [sample.layers[f"block {k}"] for k in (1, 2, 3)]
    lowest = np.concatenate([block.argmin(axis=1) for block in blocks])
    assert listed[0]["share_minimum"] == pytest.approx(np.mean(lowest == 5))
    assert listed[0]["largest_share"] == max((b.argmin(axis=1) == 5).mean() for b in blocks)
    outliers = [(row["layer"], row["dimension"]) for row in result.table("outliers").rows]
    assert outliers[0] == ("embedding", 20)
    assert ("block 3", 9) in outliers
    means = [row for row in result.table("mean_vectors").rows if row["layer"] == "block 2"]
    assert len(means) == 8
    assert [row["dimension"] for row in means[:2]] == [5, 3]
    assert means[0]["mean"] == pytest.approx(sample.layers["block 2"][:, 5].mean(), rel=1e-5)
    assert abs(means[0]["deviations"]) > 6


def test_a_dimension_that_only_varies_explains_nothing() -> None:
    sample = made(2, {"block 1": {}})
    sample.layers["block 1"][:, 9] *= 40
    found = outliers_in(sample)
    assert not found.found
    assert found.sentence.startswith("A dimension stands out (9 in 1 of 1 layers), but clipping")


def test_clipping_that_makes_vectors_more_alike_explains_nothing() -> None:
    sample = made(3, {"block 1": {}})
    sample.layers["block 1"][:, 9] *= 40
    sample.layers["block 1"][:] += 1.0
    found = outliers_in(sample)
    change = Result(found.rows).value("mean_cosine/change", "clip:dimensions=9")
    assert (change or 0) > 0.3
    assert not found.found


def test_vectors_without_a_direction_have_no_cosine() -> None:
    vectors = np.zeros((4, 100))
    vectors[:, 1] = 1.0
    found = outliers_in(sample_of({"block 1": vectors}))
    assert not found.found
    assert found.sentence.endswith("but fewer than two vectors have a direction without.")
    values = {(row.correction, row.measure): row.value for row in found.rows}
    assert values == {
        ("none", "mean_cosine"): 1.0,
        ("clip:dimensions=1", "mean_cosine"): None,
        ("clip:dimensions=0", "mean_cosine"): 1.0,  # the first of many minima
        ("clip:dimensions=0+1", "mean_cosine"): None,
        ("clip:dimensions=0+1", "mean_cosine/change"): None,
    }
    assert all(row.note for row in found.rows if row.value is None)


def test_named_dimensions() -> None:
    assert list_dimensions([4]) == "4"
    assert list_dimensions([4, 7]) == "4 and 7"
    assert list_dimensions([1, 2, 3, 4]) == "1, 2, 3 and 4"
    assert list_dimensions([1, 2, 3, 4, 5, 6]) == "1, 2, 3, 4 and 2 more"


def test_it_needs_a_text() -> None:
    nothing: Any = None
    with pytest.raises(MissingError, match="needs a text"):
        OUTLIERS.explain(Question(nothing))


TEXTS = [
    "the cat sat on the old tree.", "a small dog ran.", "it was the river bank",
    "the bird flew and the boat saw money", "green and red.", "the new boat was in the river",
    "a cat and a dog", "money is old", "birds saw the red tree", "it ran on and on and on",
]  # fmt: skip


@pytest.mark.parametrize(("planted", "expected"), [(True, True), (False, False)])
def test_a_norm_that_makes_one_dimension_large(
    tmp_path: Path, planted: bool, expected: bool
) -> None:
    pytest.importorskip("transformers")
    from tiny_models import save_tiny_model

    from isoscope.data.texts import open_texts
    from isoscope.models.model import open_model

    for seed in (0, 1, 2):
        folder = save_tiny_model("bert", tmp_path / f"{seed}", seed)
        if planted:
            plant(folder, bias=4.0)
        question = Question(open_model(str(folder)), open_texts(TEXTS))
        found = OUTLIERS.explain(question)
        assert found.found is expected, found.sentence
        if planted:
            assert found.sentence.startswith(f"Dimension {PLANTED} is the maximum in 100 % of the")
            assert "stands out in 3 of 3 layers" in found.sentence


def plant(folder: Path, bias: float) -> None:
    """Give one dimension a large bias in every norm between the layers."""
    from safetensors.torch import load_file, save_file

    path = folder / "model.safetensors"
    tensors = load_file(path)
    for name, values in tensors.items():
        if name.startswith("bert.") and name.endswith("LayerNorm.bias"):
            values[PLANTED] = bias
    save_file(tensors, path, metadata={"format": "pt"})


def test_a_dimension_of_more_layers_that_is_not_the_headline_is_named() -> None:
    offsets = {
        "embedding": {},
        "block 1": {3: 8.0},
        "block 2": {3: 8.0},
        "block 3": {3: 8.0, 5: -15.0},
        "block 4": {5: -20.0},
    }
    elsewhere = outliers_in(made(1, offsets))
    assert elsewhere.sentence.startswith("Dimension 5 is the minimum in 100 %")
    assert elsewhere.sentence.endswith(
        " Dimension 3 stands out in more layers or more often (3 of 4 layers), but not in block "
        "4, where clipping does most."
    )
    offsets["block 4"][3] = 6.0
    found = outliers_in(made(1, offsets))
    result = Result(found.rows, found.tables)
    alone = result.value("mean_cosine", "clip:dimensions=3", part="block 4")
    assert found.sentence.endswith(
        " Dimension 3 stands out in more layers or more often (4 of 4 layers), but clipping it "
        f"alone takes the mean cosine of block 4 to {alone:.2f} only."
    )


def test_a_profile_has_the_same_outliers() -> None:
    """Both judge the same vectors by one rule, in the same order."""
    offsets = {"embedding": {9: 30.0}, "block 1": {3: 8.0, 5: -9.0}, "block 2": {5: -15.0, 8: 1.3}}
    sample = made(1, offsets)
    own = Result([], outliers_in(sample).tables).table("persistence")
    clouds = {name: vectors for name, vectors in sample.layers.items() if name != "embedding"}
    profiled = persistence({name: extremes(vectors) for name, vectors in clouds.items()})
    assert own.rows == profiled.rows
    assert [row["dimension"] for row in own.rows][:2] == [5, 3]
    assert 8 in [row["dimension"] for row in own.rows]  # by its mean alone
    assert own.note.startswith(profiled.note)


def extremes(vectors: np.ndarray) -> Any:
    width = vectors.shape[1]
    return LayerExtremes(
        vectors.mean(axis=0, dtype=np.float64),
        np.bincount(vectors.argmin(axis=1), minlength=width),
        np.bincount(vectors.argmax(axis=1), minlength=width),
    )


def test_profile_and_explanation_of_one_model_agree(tiny_model: Folder, tmp_path: Path) -> None:
    from safetensors.numpy import load_file, save_file

    texts = ["the cat sat on the bank.", "a dog saw the old tree.", "it was a small boat."] * 9
    folder = str(shutil.copytree(tiny_model("bert"), tmp_path / "planted"))
    weights = load_file(f"{folder}/model.safetensors")
    for block in (1, 2):
        weights[f"bert.encoder.layer.{block}.output.LayerNorm.bias"][7] = -30.0
    save_file(weights, f"{folder}/model.safetensors", metadata={"format": "pt"})
    told = isoscope.explain(folder, texts, topics="outliers").table("persistence")
    profiled = isoscope.profile(folder, texts, measures="persistence").table("persistence")
    assert told.rows[0]["dimension"] == 7
    assert told.rows[0]["of_layers"] == 3
    for one, other in zip(told.rows, profiled.rows, strict=True):
        assert one["dimension"] == other["dimension"]
        assert one["which"] == other["which"]
        assert one["share_minimum"] == pytest.approx(other["share_minimum"])
    assert told.note.startswith(profiled.note)
