"""Names of corrections, their classes, and a correction from its name.

Corrections by name, as the command line writes them.

Which corrections follow from sums: those that other workers fit, and that can be refreshed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from isoscope.compute.execution import ray_address
from isoscope.corrections.base import Correction
from isoscope.corrections.closed_form import ClosedForm
from isoscope.corrections.estimators.all_but_the_top import AllButTheTop
from isoscope.corrections.estimators.center import Center
from isoscope.corrections.estimators.center_scaled import ScaledCenter
from isoscope.corrections.estimators.clip import Clip
from isoscope.corrections.estimators.cluster_pc_removal import ClusterRemoval
from isoscope.corrections.estimators.flow import Flow
from isoscope.corrections.estimators.standardize import Standardize
from isoscope.corrections.estimators.whiten import Whiten
from isoscope.errors import UsageError, unknown_name

CLASSES: tuple[type[Correction], ...] = (
    Center,
    ScaledCenter,
    AllButTheTop,
    ClusterRemoval,
    Whiten,
    Clip,
    Standardize,
    Flow,
)
"""Every correction, in the order in which they are listed. The next one is a line here."""

WORDS = {"none": None, "true": True, "false": False}


def all_corrections() -> dict[str, type[Correction]]:
    """Return the class of every correction under its name."""
    return {kind.name: kind for kind in CLASSES}


def make_correction(text: str) -> Correction:
    """Build a correction from ``name`` or ``name:option=value:option=value``.

    Options are the parameters of its class; a list of numbers is written ``127+223+319``.

    Parameters
    ----------
    text : str
        Such as ``whiten:kind=zca`` or ``all-but-the-top:n_components=8:renormalize=true``.

    Returns
    -------
    Correction
        The correction, not fitted yet.

    Examples
    --------
    >>> from isoscope.corrections import make_correction
    >>> make_correction("all-but-the-top:n_components=8")
    AllButTheTop(n_components=8)
    """
    name, *pairs = text.strip().split(":")
    kinds = all_corrections()
    if name not in kinds:
        raise unknown_name("correction", name, kinds)
    options = chosen_options(f"correction {text!r}", name, pairs, kinds[name]().get_params())
    correction = kinds[name](**options)
    correction._check_params()
    return correction


def chosen_options(
    what: str, name: str, pairs: Iterable[str], allowed: Collection[str]
) -> dict[str, Any]:
    """Take ``option=value`` apart; ``what`` is what an error speaks of."""
    options: dict[str, Any] = {}
    for pair in pairs:
        option, _, value = pair.partition("=")
        if option not in allowed:
            raise unknown_name(f"option of {name}", option, allowed)
        if not value:
            raise UsageError(f"{what}: write {option}=VALUE")
        options[option] = parsed(value)
    return options


def text_of(correction: Correction) -> str:
    """Write a correction as ``make_correction`` takes it; options that were chosen, by name."""
    defaults = type(correction)().get_params(deep=False)
    options = correction.get_params(deep=False)
    chosen = {name: value for name, value in options.items() if unlike(value, defaults[name])}
    return ":".join((correction.name, *(f"{name}={as_text(v)}" for name, v in chosen.items())))


def unlike(value: Any, default: Any) -> bool:
    """Whether a parameter is not its default; lists have no truth of their own."""
    return as_text(value) != as_text(default)


def as_text(value: Any) -> str:
    """Write one option as ``parsed`` takes it."""
    if value is None or isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str) or not hasattr(value, "__iter__"):
        return str(value)
    return "+".join(as_text(item) for item in value)


def parsed(value: str) -> Any:
    """Turn the text of an option into a number, a list of numbers, a truth value or None."""
    if value in WORDS:
        return WORDS[value]
    if "+" in value.strip("+"):
        parts = [parsed(part) for part in value.split("+")]
        return parts if all(isinstance(part, int) for part in parts) else value
    for kind in (int, float):
        try:
            return kind(value)
        except ValueError:
            continue
    return value


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
