"""Corrections: scikit-learn transformers that make a cloud fill its space more evenly."""

from isoscope.corrections.base import Correction
from isoscope.corrections.center import Center

__all__ = ["Center", "Correction"]
