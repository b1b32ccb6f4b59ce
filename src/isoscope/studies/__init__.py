"""Experiments of papers as recipes with claims, to be run on anybody's models."""

from isoscope.studies import (
    bis2021,
    bis2021_unused,
    luo2021,
    luo2021_outliers,
    luo2021_sts,
    luo2021_weights,
    luo2021_wic,
    pythia2024,
    pythia2024_accuracy,
    pythia2024_training,
    pythia2024_weights,
    rajaee2021,
    rajaee2021_epochs,
    rajaee2021_isotropy,
    rajaee2021_layers,
    rajaee2021_local,
    rajaee2021_probes,
    rajaee2021_sts,
)
from isoscope.studies.claims import Claim, Verdict
from isoscope.studies.registry import Study, all_studies, find_study
from isoscope.studies.running import StudyRun, run_study

__all__ = [
    "Claim",
    "Study",
    "StudyRun",
    "Verdict",
    "all_studies",
    "bis2021",
    "bis2021_unused",
    "find_study",
    "luo2021",
    "luo2021_outliers",
    "luo2021_sts",
    "luo2021_weights",
    "luo2021_wic",
    "pythia2024",
    "pythia2024_accuracy",
    "pythia2024_training",
    "pythia2024_weights",
    "rajaee2021",
    "rajaee2021_epochs",
    "rajaee2021_isotropy",
    "rajaee2021_layers",
    "rajaee2021_local",
    "rajaee2021_probes",
    "rajaee2021_sts",
    "run_study",
]
