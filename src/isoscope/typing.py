"""Names for arrays, so that a signature says what an array holds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "Arrays",
    "Doubles",
    "Floats",
    "Ids",
    "Keys",
    "Mask",
    "Matrix",
    "Places",
    "Single",
    "Vector",
]

Vector = NDArray[np.float64]
"""One number per item."""
Matrix = NDArray[np.float64]
"""Rows × dimensions, or directions × dimensions."""
Doubles = NDArray[np.float64]
"""Any number of axes."""
Floats = NDArray[np.floating[Any]]
"""Numbers in the precision of the data."""
Single = NDArray[np.float32]
Ids = NDArray[np.int64]
"""Numbers of rows."""
Places = NDArray[np.intp]
"""Indices into an array."""
Mask = NDArray[np.bool_]
Keys = NDArray[np.uint8]
"""Digests, one per row."""
Arrays = Mapping[str, NDArray[Any]]
"""What a file of arrays holds, by name."""
