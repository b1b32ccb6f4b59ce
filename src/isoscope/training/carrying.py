"""Whether a model can carry a calibration: known before hours of training, not after them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from isoscope.training.contract import Attachable
from isoscope.training.naming import make_calibration
from isoscope.training.targets import PART, check_target, target_matrix

if TYPE_CHECKING:
    from collections.abc import Iterable

    from isoscope.training.targets import Target


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
