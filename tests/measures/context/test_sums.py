from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from contextual_for_tests import (
    MadeUpText,
    intra_sentence,
    made_up_text,
    mean_within,
    vectors_by_type,
    vectors_by_word,
)
from hypothesis import given
from hypothesis import strategies as st

from isoscope.data.base import Batch
from isoscope.errors import DataError, UsageError
from isoscope.measures.context import definitions
from isoscope.measures.context.definitions import CONTEXTUAL_MEASURES, Contextual
from isoscope.measures.context.massive_tokens import LISTED, MASSIVE
from isoscope.measures.context.outlier_rule import EVEN_SHARES, OUTLIER_SHARE
from isoscope.measures.context.sums import ContextualTaker
from isoscope.measures.layer_norm import FAR

pytest.importorskip("torch")

MEAN_COSINES = {"block 0": 0.25, "block 1": None}


def taken(text: MadeUpText, batches: Any = None, **options: Any) -> dict[str, Contextual]:
    taker = ContextualTaker(text.widths, **options)
    for batch in text.batches() if batches is None else batches:
        taker.add(batch)
    return taker.result(MEAN_COSINES)


def numbers(result: dict[str, Contextual]) -> dict[tuple[str, str], float | None]:
    return {
        (layer, name): value.value
        for layer, found in result.items()
        for name, value in found.values.items()
    }


def assert_same(
    one: dict[str, Contextual], other: dict[str, Contextual], rel: float, without: str = "-"
) -> None:
    left, right = numbers(one), numbers(other)
    assert left.keys() == right.keys()
    for key, value in left.items():
        if key[1].startswith(without):
            continue
        assert (value is None) == (right[key] is None), key
        if value is not None:
            assert right[key] == pytest.approx(value, rel=rel, abs=rel), key


@pytest.mark.parametrize("clumped", [False, True])
@pytest.mark.parametrize("subwords", ["first", "mean", "last"])
def test_values_are_those_of_the_definitions(subwords: Any, clumped: bool) -> None:
    text = made_up_text(1, sentences=20, clumped=clumped)
    for layer, found in taken(text, subwords=subwords).items():
        values = {name: value.value for name, value in found.values.items()}
        mean, by_count, share = mean_within(vectors_by_type(text, layer))
        assert values["intra_sim"] == pytest.approx(mean, rel=1e-10)
        assert values["intra_sim/by_count"] == pytest.approx(by_count, rel=1e-10)
        assert values["intra_sim/types_seen_twice"] == share
        mean, _, _ = mean_within(vectors_by_word(text, layer, subwords))
        assert values["self_similarity"] == pytest.approx(mean, rel=1e-10)
        mean, left_out = intra_sentence(text, layer)
        assert values["intra_sentence_similarity"] == pytest.approx(mean, rel=1e-10)
        assert found.values["intra_sentence_similarity"].extra["left_out"] == left_out


def test_values_are_corrected_by_the_mean_cosine() -> None:
    values = taken(made_up_text())
    for name in ("self_similarity", "intra_sentence_similarity"):
        known, unknown = values["block 0"].values, values["block 1"].values
        plain = known[name].value
        assert plain is not None
        assert known[f"{name}/corrected"].value == plain - 0.25
        assert unknown[f"{name}/corrected"].value is None
        assert "not known" in unknown[f"{name}/corrected"].note


def test_equal_occurrences_are_exactly_alike() -> None:
    text = made_up_text(2, sentences=60, widths=(48,), special=False)
    table = np.random.default_rng(0).standard_normal((200, 48)).astype(np.float32)
    same = MadeUpText({"block 0": table[text.labels["token id"]]}, text.labels)
    values = taken(same)["block 0"].values
    assert values["intra_sim"].value == pytest.approx(1, abs=1e-12)
    assert values["self_similarity"].value == pytest.approx(1, abs=1e-12)
    assert values["max_explainable_variance"].value == pytest.approx(1, abs=1e-9)


@given(st.integers(1, 20), st.permutations(list(range(12))), st.sampled_from([2**16, 2**30]))
def test_batches_and_their_order_change_nothing(
    per_batch: int, order: list[int], limit_bytes: int
) -> None:
    text = made_up_text(3)
    one = taken(text, text.batches(per_batch=2), limit_bytes=limit_bytes)
    other = taken(text, text.batches(per_batch, order), limit_bytes=limit_bytes)
    assert_same(one, other, 1e-12)
    for layer in one:
        assert one[layer].tables == other[layer].tables


@given(st.floats(1e-3, 1e3), st.integers(0, 5))
def test_scaling_all_vectors_changes_no_share(scale: float, seed: int) -> None:
    text = made_up_text(seed)
    scaled = {name: (x * np.float32(scale)) for name, x in text.layers.items()}
    one, other = taken(text), taken(MadeUpText(scaled, text.labels))
    # Bins of lengths do not scale along.
    assert_same(one, other, 1e-5, without="massive_activations")


@given(st.integers(0, 5))
def test_scaling_single_vectors_changes_no_cosine(seed: int) -> None:
    text = made_up_text(seed)
    factor = np.exp2(np.random.default_rng(seed).integers(-9, 9, len(text.labels["word"])))
    scaled = {name: (x * factor[:, None]).astype(np.float32) for name, x in text.layers.items()}
    one = taken(text, subwords="first")
    other = taken(MadeUpText(scaled, text.labels), subwords="first")
    for layer in one:
        for name in ("intra_sim", "intra_sim/by_count", "self_similarity"):
            value = one[layer].values[name].value
            assert other[layer].values[name].value == pytest.approx(value, rel=1e-10, abs=1e-12)


@pytest.mark.parametrize("limit_bytes", [2**30, 2_500])
@pytest.mark.parametrize("stop", [0, 1, 3])
def test_a_resumed_run_equals_an_unbroken_one(stop: int, limit_bytes: int) -> None:
    text = made_up_text(4, sentences=30, vocabulary=30)
    batches = text.batches(per_batch=5)
    whole = ContextualTaker(text.widths, limit_bytes=limit_bytes, seed=7)
    part = ContextualTaker(text.widths, limit_bytes=limit_bytes, seed=7)
    for batch in batches:
        whole.add(batch)
    for batch in batches[:stop]:
        part.add(batch)
    arrays, facts = part.to_arrays(), json.loads(json.dumps(part.facts()))
    assert all(array.dtype != object for array in arrays.values())
    resumed = ContextualTaker.from_arrays(arrays, facts)
    for batch in batches[stop:]:
        resumed.add(batch)
    assert resumed.result(MEAN_COSINES) == whole.result(MEAN_COSINES)
    left, right = whole.to_arrays(), resumed.to_arrays()
    assert left.keys() == right.keys()
    for name in left:
        np.testing.assert_array_equal(left[name], right[name], err_msg=name)


def test_a_stored_state_is_not_changed_by_what_comes_after() -> None:
    text = made_up_text(4)
    first, *rest = text.batches()
    taker = ContextualTaker(text.widths)
    taker.add(first)
    arrays = taker.to_arrays()
    before = {name: array.copy() for name, array in arrays.items()}
    resumed = ContextualTaker.from_arrays(arrays, taker.facts())
    for batch in rest:
        taker.add(batch)
        resumed.add(batch)
    for name, array in before.items():
        np.testing.assert_array_equal(arrays[name], array, err_msg=name)


def test_too_many_groups_are_sampled_by_hash() -> None:
    text = made_up_text(5, sentences=40, vocabulary=40)
    limit = 12 * 8 * (6 + 1 + 9 + 1) * 4 // 3  # twelve groups of both kinds together
    values = taken(text, limit_bytes=limit)["block 0"].values
    found = values["intra_sim"]
    assert found.extra["types"] == 6
    assert values["self_similarity"].extra["words"] == 6
    share = found.extra["share_kept"]
    assert share is not None
    assert 0 < share < 1
    assert "6 token types chosen by hash" in found.note
    everything = taken(text)["block 0"].values["intra_sim"]
    assert everything.extra["share_kept"] == 1
    assert everything.note == ""


def test_the_kept_types_have_all_their_occurrences() -> None:
    text = made_up_text(5, sentences=40, vocabulary=40)
    limit = 12 * 8 * (6 + 1 + 9 + 1) * 4 // 3
    taker = ContextualTaker(text.widths, limit_bytes=limit)
    for batch in text.batches():
        taker.add(batch)
    arrays = taker.to_arrays()
    kept, groups = arrays["types.ids"], vectors_by_type(text, "block 1")
    for token, count, total in zip(
        kept, arrays["types.counts.1"], arrays["types.sums.1"], strict=True
    ):
        units = [x / np.linalg.norm(x) for x in groups[int(token)]]
        assert count == len(units)
        np.testing.assert_allclose(total, np.sum(units, axis=0), atol=1e-12)


def test_the_seed_chooses() -> None:
    text = made_up_text(5, sentences=40, vocabulary=40)
    limit = 12 * 8 * (6 + 1 + 9 + 1) * 4 // 3
    seen = {taken(text, limit_bytes=limit, seed=seed)["block 0"].values["intra_sim"].value
            for seed in range(4)}  # fmt: skip
    assert len(seen) == 4


def test_one_kind_of_group_may_have_what_the_other_leaves() -> None:
    text = made_up_text(5, sentences=40, vocabulary=40)
    labels = text.labels | {"word": np.full(len(text.labels["word"]), "same", object)}
    limit = 12 * 8 * (6 + 1 + 9 + 1) * 4 // 3
    values = taken(MadeUpText(text.layers, labels), limit_bytes=limit)["block 0"].values
    assert values["self_similarity"].extra["words"] == 1
    assert values["intra_sim"].extra["types"] == 11


def test_vectors_of_words_that_are_left_out_are_let_go() -> None:
    text = made_up_text(5, sentences=60, widths=(64,), special=False)
    index = text.labels["word index"]
    labels = text.labels | {
        "word": np.array([f"w{k}" for k in index], object),
        "token id": np.arange(len(index)),
    }
    taker = ContextualTaker(text.widths, limit_bytes=60_000)
    for batch in MadeUpText(text.layers, labels).batches():
        taker.add(batch)
    arrays = taker.to_arrays()
    assert len(arrays["occurrences.words"]) > 9
    assert arrays["occurrences.words"].max() <= arrays["highest"][1]


def test_zero_vectors_are_left_out() -> None:
    text = made_up_text(6, sentences=30)
    layers = {name: x.copy() for name, x in text.layers.items()}
    layers["block 0"][::3] = 0
    layers["block 0"][text.labels["token id"] == 12] = 0
    text = MadeUpText(layers, text.labels)
    for layer, found in taken(text).items():
        mean, by_count, share = mean_within(vectors_by_type(text, layer))
        assert found.values["intra_sim"].value == pytest.approx(mean, rel=1e-10)
        assert found.values["intra_sim/by_count"].value == pytest.approx(by_count, rel=1e-10)
        assert found.values["intra_sim/types_seen_twice"].value == share
        mean, _, _ = mean_within(vectors_by_word(text, layer, "mean"))
        assert found.values["self_similarity"].value == pytest.approx(mean, rel=1e-10)
        mean, left_out = intra_sentence(text, layer)
        assert found.values["intra_sentence_similarity"].value == pytest.approx(mean, rel=1e-10)
        assert found.values["intra_sentence_similarity"].extra["left_out"] == left_out


def test_nothing_but_zeros_is_undefined() -> None:
    text = made_up_text(6)
    zeros = MadeUpText({name: 0 * x for name, x in text.layers.items()}, text.labels)
    for found in taken(zeros).values():
        for name, value in found.values.items():
            assert value.value is None, name
            assert value.note, name
        assert found.tables["massive_activations"].rows == []


def test_no_batch_at_all_is_undefined() -> None:
    for found in ContextualTaker({"block 0": 3}).result({}).values():
        assert all(value.value is None and value.note for value in found.values.values())


def few_words() -> MadeUpText:
    """Two texts: one of a token, one of two different words of which one has two tokens."""
    labels = {
        "token id": np.array([5, 6, 7, 8]),
        "token": np.array(["a", "b", "c", "d"], object),
        "word": np.array(["a", "b", "cd", "cd"], object),
        "word index": np.array([0, 1, 2, 2]),
        "sentence": np.array([0, 1, 1, 1]),
        "document": np.array([0, 0, 0, 0]),
        "position": np.array([0, 0, 1, 2]),
    }
    vectors = np.array([[1, 0], [0, 1], [1, 1], [1, -1]], np.float32)
    return MadeUpText({"block 0": vectors}, labels)


def test_words_that_occur_once_and_texts_of_one_token() -> None:
    values = taken(few_words())["block 0"].values
    assert values["intra_sim"].value is None
    assert values["intra_sim/types_seen_twice"].value == 0
    assert values["self_similarity"].value is None
    assert "no word was seen twice" in values["self_similarity"].note
    sentences = values["intra_sentence_similarity"]
    assert sentences.extra == {"sentences": 1, "left_out": 1}
    assert sentences.note == "1 text with fewer than two vectors left out"
    mean = np.array([2, 1]) / np.sqrt(5)
    expected = (mean[1] + mean @ [1, 1] / np.sqrt(2) + mean @ [1, -1] / np.sqrt(2)) / 3
    assert sentences.value == pytest.approx(expected, rel=1e-12)


def test_tensors_give_the_numbers_of_arrays() -> None:
    text = made_up_text(8)
    one, other = taken(text), taken(text, text.batches(tensors=True))
    assert one == other


def test_a_tensor_that_needs_a_gradient_is_left_as_it_was() -> None:
    import torch

    (batches,) = few_words().batches(per_batch=5, tensors=True)
    given = torch.nn.Parameter(batches["block 0"].vectors)
    before = given.detach().clone()
    taker = ContextualTaker({"block 0": 2})
    taker.add({"block 0": Batch(given, 0, batches["block 0"].labels)})
    assert torch.equal(given, before)


def test_layers_in_another_order_give_the_same() -> None:
    text = made_up_text(9)
    turned = MadeUpText(dict(reversed(text.layers.items())), text.labels)
    assert taken(text) == taken(turned)


def test_the_texts_of_tokens_are_asked_for_only_when_needed() -> None:
    class Counting(dict[str, Any]):
        asked = 0

        def __getitem__(self, key: str) -> Any:
            Counting.asked += key == "token"
            return super().__getitem__(key)

    text = made_up_text(10, sentences=40)
    taker = ContextualTaker(text.widths)
    (batch,) = text.batches(per_batch=99)
    labels = Counting(next(iter(batch.values())).labels)
    taker.add({name: Batch(found.vectors, 0, labels) for name, found in batch.items()})
    assert Counting.asked == 1
    shorter = {name: Batch(found.vectors / 9, 0, labels) for name, found in batch.items()}
    taker.add(shorter)
    assert Counting.asked == 1


def test_empty_batches_change_nothing() -> None:
    text = made_up_text(11)
    empty = {
        name: Batch(x[:0], 0, {label: values[:0] for label, values in text.labels.items()})
        for name, x in text.layers.items()
    }
    assert taken(text, [empty, *text.batches(), empty]) == taken(text)


def test_wrong_batches_are_refused() -> None:
    text = few_words()
    (batches,) = text.batches(per_batch=5)
    given = batches["block 0"]
    with pytest.raises(DataError, match="no vectors of layer 'block 1'"):
        ContextualTaker({"block 0": 2, "block 1": 2}).add(batches)
    with pytest.raises(DataError, match="width 2, not 3"):
        ContextualTaker({"block 0": 3}).add(batches)
    with pytest.raises(DataError, match="3 vectors for 4 labels"):
        ContextualTaker({"block 0": 2}).add({"block 0": given._replace(vectors=given.vectors[:3])})
    with pytest.raises(DataError, match="need the label 'token id'"):
        ContextualTaker({"block 0": 2}).add({"block 0": given._replace(labels={})})


def test_wrong_options_are_refused() -> None:
    with pytest.raises(UsageError, match="no way to join subwords is called 'middle'"):
        ContextualTaker({"block 0": 2}, subwords="middle")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="do not fit into 10 bytes; give at least 192"):
        ContextualTaker({"block 0": 2}, limit_bytes=10)
    ContextualTaker({"block 0": 2}, limit_bytes=192)


def test_every_value_is_described() -> None:
    described = {one.name for one in CONTEXTUAL_MEASURES} | {
        f"{one.name}/{more}" for one in CONTEXTUAL_MEASURES for more in one.also
    }
    for found in taken(made_up_text()).values():
        assert set(found.values) <= described
        assert set(found.tables) <= {one.name for one in CONTEXTUAL_MEASURES if one.table}
    for one in CONTEXTUAL_MEASURES:
        assert one.summary.endswith(".")
        assert all((one.formula, one.range, one.reference))


def test_formulas_name_the_numbers_that_are_used() -> None:
    formulas = {one.name: one.formula for one in CONTEXTUAL_MEASURES}
    words = f"at most {definitions.WORDS:,} words, {definitions.MINIMUM} to {definitions.PER_WORD} "
    assert words in formulas["max_explainable_variance"]
    longest = f"above {MASSIVE:g} times the median; the {LISTED} longest"
    assert longest in formulas["massive_activations"]
    assert f"at least {OUTLIER_SHARE:.0%} of the" in formulas["persistence"]
    assert f"({EVEN_SHARES:g}/d where" in formulas["persistence"]
    assert f"more than {FAR:g} deviations" in formulas["persistence"]
