"""Corrections: scikit-learn transformers that make a cloud fill its space more evenly."""

from isoscope.corrections.all_but_the_top import AllButTheTop
from isoscope.corrections.base import Correction
from isoscope.corrections.center import Center
from isoscope.corrections.clip import Clip
from isoscope.corrections.cluster_removal import ClusterRemoval
from isoscope.corrections.corrected_cloud import CorrectedCloud
from isoscope.corrections.flow import Flow
from isoscope.corrections.naming import all_corrections, make_correction
from isoscope.corrections.scaled_center import ScaledCenter
from isoscope.corrections.standardize import Standardize
from isoscope.corrections.together import fit_together
from isoscope.corrections.whiten import Whiten

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
    "make_correction",
]
