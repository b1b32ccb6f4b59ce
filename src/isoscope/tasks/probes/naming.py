"""Probes by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoscope.errors import unknown_name
from isoscope.tasks.probes.logistic import LogisticProbe
from isoscope.tasks.probes.mlp import MlpProbe

if TYPE_CHECKING:
    from isoscope.tasks.probes.contract import Probe

PROBES: dict[str, type[LogisticProbe] | type[MlpProbe]] = {
    "logistic": LogisticProbe,
    "mlp": MlpProbe,
}


def probe_names() -> tuple[str, ...]:
    """Return the names of all probes."""
    return tuple(PROBES)


def find_probe(name: str, seed: int = 0) -> Probe:
    """Return a probe by its name, with its default settings."""
    if name not in PROBES:
        raise unknown_name("probe", name, PROBES)
    return PROBES[name](seed=seed)
