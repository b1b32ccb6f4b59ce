from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isoscope.data.base import Batch
from isoscope.data.blocks import BLOCKS, Dealer, Dealt
from isoscope.errors import UsageError


def by_definition(x: np.ndarray, weights: np.ndarray, blocks: np.ndarray) -> np.ndarray:
    sums = np.zeros((BLOCKS, x.shape[1]))
    for row, weight, block in zip(x, weights, blocks, strict=True):
        sums[block] += weight * row
    return sums


@given(rows=st.integers(1, 200), seed=st.integers(0, 100))
def test_sums_of_blocks_follow_their_definition(rows: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    x, weights = rng.normal(size=(rows, 3)), rng.random((2, rows))
    groups = rng.integers(0, 10**6, rows)
    dealt = Dealt(groups)
    blocks = groups % BLOCKS
    found = dealt.sums(x, *weights)
    for sums, given_weights in zip(found, weights, strict=True):
        expected = by_definition(x, given_weights, blocks)
        np.testing.assert_allclose(sums, expected, atol=1e-12)
    totals = np.bincount(blocks, weights[0], BLOCKS)
    np.testing.assert_allclose(dealt.totals(weights[0]), totals, atol=1e-12)


def test_positions_are_dealt_evenly_and_without_a_pattern() -> None:
    blocks = Dealt.by_position(0, 31_000).blocks
    counts = np.bincount(blocks, minlength=BLOCKS)
    assert np.abs(counts - 1_000).max() < 5 * np.sqrt(1_000)
    assert counts.std() > 10, "a share of every stretch for each would not be random"
    # Neighbours, and rows a block's number apart, share a block as rarely as any two.
    for step in (1, 2, 31, 32):
        assert np.mean(blocks[step:] == blocks[:-step]) == pytest.approx(1 / BLOCKS, abs=0.006)


def test_a_part_of_the_rows_keeps_their_groups() -> None:
    dealt = Dealt.by_position(1_000, 100)
    np.testing.assert_array_equal(dealt.part(slice(40, 80)).groups, dealt.groups[40:80])
    np.testing.assert_array_equal(Dealt.by_position(1_040, 40).groups, dealt.groups[40:80])


def test_documents_stay_together_whatever_batch_they_are_in() -> None:
    names = np.array(["a", "b", "a", "c"])
    one = Dealer("doc").deal(Batch(np.zeros((4, 2)), 0, {"doc": names})).blocks
    other = Dealer("doc").deal(Batch(np.zeros((2, 2)), 9, {"doc": names[2:]})).blocks
    assert one[0] == one[2] == other[0]
    assert one[3] == other[1]


def test_the_label_document_is_used_unasked() -> None:
    batch = Batch(np.zeros((2, 2)), 0, {"document": np.array([7, 7])})
    assert len(set(Dealer().deal(batch).blocks)) == 1


def test_an_unknown_label_is_named_with_those_there_are() -> None:
    with pytest.raises(UsageError, match="no label 'author'.*have: word"):
        Dealer("author").deal(Batch(np.zeros((1, 2)), 0, {"word": np.array(["x"])}))
