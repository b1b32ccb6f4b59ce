"""How evenly do embeddings fill their space, why not, and what does it cost?

>>> import isoscope
>>> isoscope.measure("package:glove")  # doctest: +SKIP
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from isoscope.clouds import Batch, Cloud, CloudGroup, open_cloud
from isoscope.errors import DataError, IsoscopeError, UsageError
from isoscope.measures.registry import Measure, all_measures
from isoscope.results.measuring import measure
from isoscope.results.result import Result, Row, Table
from isoscope.version import __version__

if TYPE_CHECKING:
    from isoscope.corrections import make_correction

__all__ = [
    "Batch",
    "Cloud",
    "CloudGroup",
    "DataError",
    "IsoscopeError",
    "Measure",
    "Result",
    "Row",
    "Table",
    "UsageError",
    "__version__",
    "all_measures",
    "make_correction",
    "measure",
    "open_cloud",
]


def __getattr__(name: str) -> Any:
    """Import corrections when they are first used: scikit-learn takes a second to import."""
    if name == "make_correction":
        from isoscope.corrections import make_correction

        return make_correction
    raise AttributeError(f"module 'isoscope' has no attribute {name!r}")
