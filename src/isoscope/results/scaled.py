"""Runs over many workers: what is checked before, and what results say of shards left out."""

from __future__ import annotations

import warnings
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from isoscope.compute.execution import open_pool, ray_address
from isoscope.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from isoscope.compute.pool import Pool


SKIPPED = "shards that could not be read"
SKIPPED_SHARDS = "skipped_shards"
NAMED = 5
"""Shards left out that a warning names; the result names all."""


def check_scale(
    engine: str, workers: int | None, on_error: str, shard: int | None, what: str = "rows"
) -> None:
    """Refuse options that make no sense, before anything is read."""
    ray_address(engine)
    if workers is not None and workers < 1:
        raise UsageError(f"workers is at least 1, not {workers}")
    if on_error not in ("stop", "skip"):
        raise UsageError(f"on-error is stop or skip, not {on_error!r}")
    if shard is not None and shard < 1:
        raise UsageError(f"a shard has at least one of its {what}, not {shard}")


@contextmanager
def readers(engine: str, workers: int | None) -> Iterator[Pool | None]:
    """Give out the workers that read vectors; None for the threads of this process."""
    if ray_address(engine) is None:
        yield None
        return
    with open_pool(engine, workers) as pool:
        yield pool


def skipped_count(skipped: Mapping[str, str]) -> dict[str, int]:
    """Count the shards that were left out, for a result, and warn; nothing where none was."""
    if not skipped:
        return {}
    for name, why in list(skipped.items())[:NAMED]:
        warnings.warn(f"left out: {why if name in why else f'{name}: {why}'}", stacklevel=3)
    if len(skipped) > NAMED:
        warnings.warn(f"left out: {len(skipped) - NAMED:,} more; --json names them", stacklevel=3)
    return {SKIPPED: len(skipped)}


def skipped_shards(skipped: Mapping[str, str]) -> dict[str, Any]:
    """Name the shards that were left out, for a result."""
    return {SKIPPED_SHARDS: dict(skipped)} if skipped else {}
