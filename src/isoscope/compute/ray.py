"""Workers that are actors of Ray, on this machine or on a cluster.

Scheduling is left to Ray: it places the actors, queues their calls, starts a dead one again and
repeats the call that it was at. Ray Data would read and batch rows itself; here a worker reads its
shard with the same readers as everywhere, or the numbers would not be the same.
"""

from __future__ import annotations

import itertools
import logging
import os
import pickle
import socket
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from isoscope.compute.pool import BadShard, Shard, Tick, Value, Work, Worker, packed
from isoscope.compute.threads import cores
from isoscope.data.location import first_line
from isoscope.errors import DataError, UsageError, require
from isoscope.version import __version__

# How often a call is repeated whose worker died: more are no accident, but the call's doing.
RETRIES = 20

# Seconds between two looks at whether Ray itself still runs.
LOOK = 1.0

# Seconds within which a cluster takes a call.
PATIENCE = 5.0


class RayActors:
    """A pool of actors, which are there while a ``with`` block lasts.

    Parameters
    ----------
    address : str
        What ``ray.init`` takes: ``auto``, ``host:6379``, ``ray://host:10001``. Empty for a Ray of
        its own on this machine, which ends with the pool.
    workers : int, optional
        How many actors; by default one for each core, or accelerator, of the cluster.
    accelerators : bool
        Whether every actor takes an accelerator.
    """

    def __init__(self, address: str, workers: int | None, *, accelerators: bool = False) -> None:
        self._ray = ray = library()
        self._ours = not ray.is_initialized()
        if self._ours:
            connect(ray, address, workers)
            print_deaths(ray, False)
        try:
            self.workers = self._sized(workers, accelerators)
            kind = ray.remote(Actor).options(
                num_cpus=1,
                num_gpus=1 if accelerators else 0,
                max_restarts=-1,
                max_task_retries=RETRIES,
            )
            self._actors = [kind.remote() for _ in range(self.workers)]
        except BaseException:
            self._leave()
            raise
        self._numbers = itertools.count()

    def _sized(self, workers: int | None, accelerators: bool) -> int:
        resource, name = ("GPU", "accelerators") if accelerators else ("CPU", "cores")
        there = int(self._ray.cluster_resources().get(resource, 0))
        wanted = there if workers is None else workers
        if wanted < 1 or wanted > there:
            raise UsageError(
                f"--workers {max(wanted, 1)} needs as many {name}, but this Ray has {there}; "
                "start more nodes first, or name fewer workers"
            )
        return wanted

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        # Where the agent died the actors ended with it, and Ray ends a process that still asks it.
        for actor in () if self._agent_died() else self._actors:
            self._ray.kill(actor)
        self._leave()

    def _leave(self) -> None:
        if self._ours:
            self._ray.shutdown()
            print_deaths(self._ray, True)

    def _agent_died(self) -> bool:
        """Whether the agent of our own Ray, the raylet, has ended; a cluster has its own."""
        node = self._ray._private.worker._global_node if self._ours else None
        started = getattr(node, "all_processes", {}).get("raylet", ())
        return any(one.process.poll() is not None for one in started)

    def _check_agent(self) -> None:
        """Raise if the agent has died, before Ray notices, which would end this process too."""
        if self._agent_died():
            raise DataError(
                "Ray's own process on this machine, the raylet, was killed, and all workers with "
                "it; there may be too little memory"
            )

    def _next(self, pool: Any) -> tuple[int, Any]:
        """Return what is done next."""
        while True:
            self._check_agent()
            try:
                found: tuple[int, Any] = pool.get_next_unordered(timeout=LOOK)
                return found
            except TimeoutError as error:
                if isinstance(error, self._ray.exceptions.RayTaskError):  # raised by the work
                    raise

    def run(
        self, work: Work[Shard, Value], shards: Sequence[tuple[int, Shard]], tick: Tick
    ) -> Iterator[tuple[int, Value | BadShard]]:
        """Yield what became of the shards, in the order in which they are done."""
        del tick
        self._check_agent()
        from ray.util import ActorPool

        ray, token = self._ray, next(self._numbers)
        held = ray.put(packed(work))
        caller = Caller(__version__, str(Path.cwd()))
        # Every actor twice: its next shard waits beside it while the driver takes the last one in.
        pool: Any = ActorPool([*self._actors, *self._actors])
        under_way: set[int] = set()

        def begin(actor: Any, item: tuple[int, Shard]) -> Any:
            under_way.add(item[0])
            # In a list, so that Ray hands on the reference, and actors fetch the work once.
            return actor.work_on.remote(token, [held], caller, item[0], packed(item[1]))

        for item in shards:
            pool.submit(begin, item)
        while pool.has_next():
            try:
                number, found = self._next(pool)
            except ray.exceptions.RayTaskError as error:
                raise error.cause from error
            except ray.exceptions.RayError as error:
                names = dict(shards)
                at = ", ".join(str(getattr(names[n], "name", n)) for n in sorted(under_way)[:4])
                raise DataError(
                    f"a worker died {RETRIES + 1} times on the same shard, one of: {at}; it may "
                    "have too little memory"
                ) from error
            under_way.discard(number)
            yield number, found


@dataclass(frozen=True)
class Caller:
    """What workers must know of the process that they work for."""

    version: str
    folder: str
    """Where it is: relative paths are meant from there."""


class Actor:
    """The process of a worker; a model is loaded once in its life."""

    def __init__(self) -> None:
        self._worker = Worker()

    def work_on(
        self, token: int, held: list[Any], caller: Caller, number: int, shard: bytes
    ) -> tuple[int, Any]:
        """Work one shard through."""
        return number, self._worker.work_on(token, lambda: self._begin(held, caller), shard)

    def _begin(self, held: list[Any], caller: Caller) -> Any:
        """Fetch the work, and go to where relative paths are meant from."""
        if caller.version != __version__:
            raise UsageError(
                f"this machine has isoscope {caller.version} and a worker has {__version__}; "
                "install the same version on every node"
            )
        with suppress(OSError):  # on another machine, which may have no such folder
            os.chdir(caller.folder)
        import ray

        return pickle.loads(ray.get(held[0]))


def library() -> Any:
    """Import Ray, or say how to get it."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    return require("ray", "--engine ray needs Ray: pip install 'isoscope[scale]'")


def connect(ray: Any, address: str, workers: int | None) -> None:
    """Join a cluster, or start a Ray of our own."""
    quiet = {"log_to_driver": False, "logging_level": logging.ERROR}
    if not address:
        try:
            # By its name: without one Ray joins a cluster that it finds.
            ray.init("local", num_cpus=workers or cores(), include_dashboard=False, **quiet)
        except Exception as error:  # of any kind: Ray starts several processes, and none may fail
            raise UsageError(
                f"--engine ray: Ray does not start ({first_line(error)}); where the home folder "
                "cannot be written, set RAY_AUTH_TOKEN"
            ) from error
        return
    try:
        refuse_silence(address)
        ray.init(address, **quiet)
    except Exception as error:
        raise UsageError(
            f"--engine ray:{address}: no Ray answers ({first_line(error)}); ray status shows "
            "whether one is running; a Ray with tokens needs RAY_AUTH_MODE=token"
        ) from error


def refuse_silence(address: str) -> None:
    """Raise where nobody listens at ``host:port``: Ray itself would ask there for minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if host and port.isdecimal():
        socket.create_connection((host.strip("[]"), int(port)), PATIENCE).close()


def print_deaths(ray: Any, wanted: bool) -> None:
    """Tell Ray whether to print that a worker died: on standard output, amid what --json prints."""
    ray._private.worker._worker_logs_enabled = wanted
