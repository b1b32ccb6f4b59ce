"""Corrections: scikit-learn transformers that make a cloud fill its space more evenly."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoscope.corrections.registry import CLASSES
from isoscope.registry import lazy_names

if TYPE_CHECKING:
    from isoscope.corrections.apply import CorrectedCloud as CorrectedCloud
    from isoscope.corrections.base import Correction as Correction
    from isoscope.corrections.closed_form import refreshed as refreshed
    from isoscope.corrections.estimators.all_but_the_top import AllButTheTop as AllButTheTop
    from isoscope.corrections.estimators.center import Center as Center
    from isoscope.corrections.estimators.center_scaled import ScaledCenter as ScaledCenter
    from isoscope.corrections.estimators.clip import Clip as Clip
    from isoscope.corrections.estimators.cluster_pc_removal import ClusterRemoval as ClusterRemoval
    from isoscope.corrections.estimators.flow import Flow as Flow
    from isoscope.corrections.estimators.standardize import Standardize as Standardize
    from isoscope.corrections.estimators.whiten import Whiten as Whiten
    from isoscope.corrections.fit import fit_together as fit_together
    from isoscope.corrections.registry import all_corrections as all_corrections
    from isoscope.corrections.registry import make_correction as make_correction
    from isoscope.corrections.storage import load_correction as load_correction

__getattr__, __dir__, __all__ = lazy_names(
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
