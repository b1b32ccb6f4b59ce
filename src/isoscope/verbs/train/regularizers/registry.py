"""Calibrations by name, as the command line writes them, and whether a model can carry one.

Ding et al. (2022) print none of the weights, decays and settings of the flow: the defaults here are
this project's, and every result says what was used.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields
from typing import Any

import torch

from isoscope.errors import UsageError, check_name
from isoscope.registry import load
from isoscope.spec import as_text, chosen_options
from isoscope.verbs.train.regularizers.base import (
    PART,
    Attachable,
    Calibration,
    Target,
    check_target,
    target_matrix,
)

NONE = "none"
_HERE = "isoscope.verbs.train.regularizers"

# The class of every calibration, and what its name settles. The next one is a line here.
#
# Classes are loaded when they are used: the flow needs zuko, which the others do without.
CALIBRATIONS: dict[str, tuple[str, dict[str, Any]]] = {
    "cosreg": (f"{_HERE}.cosreg:CosReg", {}),
    "spectrum-pol": (f"{_HERE}.spectrum:SpectrumControl", {"kind": "polynomial"}),
    "spectrum-exp": (f"{_HERE}.spectrum:SpectrumControl", {"kind": "exponential"}),
    "flow": (f"{_HERE}.flow:FlowCalibration", {}),
    "i-star": (f"{_HERE}.iso_score:IStar", {"shrinkage": 0.0, "reference": None}),
}
NAMES = (NONE, *CALIBRATIONS)


def make_calibration(text: str) -> Calibration | None:
    """Build a calibration from ``name`` or ``name:option=value:option=value``; None for none.

    Parameters
    ----------
    text : str
        Such as ``cosreg``, ``spectrum-pol:c1=0.1:weight=10``.
    """
    name, *pairs = text.strip().split(":")
    check_name("calibration", name, NAMES)
    options = chosen_options(f"calibration {text!r}", name, pairs, option_names(name))
    if name == NONE:
        return None
    place, settled = CALIBRATIONS[name]
    try:
        made: Calibration = load(place)(**settled, **options)
    except TypeError as error:
        raise UsageError(f"calibration {text!r}: {error}") from error
    return made


def option_names(name: str) -> tuple[str, ...]:
    """Return the options of a calibration: the fields of its class that its name leaves open."""
    if name == NONE:
        return ()
    place, settled = CALIBRATIONS[name]
    options = [field.name for field in fields(load(place)) if field.init]
    return tuple(option for option in options if option not in ("name", *settled))


def used_options(calibration: Calibration | None) -> dict[str, str]:
    """Return every option of a calibration as text, those by default as well."""
    if calibration is None:
        return {}
    options = option_names(calibration.name)
    return {option: as_text(getattr(calibration, option)) for option in options}


def check_carried(network: Any, calibrations: Iterable[str], target: Target) -> None:
    """Refuse calibrations whose matrix a network has not, or has in a shape that they cannot take.

    Parameters
    ----------
    network : PreTrainedModel
        It is not trained afterwards: a flow leaves its hooks.
    calibrations : iterable of str
        As ``make_calibration`` takes them.
    target : {"head", "vocabulary", "hidden"}
        Which matrix is calibrated.
    """
    for text in calibrations:
        calibration = make_calibration(text)
        if calibration is None:
            continue
        check_target(network, target)
        if isinstance(calibration, Attachable):
            calibration.attach(network, target)
            delattr(network, PART)
        elif target != "hidden":
            with torch.no_grad():
                calibration(target_matrix(network, target))
