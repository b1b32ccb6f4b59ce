"""How evenly do embeddings fill their space, why not, and what does it cost?

>>> import isoscope
>>> isoscope.measure("package:glove")  # doctest: +SKIP
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from isoscope.data.base import Batch, Cloud, CloudGroup
from isoscope.data.open import open_cloud
from isoscope.errors import DataError, IsoscopeError, UsageError
from isoscope.measures.registry import Measure, all_measures
from isoscope.moved import install
from isoscope.results.measuring import measure
from isoscope.results.result import Result, Row, Table
from isoscope.version import __version__

if TYPE_CHECKING:
    from isoscope.corrections.registry import make_correction
    from isoscope.corrections.storage import load_correction
    from isoscope.models.model import Model, open_model
    from isoscope.profiles.profiling import profile
    from isoscope.tasks.advising import advise
    from isoscope.tasks.evaluating import evaluate
    from isoscope.verbs.diff.api import diff
    from isoscope.verbs.threshold.api import threshold
    from isoscope.verbs.threshold.score_map import load_maps


__all__ = [
    "Batch",
    "Cloud",
    "CloudGroup",
    "DataError",
    "IsoscopeError",
    "Measure",
    "Model",
    "Result",
    "Row",
    "Table",
    "UsageError",
    "__version__",
    "advise",
    "all_measures",
    "diff",
    "evaluate",
    "load_correction",
    "load_maps",
    "make_correction",
    "measure",
    "open_cloud",
    "open_model",
    "profile",
    "threshold",
]

LATER = {
    "Model": "isoscope.models.model",
    "advise": "isoscope.tasks.advising",
    "diff": "isoscope.verbs.diff.api",
    "evaluate": "isoscope.tasks.evaluating",
    "load_correction": "isoscope.corrections.storage",
    "load_maps": "isoscope.verbs.threshold.score_map",
    "make_correction": "isoscope.corrections.registry",
    "open_model": "isoscope.models.model",
    "profile": "isoscope.profiles.profiling",
    "threshold": "isoscope.verbs.threshold.api",
}
"""Names whose modules take long to import or need a library that few calls use."""


install()


def __getattr__(name: str) -> Any:
    if name not in LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(LATER[name]), name)
