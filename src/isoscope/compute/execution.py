"""How a run is carried out, never what it computes: who works, what is kept, what may be left out.

Public calls have flat keywords (``engine``, ``workers``, ``on_error``, …). They pack them into an
``Execution``, which refuses what makes no sense before anything is read, and open it for as long
as the run lasts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Any, TypedDict, get_args

from isoscope.compute.journal import journal_while
from isoscope.compute.map_reduce import Run
from isoscope.compute.pool import Here, OpenPool, Pool
from isoscope.compute.stage import OnError
from isoscope.data.base import CloudGroup, identity_of, is_portable
from isoscope.errors import UsageError, at_least, one_of
from isoscope.registry import load

LOCAL, RAY = "local", "ray"


def open_pool(
    engine: str = LOCAL,
    workers: int | None = None,
    *,
    accelerators: bool = False,
    retries: int | None = None,
) -> OpenPool:
    """Open the workers of a run.

    Parameters
    ----------
    engine : str
        ``local``; ``ray`` for a Ray of its own on this machine; ``ray:ADDRESS`` for a cluster.
    workers : int, optional
        How many. Local ones are processes; without a number all is done in this process. Ray has
        as many as the cluster has cores, or accelerators, unless it is told otherwise.
    accelerators : bool
        Whether every worker of Ray takes an accelerator.
    retries : int, optional
        How often local processes repeat a shard whose worker died.
    """
    address = ray_address(engine)
    if workers is not None:
        at_least("workers", workers, 1)
    pool: OpenPool = Here()
    if address is not None:
        actors = load("isoscope.compute.ray:RayActors")
        pool = actors(address, workers, accelerators=accelerators)
    elif workers is not None:
        pool = load("isoscope.compute.processes:Processes")(workers, retries)
    return pool


def on_accelerators(device: str | None) -> bool:
    """Whether workers compute on accelerators, from the device that the user names."""
    return device is not None and not str(device).startswith("cpu")


def ray_address(engine: str) -> str | None:
    """Return the address of Ray, empty for one of our own; None for the local engine."""
    kind, colon, address = engine.partition(":")
    if kind == LOCAL and not colon:
        return None
    if kind == RAY and (address or not colon):
        return address
    raise UsageError(f"--engine must be local, ray or ray:ADDRESS, got {engine!r}")


def check_scale(
    engine: str, workers: int | None, on_error: str, shard: int | None, what: str = "rows"
) -> None:
    """Refuse options that make no sense, before anything is read."""
    ray_address(engine)
    if workers is not None:
        at_least("workers", workers, 1)
    one_of("on-error", on_error, get_args(OnError))
    if shard is not None and shard < 1:
        raise UsageError(f"a shard must have at least one of its {what}, got {shard}")


def readers(
    engine: str, workers: int | None, source: CloudGroup
) -> AbstractContextManager[Pool | None]:
    """Give out the workers that read vectors; None for the threads of this process.

    A source that no other process can read, such as a table seen through a connection, is left to
    the threads of this one whatever the engine is.
    """
    if ray_address(engine) is None or not is_portable(source):
        return nullcontext()
    return open_pool(engine, workers)


@dataclass(frozen=True)
class Execution:
    """How a run over a cloud is carried out.

    Parameters
    ----------
    engine : str
        ``local``, ``ray``, or ``ray:ADDRESS`` for a cluster.
    workers : int, optional
        Threads of the local engine, by default one per core; actors of Ray.
    on_error : {"stop", "skip"}
        Whether a shard that cannot be read ends the run, or is left out.
    shard : int, optional
        Rows that are read by one worker at a time.
    journal : Path, optional
        Folder that keeps the sums of shards, so that a killed run can go on.
    resume : bool
        Go on where the journal ends.
    out : Path, optional
        Where the verb writes its result, before the journal goes.
    """

    engine: str = LOCAL
    workers: int | None = None
    on_error: OnError = "stop"
    shard: int | None = None
    _: KW_ONLY
    journal: Path | None = None
    resume: bool = False
    out: Path | None = None

    def __post_init__(self) -> None:
        check_scale(self.engine, self.workers, self.on_error, self.shard)

    @classmethod
    def of(cls, options: Mapping[str, Any], **more: Any) -> Execution:
        """Pack the ``RunOptions`` of a call; other names than these are refused as Python does."""
        known = {"shard" if name == "shard_rows" else name: options[name] for name in options}
        return cls(**known, **more)

    @contextmanager
    def open(
        self, source: CloudGroup, configuration: Mapping[str, Any], *, worth: float = 0.0
    ) -> Iterator[Run]:
        """Open workers and journal for as long as a ``with`` block lasts.

        Parameters
        ----------
        source : CloudGroup
            What is to be read.
        configuration : mapping
            What decides the sums besides the source and its shards, for the journal.
        worth : float
            Seconds of work below which nothing is kept of a run that failed.
        """
        # What decides the sums is in here, and nothing else: source, options and rows of a shard,
        # as the merge tree is one over shards. Engine and workers are not, as they change no bit:
        # a run that was killed on a cluster may be resumed on a laptop.
        whole = {
            # The identity of an array is a digest of all its numbers, which nobody compares where
            # there is no journal.
            "source": None if self.journal is None else identity_of(source),
            **configuration,
            "shard_rows": self.shard,
        }
        with ExitStack() as stack:
            # The journal is opened first, before workers are started for a run that it may refuse,
            # and is therefore closed last, when no worker can fail any more.
            kept = stack.enter_context(
                journal_while(self.journal, whole, resume=self.resume, worth=worth)
            )
            pool = stack.enter_context(readers(self.engine, self.workers, source))
            # Files that could not even be opened are left out as shards are, and are listed with
            # them.
            bad = dict(getattr(source, "bad", {}))
            yield Run(self.workers, pool, kept, self.on_error, self.shard, bad)


class RunOptions(TypedDict, total=False):
    """Keywords of all calls that read vectors of any size: how the work is done, not what it gives.

    Parameters
    ----------
    engine : str, default "local"
        ``local``, ``ray``, or ``ray:ADDRESS`` for a cluster. What a correction needs beyond sums,
        and measures within clusters, are read by this process whatever the engine is.
    workers : int, optional
        Threads of the local engine, by default one per core; actors of Ray, by default one per
        core of the cluster. The numbers are the same with any of them.
    on_error : {"stop", "skip"}, default "stop"
        Whether a file or shard that cannot be read ends the run, or is left out and counted.
    shard_rows : int, optional
        Rows that are read by one worker at a time.
    resume : bool, default False
        Resume an interrupted run from the journal beside ``out``.
    """

    engine: str
    workers: int | None
    on_error: OnError
    shard_rows: int | None
    resume: bool
