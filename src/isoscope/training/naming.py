"""Calibrations by name, as the command line writes them.

Ding et al. (2022) print none of the weights, decays and settings of the flow: the defaults here are
this project's, and every result says what was used.
"""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

from isoscope.corrections.registry import as_text, chosen_options
from isoscope.errors import UsageError, unknown_name

if TYPE_CHECKING:
    from collections.abc import Callable

    from isoscope.training.contract import Calibration


NONE = "none"
NAMES = (NONE, "cosreg", "spectrum-pol", "spectrum-exp", "flow", "i-star")


def make_calibration(text: str) -> Calibration | None:
    """Build a calibration from ``name`` or ``name:option=value:option=value``; None for none.

    Parameters
    ----------
    text : str
        Such as ``cosreg``, ``spectrum-pol:c1=0.1:weight=10``.
    """
    name, *pairs = text.strip().split(":")
    if name not in NAMES:
        raise unknown_name("calibration", name, NAMES)
    allowed, make = maker(name)
    options = chosen_options(f"calibration {text!r}", name, pairs, allowed)
    try:
        return make(**options)
    except TypeError as error:
        raise UsageError(f"calibration {text!r}: {error}") from error


def maker(name: str) -> tuple[tuple[str, ...], Callable[..., Calibration | None]]:
    """Return the options of a calibration, and what makes it."""
    if name == NONE:
        return (), lambda: None
    if name == "cosreg":
        from isoscope.training.cosreg import CosReg

        return ("weight",), CosReg
    if name == "i-star":
        from isoscope.training.isotropy_star import IStar

        return ("weight",), IStar
    if name == "flow":
        from isoscope.training.flow import FlowCalibration

        return option_names(FlowCalibration), FlowCalibration
    from isoscope.training.spectrum import Decay, SpectrumControl

    kind: Decay = "polynomial" if name == "spectrum-pol" else "exponential"
    return ("weight", "c1", "c2", "gamma"), lambda **options: SpectrumControl(kind, **options)


def option_names(kind: Any) -> tuple[str, ...]:
    """Return the fields of a calibration that are set by a user."""
    return tuple(field.name for field in fields(kind) if field.init and field.name != "name")


def used_options(calibration: Calibration | None) -> dict[str, str]:
    """Return every option of a calibration as text, those by default as well."""
    if calibration is None:
        return {}
    names = maker(calibration.name)[0]
    return {name: as_text(getattr(calibration, name)) for name in names}
