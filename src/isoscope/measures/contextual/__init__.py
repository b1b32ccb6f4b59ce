"""How contextual the vectors of a model's layers are, from one read of all layers.

Importing this package does not import torch; taking a batch does.
"""

from isoscope.measures.contextual.descriptions import CONTEXTUAL_MEASURES, ContextualMeasure
from isoscope.measures.contextual.persistence import persistence
from isoscope.measures.contextual.result import Contextual
from isoscope.measures.contextual.taker import ContextualTaker

__all__ = [
    "CONTEXTUAL_MEASURES",
    "Contextual",
    "ContextualMeasure",
    "ContextualTaker",
    "persistence",
]
