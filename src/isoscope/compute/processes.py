"""Workers that are processes of this machine, with a thread each."""

from __future__ import annotations

import itertools
import multiprocessing
import os
import pickle
import tempfile
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any, Self

from isoscope.compute.pool import BadShard, Shard, Tick, Value, Work, Worker, packed
from isoscope.errors import DataError


class Processes:
    """A pool of processes, which are there while a ``with`` block lasts.

    Parameters
    ----------
    workers : int
        How many.
    """

    def __init__(self, workers: int) -> None:
        self.workers = workers
        # Not forked: a fork of a process with threads may wait for a lock that nobody holds.
        context = multiprocessing.get_context("spawn")
        self._executor = ProcessPoolExecutor(workers, mp_context=context, initializer=follow_parent)
        self._folder = tempfile.TemporaryDirectory(prefix="isoscope-")
        self._numbers = itertools.count()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        processes = dict(self._executor._processes or {})  # which shutdown forgets
        self._executor.shutdown(wait=error[0] is None, cancel_futures=True)
        if error[0] is not None:
            for process in processes.values():
                process.terminate()  # nobody wants what they are at
        self._folder.cleanup()

    def run(
        self, work: Work[Shard, Value], shards: Sequence[tuple[int, Shard]], tick: Tick
    ) -> Iterator[tuple[int, Value | BadShard]]:
        """Yield what became of the shards, in the order in which they are done."""
        del tick
        # Through a file, once a worker: with every shard a plan of many megabytes would travel.
        path = Path(self._folder.name) / f"work-{next(self._numbers)}"
        path.write_bytes(packed(work))
        try:
            futures = {
                self._executor.submit(work_on, str(path), packed(shard)): n for n, shard in shards
            }
            for future in as_completed(futures):
                number = futures.pop(future)  # a state that was handed on is not held here
                yield number, future.result()
        except BrokenProcessPool as error:
            raise DataError(
                "a worker died, killed by somebody or for want of memory; run the same again with "
                "--resume, or with fewer --workers"
            ) from error


def follow_parent() -> None:
    """Let this process end when the one that started it does, however that ends."""
    parent = multiprocessing.parent_process()

    def wait() -> None:
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=wait, daemon=True).start()


# What this process is, where it was started by a pool.
WORKER = Worker()


def work_on(path: str, shard: bytes) -> Any:
    """Work one shard through in a worker."""
    return WORKER.work_on(path, lambda: pickle.loads(Path(path).read_bytes()), shard)
