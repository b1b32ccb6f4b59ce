"""Several tests at once: Holm's correction keeps the chance of any false alarm."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence


def holm(p_values: Sequence[float]) -> list[float]:
    """Return adjusted p-values: those at most α are rejected, with a chance of at most α of any error.

    Sorted, the k-th of m (from 0) is max_{j ≤ k} min(1, (m − j) p_(j)).

    References
    ----------
    Holm (1979), A simple sequentially rejective multiple test procedure, Scandinavian Journal of
    Statistics 6(2).

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """  # noqa: E501
    values = np.asarray(p_values, np.float64)
    order = np.argsort(values, kind="stable")
    steps = np.minimum(1.0, values[order] * np.arange(len(values), 0, -1))
    adjusted = np.empty(len(values))
    adjusted[order] = np.maximum.accumulate(steps)
    return [float(value) for value in adjusted]
