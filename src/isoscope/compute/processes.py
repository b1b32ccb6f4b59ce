"""Workers that are processes of this machine, with a thread each.

A worker that is killed is started again, and the shard that it was at is repeated, as Ray does with
its actors. Not concurrent.futures: a pool there ends with the first of its processes that dies.
"""

from __future__ import annotations

import itertools
import multiprocessing
import os
import pickle
import queue
import signal
import tempfile
import threading
import traceback
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, Self

from isoscope.compute.pool import BadShard, Shard, Tick, Value, Work, Worker, packed
from isoscope.errors import DataError
from isoscope.wording import counted

# How often a shard is repeated whose worker died. Fewer times than on a cluster: here the usual
# reason is that memory is short, and every attempt makes the machine crawl.
RETRIES = 5

# A worker gets its next shard before it is done with one while more than so many shards a worker
# are left: it need not wait while the driver takes a result. Later it would take them from others.
MANY = 4

# Seconds that a process has to end once it is told to.
PATIENCE = 10.0


class Processes:
    """A pool of processes, which are there while a ``with`` block lasts.

    Parameters
    ----------
    workers : int
        How many.
    retries : int, optional
        How often a shard is repeated whose worker died; by default ``RETRIES``.
    """

    def __init__(self, workers: int, retries: int | None = None) -> None:
        self.workers = workers
        self.retries = RETRIES if retries is None else retries
        self._members: list[WorkerProcess] = []
        self._folder = tempfile.TemporaryDirectory(prefix="isoscope-")
        self._numbers = itertools.count()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        for member in self._members:
            member.end(at_once=error[0] is not None)  # nobody wants what they are at
        self._members.clear()
        self._folder.cleanup()

    def run(
        self, work: Work[Shard, Value], shards: Sequence[tuple[int, Shard]], tick: Tick
    ) -> Iterator[tuple[int, Value | BadShard]]:
        """Yield what became of the shards, in the order in which they are done."""
        del tick
        # Through a file, once a worker: with every shard a plan of many megabytes would travel.
        path = Path(self._folder.name) / f"work-{next(self._numbers)}"
        path.write_bytes(packed(work))
        tasks = deque(
            Task(str(path), number, str(getattr(shard, "name", number)), packed(shard))
            for number, shard in shards
        )
        try:
            while tasks or any(member.tasks for member in self._members):
                self._hand_out(tasks)
                for member in self._ready():
                    if member.is_dead():
                        tasks.extendleft(reversed(member.reclaimed(self.retries)))
                        self._members.remove(member)
                        continue
                    yield member.take()
        except BaseException:
            # What they are at belongs to a run that is over.
            for member in [member for member in self._members if member.tasks]:
                member.end(at_once=True)
                self._members.remove(member)
            raise

    def _hand_out(self, tasks: deque[Task]) -> None:
        """Give every worker what it has to do, and start workers where some are missing."""
        busy = sum(bool(member.tasks) for member in self._members)
        while len(self._members) < min(self.workers, busy + len(tasks)):
            self._members.append(WorkerProcess())
        for member in self._members:
            if tasks and not member.tasks:
                member.give(tasks.popleft())
        for member in self._members:
            if len(tasks) > MANY * self.workers and len(member.tasks) == 1:
                member.give(tasks.popleft())

    def _ready(self) -> list[WorkerProcess]:
        """Return the workers that have said something, or have died, once there are any."""
        ready = wait([member.line for member in self._members if member.tasks])
        return [member for member in self._members if member.line in ready]


@dataclass
class Task:
    """A shard on its way to a worker."""

    work: str
    number: int
    name: str
    content: bytes
    deaths: int = 0
    """How many workers died over it."""


@dataclass(frozen=True)
class Failure:
    """What a worker says where its work raised something."""

    error: BaseException
    where: str


class RemoteError(Exception):
    """The traceback of a worker, as the cause of the error that the driver raises."""

    def __str__(self) -> str:
        return f"\n{self.args[0]}"


class WorkerProcess:
    """A worker as the driver sees it: its process, the line to it, and the shards that it has."""

    def __init__(self) -> None:
        self.tasks: deque[Task] = deque()
        self._answer: Any = None
        # Not forked: a fork of a process with threads may wait for a lock that nobody holds.
        context = multiprocessing.get_context("spawn")
        self.line, there = context.Pipe()
        self._process = context.Process(target=serve, args=(there,))
        self._process.start()
        there.close()  # or the end of the worker would not be the end of the line

    def give(self, task: Task) -> None:
        """Send a shard; that the worker is dead is noticed when its answer is awaited."""
        self.tasks.append(task)
        with suppress(OSError):
            self.line.send((task.work, task.content))

    def is_dead(self) -> bool:
        """Whether the worker died instead of giving an answer; a whole answer is kept."""
        try:
            self._answer = self.line.recv()
        except (EOFError, OSError):  # also in the middle of an answer
            return True
        return False

    def take(self) -> tuple[int, Any]:
        """Return the number of the first shard that was sent, and what became of it."""
        task, found, self._answer = self.tasks.popleft(), self._answer, None
        if isinstance(found, Failure):
            raise found.error from RemoteError(found.where)
        return task.number, found

    def reclaimed(self, retries: int) -> list[Task]:
        """Return the shards of a dead worker, or say that it makes no sense to go on."""
        self.end(at_once=False)
        at = self.tasks[0]
        at.deaths += 1
        code = self._process.exitcode
        if code is not None and code >= 0:  # not by a signal, but by what it was told to run
            raise DataError(
                f"a worker exited by itself while working on {at.name} (exit code {code}); a "
                'script that uses workers must do so inside: if __name__ == "__main__"'
            )
        if at.deaths > retries:
            times = counted(at.deaths, "time")
            raise DataError(
                f"a worker died {times} while working on {at.name}, because it was killed or ran "
                "out of memory; run the command again with --resume, or with fewer --workers"
            )
        return list(self.tasks)

    def end(self, *, at_once: bool) -> None:
        """End the worker, once it is done or at once."""
        if at_once:
            self._process.terminate()
        self.line.close()  # which a worker without work takes for the end
        self._process.join(PATIENCE)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()


def serve(line: Connection) -> None:
    """Work through the shards that come through a line, until it ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the driver, which ends this one
    follow_parent()
    tasks: queue.SimpleQueue[tuple[str, bytes] | None] = queue.SimpleQueue()

    def listen() -> None:
        # In a thread: a driver that sends while this process sends would wait forever.
        with suppress(EOFError, OSError):
            while True:
                tasks.put(line.recv())
        tasks.put(None)

    threading.Thread(target=listen, daemon=True).start()
    worker = Worker()
    while (task := tasks.get()) is not None:
        try:
            line.send(work_on(worker, *task))
        except BrokenPipeError:  # the driver is gone
            return
        except BaseException as error:
            line.send(failure(error))


def work_on(worker: Worker, path: str, shard: bytes) -> Any:
    """Work one shard through in a worker."""
    return worker.work_on(path, lambda: pickle.loads(Path(path).read_bytes()), shard)


def failure(error: BaseException) -> Failure:
    """Return an error as it can be sent."""
    where = "".join(traceback.format_exception(error))
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:  # of any kind: what an error holds may be anything
        error = RuntimeError(f"{type(error).__name__}: {error}")
    return Failure(error.with_traceback(None), where)


def follow_parent() -> None:
    """Let this process end when the one that started it does, however that ends."""
    parent = multiprocessing.parent_process()

    def wait_for_parent() -> None:
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=wait_for_parent, daemon=True).start()
