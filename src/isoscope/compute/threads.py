"""Worker threads of one machine over a stream of batches.

One thread per core with BLAS held to one thread each: between two matrix products the other
arithmetic of a batch then runs in parallel too, which BLAS's own threads would leave to one core.
The caller's thread reads ahead while the workers compute.
"""

from __future__ import annotations

import os
import queue
import sys
import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from itertools import product
from typing import Any, Generic, NamedTuple, Protocol, TypeVar, cast

from threadpoolctl import ThreadpoolController

Item = TypeVar("Item")
ItemIn = TypeVar("ItemIn", contravariant=True)
Value = TypeVar("Value")


class Accumulator(Protocol[ItemIn]):
    """Something that batches are added to, by one thread only."""

    def add(self, item: ItemIn, /) -> None:
        """Take one batch into account."""


def cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


# Stands behind the last item of a queue.
END = object()


class Lane(Generic[Item]):
    """A thread with its accumulator and a short queue of batches in front of it."""

    def __init__(self, state: Accumulator[Item], depth: int) -> None:
        self.state = state
        self.failure: BaseException | None = None
        # Short, because every batch in it takes memory: the reader waits instead of running ahead.
        self._queue: queue.Queue[Item | object] = queue.Queue(maxsize=depth)
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def put(self, item: Item) -> None:
        """Hand a batch over; waits while the lane is behind, raises what the thread raised."""
        self._queue.put(item)
        # Looked at after put(), which may have waited for long: a failed thread goes on emptying
        # its queue, so that the wait ends in any case.
        if self.failure is not None:
            raise self.failure

    def finish(self) -> None:
        """Say that nothing more comes."""
        self._queue.put(END)

    def join(self) -> None:
        """Wait until everything handed over is done."""
        self._thread.join()

    def abandon(self) -> None:
        """Let go of what is queued; the thread ends after the item that it is at.

        Nobody waits for that after Ctrl-C: a decomposition may take minutes.
        """
        # Any failure will do: it makes the thread pass over what it still gets.
        self.failure = self.failure or KeyboardInterrupt()
        with suppress(queue.Empty):
            while True:
                self._queue.get_nowait()
        self._queue.put(END)

    def _work(self) -> None:
        while (item := self._queue.get()) is not END:
            if self.failure is not None:
                continue  # keep emptying the queue, so that put() never waits for a dead thread
            try:
                self.state.add(cast("Item", item))
            except BaseException as error:
                self.failure = error


def accumulate(items: Iterable[Item], states: Sequence[Accumulator[Item]]) -> None:
    """Deal the items to the states in turn, each state on a thread of its own.

    Which state an item goes to depends on its position alone, never on timing: the same input
    with the same number of states gives the same bits every time.
    """
    if len(states) == 1:
        for item in items:
            states[0].add(item)
        return
    deal(((position % len(states), item) for position, item in enumerate(items)), states)


def deal(
    items: Iterable[tuple[int, Item]], states: Sequence[Accumulator[Item]], depth: int = 2
) -> None:
    """Hand each item to the state whose number stands beside it, each on a thread of its own.

    BLAS has one thread meanwhile, also where there is one state only: its results may depend on
    how many it has. ``depth`` is how many items wait for a state at most.
    """
    with one_blas_thread():
        if len(states) == 1:
            for _, item in items:
                states[0].add(item)
            return
        lanes = [Lane(state, depth) for state in states]
        try:
            for number, item in items:
                lanes[number].put(item)
            for lane in lanes:
                lane.finish()
            for lane in lanes:
                lane.join()
        except BaseException as error:
            for lane in lanes:
                lane.abandon()
            # After an error the threads are waited for, so that none is still computing when the
            # caller goes on; whoever pressed Ctrl-C wants the prompt back at once.
            for lane in lanes if not isinstance(error, KeyboardInterrupt) else ():
                lane.join()
            raise
    for lane in lanes:
        if lane.failure is not None:
            raise lane.failure


def in_parallel(calls: Sequence[Callable[[], Value]]) -> list[Value]:
    """Make a few independent, heavy calls, each on a thread of its own."""
    results: dict[int, Value] = {}

    class Call:
        def add(self, job: tuple[int, Callable[[], Value]], /) -> None:
            results[job[0]] = job[1]()

    accumulate(enumerate(calls), [Call() for _ in range(min(cores(), len(calls)))])
    return [results[position] for position in range(len(calls))]


class ThreadCount(NamedTuple):
    """How many threads one library of BLAS uses: what tells it, and what sets it."""

    get: Callable[[], int]
    set: Callable[[int], object]

    @classmethod
    def of(cls, library: Any) -> ThreadCount:
        """Take the functions of OpenBLAS themselves where it has threads of its own.

        threadpoolctl lets only the first thread that sets a number do so from then on, and takes
        several times as long.
        """
        if getattr(library, "threading_layer", None) == "pthreads":
            for prefix, suffix in product(("", "scipy_"), ("", "64_", "_64")):
                names = (f"{prefix}openblas_{verb}_num_threads{suffix}" for verb in ("get", "set"))
                found = [getattr(library.dynlib, name, None) for name in names]
                if all(found):
                    return cls(*cast("Any", found))
        return cls(library.get_num_threads, library.set_num_threads)


class BlasLimit:
    """Holds BLAS to one thread per call while any of this package's own threads run.

    The limit is one of the whole process: the first to come sets it, the last to go lifts it.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._users = 0
        self._before: list[tuple[ThreadCount, int]] = []
        self._counts: list[ThreadCount] = []
        self._modules = 0

    def __call__(self) -> BlasLimit:
        """Return the limit for a ``with`` statement, which may hold it while others do."""
        return self

    def __enter__(self) -> None:
        with self._lock:
            self._users += 1
            if self._users == 1:
                # By hand instead of by threadpoolctl's limit, which takes longer than to correct a
                # vector; a library that has one thread already is left alone.
                counts = [(library, library.get()) for library in self._libraries()]
                self._before = [(library, count) for library, count in counts if count != 1]
                for library, _ in self._before:
                    library.set(1)

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._users -= 1
            if self._users == 0:
                for library, count in self._before:
                    library.set(count)

    def _libraries(self) -> list[ThreadCount]:
        """Return the loaded libraries of BLAS.

        To find them takes milliseconds, as long as a whole read of a small cloud. Libraries come
        with modules, so they are looked for again only after an import.
        """
        if len(sys.modules) != self._modules:
            found = ThreadpoolController().lib_controllers
            self._counts = [ThreadCount.of(one) for one in found if one.user_api == "blas"]
            self._modules = len(sys.modules)
        return self._counts


one_blas_thread = BlasLimit()
