"""A fit that keeps some of the rows that it sees, so that nobody has to read them again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from isoscope.corrections.base import one_cloud

if TYPE_CHECKING:
    from isoscope.compute.map_reduce import Plan
    from isoscope.compute.stage import Progress
    from isoscope.corrections.base import Correction
    from isoscope.typing import Matrix


def fit_and_sample(
    correction: Correction,
    cloud: Any,
    size: int,
    *,
    progress: Progress | None = None,
    plan: Plan | None = None,
) -> Matrix:
    """Fit a correction as ``fit_cloud`` does, and draw a sample in the same read.

    Parameters
    ----------
    correction : Correction
        Fitted in place.
    cloud : str, Path, array, tensor or CloudGroup
        Anything that ``isoscope.open_cloud`` takes.
    size : int
        Rows to keep at most.
    progress : callable, optional
        Called with the name of the read, rows done, and rows in all.
    plan : Plan, optional
        Who reads, and what becomes of shards that cannot be read.

    Returns
    -------
    array of shape (at most size, n_features)
        Random rows in their order, the same whoever reads.
    """
    return correction._fit_group(one_cloud(cloud), progress, plan, size)
