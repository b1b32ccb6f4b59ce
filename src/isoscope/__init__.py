"""How evenly do embeddings fill their space, why not, and what does it cost?

>>> import isoscope
>>> isoscope.measure("package:glove")  # doctest: +SKIP
"""

from isoscope.clouds import Batch, Cloud, CloudGroup, open_cloud
from isoscope.errors import DataError, IsoscopeError, UsageError
from isoscope.measures.registry import Measure, all_measures
from isoscope.results.measuring import measure
from isoscope.results.result import Result, Row, Table
from isoscope.version import __version__

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
    "measure",
    "open_cloud",
]
