"""Corrections that follow from sums over the rows: they merge, and they take new rows exactly.

The sums of two disjoint sets of rows combine to those of both (Chan, Golub & LeVeque 1983), so that
a correction fitted on A and updated with B is the one fitted on A and B together.

What is kept is the ``Moments``; what is applied is solved from them when it is first needed, so
that a stream of small batches costs no decomposition each.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast, get_args

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from isoscope.corrections.base import Correction
from isoscope.corrections.fit import (
    FIT,
    Precision,
    Summary,
    checked_weights,
    fingerprint_of,
    fitted_on,
    forgotten_if_refused,
    read_summary,
)
from isoscope.corrections.parameters import Slot, plain_parameters
from isoscope.corrections.registry import names_from_sums
from isoscope.data.arrays import as_cloud
from isoscope.data.base import EPSILON
from isoscope.data.open import one_cloud
from isoscope.errors import DataError, UsageError
from isoscope.measures.reads.moments import MomentParts, Moments

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from isoscope.compute.map_reduce import Run
    from isoscope.corrections.fit import FittedOn
    from isoscope.corrections.parameters import Slots
    from isoscope.data.base import CloudGroup
    from isoscope.progress import Progress

    Arrays = dict[str, NDArray[Any]]


# Stands before the names of the moments among the fitted arrays.
MOMENTS = "moments."

# Fitted texts, kept as arrays of their bytes.
TEXTS = ("stored", "precision")


class ClosedForm(Correction):
    """A correction that is a function of the moments.

    Attributes
    ----------
    moments_ : Moments
        The sums over all rows seen.
    stored_ : str
        The coarsest type in which they were stored.
    precision_ : {"double", "single"}
        Precision of the products that were summed; see ``fit_together``.
    """

    from_sums = True
    parts: ClassVar[MomentParts] = MomentParts()
    stage: ClassVar[str] = FIT
    _solution: Arrays | None = None

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from vectors in memory.

        Parameters
        ----------
        X : array or tensor of shape (n_samples, n_features)
            The vectors.
        y : None
            Ignored.
        sample_weight : array of shape (n_samples,), optional
            Weight of each vector, such as a word's frequency; 1 by default. A weight of 2 is a
            vector that is there twice.
        """
        del y
        self._begin()
        return self._fit_summary(self._read(X, sample_weight, reset=True))

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from some more vectors: the same as one fit on all of them together."""
        del y
        if not self._complete:
            return self.fit(X, sample_weight=sample_weight)
        self._keep(self._summary().merge(self._read(X, sample_weight, reset=False)))
        return self

    def fit_cloud(
        self,
        cloud: Any,
        *,
        sample_weight: Any = None,
        progress: Progress | None = None,
        plan: Run | None = None,
    ) -> Self:
        """Learn from a cloud of any size in one read; see ``Correction.fit_cloud``.

        Parameters
        ----------
        cloud, progress, plan
            As for every correction; with weights this process reads, and there is no plan.
        sample_weight : array of shape (n_samples,), optional
            Weight of each row, in the order of the cloud.
        """
        group = self._begin_on(cloud)
        if sample_weight is None:
            self._fit_group(group, progress, plan)
            return self
        weights = checked_weights(sample_weight)
        summary = read_summary(group, self._parts(), weights=weights, progress=progress, plan=plan)
        return self._fit_summary(summary)

    def fit_moments(self, moments: Moments, stored: str = "float64") -> Self:
        """Learn from sums that were taken before, by ``measure``, elsewhere or in parts.

        Parameters
        ----------
        moments : Moments
            The sums; some corrections need the scatter matrix among them.
        stored : str
            Type in which the vectors are stored: it decides which variance is rounding.
        """
        self._begin()
        if stored not in EPSILON:
            raise UsageError(f"stored is one of {', '.join(EPSILON)}, not {stored!r}")
        return self.fit_summary(Summary(moments, stored))

    def fit_summary(self, summary: Summary) -> Self:
        """Learn from what one read gave, which several corrections may share."""
        self._begin()
        self._forget_names(summary.moments.width)
        return self._fit_summary(summary)

    def merge(self, other: Self) -> Self:
        """Return the correction that all vectors of two fitted ones together would give.

        Both need the same parameters, and neither changes.
        """
        check_is_fitted(self)
        check_is_fitted(other)
        if type(other) is not type(self) or plain_parameters(other) != plain_parameters(self):
            raise UsageError(f"{self} and {other} differ; only equal corrections merge")
        if other.n_features_in_ != self.n_features_in_:
            raise DataError(
                f"corrections of {self.n_features_in_} and {other.n_features_in_} dimensions "
                "cannot be merged"
            )
        return self.refit(self._summary().merge(other._summary()))

    def refit(self, summary: Summary) -> Self:
        """Return a copy with the same parameters that is fitted on another summary."""
        fresh: Self = clone(self)
        return fresh.fit_summary(summary)

    @property
    def fitted_on_(self) -> FittedOn:
        """Number, type and fingerprint of the vectors that it was fitted on."""
        check_is_fitted(self)
        return fitted_on(self.moments_, self.stored_)

    def _solve(self, summary: Summary) -> Arrays:
        """Work out what to apply, as named arrays."""
        raise NotImplementedError

    def _prepare(self, solution: Arrays) -> None:
        """Get ready to apply a solution."""

    def _solution_slots(self, width: int) -> Slots:
        """Return the names, shapes and types of what ``_solve`` gives."""
        raise NotImplementedError

    def _solved(self) -> Arrays:
        """Return what to apply, worked out anew where vectors were added."""
        if not self._complete:  # scikit-learn's check takes as long as to correct a vector
            check_is_fitted(self)
        if self._solution is None:
            self._set_solution(self._solve(self._summary()))
        assert self._solution is not None
        return self._solution

    def _summary(self) -> Summary:
        return Summary(self.moments_, self.stored_, self.precision_)

    def _set_solution(self, solution: Arrays) -> None:
        # One layout in memory, the one that files have: products round differently in another.
        solution = {name: np.asarray(array, order="C") for name, array in solution.items()}
        self._prepare(solution)
        self._solution = solution

    def _read(self, X: Any, sample_weight: Any, *, reset: bool) -> Summary:
        """Sum over vectors in memory."""
        vectors = self._vectors(X, reset=reset)
        weights = checked_weights(sample_weight, len(vectors))
        return read_summary(as_cloud(vectors, "X"), self._parts(), weights=weights)

    def _learn(self, group: CloudGroup, progress: Progress | None) -> None:
        """Read nothing more: everything follows from the sums that are taken anyway."""

    def _take(self, summary: Summary, plan: Run) -> None:
        with forgotten_if_refused(plan):
            self._fit_summary(summary)

    def _fit_summary(self, summary: Summary) -> Self:
        """Bring a fit to its end from the sums that it follows from."""
        self._keep(summary)
        self._set_solution(self._solve(summary))
        self._complete = True
        return self

    def _keep(self, summary: Summary) -> None:
        """Keep the sums that this correction needs, and forget what was solved before."""
        parts, moments = self._parts(), summary.moments
        if parts.scatter and moments.scatter is None:
            raise UsageError(f"{self.name} needs moments that were taken with the scatter matrix")
        if parts.dimensions and moments.unit_square_sum is None:
            raise UsageError(f"{self.name} needs moments that were taken with the dimensions")
        if not moments.weight > 0:
            raise DataError("the weights of all vectors sum to zero")
        # Sums that this correction does not need would make files and merges larger.
        self.moments_ = with_parts(moments, parts)
        self.stored_, self.precision_ = summary.stored, summary.precision
        self._solution = None

    def _fitted_arrays(self) -> Arrays:
        moments = {MOMENTS + key: value for key, value in self.moments_.to_arrays().items()}
        texts = {name: getattr(self, name + "_").encode() for name in TEXTS}
        arrays = {name: np.frombuffer(text, np.uint8) for name, text in texts.items()}
        return {**arrays, **moments, **self._solved()}

    def _slots(self, width: int) -> Slots:
        sums = Moments.empty(width, self._parts()).to_arrays()
        moments = {MOMENTS + key: Slot(a.shape, a.dtype.name) for key, a in sums.items()}
        texts = {name: Slot((f"{name} letters",), "uint8") for name in TEXTS}
        return {**texts, **moments, **self._solution_slots(width)}

    def _restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        stored, precision = (bytes(arrays[name]).decode("ascii", "replace") for name in TEXTS)
        if stored not in EPSILON:
            raise DataError(f"it was fitted on {stored!r}, which is not a known type")
        if precision not in get_args(Precision):
            raise DataError(
                f"it was fitted with products in {precision!r}, which is not a known precision"
            )
        sums = {key.removeprefix(MOMENTS): value for key, value in arrays.items()}
        self._keep(Summary(Moments.from_arrays(sums), stored, cast("Precision", precision)))
        names = self._solution_slots(self.n_features_in_)
        self._set_solution({name: arrays[name] for name in names})


def with_parts(moments: Moments, parts: MomentParts) -> Moments:
    """Let go of sums that are not needed: they would be kept, stored and merged."""
    moments = replace(moments, blocks=None)
    if not parts.scatter:
        moments = replace(moments, scatter=None)
        if not parts.mean:
            moments = replace(moments, mean=np.zeros(moments.width))
    if not parts.dimensions:
        moments = replace(moments, unit_square_sum=None, minimum_counts=None, maximum_counts=None)
    return moments


def refreshed(
    correction: Correction,
    more: Any,
    *,
    sample_weight: Any = None,
    refuse_same: bool = False,
    progress: Progress | None = None,
    plan: Run | None = None,
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
    plan : Run, optional
        Who reads the new vectors, and what becomes of shards that cannot be read; not with weights.

    Returns
    -------
    ClosedForm
        A correction of the same class with the same parameters.
    """
    check_is_fitted(correction)
    if not isinstance(correction, ClosedForm):
        raise UsageError(
            f"{correction.name} must be fitted on all vectors again and cannot be refreshed; "
            f"{names_from_sums()} can"
        )
    known = correction._summary()
    if not known.moments.rows:
        raise UsageError(
            f"this {correction.name} has the centre of other vectors (queries); refresh the "
            "correction of the documents, and make that of the queries again"
        )
    if isinstance(more, Moments):
        check_width(correction, more.width)
        if sample_weight is not None:
            raise UsageError("the sums include their weights; leave sample_weight out")
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
                "give new ones"
            )
    fresh: ClosedForm = correction.refit(known.merge(new))
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
