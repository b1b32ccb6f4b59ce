"""A fitted correction taken further by new vectors, without the old ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from isoscope.corrections.base import one_cloud
from isoscope.corrections.closed_form import ClosedForm, Summary
from isoscope.corrections.naming import all_corrections
from isoscope.corrections.reading import read_moments
from isoscope.errors import DataError, UsageError
from isoscope.measures.moments import Moments

if TYPE_CHECKING:
    from isoscope.corrections.base import Correction
    from isoscope.measures.reading import Progress


def refreshed(
    correction: Correction,
    more: Any,
    *,
    sample_weight: Any = None,
    progress: Progress | None = None,
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
    progress : callable, optional
        Called with the name of the read, rows done, and rows in all.

    Returns
    -------
    ClosedForm
        A correction of the same class with the same parameters.
    """
    check_is_fitted(correction)
    if not isinstance(correction, ClosedForm):
        able = [name for name, kind in all_corrections().items() if issubclass(kind, ClosedForm)]
        raise UsageError(
            f"{correction.name} needs all its vectors again and cannot be refreshed; "
            f"{', '.join(able)} can"
        )
    known = correction._summary()
    if isinstance(more, Moments):
        check_width(correction, more.width)
        if sample_weight is not None:
            raise UsageError("sums have their weights in them; give no sample_weight")
        new = Summary(more, correction.stored_)
    else:
        group = one_cloud(more)
        check_width(correction, group.widths[0])
        weights = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        moments = read_moments(group, correction._parts(), weights=weights, progress=progress)
        new = Summary(moments, group.dtypes[0])
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
