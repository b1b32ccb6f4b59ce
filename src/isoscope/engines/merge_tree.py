"""States of shards, merged in one order whoever finishes first.

Sums of floating point numbers depend on the order of additions in their last digits. So the order
is that of a binary tree over the numbers of the shards: shards 2k and 2k + 1 first, then pairs of
pairs. Which worker read what, and when, changes nothing: the result is the same bit by bit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, NamedTuple, TypeVar

State = TypeVar("State")


class Node(NamedTuple):
    """The shards from ``place · 2^level`` on, 2^level of them."""

    level: int
    place: int

    @property
    def first(self) -> int:
        """Number of the first shard below."""
        return self.place << self.level

    @property
    def end(self) -> int:
        """Number behind the last shard below."""
        return (self.place + 1) << self.level

    def holds(self, other: Node) -> bool:
        """Whether all shards of another node are below this one."""
        return self.first <= other.first and other.end <= self.end


class MergeTree(Generic[State]):
    """Merges states as soon as both sides of a pair are there.

    Of n shards that come about in order, some log₂ n states are held at a time.

    Parameters
    ----------
    merge : callable
        Makes one state of two, of which the first belongs to the earlier shards.
    """

    def __init__(self, merge: Callable[[State, State], State]) -> None:
        self._merge = merge
        self.nodes: dict[Node, State | None] = {}
        """What is held; None where all shards below were left out."""

    def add(self, number: int, state: State | None) -> None:
        """Take the state of one shard; None for a shard that is left out."""
        self.put(Node(0, number), state)

    def put(self, node: Node, state: State | None) -> None:
        """Take the state of a whole node, merged before."""
        while (sibling := Node(node.level, node.place ^ 1)) in self.nodes:
            other = self.nodes.pop(sibling)
            state = self._merged(state, other) if sibling.place & 1 else self._merged(other, state)
            node = Node(node.level + 1, node.place >> 1)
        self.nodes[node] = state

    def result(self) -> State | None:
        """Merge what is held, the smaller nodes at the end first; None where there is nothing."""
        total: State | None = None
        for node in sorted(self.nodes, key=lambda node: node.first, reverse=True):
            total = self._merged(self.nodes[node], total)
        return total

    def _merged(self, left: State | None, right: State | None) -> State | None:
        if left is None or right is None:
            return right if left is None else left
        return self._merge(left, right)
