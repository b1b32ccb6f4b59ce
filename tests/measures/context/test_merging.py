from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from contextual_for_tests import MadeUpText, made_up_text
from hypothesis import given
from hypothesis import strategies as st

from isoscope.measures.context.definitions import Contextual
from isoscope.measures.context.keyed_sums import GroupedSums
from isoscope.measures.context.sums import ContextualTaker
from isoscope.measures.context.token_groups import HIGHEST

pytest.importorskip("torch")

MEAN_COSINES = {"block 0": 0.25, "block 1": None}
AMPLE = 2**20
SAMPLED = 9_000
"""Too little for the types, the words and the occurrences of ``a_long_text``."""
LIMITS = (600, 1_200, 2_500, 4_000, SAMPLED, 30_000, AMPLE)

SUMMED = (".sums.", "sentences.total")


def a_long_text() -> MadeUpText:
    return made_up_text(21, sentences=150, vocabulary=60)


def taken(text: MadeUpText, sentences: Sequence[int], **options: Any) -> ContextualTaker:
    """Read some sentences, two at a time."""
    taker = ContextualTaker(text.widths, **options)
    for batch in text.batches(2, list(sentences)) if len(sentences) else []:
        taker.add(batch)
    return taker


def dealt(text: MadeUpText, hands: Sequence[int], shards: int) -> list[list[int]]:
    """Deal the pairs of sentences that make a batch to shards."""
    count = len(text.sentence_rows())
    parts: list[list[int]] = [[] for _ in range(shards)]
    for first in range(0, count, 2):
        parts[hands[first // 2 % len(hands)] % shards] += range(first, min(first + 2, count))
    return parts


def folded(takers: list[ContextualTaker], picks: Sequence[int]) -> ContextualTaker:
    """Merge neighbours, chosen by number, until one is left."""
    for pick in picks:
        if len(takers) > 1:
            at = pick % (len(takers) - 1)
            takers = [*takers[:at], takers[at].merge(takers[at + 1]), *takers[at + 2 :]]
    while len(takers) > 1:
        takers = [takers[0].merge(takers[1]), *takers[2:]]
    return takers[0]


def assert_same_state(one: ContextualTaker, other: ContextualTaker, exact: bool = False) -> None:
    assert one.facts() == other.facts()
    left, right = one.to_arrays(), other.to_arrays()
    assert left.keys() == right.keys()
    for name, array in left.items():
        if not exact and any(part in name for part in SUMMED):
            assert array.shape == right[name].shape, name
            np.testing.assert_allclose(right[name], array, rtol=1e-12, atol=1e-12, err_msg=name)
        else:
            np.testing.assert_array_equal(right[name], array, err_msg=name)


def numbers(result: dict[str, Contextual]) -> dict[str, float]:
    """Values and the numbers that belong to them; NaN where there is none."""
    found: dict[str, float | None] = {}
    for layer, contextual in result.items():
        for name, value in contextual.values.items():
            found |= {f"{layer}/{name}": value.value, f"{layer}/{name}/rows": value.rows}
            found |= {f"{layer}/{name}/{key}": one for key, one in value.extra.items()}
    return {name: np.nan if one is None else one for name, one in found.items()}


def assert_same_result(one: ContextualTaker, other: ContextualTaker) -> None:
    left, right = one.result(MEAN_COSINES), other.result(MEAN_COSINES)
    assert numbers(right) == pytest.approx(numbers(left), rel=1e-12, abs=1e-12, nan_ok=True)
    for layer, found in left.items():
        assert right[layer].tables == found.tables
        for name, value in found.values.items():
            assert right[layer].values[name].note == value.note


@given(
    st.sampled_from(LIMITS),
    st.integers(1, 5),
    st.lists(st.integers(0, 4), min_size=1, max_size=30),
    st.lists(st.integers(0, 4), max_size=4),
)
def test_shards_merged_in_any_tree_equal_one_read(
    limit_bytes: int, shards: int, hands: list[int], picks: list[int]
) -> None:
    text = made_up_text(20, sentences=60, vocabulary=40)
    whole = taken(text, range(60), limit_bytes=limit_bytes, seed=3)
    parts = dealt(text, hands, shards)
    merged = folded([taken(text, one, limit_bytes=limit_bytes, seed=3) for one in parts], picks)
    assert_same_state(whole, merged)
    assert_same_result(whole, merged)


@pytest.mark.parametrize("subwords", ["first", "mean", "last"])
@pytest.mark.parametrize("limit_bytes", [AMPLE, SAMPLED])
def test_every_state_that_is_cut_merges(limit_bytes: int, subwords: Any) -> None:
    text = a_long_text()
    layers = {name: x.copy() for name, x in text.layers.items()}
    layers["block 1"][::5] = 0
    text = MadeUpText(layers, text.labels)
    options = {"limit_bytes": limit_bytes, "subwords": subwords}
    whole = taken(text, range(150), **options)
    parts = [taken(text, range(first, first + 50), **options) for first in (0, 50, 100)]
    for taker in (whole, *parts):
        arrays = taker.to_arrays()
        pool = int(arrays["occurrences.highest"][0])
        types, words = arrays["highest"].tolist()
        if limit_bytes == AMPLE:
            assert {types, words, pool} == {HIGHEST}
        else:
            assert types < HIGHEST
            assert pool < words < HIGHEST
            assert len(arrays["occurrences.full_words"])
            assert len(arrays["random.full_words"])
    assert_same_state(whole, folded(parts, [1]))


def test_one_kind_of_group_takes_back_the_memory_that_the_other_used() -> None:
    text = a_long_text()
    index, sentence = text.labels["word index"], text.labels["sentence"]
    # One word in the first half, so that its types have nearly all groups; hundreds in the second.
    words = [f"w{k if late else 0}" for k, late in zip(index, sentence >= 75, strict=True)]
    text = MadeUpText(text.layers, text.labels | {"word": np.array(words, object)})
    first = taken(text, range(75), limit_bytes=SAMPLED)
    second = taken(text, range(75, 150), limit_bytes=SAMPLED)
    groups = SAMPLED * 3 // 4 // GroupedSums.bytes_per_group(text.widths)
    assert len(first.to_arrays()["types.ids"]) == groups - 1
    whole = taken(text, range(150), limit_bytes=SAMPLED)
    merged = first.merge(second)
    assert_same_state(whole, merged)
    assert len(merged.to_arrays()["types.ids"]) == groups - groups // 2


def test_vectors_of_words_that_are_left_out_are_let_go() -> None:
    text = made_up_text(5, sentences=60, widths=(64,), special=False)
    index = text.labels["word index"]
    labels = text.labels | {
        "word": np.array([f"w{k}" for k in index], object),
        "token id": np.arange(len(index)),
    }
    text = MadeUpText(text.layers, labels)
    count = len(text.sentence_rows())
    whole = taken(text, range(count), limit_bytes=60_000)
    first = taken(text, range(30), limit_bytes=60_000)
    merged = first.merge(taken(text, range(30, count), limit_bytes=60_000))
    # Memory holds vectors of more words than sums: the table decides which stay.
    arrays = merged.to_arrays()
    assert arrays["occurrences.highest"][0] == arrays["highest"][1] < HIGHEST
    assert_same_state(whole, merged)


@pytest.mark.parametrize("limit_bytes", [600, SAMPLED, AMPLE])
def test_a_taker_that_has_seen_nothing_changes_nothing(limit_bytes: int) -> None:
    text = a_long_text()
    whole = taken(text, range(150), limit_bytes=limit_bytes)
    for front in (True, False):
        something = taken(text, range(150), limit_bytes=limit_bytes)
        nothing = taken(text, [], limit_bytes=limit_bytes)
        merged = nothing.merge(something) if front else something.merge(nothing)
        assert_same_state(whole, merged, exact=True)
    nothing = taken(text, [], limit_bytes=limit_bytes)
    assert_same_state(nothing, taken(text, [], limit_bytes=limit_bytes).merge(nothing), exact=True)


@pytest.mark.parametrize("limit_bytes", [SAMPLED, AMPLE])
def test_bits_do_not_depend_on_who_takes_whom_over(limit_bytes: int) -> None:
    text = a_long_text()

    def halves() -> list[ContextualTaker]:
        return [taken(text, half, limit_bytes=limit_bytes) for half in (range(60), range(60, 150))]

    first, second = halves()
    merged = first.merge(second)
    assert merged is first
    assert_same_state(halves()[1], second, exact=True)
    for turn in (1, -1):
        one, other = halves()[::turn]
        assert_same_state(merged, one.merge(other), exact=True)


@pytest.mark.parametrize("limit_bytes", [600, SAMPLED, AMPLE])
def test_states_that_travelled_merge_alike(limit_bytes: int) -> None:
    text = a_long_text()

    def sent(taker: ContextualTaker) -> ContextualTaker:
        arrays = taker.to_arrays()
        for array in arrays.values():
            array.flags.writeable = False  # as memory that processes share is
        return ContextualTaker.from_arrays(arrays, json.loads(json.dumps(taker.facts())))

    def third(number: int) -> ContextualTaker:
        return taken(text, range(50 * number, 50 * number + 50), limit_bytes=limit_bytes)

    here = third(0).merge(third(1))
    there = sent(sent(third(0)).merge(sent(third(1))))
    assert_same_state(here, there, exact=True)
    for batch in text.batches(2, list(range(100, 150))):
        here.add(batch)
        there.add(batch)
    assert_same_state(here, there, exact=True)
    assert_same_state(taken(text, range(150), limit_bytes=limit_bytes), there)


def test_memory_stays_within_the_limit() -> None:
    text = made_up_text(22, sentences=400, vocabulary=900)
    limit_bytes = 60_000
    groups = limit_bytes * 3 // 4 // GroupedSums.bytes_per_group(text.widths)
    parts = [
        taken(text, range(first, first + 50), limit_bytes=limit_bytes)
        for first in range(0, 400, 50)
    ]
    merged = parts[0]
    for part in parts[1:]:
        merged = merged.merge(part)
        arrays = merged.to_arrays()
        kept = len(arrays["types.ids"]), len(arrays["words.texts.offsets"]) - 1
        assert sum(kept) == groups
        for number, keyed in zip(kept, (merged._types, merged._words), strict=True):
            # Rows that were ever written to: those that stand empty are a quarter at most.
            assert keyed.table.size <= number + (number + 64) // 4
            assert len(keyed.sums("block 0")) <= groups + 1
        occurrences = len(arrays["occurrences.keys"]) + len(arrays["random.keys"])
        assert occurrences * 4 * sum(text.widths.values()) <= limit_bytes // 4


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"layers": {"block 0": 6}}, "layers"),
        ({"layers": {"block 0": 6, "block 1": 8}}, "layers"),
        ({"subwords": "first"}, "subwords"),
        ({"limit_bytes": 2**20 + 1}, "limit_bytes"),
        ({"seed": 1}, "seed"),
        ({"seed": 1, "subwords": "last"}, "subwords, seed"),
    ],
)
def test_takers_of_another_kind_are_refused(options: dict[str, Any], named: str) -> None:
    text = made_up_text(23)
    one = taken(text, range(12), limit_bytes=AMPLE)
    other = ContextualTaker(**({"layers": text.widths, "limit_bytes": AMPLE} | options))
    with pytest.raises(ValueError, match=f"differ in {named} cannot be merged"):
        one.merge(other)
    assert_same_state(one, taken(text, range(12), limit_bytes=AMPLE), exact=True)
