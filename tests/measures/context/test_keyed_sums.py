from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from isoscope.measures.context.keyed_sums import LEFT_OUT, SlotTable
from isoscope.measures.context.token_groups import occurrence_keys, type_hashes, word_hashes


def hashed(key: str) -> int:
    return word_hashes([key], 0)[0]


def hash_all(keys: list[str]) -> list[int]:
    return word_hashes(keys, 0)


@given(st.lists(st.lists(st.text(max_size=3), max_size=9), max_size=9), st.integers(1, 12))
def test_the_keys_of_lowest_hashes_are_left(batches: list[list[str]], capacity: int) -> None:
    table: SlotTable[str] = SlotTable(hash_all)
    held: dict[str, int] = {}
    for batch in batches:
        table.admit(batch)
        dropped = set(table.keep_lowest(capacity).tolist())
        # A slot stays with its key until the key is dropped.
        for key, slot in held.items():
            assert (int(table.slots_of([key])[0]) == slot) != (slot in dropped)
        held = {key: int(table.slots_of([key])[0]) for key in table.keys()}  # noqa: SIM118
        slots = list(held.values())
        assert len(set(slots)) == len(slots)
        assert LEFT_OUT not in slots
    everything = sorted({key for batch in batches for key in batch}, key=hashed)
    assert table.keys() == everything[:capacity]
    if len(everything) > capacity:
        assert table.highest == hashed(everything[capacity]) - 1
        assert 0 < table.share < 1
    else:
        assert table.share == 1


def test_what_is_not_let_in_is_left_out() -> None:
    table: SlotTable[str] = SlotTable(hash_all)
    table.admit(["a", "b", "c", "d"])
    table.keep_lowest(2)
    kept = table.keys()
    table.admit(["a", "b", "c", "d"])
    assert table.keys() == kept
    assert (table.slots_of(["a", "b", "c", "d", "never seen"]) == LEFT_OUT).sum() == 3


def test_keys_above_a_hash_leave_and_do_not_come_back() -> None:
    table: SlotTable[str] = SlotTable(hash_all)
    words = [f"w{k}" for k in range(30)]
    table.admit(words)
    ordered = sorted(words, key=hashed)
    leaving = table.slots_of(ordered[12:])
    assert table.lower(hashed(ordered[11])).tolist() == sorted(leaving.tolist())
    assert table.keys() == ordered[:12]
    assert table.lower(hashed(ordered[20])).size == 0
    table.admit(words)
    assert table.keys() == ordered[:12]
    assert table.highest == hashed(ordered[11])
    assert sorted(table.hashes().tolist()) == [hashed(word) for word in ordered[:12]]


def test_slots_are_numbered_again_by_hash() -> None:
    table: SlotTable[str] = SlotTable(hash_all)
    table.admit([f"w{k}" for k in range(50)])
    table.keep_lowest(20)
    before = table.slots_of(table.keys())
    hashes = table.hashes_of(before)
    np.testing.assert_array_equal(table.renumber(), before)
    np.testing.assert_array_equal(table.slots_of(table.keys()), np.arange(1, 21))
    np.testing.assert_array_equal(table.hashes_of(np.arange(1, 21)), hashes)
    assert table.size == 21


def test_hashes_depend_on_the_seed_and_fill_64_bits() -> None:
    words = [f"w{k}" for k in range(300)]
    for hashes in (
        word_hashes(words, 0) + word_hashes(words, 1),
        type_hashes(range(300), 0) + type_hashes(range(300), 1),
    ):
        assert len(set(hashes)) == 600
        assert max(hashes) > 0.98 * 2**64
        assert min(hashes) < 0.02 * 2**64
    places = np.arange(400)
    keys = np.concatenate([occurrence_keys(places // 20, places % 20, s) for s in (0, 1)])
    assert len(set(keys.tolist())) == 800
    assert word_hashes(["\ud800"], 0) != word_hashes(["?"], 0)
