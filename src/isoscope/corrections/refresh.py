"""A fitted correction taken further by new vectors, without the old ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from isoscope.corrections.base import one_cloud
from isoscope.corrections.closed_form import ClosedForm
from isoscope.corrections.registry import names_from_sums
from isoscope.corrections.summary import Summary, fingerprint_of, forgotten_if_refused, read_summary
from isoscope.errors import DataError, UsageError
from isoscope.measures.reads.moments import Moments

if TYPE_CHECKING:
    from isoscope.compute.map_reduce import Plan
    from isoscope.compute.stage import Progress
    from isoscope.corrections.base import Correction


def refreshed(
    correction: Correction,
    more: Any,
    *,
    sample_weight: Any = None,
    refuse_same: bool = False,
    progress: Progress | None = None,
    plan: Plan | None = None,
) -> ClosedForm:
    """Return the correction that the old vectors and new ones together would give.

    Only sums are needed of the old ones, and a correction that follows from sums keeps them, in
    its file too.

    Parameters
    ----------
    correction : Correction
        Fitted; it does not change.
    more : Moments, or anything that ``isoscope.open_cloud`` takes
        The new vectors, or their sums.
    sample_weight : array of shape (n_samples,), optional
        Weight of each new vector.
    refuse_same : bool
        Refuse vectors that are just those that the correction was fitted on, which would count
        twice. Once others were added to them, nothing tells them apart.
    progress : callable, optional
        Called with the name of the read, rows done, and rows in all.
    plan : Plan, optional
        Who reads the new vectors, and what becomes of shards that cannot be read; not with weights.

    Returns
    -------
    ClosedForm
        A correction of the same class with the same parameters.
    """
    check_is_fitted(correction)
    if not isinstance(correction, ClosedForm):
        raise UsageError(
            f"{correction.name} needs all its vectors again and cannot be refreshed; "
            f"{names_from_sums()} can"
        )
    known = correction._summary()
    if not known.moments.rows:
        raise UsageError(
            f"this {correction.name} has the centre of other vectors than the rest of it; refresh "
            "the documents' correction, and make that of the queries anew"
        )
    if isinstance(more, Moments):
        check_width(correction, more.width)
        if sample_weight is not None:
            raise UsageError("sums have their weights in them; give no sample_weight")
        new = Summary(more, correction.stored_)
    else:
        group = one_cloud(more)
        check_width(correction, group.widths[0])
        weights = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        new = read_summary(
            group, correction._parts(), weights=weights, progress=progress, plan=plan
        )
    with forgotten_if_refused(plan):
        if refuse_same and fingerprint_of(new.moments) == correction.fitted_on_.fingerprint:
            raise UsageError(
                f"the {new.moments.rows:,} vectors are those that the correction was fitted on; "
                "name new ones"
            )
    fresh: ClosedForm = clone(correction)
    fresh._forget_names(correction.n_features_in_)
    fresh._fit_summary(known.merge(new))
    if hasattr(correction, "feature_names_in_"):
        fresh.feature_names_in_ = correction.feature_names_in_
    return fresh


def check_width(correction: Correction, width: int) -> None:
    """Refuse new vectors of another width."""
    if width != correction.n_features_in_:
        raise DataError(
            f"the correction was fitted on {correction.n_features_in_} dimensions, and the new "
            f"vectors have {width}"
        )
