"""Outliers of vectors that norms make are found in the norms; others are not."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from isoscope.measures.layer_norm import NormWeights
from isoscope.models.token_table import TokenSample
from isoscope.results.result import Result
from isoscope.verbs.explain.topics.base import Explanation, Question
from isoscope.verbs.explain.topics.layernorm import NORMS, NormTops, judged, norms_of_vectors

pytest.importorskip("transformers")

Folder = Callable[[str], Path]
PLANTED = 11


def norms_with(seed: int, planted: dict[int, int], width: int, count: int = 12) -> NormTops:
    """Random norms; a dimension is made large in the gain or bias of so many of them."""
    rng = np.random.default_rng(seed)
    norms = []
    for number in range(count):
        gain, bias = 1 + 0.3 * rng.standard_normal(width), 0.3 * rng.standard_normal(width)
        for dimension, times in planted.items():
            if number < times:
                (gain if number % 2 else bias)[dimension] = -9.0
        norms.append(NormWeights(gain, bias, centres=True))
    return NormTops.of(norms, width)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_dimension_at_the_top_of_half_of_the_norms_is_found(seed: int) -> None:
    tops = norms_with(seed, {40: 7}, 384)
    assert (tops.top, tops.norms, tops.enough) == (4, 12, 6)
    found, sentence = judged(tops, [3, 40, 77])
    assert found
    assert sentence == (
        "Dimension 40, which stands out in the vectors, is among the 4 largest gains or biases of "
        f"{tops.at_top[:, 40].sum()} of 12 norms. 1 of all 384 dimensions is so in at least 6; 3 "
        "dimensions drawn at random would include as many with probability 0.0078."
    )
    assert tops.chance([3, 40, 77]) == pytest.approx(3 / 384)
    less, sentence = judged(norms_with(seed, {40: 4}, 384), [3, 40, 77])
    assert not less
    assert sentence.startswith(
        "No dimension that stands out in the vectors (3, 40 and 77) is among the 4 largest gains "
        "or biases of at least 6 of 12 norms; 40 comes nearest with "
    )


def test_others_that_are_at_the_top_as_often_make_it_chance() -> None:
    planted = {40: 12, 50: 12, 60: 12, 70: 12}
    tops = norms_with(0, planted, 384)
    assert judged(tops, [40, 1, 2])[0]
    found, sentence = judged(tops, [40, *range(1, 10)])
    assert not found
    assert "4 of all 384 dimensions are so in at least 6" in sentence
    assert sentence.endswith(", so this is not significant.")
    found, sentence = judged(tops, [40, 50, *range(1, 9)])
    assert found
    assert "of 12 of 12 norms, and 50 of at least 6." in sentence


def test_the_chance_is_that_of_all_draws() -> None:
    tops = norms_with(1, {2: 12, 5: 12}, 10, count=3)
    often = np.flatnonzero(tops.often_at_top)
    outliers = [2, 7, 8]
    hits = sum(k in often for k in outliers)
    draws = list(combinations(range(10), 3))
    expected = np.mean([sum(k in often for k in draw) >= hits for draw in draws])
    assert tops.chance(outliers) == pytest.approx(expected)


@pytest.mark.parametrize("width", [32, 384])
def test_outliers_that_have_nothing_to_do_with_norms(width: int) -> None:
    """Norms that are alike, as those of real models are, and any dimensions as outliers."""
    found = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        common, shift = rng.standard_normal((2, width))
        norms = [
            NormWeights(
                common + 0.3 * rng.standard_normal(width), shift + 0.3 * rng.standard_normal(width),
                centres=True,
            )
            for _ in range(7)
        ]  # fmt: skip
        tops = NormTops.of(norms, width)
        assert tops.often_at_top.sum() > 2
        outliers = rng.choice(width, 1 + seed % 6, replace=False).tolist()
        found += judged(tops, outliers)[0]
    # Five of a hundred at most on average: ten is more than two deviations above that.
    assert found <= 10


def test_entries_far_from_their_mean() -> None:
    tops = norms_with(0, {40: 5}, 384)
    assert tops.far[:5, 40].all()
    assert not tops.far[5:, 40].any()
    assert not tops.far[:, 41].all()


def test_nothing_to_look_for_and_nowhere_to_look() -> None:
    tops = norms_with(0, {}, 64)
    assert judged(tops, []) == (
        False, "No dimension of the vectors stands out that could be looked for in norms.",
    )  # fmt: skip
    nowhere = NormTops.of([], 64)
    assert judged(nowhere, [3]) == (
        False, "No norm between the layers has weights of the vectors' dimensions.",
    )  # fmt: skip


def asked(folder: Path, outlier: int | None) -> Explanation:
    """Ask about a tiny model; a made text in which one dimension or none stands out was read."""
    from isoscope.data.texts import open_texts
    from isoscope.models.model import open_model

    model = open_model(str(folder))
    question = Question(model, open_texts(["the cat sat."]))
    rng = np.random.default_rng(0)
    layers = {
        name: rng.standard_normal((200, 32)).astype(np.float32) for name in model.stacks[0].layers
    }
    for number, vectors in enumerate(layers.values()):
        # That of the input is another one, and does not count.
        if outlier is not None:
            vectors[:, outlier if number else outlier + 1] += 12
    none, words = np.zeros(200, np.int64), np.full(200, "", object)
    question.__dict__["sample"] = TokenSample(layers, none, words, words, none, none, "made")
    return NORMS.explain(question)


def planted_norms(folder: Path, dimension: int) -> Path:
    """Make one dimension of every norm between the layers large, in gain and bias by turns."""
    from safetensors.torch import load_file, save_file

    path = folder / "model.safetensors"
    tensors = load_file(path)
    for number, name in enumerate(sorted(tensors)):
        if "LayerNorm" in name and name.startswith("bert.") and number % 3:
            tensors[name][dimension] = -5.0
    save_file(tensors, path, metadata={"format": "pt"})
    return folder


@pytest.mark.parametrize("seed", [0, 1])
def test_a_model_whose_norms_make_the_outlier(tmp_path: Path, seed: int) -> None:
    from tiny_models import save_tiny_model

    from isoscope.models.model import open_model
    from isoscope.results.model_rows import norm_result

    folder = planted_norms(save_tiny_model("bert", tmp_path / "bert", seed), PLANTED)
    found = asked(folder, PLANTED)
    assert found.found
    assert found.sentence.startswith(
        f"Dimension {PLANTED}, which stands out in the vectors, is among the 3 largest gains or "
        "biases of"
    )
    result = Result(found.rows, found.tables)
    model = open_model(str(folder))
    parts = [norm for norm in model.parts.norms if norm.where != "head"]
    at_top = 0
    for norm in parts:
        vectors = [np.abs(model.tensor(str(path))) for path in (norm.gain, norm.bias)]
        at_top += any(PLANTED in np.argsort(-vector)[:3] for vector in vectors)
    row = result.row(f"norms_at_top/{PLANTED}")
    assert (row.value, row.n, row.part) == (at_top, len(parts), "all norms")
    assert at_top >= 4
    ranks = result.table("outlier_ranks_in_norms").rows
    assert {line["dimension"] for line in ranks} == {PLANTED}
    assert len(ranks) == 2 * len(model.parts.norms)
    table = result.table("outliers_in_norms").rows
    assert [line["norms_at_top"] for line in table] == [at_top]
    assert result.value(f"norms_with_outlier_3sd/{PLANTED}") == table[0]["norms_3sd"]
    chance = result.row("dimensions_at_top/chance")
    assert (chance.value, chance.n) == (pytest.approx(1 / 32), 1)
    assert result.value("dimensions_at_top") == 1.0
    # The figures of single norms are those of the profile.
    own = [row for row in found.rows if row.part != "all norms"]
    known = norm_result(model)
    assert [(r.part, r.measure, r.value) for r in own] == [
        (r.part, r.measure, r.value) for r in known.rows
    ]
    assert {row.subject for row in found.rows} == {table.subject for table in found.tables} == {""}
    assert "1 of the 1 that stand out in the vectors are among them" in found.sentence


@pytest.mark.parametrize("seed", [0, 1])
def test_a_control_finds_nothing(tmp_path: Path, seed: int) -> None:
    """The norms make a dimension large, but another one stands out; or none, or no norm does."""
    from tiny_models import save_tiny_model

    plain = save_tiny_model("bert", tmp_path / "plain", seed)
    assert not asked(plain, PLANTED).found
    folder = planted_norms(save_tiny_model("bert", tmp_path / "bert", seed), PLANTED)
    another = asked(folder, PLANTED - 1)
    assert not another.found
    assert another.sentence.startswith("No dimension that stands out in the vectors (10) is among")
    none = asked(folder, None)
    assert not none.found
    assert none.sentence.startswith("No dimension of the vectors stands out that could be")
    assert not any(row.part == "all norms" for row in none.rows)


def test_without_a_text_the_norms_speak_for_themselves(tiny_model: Folder) -> None:
    from isoscope.models.model import open_model

    model = open_model(str(tiny_model("gpt2")))
    found = NORMS.explain(Question(model))
    assert not found.found
    assert found.sentence.startswith("Without a text it is not known which")
    final = {row.measure: row for row in found.rows if row.part == "final norm"}
    gain, bias = (model.tensor(f"ln_f.{name}").astype(np.float64) for name in ("weight", "bias"))
    inverse = 1 / gain
    along = abs(bias @ inverse) / np.linalg.norm(inverse)
    across = np.linalg.norm(bias - (bias @ inverse) / (inverse @ inverse) * inverse)
    expected = {
        "gain_avgnorm": np.linalg.norm(gain) / np.sqrt(32),
        "bias_avgnorm": np.linalg.norm(bias) / np.sqrt(32),
        "bias_over_gain": np.linalg.norm(bias) / np.linalg.norm(gain),
        "bias_parallel": along,
        "bias_perpendicular": across,
    }
    for name, value in expected.items():
        assert final[name].value == pytest.approx(value, rel=1e-9)
    assert (
        f"The final norm has an average gain of {expected['gain_avgnorm']:.2g} and an average bias "
        f"of {expected['bias_avgnorm']:.2g}, ‖b‖/‖g‖ = {expected['bias_over_gain']:.2g}, "
        f"‖b∥‖ = {along:.2g} and ‖b⊥‖ = {across:.2g}"
    ) in found.sentence


@pytest.mark.parametrize(
    ("architecture", "last", "norms", "between"),
    [
        ("t5", "The final norm has an average gain of", 14, 7),
        ("bart", "The last norm (decoder block 2, final_layer_norm) has an average gain of", 14, 7),
        ("bert", "The last norm (block 3, output.LayerNorm) has an average gain of", 8, 7),
    ],
)
def test_which_norm_is_the_last_and_which_belong_to_the_vectors(
    tiny_model: Folder, architecture: str, last: str, norms: int, between: int
) -> None:
    """A norm of the head or of the decoder has nothing to do with dimensions of the encoder."""
    from isoscope.models.model import open_model

    model = open_model(str(tiny_model(architecture)))
    sentence = NORMS.explain(Question(model)).sentence
    assert last in sentence
    assert f" of {norms} norms" in sentence
    assert (" and no bias." in sentence) is (architecture == "t5")
    assert len(norms_of_vectors(model, 32)) == between
    assert norms_of_vectors(model, 8) == []


def test_a_model_without_weights_in_its_norms(
    tiny_model: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    from isoscope.models.model import open_model
    from isoscope.verbs.explain.topics import layernorm as norms

    monkeypatch.setattr(norms, "norm_result", lambda _: Result([]))
    found = NORMS.explain(Question(open_model(str(tiny_model("gpt2")))))
    nothing = "No norm of this model has a gain or a bias."
    assert found == Explanation(False, nothing, brief="no norm has a gain or a bias")
