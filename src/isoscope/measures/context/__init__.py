"""How contextual the vectors of a model's layers are, from one read of all layers.

Importing this package does not import torch; taking a batch does.
"""

from isoscope.measures.context.definitions import (
    CONTEXTUAL_MEASURES,
    Contextual,
    ContextualMeasure,
    persistence,
)
from isoscope.measures.context.sums import ContextualTaker

__all__ = [
    "CONTEXTUAL_MEASURES",
    "Contextual",
    "ContextualMeasure",
    "ContextualTaker",
    "persistence",
]
