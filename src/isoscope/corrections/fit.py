"""Several corrections fitted in one read; fits on a sample.

A fit that keeps some of the rows that it sees, so that nobody has to read them again.

Several corrections from one read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, get_args

from isoscope.corrections.base import one_cloud
from isoscope.corrections.closed_form import ClosedForm, checked_weights
from isoscope.corrections.summary import Precision, Summary, read_summary
from isoscope.errors import UsageError
from isoscope.measures.reads.moments import MomentParts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoscope.compute.map_reduce import Plan
    from isoscope.compute.stage import Progress
    from isoscope.corrections.base import Correction
    from isoscope.measures.reads.moments import Moments
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


def fit_together(
    corrections: Sequence[Correction],
    cloud: Any,
    *,
    sample_weight: Any = None,
    precision: Precision = "double",
    progress: Progress | None = None,
) -> list[Correction]:
    """Fit corrections on the same cloud; all that follow from sums share one read.

    They share the decomposition as well. Others (clusters, flows) are fitted after them, with
    reads of their own and without weights.

    Parameters
    ----------
    corrections : sequence of Correction
        Fitted in place.
    cloud : str, Path, array, tensor or CloudGroup
        Anything that ``isoscope.open_cloud`` takes.
    sample_weight : array of shape (n_samples,), optional
        Weight of each row.
    precision : {"double", "single"}
        Precision of the products that the covariance is summed from. ``single`` takes half the
        time for vectors stored in single or half precision, leaves an error of about 1e-7 of the
        largest variance, and takes directions with less than 1e-6 of it for empty. Vectors in
        double precision and tensors are summed in double.
    progress : callable, optional
        Called with the name of the read, rows done, and rows in all.

    Returns
    -------
    list of Correction
        The corrections, fitted.
    """
    if precision not in get_args(Precision):
        raise UsageError(f"precision is double or single, not {precision!r}")
    group = one_cloud(cloud)
    closed = [correction for correction in corrections if isinstance(correction, ClosedForm)]
    for correction in corrections:
        correction._check_params()
    if closed:
        parts = parts_together(closed)
        weights = checked_weights(sample_weight)
        summary = read_summary(
            group, parts, weights=weights, precision=precision, progress=progress
        )
        for correction in closed:
            correction._forget_names(group.widths[0])
            correction._fit_summary(summary)
    for correction in corrections:
        if not isinstance(correction, ClosedForm):
            correction.fit_cloud(group, progress=progress)
    return list(corrections)


def fit_summary_together(corrections: Sequence[ClosedForm], moments: Moments, stored: str) -> None:
    """Fit corrections from sums that were taken before; they share the decomposition.

    Parameters
    ----------
    corrections : sequence of ClosedForm
        Fitted in place.
    moments : Moments
        The sums that all of them need.
    stored : str
        Type in which the vectors are stored: it decides which variance is rounding.
    """
    summary = Summary(moments, stored)
    for correction in corrections:
        correction._forget_names(moments.width)
        correction._fit_summary(summary)


def parts_together(corrections: Sequence[ClosedForm]) -> MomentParts:
    """Return the sums that several corrections need between them."""
    wanted = [correction._parts() for correction in corrections]
    return MomentParts(
        scatter=any(part.scatter for part in wanted),
        dimensions=any(part.dimensions for part in wanted),
        mean=any(part.mean for part in wanted),
    )
