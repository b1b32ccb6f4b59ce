"""Isotropy and training: terms of a loss that even out a matrix, and small models from nothing.

>>> from isoscope.training import CalibratedTrainer, CosReg
>>> CalibratedTrainer(model, args, calibration=CosReg(0.1)).train()  # doctest: +SKIP
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoscope.registry import lazy_names

if TYPE_CHECKING:
    from isoscope.verbs.train.finetune.experiment import finetune
    from isoscope.verbs.train.pretrain.ablation import ablate
    from isoscope.verbs.train.pretrain.loop import pretrain
    from isoscope.verbs.train.pretrain.plan import Plan
    from isoscope.verbs.train.regularizers.cosreg import CosReg
    from isoscope.verbs.train.regularizers.flow import FlowCalibration
    from isoscope.verbs.train.regularizers.iso_score import IStar
    from isoscope.verbs.train.regularizers.registry import make_calibration
    from isoscope.verbs.train.regularizers.spectrum import SpectrumControl
    from isoscope.verbs.train.trainer import CalibratedTrainer, NotFiniteError, calibrated_loss


__path__: list[str] = []  # old paths below this module are found by isoscope.moved

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

__getattr__ = lazy_names(
    __name__,
    {
        "isoscope.verbs.train.finetune.experiment": ["finetune"],
        "isoscope.verbs.train.pretrain.ablation": ["ablate"],
        "isoscope.verbs.train.pretrain.loop": ["pretrain"],
        "isoscope.verbs.train.pretrain.plan": ["Plan"],
        "isoscope.verbs.train.regularizers.cosreg": ["CosReg"],
        "isoscope.verbs.train.regularizers.flow": ["FlowCalibration"],
        "isoscope.verbs.train.regularizers.iso_score": ["IStar"],
        "isoscope.verbs.train.regularizers.registry": ["make_calibration"],
        "isoscope.verbs.train.regularizers.spectrum": ["SpectrumControl"],
        "isoscope.verbs.train.trainer": ["CalibratedTrainer", "NotFiniteError", "calibrated_loss"],
    },
)
