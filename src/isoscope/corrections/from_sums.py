"""Which corrections follow from sums: those that other workers fit, and that can be refreshed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoscope.compute.execution import ray_address
from isoscope.corrections.closed_form import ClosedForm
from isoscope.corrections.naming import all_corrections
from isoscope.errors import UsageError

if TYPE_CHECKING:
    from isoscope.corrections.base import Correction


def names_from_sums() -> str:
    """Return the names of all corrections that follow from sums, with commas."""
    kinds = all_corrections().items()
    return ", ".join(name for name, kind in kinds if issubclass(kind, ClosedForm))


def check_workers(
    correction: Correction, engine: str, workers: int | None, *, resume: bool
) -> None:
    """Refuse what has no meaning for a correction that needs the rows themselves, again and again.

    Parameters
    ----------
    correction : Correction
        What is to be fitted.
    engine : str
        ``local``, ``ray`` or ``ray:ADDRESS``.
    workers : int, optional
        How many workers were asked for.
    resume : bool
        Whether a killed run is to go on.
    """
    if isinstance(correction, ClosedForm):
        return
    name, able = correction.name, names_from_sums()
    if ray_address(engine) is not None:
        raise UsageError(
            f"Ray fits {able}; {name} is fitted by this process alone: leave --engine out"
        )
    if workers is not None:
        raise UsageError(
            f"--workers is for {able}; {name} is fitted on all cores of this machine: leave it out"
        )
    if resume:
        raise UsageError(
            f"a fit of {able} can go on; {name} keeps nothing on its way: leave --resume out"
        )
