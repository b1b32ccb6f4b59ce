"""Merges have one shape, whoever comes first."""

from __future__ import annotations

from typing import Any

import pytest
from faults_for_tests import balanced
from hypothesis import given
from hypothesis import strategies as st

from isoscope.compute.stage import MergeTree, Node


def pair(left: Any, right: Any) -> Any:
    """Neither commutes nor associates: the result shows every merge."""
    return left, right


def merged(leaves: list[Any], order: list[int]) -> Any:
    tree: MergeTree[Any] = MergeTree(pair)
    for number in order:
        tree.add(number, leaves[number])
    return tree.result()


@given(st.integers(1, 40).flatmap(lambda n: st.permutations(range(n))))
def test_the_shape_follows_from_the_leaves_alone(order: list[int]) -> None:
    leaves = list(range(len(order)))
    assert merged(leaves, order) == balanced(leaves)


@given(
    st.integers(1, 20).flatmap(
        lambda n: st.tuples(
            st.permutations(range(n)), st.lists(st.booleans(), min_size=n, max_size=n)
        )
    )
)
def test_what_is_left_out_leaves_no_trace(given: tuple[list[int], list[bool]]) -> None:
    order, kept = given
    leaves = [number if keep else None for number, keep in enumerate(kept)]
    assert merged(leaves, order) == balanced(leaves)


def test_seven_leaves_by_hand() -> None:
    assert merged([*"abcdefg"], [6, 2, 0, 5, 3, 1, 4]) == (
        (("a", "b"), ("c", "d")),
        (("e", "f"), "g"),
    )
    assert merged(["a", None, None, None, "e", "f", None], [0, 1, 2, 3, 4, 5, 6]) == (
        "a",
        ("e", "f"),
    )


def test_nothing_is_none() -> None:
    assert MergeTree(pair).result() is None
    assert merged([None, None, None], [0, 2, 1]) is None


def test_no_state_is_merged_with_nothing() -> None:
    def refuse(left: Any, right: Any) -> Any:
        raise AssertionError((left, right))

    tree: MergeTree[str] = MergeTree(refuse)
    for number, state in enumerate([None, "b", None, None]):
        tree.add(number, state)
    assert tree.result() == "b"


@pytest.mark.parametrize("count", [1, 2, 3, 63, 64, 1000])
def test_few_states_are_held_of_many_in_order(count: int) -> None:
    tree: MergeTree[int] = MergeTree(lambda one, other: one + other)
    for number in range(count):
        tree.add(number, 1)
        assert len(tree.nodes) == (number + 1).bit_count()
    assert tree.result() == count
    assert len(tree.nodes) == count.bit_count()  # asked for twice, it is the same
    assert tree.result() == count


@given(
    st.integers(2, 33).flatmap(lambda n: st.tuples(st.permutations(range(n)), st.integers(1, n)))
)
def test_kept_nodes_go_on_as_if_never_put_away(given: tuple[list[int], int]) -> None:
    order, done = given
    before: MergeTree[Any] = MergeTree(pair)
    for number in order[:done]:
        before.add(number, number)
    after: MergeTree[Any] = MergeTree(pair)
    for node, state in reversed(before.nodes.items()):
        after.put(node, state)
    assert after.nodes == before.nodes
    for number in order[done:]:
        after.add(number, number)
    assert after.result() == balanced(sorted(order))


@given(st.integers(0, 5), st.integers(0, 40), st.integers(0, 5), st.integers(0, 40))
def test_a_node_holds_its_shards(level: int, place: int, other_level: int, other: int) -> None:
    one, two = Node(level, place), Node(other_level, other)
    below, inner = range(one.first, one.end), range(two.first, two.end)
    assert len(below) == 2**level
    assert below[0] == place * 2**level
    assert one.holds(two) == (set(inner) <= set(below))
