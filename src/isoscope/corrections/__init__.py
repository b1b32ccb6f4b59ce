"""Corrections: scikit-learn transformers that make a cloud fill its space more evenly."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoscope.corrections.registry import CLASSES
from isoscope.registry import lazy_names

if TYPE_CHECKING:
    from isoscope.corrections.apply import CorrectedCloud
    from isoscope.corrections.base import Correction
    from isoscope.corrections.closed_form import refreshed
    from isoscope.corrections.estimators.all_but_the_top import AllButTheTop
    from isoscope.corrections.estimators.center import Center
    from isoscope.corrections.estimators.center_scaled import ScaledCenter
    from isoscope.corrections.estimators.clip import Clip
    from isoscope.corrections.estimators.cluster_pc_removal import ClusterRemoval
    from isoscope.corrections.estimators.flow import Flow
    from isoscope.corrections.estimators.standardize import Standardize
    from isoscope.corrections.estimators.whiten import Whiten
    from isoscope.corrections.fit import fit_together
    from isoscope.corrections.registry import all_corrections, make_correction
    from isoscope.corrections.storage import load_correction

__all__ = [
    "AllButTheTop",
    "Center",
    "Clip",
    "ClusterRemoval",
    "CorrectedCloud",
    "Correction",
    "Flow",
    "ScaledCenter",
    "Standardize",
    "Whiten",
    "all_corrections",
    "fit_together",
    "load_correction",
    "make_correction",
    "refreshed",
]

__getattr__ = lazy_names(
    __name__,
    {
        **{module: [name] for module, name in (place.split(":") for place in CLASSES.values())},
        "isoscope.corrections.apply": ["CorrectedCloud"],
        "isoscope.corrections.base": ["Correction"],
        "isoscope.corrections.closed_form": ["refreshed"],
        "isoscope.corrections.fit": ["fit_together"],
        "isoscope.corrections.registry": ["all_corrections", "make_correction"],
        "isoscope.corrections.storage": ["load_correction"],
    },
)
