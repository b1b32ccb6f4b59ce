"""Calibrations by name, as the command line writes them, and whether a model can carry one.

Ding et al. (2022) print none of the weights, decays and settings of the flow: the defaults here are
this project's, and every result says what was used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import fields
from functools import partial
from typing import Any

import torch

from isoscope.errors import UsageError, unknown_name
from isoscope.spec import as_text, chosen_options
from isoscope.verbs.train.regularizers.base import (
    PART,
    Attachable,
    Calibration,
    Target,
    check_target,
    target_matrix,
)
from isoscope.verbs.train.regularizers.cosreg import CosReg
from isoscope.verbs.train.regularizers.iso_score import IStar
from isoscope.verbs.train.regularizers.spectrum import SpectrumControl

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


SPECTRUM_OPTIONS = ("weight", "c1", "c2", "gamma")
MAKERS: dict[str, tuple[tuple[str, ...], Callable[..., Calibration | None]]] = {
    NONE: ((), lambda: None),
    "cosreg": (("weight",), CosReg),
    "i-star": (("weight",), IStar),
    "spectrum-pol": (SPECTRUM_OPTIONS, partial(SpectrumControl, "polynomial")),
    "spectrum-exp": (SPECTRUM_OPTIONS, partial(SpectrumControl, "exponential")),
}
"""Options of every calibration, and what makes one of them."""


def maker(name: str) -> tuple[tuple[str, ...], Callable[..., Calibration | None]]:
    """Return the options of a calibration, and what makes it."""
    if name != "flow":
        return MAKERS[name]
    # Imported here: it needs zuko, which the other calibrations do without.
    from isoscope.verbs.train.regularizers.flow import FlowCalibration

    options = [field.name for field in fields(FlowCalibration) if field.init]
    return tuple(name for name in options if name != "name"), FlowCalibration


def used_options(calibration: Calibration | None) -> dict[str, str]:
    """Return every option of a calibration as text, those by default as well."""
    if calibration is None:
        return {}
    names = maker(calibration.name)[0]
    return {name: as_text(getattr(calibration, name)) for name in names}


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
