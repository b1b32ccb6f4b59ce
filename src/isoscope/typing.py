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

# One number per item.
Vector = NDArray[np.float64]

# Rows × dimensions, or directions × dimensions.
Matrix = NDArray[np.float64]

# Any number of axes.
Doubles = NDArray[np.float64]

# Numbers in the precision of the data.
Floats = NDArray[np.floating[Any]]
Single = NDArray[np.float32]

# Numbers of rows.
Ids = NDArray[np.int64]

# Indices into an array.
Places = NDArray[np.intp]
Mask = NDArray[np.bool_]

# Digests, one per row.
Keys = NDArray[np.uint8]

# What a file of arrays holds, by name.
Arrays = Mapping[str, NDArray[Any]]
