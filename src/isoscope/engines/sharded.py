"""A stage of a run over shards: worked through anywhere, merged in order, kept in a journal."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, Literal, Protocol, TypeAlias, TypeVar

from isoscope.engines.merge_tree import MergeTree
from isoscope.engines.shard_journal import ShardJournal, State
from isoscope.engines.workers import BadShard
from isoscope.errors import DataError

if TYPE_CHECKING:
    from isoscope.engines.journal import Journal
    from isoscope.engines.workers import Pool, Work

OnError = Literal["stop", "skip"]
Progress: TypeAlias = Callable[[str, int, int | None], None]
"""Takes the name of a stage, what is done, and the total where it is known."""


class Named(Protocol):
    """Part of a source that is read by itself."""

    @property
    def name(self) -> str:
        """What people call it."""


Shard = TypeVar("Shard", bound=Named)


@dataclass(frozen=True)
class Gathered(Generic[State]):
    """What a stage came to."""

    state: State
    skipped: Mapping[str, str]
    """Shards that were left out, and why."""


@dataclass
class Stage(Generic[Shard, State]):
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
    kind: type[State]
    journal: Journal | None = None
    on_error: OnError = "stop"
    progress: Progress | None = None
    _skipped: dict[int, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.tree: MergeTree[State] = MergeTree(lambda one, other: one.merge(other))
        self._kept = None
        self._finished: set[int] = set()
        if self.journal is not None:
            self._kept = ShardJournal(self.journal, self.name, self.kind)
            self._finished, self._skipped = self._kept.load(self.tree)
        self._done = sum(self.sizes[number] or 0 for number in self._finished)
        known = [size for size in self.sizes if size is not None]
        self._total = sum(known) if len(known) == len(self.sizes) else None

    @property
    def done(self) -> int:
        """Rows or texts of the shards that are done, as far as their number was known before."""
        return self._done

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

    def run(self, pool: Pool, work: Work[Shard, State]) -> Gathered[State]:
        """Work all shards through that are not done yet."""
        for number, found in pool.run(work, self.missing, self.tick):
            if isinstance(found, BadShard):
                self.skip(number, found.message)
            else:
                self.add(number, found)
        return self.result()

    def tick(self, within: int) -> None:
        """Report so much more of a shard that is under way."""
        if self.progress is not None:
            self.progress(self.name, self._done + within, self._total)

    def add(self, number: int, state: State) -> None:
        """Take the state of a shard."""
        self.tree.add(number, state)
        self._settle(number)

    def skip(self, number: int, message: str) -> None:
        """Leave a bad shard out, or stop."""
        if self.on_error == "stop":
            raise DataError(self._named(self.shards[number].name, message))
        self._skipped[number] = message
        self.tree.add(number, None)
        self._settle(number)

    def _named(self, name: str, message: str) -> str:
        """Name a shard in a message that does not name its file, and say what else can be done."""
        file = name.rsplit(", ", 1)[0]  # without its rows, which the message may know better
        named = message if file in message else f"{name}: {message}"
        return named + ("; --on-error skip leaves it out" if len(self.shards) > 1 else "")

    def _settle(self, number: int) -> None:
        self._finished.add(number)
        self._done += self.sizes[number] or 0
        if self._kept is not None:
            self._kept.offer(self.tree, self._skipped)
        self.tick(0)

    def result(self) -> Gathered[State]:
        """Merge everything, after the journal has it."""
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
