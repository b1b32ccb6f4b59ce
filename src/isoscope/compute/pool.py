"""What a worker does with a shard, whatever kind of worker it is.

Errors of the data become a value (``BadShard``), because only the driver knows whether a bad shard
ends the run or is left out. All other errors are faults of the program, or of the call, and end it.
"""

from __future__ import annotations

import os
import pickle
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, TypeVar

from threadpoolctl import threadpool_limits

from isoscope.errors import DataError, UsageError

ShardIn = TypeVar("ShardIn", contravariant=True)
Shard = TypeVar("Shard")
ValueOut = TypeVar("ValueOut", covariant=True)
Value = TypeVar("Value")

# Told how much of a shard is done.
Tick: TypeAlias = Callable[[int], None]


class Work(Protocol[ShardIn, ValueOut]):
    """What is done with every shard. It can be pickled: workers get a copy each."""

    def __call__(self, shard: ShardIn, tick: Tick, /) -> ValueOut:
        """Work one shard through."""


@dataclass(frozen=True)
class BadShard:
    """Why a shard could not be read."""

    message: str


class Pool(Protocol):
    """Workers, however many and wherever they are."""

    def run(
        self, work: Work[Shard, Value], shards: Sequence[tuple[int, Shard]], tick: Tick
    ) -> Iterator[tuple[int, Value | BadShard]]:
        """Yield what became of the numbered shards, in the order in which they are done."""


OpenPool: TypeAlias = AbstractContextManager[Pool]


def attempt(work: Work[Shard, Value], shard: Shard, tick: Tick) -> Value | BadShard:
    """Work a shard through, or say why its data does not allow it."""
    try:
        return work(shard, tick)
    except (DataError, OSError) as error:
        return BadShard(str(error))


def packed(value: Any) -> bytes:
    """Return a work or a shard as bytes, or say that it cannot leave this process."""
    try:
        return pickle.dumps(value)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise UsageError(
            "the vectors exist in this process only, and workers are other processes; write them "
            "to a file, or leave --workers and --engine out"
        ) from error


def no_tick(done: int) -> None:
    """Report to nobody: the driver of distant workers hears of whole shards."""
    del done


# For libraries that are loaded later, and look at the environment then.
ONE_THREAD = {
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "TOKENIZERS_PARALLELISM": "false",
}


class SingleThread:
    """Holds this process to one thread of BLAS and one of torch.

    As many workers as cores are faster than threads that wait for each other; and the digits of a
    matrix product may depend on how many threads shared it.
    """

    def __init__(self) -> None:
        self._limits: list[Any] = []
        self._torch = False

    def hold(self) -> None:
        """Set the limits, again where torch has come since."""
        torch = sys.modules.get("torch")
        if self._limits and (torch is None or self._torch):
            return
        os.environ.update(ONE_THREAD)
        self._limits.append(threadpool_limits(limits=1))
        if torch is not None:
            torch.set_num_threads(1)
            self._torch = True


class Worker:
    """What a worker that is a process of its own remembers between shards."""

    def __init__(self) -> None:
        self._token: object = None
        self._work: Any = None
        self._threads = SingleThread()

    def work_on(self, token: object, load: Callable[[], Any], shard: bytes) -> Any:
        """Work one shard through; the work is loaded where its token is not that of the last."""
        # The work holds the plan of a read, with bases of many megabytes, or a model: it is loaded
        # once for all shards of a stage, not with every shard.
        if token != self._token:
            self._work, self._token = load(), token
        self._threads.hold()
        found = attempt(self._work, pickle.loads(shard), no_tick)
        self._threads.hold()  # the work may have brought torch
        return found


class Here:
    """The one worker that is this process itself, with all its threads."""

    def __enter__(self) -> Here:
        return self

    def __exit__(self, *error: object) -> None:
        return None

    def run(
        self, work: Work[Shard, Value], shards: Sequence[tuple[int, Shard]], tick: Tick
    ) -> Iterator[tuple[int, Value | BadShard]]:
        """Work the shards through one after the other."""
        for number, shard in shards:
            yield number, attempt(work, shard, tick)
