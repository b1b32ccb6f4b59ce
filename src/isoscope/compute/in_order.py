"""Items worked on several at a time, on threads of their own, with all that matters in order.

A sum of floating-point numbers depends on the order of its terms. So threads work on different
items side by side, and take *turns* where they add to something that all share: an item comes to a
stage when all earlier ones have passed it or are done. With a stage for each of several sums, as
for the layers of a model, one thread adds to one of them while others add to others, and every sum
has the bits that one thread alone would have given it.
"""

from __future__ import annotations

import math
import queue
import threading
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator
from contextlib import contextmanager
from typing import Generic, TypeVar

from isoscope.compute.threads import one_blas_thread

Item = TypeVar("Item")
Value = TypeVar("Value")


class AbandonedError(Exception):
    """Another item failed, or nobody wants the results any more; raised on threads only."""


class Turns:
    """Which items are under way, and which of the stages they have passed."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._under_way: set[int] = set()
        self._passed: defaultdict[Hashable, set[int]] = defaultdict(set)
        self._last: float = math.inf

    def begin(self, number: int) -> None:
        """Let later items wait for this one; items begin in their order."""
        with self._changed:
            self._under_way.add(number)

    def end(self, number: int) -> None:
        """Let nobody wait for this one any more."""
        with self._changed:
            self._under_way.discard(number)
            for passed in self._passed.values():
                passed.discard(number)
            self._changed.notify_all()

    def stop(self, last: int) -> None:
        """Send away all items after this one, now and later; earlier ones may still fail, too."""
        with self._changed:
            self._last = min(self._last, last)
            self._changed.notify_all()

    def check(self, number: int) -> None:
        """Raise where nobody wants an item any more."""
        if number > self._last:
            raise AbandonedError

    def wait(self, number: int, stage: Hashable) -> None:
        """Wait until all earlier items have passed a stage, or are done."""

        def free() -> bool:
            passed = self._passed[stage]
            return number > self._last or all(
                other in passed for other in self._under_way if other < number
            )

        with self._changed:
            self._changed.wait_for(free)
        self.check(number)

    def pass_on(self, number: int, stage: Hashable) -> None:
        """Let the next item come to a stage."""
        with self._changed:
            self._passed[stage].add(number)
            self._changed.notify_all()


class Turn:
    """The turn of one item at every stage."""

    def __init__(self, turns: Turns, number: int) -> None:
        self._turns, self._number = turns, number

    @contextmanager
    def at(self, stage: Hashable) -> Iterator[None]:
        """Hold a stage: after all earlier items, and before all later ones; once an item."""
        self._turns.wait(self._number, stage)
        yield
        # Not after an error: what the stage holds is half done then, and the run ends.
        self._turns.pass_on(self._number, stage)


class Results(Generic[Value]):
    """What the threads came to, by the number of the item."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._found: dict[int, Value | BaseException] = {}

    def put(self, number: int, value: Value | BaseException) -> None:
        """Take a value, or what was raised in its place."""
        with self._changed:
            self._found[number] = value
            self._changed.notify_all()

    def get(self, number: int) -> Value:
        """Wait for a value; raises what was raised in its place."""
        with self._changed:
            self._changed.wait_for(lambda: number in self._found)
            value = self._found.pop(number)
        if isinstance(value, BaseException):
            raise value
        return value


def in_order(
    items: Iterable[Item],
    work: Callable[[Item, Turn], Value],
    threads: int,
    prepare: Callable[[], object] = lambda: None,
) -> Iterator[Value]:
    """Yield ``work(item, turn)`` for every item, in the order of the items.

    Items are taken by the calling thread, a few ahead of the results. BLAS has one thread
    meanwhile, also where there is one thread in all: its results may depend on how many it has.

    Parameters
    ----------
    items : iterable
        What is worked on.
    work : callable
        Takes an item, and its turns at what several threads share.
    threads : int
        How many items are worked on at a time; with one of them all is done by the calling thread.
    prepare : callable, optional
        Called once on each thread that is started.
    """
    turns = Turns()
    if threads == 1:
        for number, item in enumerate(items):
            with one_blas_thread():
                value = work(item, Turn(turns, number))
            yield value
        return
    waiting: queue.Queue[tuple[int, Item] | None] = queue.Queue()
    results: Results[Value] = Results()

    def serve() -> None:
        prepare()
        while (entry := waiting.get()) is not None:
            number, item = entry
            # Nothing of an item that is done is held while the next one is waited for.
            del entry
            try:
                turns.check(number)
                results.put(number, work(item, Turn(turns, number)))
            except BaseException as error:
                turns.stop(number)
                results.put(number, error)
            turns.end(number)
            del item

    started = [threading.Thread(target=serve, daemon=True) for _ in range(threads)]
    interrupted = False
    with one_blas_thread():
        for thread in started:
            thread.start()
        try:
            first = 0
            number = -1
            for number, item in enumerate(items):
                turns.begin(number)
                waiting.put((number, item))
                del item
                # One more than there are threads, so that none waits for an item to be read.
                if number - first >= threads:
                    yield results.get(first)
                    first += 1
            for rest in range(first, number + 1):
                yield results.get(rest)
        except KeyboardInterrupt:
            interrupted = True  # whoever pressed Ctrl-C wants the prompt back at once
            raise
        finally:
            turns.stop(-1)
            for _ in started:
                waiting.put(None)
            for thread in started if not interrupted else ():
                thread.join()
