"""The states of shards in a journal: a file for every node of the merge tree that is held."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Generic, Protocol, Self, TypeAlias, TypeVar

from numpy.typing import NDArray

from isoscope.engines.merge_tree import Node

if TYPE_CHECKING:
    from isoscope.engines.journal import Journal
    from isoscope.engines.merge_tree import MergeTree

Entry: TypeAlias = tuple[Mapping[str, NDArray[Any]], Mapping[str, Any]]
"""Arrays, and facts that JSON holds."""

SHARE = 100
"""Saving takes at most one part in so many of the time."""


class Storable(Protocol):
    """A state that can be merged, stored and sent."""

    def merge(self, other: Self) -> Self:
        """Combine the states of two disjoint sets of shards."""

    def to_entry(self) -> Entry:
        """Return arrays and facts."""

    @classmethod
    def from_entry(cls, arrays: Mapping[str, NDArray[Any]], facts: Mapping[str, Any]) -> Self:
        """Rebuild what ``to_entry`` took apart."""


State = TypeVar("State", bound=Storable)


class ShardJournal(Generic[State]):
    """Keeps the nodes of one stage's merge tree.

    A node is written before the nodes that it was merged from are deleted. Killed in between, both
    are there: then the larger one counts, and no shard twice.

    Parameters
    ----------
    journal : Journal
        Where they are kept.
    stage : str
        What the names of their steps begin with.
    kind : type
        The states' class.
    clock : callable
        Gives seconds.
    """

    def __init__(
        self,
        journal: Journal,
        stage: str,
        kind: type[State],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._journal, self._stage, self._kind, self._clock = journal, stage, kind, clock
        self._due = clock()
        self._saved: set[Node] = set()

    def load(self, tree: MergeTree[State]) -> tuple[set[int], dict[int, str]]:
        """Put what was kept into a tree; returns the shards that are done, and those left out."""
        pattern = re.compile(re.escape(self._stage) + r" (\d+)-(\d+)")
        found = [pattern.fullmatch(step) for step in self._journal.steps]
        self._saved = {Node(int(match[1]), int(match[2])) for match in found if match}
        done: set[int] = set()
        skipped: dict[int, str] = {}
        for node in sorted(self._saved):
            if any(node != other and other.holds(node) for other in self._saved):
                continue
            entry = self._journal.load(self._step(node))
            assert entry is not None, "a step that the journal lists"
            empty = entry.facts["state"] is None
            tree.put(
                node, None if empty else self._kind.from_entry(entry.arrays, entry.facts["state"])
            )
            done.update(range(node.first, node.end))
            skipped.update({int(key): why for key, why in entry.facts["skipped"].items()})
        return done, skipped

    def offer(self, tree: MergeTree[State], skipped: Mapping[int, str]) -> None:
        """Save what is new, unless saving has taken too much of the time already."""
        began = self._clock()
        if began >= self._due:
            self.save(tree, skipped)
            ended = self._clock()
            self._due = ended + SHARE * (ended - began)

    def save(self, tree: MergeTree[State], skipped: Mapping[int, str]) -> None:
        """Save every node that is held, then delete those that are in others by now."""
        for node, state in tree.nodes.items():
            if node in self._saved:
                continue
            arrays, facts = ({}, None) if state is None else state.to_entry()
            below = {str(key): why for key, why in skipped.items() if node.first <= key < node.end}
            self._journal.save(self._step(node), arrays, {"state": facts, "skipped": below})
            self._saved.add(node)
        for node in self._saved - set(tree.nodes):
            self._journal.forget(self._step(node))
        self._saved &= set(tree.nodes)

    def forget(self) -> None:
        """Delete everything that was kept of this stage."""
        for node in self._saved:
            self._journal.forget(self._step(node))
        self._saved = set()

    def _step(self, node: Node) -> str:
        return f"{self._stage} {node.level}-{node.place}"
