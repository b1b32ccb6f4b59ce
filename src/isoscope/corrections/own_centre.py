"""One correction for two clouds that do not share a centre, such as queries and documents."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sklearn.base import clone

from isoscope.corrections.estimators.all_but_the_top import AllButTheTop
from isoscope.corrections.estimators.center import Center
from isoscope.corrections.estimators.standardize import Standardize
from isoscope.corrections.estimators.whiten import Whiten
from isoscope.corrections.summary import Summary
from isoscope.errors import DataError, UsageError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from isoscope.corrections.closed_form import ClosedForm


CENTRING = (AllButTheTop, Center, Standardize, Whiten)
"""Corrections that begin by subtracting a mean."""


def has_centre(correction: Any) -> bool:
    """Whether a correction subtracts a mean, so that another cloud could have its own."""
    return isinstance(correction, CENTRING)


def centred_on(correction: Any, mean: NDArray[np.float64]) -> ClosedForm:
    """Return a copy that subtracts another mean, and does the rest as before.

    Where documents go through y = W (x − μ), queries go through W (x − μ'): both clouds then have
    their centre at the origin, and distances within each are those that W gives to documents. The
    copy's sums are those of no cloud, and say so by counting no row: it cannot be refreshed.

    Parameters
    ----------
    correction : ClosedForm
        Fitted, on documents, say.
    mean : array of shape (n_features_in_,)
        The mean of the other cloud.
    """
    if not has_centre(correction):
        raise UsageError(
            f"{getattr(correction, 'name', 'this')} subtracts no mean that could be another's"
        )
    if mean.shape != (correction.n_features_in_,):
        raise DataError(
            f"a mean of {len(mean):,} dimensions does not fit a correction of "
            f"{correction.n_features_in_:,}"
        )
    fitted: ClosedForm = correction
    copy: ClosedForm = clone(fitted)
    copy._forget_names(fitted.n_features_in_)
    moved = replace(fitted.moments_, mean=mean, rows=0)
    return copy._fit_summary(Summary(moved, fitted.stored_, fitted.precision_))
