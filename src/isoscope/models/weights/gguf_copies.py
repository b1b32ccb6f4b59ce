"""Whether a GGUF file holds one matrix twice, as embedding and as unembedding.

Converters store a tied matrix once more under ``output.weight`` where the two are quantised to
different types. The configuration that is made from such a file calls the model untied, although
its rows are those of one matrix with different errors. The share of a row's norm that is lost by
rounding it to b bits in blocks of 32 is about

    e_b = 2.2 σ / 2^(b − 1) / √12 / σ = 1.27 · 2^(−b),

as the largest of 32 normal numbers is some 2.2 σ, and rounding has a standard deviation of 1/√12 of
a step. Two copies of one matrix differ by √(e_b² + e_c²); matrices that were trained apart differ
by more than their norm.
"""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import numpy as np

from isoscope.data.sampling import lowest_indices
from isoscope.models.runtime import library
from isoscope.models.weights.weight_files import open_gguf

EMBEDDING, UNEMBEDDING = "token_embd.weight", "output.weight"

# Rows that are compared, and how much more than expected they may differ: blocks are not normal.
ROWS, SLACK = 500, 2.0

# Bits of types whose names do not say them: those of the significand.
SIGNIFICANDS = {"F64": 53, "F32": 24, "F16": 11, "BF16": 8}


def stores_one_matrix_twice(path: Path) -> bool:
    """Whether embedding and unembedding of a file agree as far as their quantisation allows."""
    found = {tensor.name: tensor for tensor in open_gguf(path).tensors}
    pair = [found.get(name) for name in (EMBEDDING, UNEMBEDDING)]
    if None in pair or list(pair[0].shape) != list(pair[1].shape):  # type: ignore[union-attr]
        return False
    rows = lowest_indices(len(pair[0].data), ROWS, 0)  # type: ignore[union-attr]
    first, second = (some_rows(tensor, rows) for tensor in pair)
    expected = math.hypot(*(rounding_of(str(tensor.tensor_type.name)) for tensor in pair))  # type: ignore[union-attr]
    apart = float(np.linalg.norm(first - second))
    return apart <= SLACK * expected * float(np.linalg.norm(second))


def some_rows(tensor: Any, rows: np.ndarray) -> np.ndarray:
    """Return rows of a matrix as float64."""
    quants = library("gguf").quants
    found = quants.dequantize(np.ascontiguousarray(tensor.data[rows]), tensor.tensor_type)
    return np.asarray(found, np.float64)


def rounding_of(kind: str) -> float:
    """Return about which share of a row's norm a type of tensor loses.

    Examples
    --------
    >>> round(rounding_of("Q8_0"), 4), round(rounding_of("Q4_K"), 2)
    (0.005, 0.08)
    """
    digits = re.search(r"\d+", kind)
    bits = SIGNIFICANDS.get(kind) or (int(digits.group()) if digits else 1)
    return 1.27 * 2.0**-bits
