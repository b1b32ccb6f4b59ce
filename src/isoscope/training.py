"""Isotropy and training: terms of a loss that even out a matrix, and small models from scratch.

>>> from isoscope.training import CalibratedTrainer, CosReg
>>> CalibratedTrainer(model, args, calibration=CosReg(0.1)).train()  # doctest: +SKIP
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoscope.registry import lazy_names

if TYPE_CHECKING:
    from isoscope.verbs.train.finetune.experiment import finetune as finetune
    from isoscope.verbs.train.pretrain.ablation import ablate as ablate
    from isoscope.verbs.train.pretrain.loop import pretrain as pretrain
    from isoscope.verbs.train.pretrain.plan import Plan as Plan
    from isoscope.verbs.train.regularizers.cosreg import CosReg as CosReg
    from isoscope.verbs.train.regularizers.flow import FlowCalibration as FlowCalibration
    from isoscope.verbs.train.regularizers.iso_score import IStar as IStar
    from isoscope.verbs.train.regularizers.registry import make_calibration as make_calibration
    from isoscope.verbs.train.regularizers.spectrum import SpectrumControl as SpectrumControl
    from isoscope.verbs.train.trainer import CalibratedTrainer as CalibratedTrainer
    from isoscope.verbs.train.trainer import NotFiniteError as NotFiniteError
    from isoscope.verbs.train.trainer import calibrated_loss as calibrated_loss


__path__: list[str] = []  # old paths below this module are found by isoscope.moved

__getattr__, __dir__, __all__ = lazy_names(
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
