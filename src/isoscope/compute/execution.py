"""Which workers a run has, from what the user says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoscope.compute.pool import Here
from isoscope.errors import UsageError

if TYPE_CHECKING:
    from isoscope.compute.pool import OpenPool


LOCAL, RAY = "local", "ray"


def open_pool(
    engine: str = LOCAL, workers: int | None = None, *, accelerators: bool = False
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
    """
    address = ray_address(engine)
    if workers is not None and workers < 1:
        raise UsageError(f"workers is at least 1, not {workers}")
    if address is not None:
        from isoscope.compute.ray import RayActors

        return RayActors(address, workers, accelerators=accelerators)
    if workers is None:
        return Here()
    from isoscope.compute.processes import Processes

    return Processes(workers)


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
    raise UsageError(f"--engine is local, ray or ray:ADDRESS, not {engine!r}")
