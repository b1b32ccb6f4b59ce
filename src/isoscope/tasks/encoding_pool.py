"""Workers that encode the texts of tasks."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, Self

from isoscope.compute.execution import LOCAL, on_accelerators, open_pool, ray_address
from isoscope.errors import UsageError
from isoscope.models.runtime import dtype_name
from isoscope.results.scaled import check_scale

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from isoscope.compute.pool import BadShard, Pool, Shard, Tick, Value, Work
    from isoscope.models.model import Model


class EncodingPool:
    """Workers that are started when there is something to encode, and end with a ``with`` block.

    Parameters
    ----------
    engine : str
        ``local``, ``ray``, or ``ray:ADDRESS`` for a cluster.
    workers : int, optional
        How many, as ``open_pool`` takes it.
    device : str, optional
        Where models compute. On an accelerator every worker of Ray takes one; without a name Ray's
        workers compute on processors.
    """

    def __init__(self, engine: str, workers: int | None = None, device: Any = None) -> None:
        check_scale(engine, workers, "stop", None)
        distant = ray_address(engine) is not None
        self.device = "cpu" if distant and device is None else device
        accelerators = on_accelerators(self.device)
        self._settles = distant and accelerators
        self._open = partial(open_pool, engine, workers, accelerators=accelerators)
        self._opened = ExitStack()
        self._pool: Pool | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: Any) -> None:
        self._pool = None
        self._opened.__exit__(*error)

    def run(
        self, work: Work[Shard, Value], shards: Sequence[tuple[int, Shard]], tick: Tick
    ) -> Iterator[tuple[int, Value | BadShard]]:
        """Yield what became of the shards, in the order in which they are done."""
        if self._pool is None:
            self._pool = self._opened.enter_context(self._open())
        return self._pool.run(work, shards, tick)

    def settle(self, model: Model, dtype: Any) -> None:
        """Note what workers compute on, where this machine may have no such device."""
        if self._settles:
            model.settle(str(self.device), dtype_name(dtype))


@contextmanager
def encoding_pool(
    engine: str = LOCAL,
    workers: int | None = None,
    device: Any = None,
    shared: EncodingPool | None = None,
) -> Iterator[EncodingPool | None]:
    """Give out workers that encode texts, or None for this process with all its threads.

    Workers that are ``shared`` by several calls are given out as they are, and not ended.
    """
    if shared is not None or not asks_for_workers(engine, workers):
        yield shared
        return
    with EncodingPool(engine, workers, device) as pool:
        yield pool


def asks_for_workers(engine: str, workers: int | None) -> bool:
    """Whether work goes to other processes than this one."""
    return workers is not None or ray_address(engine) is not None


def refuse_workers(
    task: str, engine: str, workers: int | None, pool: EncodingPool | None = None
) -> None:
    """Say that only texts go to workers."""
    if pool is not None or asks_for_workers(engine, workers):
        raise UsageError(
            f"--engine and --workers are for encoding texts with a model, and {task} scores "
            "vectors; leave them out"
        )
