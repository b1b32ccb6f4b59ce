"""Classifiers of frozen features."""

from isoscope.tasks.probes.contract import EpochProbe, Lesson, Probe
from isoscope.tasks.probes.logistic import LogisticProbe
from isoscope.tasks.probes.mlp import MlpProbe
from isoscope.tasks.probes.naming import find_probe, probe_names

__all__ = [
    "EpochProbe",
    "Lesson",
    "LogisticProbe",
    "MlpProbe",
    "Probe",
    "find_probe",
    "probe_names",
]
