"""Corrections: scikit-learn transformers that make a cloud fill its space more evenly."""

from isoscope.corrections.apply import CorrectedCloud
from isoscope.corrections.base import Correction
from isoscope.corrections.estimators.all_but_the_top import AllButTheTop
from isoscope.corrections.estimators.center import Center
from isoscope.corrections.estimators.center_scaled import ScaledCenter
from isoscope.corrections.estimators.clip import Clip
from isoscope.corrections.estimators.cluster_pc_removal import ClusterRemoval
from isoscope.corrections.estimators.flow import Flow
from isoscope.corrections.estimators.standardize import Standardize
from isoscope.corrections.estimators.whiten import Whiten
from isoscope.corrections.fit import fit_together
from isoscope.corrections.refresh import refreshed
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
