"""Who reads the vectors that a correction is fitted on, and where their sums are kept."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

from isoscope.compute.execution import LOCAL, open_pool, ray_address
from isoscope.compute.journal import journal_while
from isoscope.compute.map_reduce import Plan
from isoscope.data.identity import identity_of
from isoscope.data.postgres.cloud import PostgresCloud

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from isoscope.compute.stage import OnError
    from isoscope.data.base import CloudGroup


@contextmanager
def reading_plan(
    source: CloudGroup,
    configuration: Mapping[str, Any],
    *,
    engine: str = LOCAL,
    workers: int | None = None,
    on_error: OnError = "stop",
    shard_rows: int | None = None,
    journal: Path | None = None,
    resume: bool = False,
) -> Iterator[Plan]:
    """Open workers and journal for as long as a ``with`` block lasts.

    Parameters
    ----------
    source : CloudGroup
        What is to be read.
    configuration : mapping
        What decides the sums besides the source and its shards, for the journal.
    engine : str
        ``local``, ``ray``, or ``ray:ADDRESS`` for a cluster.
    workers : int, optional
        Threads of the local engine, by default one per core; actors of Ray.
    on_error : {"stop", "skip"}
        Whether a shard that cannot be read ends the run, or is left out.
    shard_rows : int, optional
        Rows that are read by one worker at a time.
    journal : Path, optional
        Folder that keeps the sums of shards.
    resume : bool
        Go on where the journal ends.
    """
    whole = {
        "source": None if journal is None else identity_of(source),
        **configuration,
        "shard_rows": shard_rows,
    }
    # A table is one shard, seen through a connection that no other process has.
    elsewhere = ray_address(engine) is not None and not isinstance(source, PostgresCloud)
    with ExitStack() as stack:
        kept = stack.enter_context(journal_while(journal, whole, resume=resume))
        pool = stack.enter_context(open_pool(engine, workers)) if elsewhere else None
        bad = dict(getattr(source, "bad", {}))
        yield Plan(workers, pool, kept, on_error, shard_rows, bad)
