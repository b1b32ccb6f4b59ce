"""A stage of a run over shards: worked through anywhere, merged in order, kept in a journal.

Sums of floating point numbers depend on the order of additions in their last digits. So the order
is that of a binary tree over the numbers of the shards: shards 2k and 2k + 1 first, then pairs of
pairs. Which worker read what, and when, changes nothing: the result is the same bit by bit. The
journal has a file for every node of the merge tree that is held.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NamedTuple, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from isoscope.compute.pool import BadShard, Pool, Work
from isoscope.data.base import OnError as OnError
from isoscope.data.base import total_rows
from isoscope.errors import DataError
from isoscope.progress import Progress, report

if TYPE_CHECKING:  # or the help of a command would load all that a journal takes
    from isoscope.compute.journal import Journal

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


def merge_states(one: Any, other: Any) -> Any:
    """Combine two states by their own method."""
    return one.merge(other)


class MergeTree(Generic[State]):
    """Merges states as soon as both sides of a pair are there.

    Of n shards that come about in order, some log₂ n states are held at a time.

    Parameters
    ----------
    merge : callable
        Makes one state of two, of which the first belongs to the earlier shards.
    """

    def __init__(self, merge: Callable[[State, State], State] = merge_states) -> None:
        self._merge = merge
        self.nodes: dict[Node, State | None] = {}
        """What is held; None where all shards below were left out."""

    def add(self, number: int, state: State | None) -> None:
        """Take the state of one shard; None for a shard that is left out."""
        self.put(Node(0, number), state)

    def put(self, node: Node, state: State | None) -> None:
        """Take the state of a whole node, merged before."""
        # The last bit of a place tells left from right child, so that flipping it names the
        # sibling. A merge may complete the pair one level up, and so on, as carrying does in a
        # binary counter.
        while (sibling := Node(node.level, node.place ^ 1)) in self.nodes:
            other = self.nodes.pop(sibling)
            # An odd place is the right child: the earlier shards always come first.
            state = self._merged(state, other) if sibling.place & 1 else self._merged(other, state)
            node = Node(node.level + 1, node.place >> 1)
        self.nodes[node] = state

    def result(self) -> State | None:
        """Merge what is held, the smaller nodes at the end first; None where there is nothing."""
        # When all n shards are in, the nodes that are held are the binary digits of n, whatever
        # order they came in and whether or not some came out of a journal. So this last merge, too,
        # has one order.
        total: State | None = None
        for node in sorted(self.nodes, key=lambda node: node.first, reverse=True):
            total = self._merged(self.nodes[node], total)
        return total

    def _merged(self, left: State | None, right: State | None) -> State | None:
        # A shard that was left out adds nothing, but it keeps its place in the tree: the others
        # meet in the pairs in which they would have met anyway.
        if left is None or right is None:
            return right if left is None else left
        return self._merge(left, right)


# Arrays, and facts that JSON holds.
Entry = tuple[Mapping[str, NDArray[Any]], Mapping[str, Any]]


class Summed:
    """A dataclass of numbers and arrays that adds up, field by field, over disjoint sets of rows.

    None stands for a sum that was not taken; it stays None whatever it is added to.
    """

    reductions: ClassVar[Mapping[str, Callable[[Any, Any], Any]]] = {}
    """How the fields combine that are not added."""

    def merge(self, other: Self) -> Self:
        """Combine the sums of two disjoint sets of rows."""
        return type(self)(
            **{
                name: self.reductions.get(name, added)(value, getattr(other, name))
                for name, value in vars(self).items()
            }
        )

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the sums that there are as named arrays, for a file or another process."""
        return {name: np.asarray(value) for name, value in vars(self).items() if value is not None}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """Rebuild what ``to_arrays`` took apart; arrays of other names are left alone."""
        values: dict[str, Any] = {}
        for item in fields(cls):  # type: ignore[arg-type]
            array = arrays.get(item.name)
            # Numbers become arrays of no dimension in a file. They are made numbers again, or a
            # state that was loaded would differ in type from one that was just summed.
            values[item.name] = array if array is None or array.ndim else array.item()
        return cls(**values)


def added(one: Any, other: Any) -> Any:
    """Add two sums; None where one of them was not taken."""
    return None if one is None or other is None else one + other


def first(one: Any, other: Any) -> Any:
    """Keep what is there, for whoever combines it otherwise."""
    del other
    return one


# Saving takes at most one part in so many of the time.
SHARE = 100


class Storable(Protocol):
    """A state that can be merged, stored and sent."""

    def merge(self, other: Self) -> Self:
        """Combine the states of two disjoint sets of shards."""

    def to_entry(self) -> Entry:
        """Return arrays and facts."""

    @classmethod
    def from_entry(cls, arrays: Mapping[str, NDArray[Any]], facts: Mapping[str, Any]) -> Self:
        """Rebuild what ``to_entry`` took apart."""


StoredState = TypeVar("StoredState", bound=Storable)


class ShardJournal(Generic[StoredState]):
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
        kind: type[StoredState],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._journal, self._stage, self._kind, self._clock = journal, stage, kind, clock
        # The first shard is saved at once, which also tells how long saving takes.
        self._due = clock()
        self._saved: set[Node] = set()

    def load(self, tree: MergeTree[StoredState]) -> tuple[set[int], dict[int, str]]:
        """Put what was kept into a tree; returns the shards that are done, and those left out."""
        pattern = re.compile(re.escape(self._stage) + r" (\d+)-(\d+)")
        found = [pattern.fullmatch(step) for step in self._journal.steps]
        self._saved = {Node(int(match[1]), int(match[2])) for match in found if match}
        done: set[int] = set()
        skipped: dict[int, str] = {}
        # A killed run may have left a node and the two that it was merged from. The smaller ones
        # are passed over here, but stay in _saved, so that the next save() deletes them.
        for node in sorted(self._saved):
            if any(node != other and other.holds(node) for other in self._saved):
                continue
            entry = self._journal.load(self._step(node))
            assert entry is not None, "a step that the journal lists"
            empty = entry.facts["state"] is None
            tree.put(
                node, None if empty else self._kind.from_entry(entry.arrays, entry.facts["state"])
            )
            # A node holds 2^level shards, all of which are there: the tree never merges across a
            # gap.
            done.update(range(node.first, node.end))
            skipped.update({int(key): why for key, why in entry.facts["skipped"].items()})
        return done, skipped

    def offer(self, tree: MergeTree[StoredState], skipped: Mapping[int, str]) -> None:
        """Save what is new, unless saving has taken too much of the time already."""
        began = self._clock()
        if began >= self._due:
            self.save(tree, skipped)
            ended = self._clock()
            # A state of a gigabyte takes seconds to write and one of a kilobyte nothing at all, so
            # the pause follows from what the last save took, not from a number of shards.
            self._due = ended + SHARE * (ended - began)

    def save(self, tree: MergeTree[StoredState], skipped: Mapping[int, str]) -> None:
        """Save every node that is held, then delete those that are in others by now."""
        for node, state in tree.nodes.items():
            if node in self._saved:
                continue
            arrays, facts = ({}, None) if state is None else state.to_entry()
            # Reasons are kept with the node that their shard is in. Keys are made strings, as JSON
            # has no others.
            below = {str(key): why for key, why in skipped.items() if node.first <= key < node.end}
            self._journal.save(self._step(node), arrays, {"state": facts, "skipped": below})
            self._saved.add(node)
        # Deleted last. The other way round, a kill between the two would lose shards that were
        # done.
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


class Named(Protocol):
    """Part of a source that is read by itself."""

    @property
    def name(self) -> str:
        """What people call it."""


Shard = TypeVar("Shard", bound=Named)


@dataclass(frozen=True)
class Gathered(Generic[StoredState]):
    """What a stage came to."""

    state: StoredState
    skipped: Mapping[str, str]
    """Shards that were left out, and why."""


@dataclass
class Stage(Generic[Shard, StoredState]):
    """One stage.

    Parameters
    ----------
    name : str
        What progress and journal call it.
    shards : sequence
        What is worked through.
    sizes : sequence of int or None
        Rows or texts of each shard, for progress; None where only reading tells.
    kind : type
        Class of the states.
    journal : Journal, optional
        Where finished shards are kept; they are not read again.
    on_error : {"stop", "skip"}
        What becomes of a run with a bad shard.
    progress : callable, optional
        Told what is done.
    """

    name: str
    shards: Sequence[Shard]
    sizes: Sequence[int | None]
    kind: type[StoredState]
    journal: Journal | None = None
    on_error: OnError = "stop"
    progress: Progress | None = None
    _skipped: dict[int, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.tree: MergeTree[StoredState] = MergeTree()
        self._kept = None
        self._finished: set[int] = set()
        if self.journal is not None:
            self._kept = ShardJournal(self.journal, self.name, self.kind)
            self._finished, self._skipped = self._kept.load(self.tree)
        # Shards that were left out before the interruption count as finished and are not tried
        # again: a resumed run gives the result that it would have given in one go.
        self.done = sum(self.sizes[number] or 0 for number in self._finished)
        """Rows or texts of the shards that are done, as far as their number was known before."""
        self._total = total_rows(self.sizes)

    @property
    def missing(self) -> list[tuple[int, Shard]]:
        """The shards that are not done yet, with their numbers."""
        return [
            (number, shard)
            for number, shard in enumerate(self.shards)
            if number not in self._finished
        ]

    def leave_out(self, known: Mapping[str, str]) -> None:
        """Leave out the shards that an earlier stage did: this one must count the same."""
        for number, shard in self.missing:
            if shard.name in known:
                self.skip(number, known[shard.name])

    def run(self, pool: Pool, work: Work[Shard, StoredState]) -> Gathered[StoredState]:
        """Work all shards through that are not done yet."""
        # In whatever order workers finish: the tree puts the states in their order.
        for number, found in pool.run(work, self.missing, self.tick):
            if isinstance(found, BadShard):
                self.skip(number, found.message)
            else:
                self.add(number, found)
        return self.result()

    def tick(self, within: int) -> None:
        """Report so much more of a shard that is under way."""
        report(self.progress, self.name, self.done + within, self._total)

    def add(self, number: int, state: StoredState) -> None:
        """Take the state of a shard."""
        self.tree.add(number, state)
        self._settle(number)

    def skip(self, number: int, message: str) -> None:
        """Leave a bad shard out, or stop."""
        if self.on_error == "stop":
            raise DataError(self._named(self.shards[number].name, message))
        self._skipped[number] = message
        # None marks the place in the tree as done, so that its sibling need not wait for ever.
        self.tree.add(number, None)
        self._settle(number)

    def _named(self, name: str, message: str) -> str:
        """Name a shard in a message that does not name its file, and say what else can be done."""
        file = name.rsplit(", ", 1)[0]  # without its rows, which the message may know better
        named = message if file in message else f"{name}: {message}"
        return named + ("; --on-error skip leaves it out" if len(self.shards) > 1 else "")

    def _settle(self, number: int) -> None:
        self._finished.add(number)
        self.done += self.sizes[number] or 0
        if self._kept is not None:
            self._kept.offer(self.tree, self._skipped)
        self.tick(0)

    def result(self) -> Gathered[StoredState]:
        """Merge everything, after the journal has it.

        Saving first means that a run that is killed in its second read has all of the first: it
        is loaded, merged in the same order, and not read again.
        """
        if self._kept is not None:
            self._kept.save(self.tree, self._skipped)
        state = self.tree.result()
        skipped = {self.shards[number].name: why for number, why in sorted(self._skipped.items())}
        if state is None:
            why = next(iter(skipped.values()), "there is none")
            raise DataError(f"no shard could be read: {why}")
        return Gathered(state, skipped)

    def forget(self) -> None:
        """Delete what the journal has of this stage."""
        if self._kept is not None:
            self._kept.forget()
