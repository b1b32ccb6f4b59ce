"""Isotropy and training: terms of a loss that even out a matrix, and small models from nothing.

>>> from isoscope.training import CalibratedTrainer, CosReg
>>> CalibratedTrainer(model, args, calibration=CosReg(0.1)).train()  # doctest: +SKIP
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from isoscope.training.cosreg import CosReg
    from isoscope.training.finetuning import finetune
    from isoscope.training.flow import FlowCalibration
    from isoscope.training.isotropy_star import IStar
    from isoscope.training.naming import make_calibration
    from isoscope.training.pretraining.ablating import ablate
    from isoscope.training.pretraining.plan import Plan
    from isoscope.training.pretraining.pretraining import pretrain
    from isoscope.training.spectrum import SpectrumControl
    from isoscope.training.trainer import CalibratedTrainer, NotFiniteError, calibrated_loss

__all__ = [
    "CalibratedTrainer",
    "CosReg",
    "FlowCalibration",
    "IStar",
    "NotFiniteError",
    "Plan",
    "SpectrumControl",
    "ablate",
    "calibrated_loss",
    "finetune",
    "make_calibration",
    "pretrain",
]

LATER = {
    "CalibratedTrainer": "trainer",
    "CosReg": "cosreg",
    "FlowCalibration": "flow",
    "IStar": "isotropy_star",
    "NotFiniteError": "trainer",
    "Plan": "pretraining.plan",
    "SpectrumControl": "spectrum",
    "ablate": "pretraining.ablating",
    "calibrated_loss": "trainer",
    "finetune": "finetuning",
    "make_calibration": "naming",
    "pretrain": "pretraining.pretraining",
}
"""Modules of names; most of them import torch."""


def __getattr__(name: str) -> Any:
    if name not in LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{LATER[name]}"), name)
