"""Reading a cloud group shard by shard, on the threads of this process or on other workers.

The sums of a few batches, a *chunk*, are taken one after the other; chunks are merged in a tree
over their numbers in the shard, and shards in a tree over theirs. Chunks and shards follow from
the source alone, and BLAS has one thread: so the sums are the same bit by bit on any number of
threads, processes or machines.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from itertools import chain, islice
from typing import TYPE_CHECKING, Generic, Protocol, TypeAlias, TypeVar

from isoscope.compute.pool import Pool, Tick
from isoscope.compute.stage import (
    Gathered,
    MergeTree,
    OnError,
    Stage,
    State,
    StoredState,
    merge_states,
)
from isoscope.compute.threads import cores, deal
from isoscope.data.arrays import is_tensor
from isoscope.data.base import (
    Batch,
    CloudGroup,
    Shard,
    WrappedGroup,
    is_portable,
    rows_per_batch,
    shards_of,
    total_rows,
)
from isoscope.errors import DataError
from isoscope.progress import Progress, report

if TYPE_CHECKING:
    from isoscope.compute.journal import Journal

Batches: TypeAlias = Mapping[str, Batch]
StateOut = TypeVar("StateOut", covariant=True)
StateIn = TypeVar("StateIn", contravariant=True)

# Batches whose sums are taken one after the other. The scatter is summed in place within a chunk,
# and a new d × d matrix is made only when two chunks are merged: longer chunks merge less often,
# but leave threads without work at the end. The number is fixed, because the order of additions
# follows from it; one that depended on the number of threads would change the last digits.
CHUNK = 4

# Clouds of up to so many batches are dealt to threads batch by batch: with chunks of four, a cloud
# of eight batches would keep two threads busy and leave all others idle.
SMALL = 16

# Clouds of up to so many numbers, 40 MB in single precision, are read by the calling thread where
# that takes a few milliseconds: it would wait about as long for others to start and to end.
FEW_NUMBERS = 10_000_000

# A thread holds the scatter that it sums in and the product of its last batch; while chunks are
# merged there are one of the two sides and the result as well.
MATRICES_PER_LANE = 4

# Memory that the d × d matrices of all threads together may take: from 4,096 dimensions on, one
# matrix is 134 MB, and a machine with many cores would run out of memory before it saved time.
LANE_BYTES = 2**30


@dataclass(frozen=True)
class Run:
    """Who reads a group, what is kept of it on the way, and what was left out.

    Parameters
    ----------
    workers : int, optional
        Threads of this process, where there is no pool; by default one per core.
    pool : Pool, optional
        Other workers.
    journal : Journal, optional
        Where finished shards are kept.
    on_error : {"stop", "skip"}
        What becomes of the run where a shard cannot be read.
    shard_rows : int, optional
        Rows of a shard.
    """

    workers: int | None = None
    pool: Pool | None = None
    journal: Journal | None = None
    on_error: OnError = "stop"
    shard_rows: int | None = None
    skipped: dict[str, str] = field(default_factory=dict)
    """Filled while reading: shards that were left out, and why."""

    def within(self) -> Run:
        """Return a run for reads that only this process can do, and that are not kept."""
        return Run(workers=self.workers)


class ChunkTaker(Protocol[StateOut]):
    """Sums over batches, on one thread."""

    def add(self, batches: Batches, /) -> None:
        """Take one batch of every cloud."""

    def take(self) -> StateOut:
        """Return the sums since the last call, and begin anew."""


class ReadWork(ABC, Generic[StoredState]):
    """What a read does with a shard; it can be pickled."""

    kind: type[StoredState]
    chunk: int = CHUNK

    @property
    def light(self) -> bool:
        """Whether a number costs so little that threads do not pay for a small cloud."""
        return False

    @abstractmethod
    def taker(self) -> ChunkTaker[StoredState]:
        """Make what sums over the batches of one thread."""

    @abstractmethod
    def finished(self, state: StoredState | None, group: CloudGroup) -> StoredState:
        """Return the state of a whole shard, from that of its rows and what the group noted."""

    def __call__(self, shard: Shard, tick: Tick) -> StoredState:
        """Read one shard."""
        taker = self.taker()
        tree: MergeTree[StoredState] = MergeTree()
        done = 0
        # The same chunks, merged in the same tree, as on the threads of one process: a worker that
        # summed its shard in one go would come to other last digits.
        for number, chunk in enumerate(chunks(shard, self.chunk)):
            for batches in chunk:
                taker.add(batches)
                done += rows_in(batches)
                tick(done)
            tree.add(number, taker.take())
        return self.finished(tree.result(), shard.group)


def read(
    group: CloudGroup,
    work: ReadWork[StoredState],
    stage: str,
    plan: Run,
    progress: Progress | None = None,
) -> Gathered[StoredState]:
    """Read a group once."""
    shards = shards_of(group, plan.shard_rows)
    # Decided here for the whole group and sent along with the work: a worker sees one shard, which
    # may be small although the group is not, and would choose another size.
    work.chunk = chunk_size(group)
    whole: Stage[Shard, StoredState] = Stage(
        stage, shards, [shard.group.rows for shard in shards], work.kind, plan.journal,
        plan.on_error, progress,
    )  # fmt: skip
    # The second read must not read a shard that the first one left out, even if the file can be
    # read again by now: its rows are not in the mean and the eigenvectors.
    whole.leave_out(plan.skipped)
    # Workers may have been opened for another source than one that only this process can read.
    if plan.pool is not None and is_portable(group):
        found = whole.run(plan.pool, work)
    else:
        found = read_in_lanes(whole, work, group, plan.workers)
    plan.skipped.update(found.skipped)
    return found


def chunk_size(group: CloudGroup) -> int:
    """Return the batches of a chunk: one where there are few, so that all threads get some."""
    few = SMALL * rows_per_batch(max(group.widths))
    # Where nobody knows the number of rows before the read, the cloud may be of any size.
    return 1 if group.rows is not None and group.rows <= few else CHUNK


def chunks(shard: Shard, size: int) -> Iterator[Iterable[Batches]]:
    """Yield the batches of a shard in chunks, rows numbered as in the whole group."""
    return sliced(
        (
            {
                name: batch._replace(first_row=shard.base + batch.first_row)
                for name, batch in batches.items()
            }
            for batches in shard.group.batches()
        ),
        size,
    )


def sliced(stream: Iterator[Batches], size: int) -> Iterator[Iterable[Batches]]:
    """Cut a stream of batches into chunks."""
    for first in stream:
        # Not a list: a batch must be on its way to a thread before the next one is read.
        yield chain([first], islice(stream, size - 1))


def rows_in(batches: Batches) -> int:
    """Return the rows of a batch."""
    # Clouds that are read together have the same rows, so that any of them tells.
    return len(next(iter(batches.values())).vectors)


@dataclass(frozen=True)
class Piece:
    """A batch on its way to a thread; None ends the chunk.

    The end needs a message of its own: the last chunk of a shard may be shorter than the others,
    and the reading thread knows that only after it has handed over the last batch.
    """

    shard: int
    chunk: int
    batches: Batches | None


class ChunkCollector(Protocol[StateIn]):
    """Takes the chunks that threads are done with."""

    def is_bad(self, shard: int) -> bool:
        """Whether a shard is left out."""

    def add(self, shard: int, chunk: int, state: StateIn) -> None:
        """Take a chunk."""

    def bad(self, shard: int, error: Exception) -> None:
        """Leave a shard out, or raise."""


class Collector(Generic[StoredState]):
    """Puts chunks that threads are done with together to shards."""

    def __init__(self, stage: Stage[Shard, StoredState], work: ReadWork[StoredState]) -> None:
        self._stage, self._work = stage, work
        self._lock = threading.Lock()
        self._trees: dict[int, MergeTree[StoredState]] = {}
        self._counts: Counter[int] = Counter()
        self._expected: dict[int, int] = {}
        self._bad: set[int] = set()

    def is_bad(self, shard: int) -> bool:
        """Whether a shard is left out."""
        # Without the lock: a thread that asks a moment too early computes one batch for nothing,
        # and add() refuses its chunk.
        return shard in self._bad

    def add(self, shard: int, chunk: int, state: StoredState) -> None:
        """Take a chunk."""
        with self._lock:
            if shard in self._bad:
                return
            # Threads finish chunks in any order; the tree merges them by their numbers.
            self._trees.setdefault(shard, MergeTree()).add(chunk, state)
            self._counts[shard] += 1
            self._settle(shard)

    def expect(self, shard: int, count: int) -> None:
        """Say how many chunks a shard has, once it is read to its end."""
        with self._lock:
            self._expected[shard] = count
            self._settle(shard)

    def bad(self, shard: int, error: Exception) -> None:
        """Leave a shard out, or raise."""
        with self._lock:
            if shard not in self._bad:
                self._bad.add(shard)
                self._trees.pop(shard, None)
                self._stage.skip(shard, str(error))

    def _settle(self, shard: int) -> None:
        # The last chunk may be done before or after the reader says how many there are, so that
        # both call this; −1 stands for a number that is not known yet and equals no count.
        if shard in self._bad or self._counts[shard] != self._expected.get(shard, -1):
            return
        # A shard without rows, as where all are left out, has no tree, but is done all the same.
        tree = self._trees.pop(shard, None)
        state = None if tree is None else tree.result()
        self._stage.add(shard, self._work.finished(state, self._stage.shards[shard].group))


class LaneTaker(Generic[State]):
    """One thread's part of a read."""

    def __init__(self, taker: ChunkTaker[State], collector: ChunkCollector[State]) -> None:
        self._taker, self._collector = taker, collector

    def add(self, piece: Piece, /) -> None:
        """Take a batch, or hand over the chunk that ends here."""
        if piece.batches is None:
            self._collector.add(piece.shard, piece.chunk, self._taker.take())
            return
        if self._collector.is_bad(piece.shard):
            return
        try:
            self._taker.add(piece.batches)
        except DataError as error:
            self._collector.bad(piece.shard, error)


def read_in_lanes(
    stage: Stage[Shard, StoredState],
    work: ReadWork[StoredState],
    group: CloudGroup,
    workers: int | None,
) -> Gathered[StoredState]:
    """Read on the threads of this process; the calling one reads ahead for all.

    Tensors are left to torch's own threads.
    """
    progress, stage.progress = stage.progress, None  # which counts rows here, not shards
    collector = Collector(stage, work)
    stream = pieces(stage, work.chunk, collector, group, progress)
    if workers is None and work.light and group.rows is not None:
        workers = 1 if group.rows * max(group.widths) <= FEW_NUMBERS else None
    in_lanes(stream, group, workers, work.chunk, lambda: LaneTaker(work.taker(), collector))
    return stage.result()


def in_lanes(
    stream: Iterator[Piece],
    group: CloudGroup,
    workers: int | None,
    chunk: int,
    lane: Callable[[], LaneTaker[State]],
) -> None:
    """Deal the chunks of a stream to threads in turn."""
    # The first batch is read before any thread is started, as only the batch itself tells whether
    # the vectors are tensors.
    first = next(stream, None)
    if first is None:
        return
    lanes = lane_count(group, workers, chunk, first.batches or {})
    numbered = in_turn(chain([first], stream), lanes)
    # Room for a whole chunk and its end, so that reading goes on while a thread computes.
    deal(numbered, [lane() for _ in range(lanes)], depth=chunk + 1)


def lane_count(group: CloudGroup, workers: int | None, chunk: int, first: Batches) -> int:
    """Return as many threads as are worth it."""
    if any(is_tensor(batch.vectors) for batch in first.values()):
        return 1
    widest = max(group.widths)
    lanes = cores() if workers is None else workers
    # Fewer threads do not change the result, since every chunk is a sum of its own.
    lanes = min(lanes, max(1, LANE_BYTES // (MATRICES_PER_LANE * 8 * widest * widest)))
    if group.rows is not None:
        lanes = min(lanes, max(1, -(-group.rows // (chunk * rows_per_batch(widest)))))
    return lanes


def in_turn(stream: Iterable[Piece], lanes: int) -> Iterator[tuple[int, Piece]]:
    """Deal chunks to the threads in turn."""
    turn = -1
    last: tuple[int, int] | None = None
    for piece in stream:
        # A chunk stays on one thread from its first batch to its end: its batches are added to one
        # running sum, in their order.
        if (piece.shard, piece.chunk) != last:
            turn, last = turn + 1, (piece.shard, piece.chunk)
        yield turn % lanes, piece


def pieces(
    stage: Stage[Shard, StoredState],
    size: int,
    collector: Collector[StoredState],
    group: CloudGroup,
    progress: Progress | None,
) -> Iterator[Piece]:
    """Read the shards that are missing, one after the other."""
    # A resumed run begins with the rows of the shards that the journal has.
    done = stage.done
    for number, shard in stage.missing:
        count = 0
        try:
            for count, chunk in enumerate(chunks(shard, size), start=1):
                for batches in chunk:
                    # The rows are counted after the batch is taken: that waits while all threads
                    # are behind.
                    yield Piece(number, count - 1, batches)
                    done += rows_in(batches)
                    report(progress, stage.name, done, group.rows)
                yield Piece(number, count - 1, None)
        except (DataError, OSError) as error:
            collector.bad(number, error)
            if count:  # or the thread would go on with half a chunk of a bad shard
                yield Piece(number, count - 1, None)
            continue
        # Only now is it known how many chunks to wait for.
        collector.expect(number, count)


def without_skipped(group: CloudGroup, plan: Run) -> CloudGroup:
    """Return a group without the shards that were left out, for further reads."""
    if not plan.skipped:
        return group
    shards = shards_of(group, plan.shard_rows)
    return KeptShards(group, [shard for shard in shards if shard.name not in plan.skipped])


class KeptShards(WrappedGroup):
    """Some of the shards of a group, one after the other."""

    def __init__(self, group: CloudGroup, shards: Sequence[Shard]) -> None:
        super().__init__(group)
        self._shards = shards

    @property
    def rows(self) -> int | None:
        """Number of rows, where all shards know theirs."""
        return total_rows(shard.group.rows for shard in self._shards)

    def batches(self) -> Iterator[Batches]:
        """Read from the start."""
        for shard in self._shards:
            yield from chain.from_iterable(chunks(shard, CHUNK))


def merged(states: Sequence[State]) -> State | None:
    """Merge states in their order; None when there are none."""
    # From left to right instead of in a tree, as these are the few states of one caller, who gives
    # them in an order that does not depend on threads.
    return reduce(merge_states, states) if states else None


def summed(
    group: CloudGroup,
    new_taker: Callable[[], ChunkTaker[State]],
    stage: str,
    progress: Progress | None = None,
) -> State | None:
    """Sum over a whole group on the threads of this process; None where it has no row.

    For sums that are neither kept in a journal nor shared out to other workers. Chunks are merged
    as those of ``read`` are, so that the number of threads does not change a bit.
    """
    size, found = chunk_size(group), WholeCollector[State]()
    stream = whole_pieces(with_progress(group, progress, stage), size)
    in_lanes(stream, group, None, size, lambda: LaneTaker(new_taker(), found))
    return found.tree.result()


def whole_pieces(stream: Iterator[Batches], size: int) -> Iterator[Piece]:
    """Yield the batches of a group as those of one shard."""
    for number, chunk in enumerate(sliced(stream, size)):
        for batches in chunk:
            yield Piece(0, number, batches)
        yield Piece(0, number, None)


class WholeCollector(Generic[State]):
    """Puts the chunks of a group together that is read as one shard."""

    def __init__(self) -> None:
        self.tree: MergeTree[State] = MergeTree()
        self._lock = threading.Lock()

    def is_bad(self, shard: int) -> bool:
        """Whether a shard is left out: never."""
        del shard
        return False

    def add(self, shard: int, chunk: int, state: State) -> None:
        """Take a chunk."""
        del shard
        with self._lock:
            self.tree.add(chunk, state)

    def bad(self, shard: int, error: Exception) -> None:
        """End the read: nothing is left out of it."""
        del shard
        raise error


def with_progress(group: CloudGroup, progress: Progress | None, stage: str) -> Iterator[Batches]:
    """Yield the batches of a group and report the rows handed out."""
    done = 0
    for batches in group.batches():
        yield batches
        done += rows_in(batches)
        report(progress, stage, done, group.rows)
