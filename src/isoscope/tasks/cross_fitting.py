"""Outputs of items from corrections that were fitted, and whose settings were chosen, without them.

For every fold k each correction is fitted on the rows that no item of k stands on. Where a
correction has several settings, the one that scores best on the other folds j ≠ k is used, each j
scored by a fit that has seen neither j nor k: what a setting is chosen on is never what it is
scored on (nested cross-validation). A fit without j and k serves both orders of the pair, so that K
folds take K + K (K − 1) / 2 fits.

Where queries have a centre of their own, their mean is also taken without the queries of the fold.

References
----------
Varma & Simon (2006), Bias in error estimation when using cross-validation for model selection, BMC
Bioinformatics 7:91.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from isoscope.corrections.affine import Centring, centred_on
from isoscope.corrections.named import NONE, NamedCorrection
from isoscope.corrections.query_centre import OWN, Centres
from isoscope.errors import DataError, UsageError
from isoscope.progress import Progress, report
from isoscope.tasks.fits import FoldedRows
from isoscope.tasks.problem import Items, Outputs, Problem
from isoscope.tasks.scores import has_output
from isoscope.tasks.vectors import Ground

Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True)
class CrossFitted:
    """What one correction makes of all items.

    Attributes
    ----------
    candidate : Candidate
        What was tried.
    outputs : array
        Of every item, from the setting chosen in its fold.
    chosen : tuple of str
        The setting of every fold.
    final : NamedCorrection
        The setting that scores best over all folds, for use; not fitted.
    """

    candidate: Candidate
    outputs: Outputs
    chosen: tuple[str, ...]
    final: NamedCorrection


@dataclass
class CrossFitting:
    """Tries corrections on a problem, fold by fold.

    Attributes
    ----------
    problem : Problem
        What is scored.
    vectors : array
        A row for every text.
    rows : FoldedRows
        What corrections are fitted on.
    folds : sequence of array of int
        The items of every fold.
    progress : callable, optional
        Called with the name of the work, fits done, and fits in all.
    transductive : bool
        Fit on what is scored as well, as papers do.
    own_centres : OwnCentres, optional
        Gives queries a centre of their own.
    """

    problem: Problem
    vectors: NDArray[Any]
    rows: FoldedRows
    folds: Sequence[Items]
    progress: Progress | None = None
    transductive: bool = field(default=False, kw_only=True)
    own_centres: OwnCentres | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        self.vectors = np.asarray(self.vectors, np.float64)
        self._finite = np.asarray(np.isfinite(self.vectors).all(axis=1))
        self._items = np.arange(len(self.problem))
        self._done, self._total = 0, 0

    def uncorrected(self) -> Outputs:
        """Return the outputs of the vectors as they are."""
        found: dict[str, Outputs] = {}
        for fold in range(len(self.folds)):
            self._add(found, NONE, None, (fold,), fold)
        return found[NONE]

    def run(self, candidates: Sequence[Candidate]) -> list[CrossFitted]:
        """Try every candidate."""
        settings = [one for candidate in candidates for one in candidate.settings]
        if self._one_fit_serves_all():
            return self._run_once(candidates, settings)
        # Only what has a choice takes part in the inner folds; a correction with one setting would
        # be fitted K (K − 1) / 2 times for nothing.
        several = [
            one for candidate in candidates if len(candidate.settings) > 1
            for one in candidate.settings
        ]  # fmt: skip
        folds = range(len(self.folds))
        # A fit without two folds serves both: each is scored by what has seen neither of them.
        pairs = list(combinations(folds, 2)) if several else []
        self._done, self._total = 0, len(folds) + len(pairs)
        inner: dict[tuple[str, int], Outputs] = {}
        for pair in pairs:
            for one in self._fit(several, pair):
                # inner[name, k] collects the outputs of all items outside fold k, each from a fit
                # that has seen neither its own fold nor k.
                for outer, scored in (pair, pair[::-1]):
                    self._add(inner, (one.name, outer), one, pair, scored)
        outputs: dict[str, Outputs] = {}
        for fold in folds:
            # All settings, not only the one that was chosen here: `final` is chosen over all folds.
            for one in self._fit(settings, (fold,)):
                self._add(outputs, one.name, one, (fold,), fold)
        return [self._chosen(candidate, inner, outputs) for candidate in candidates]

    def _one_fit_serves_all(self) -> bool:
        """Whether folds differ neither in what is fitted on nor in what is learned from."""
        if self.problem.learns or self.own_centres is not None:
            return False
        return self.transductive or not self.rows.holds_out

    def _run_once(
        self, candidates: Sequence[Candidate], settings: Sequence[NamedCorrection]
    ) -> list[CrossFitted]:
        """Fit every setting once, as for the documents of a search; only choices go by fold."""
        self._done, self._total = 0, 1
        # Which fold is named does not matter: it only says whose labels are not learned from, and
        # nothing is learned here.
        outputs = {
            one.name: self._outputs(one, (0,), self._items) for one in self._fit(settings, ())
        }
        folds = range(len(self.folds))
        inner = {(name, fold): found for name, found in outputs.items() for fold in folds}
        return [self._chosen(candidate, inner, outputs) for candidate in candidates]

    def space(self, correction: NamedCorrection) -> NDArray[np.float64]:
        """Return all vectors, corrected by a fit on all of them; for measures, not for scores."""
        (ready,) = self.rows.fit([correction])
        return ready.apply(self.vectors[self._finite])

    def _chosen(
        self,
        candidate: Candidate,
        inner: dict[tuple[str, int], Outputs],
        outer: dict[str, Outputs],
    ) -> CrossFitted:
        by_name = {one.name: one for one in candidate.settings}
        names = list(by_name)
        # For whoever takes the correction into use, all items may help to choose its setting. No
        # score is reported for this choice: it would be the score of what it was chosen by.
        everywhere = self._best({name: outer[name] for name in names}, self._items)
        chosen: list[str] = []
        outputs = np.full_like(outer[names[0]], np.nan)
        for fold, held in enumerate(self.folds):
            best = names[0]
            if len(names) > 1:
                # The items of this fold have no say in the setting that they are scored with.
                others = np.setdiff1d(self._items, held)
                best = self._best({name: inner[name, fold] for name in names}, others)
            chosen.append(best)
            outputs[held] = outer[best][held]
        return CrossFitted(candidate, outputs, tuple(chosen), by_name[everywhere])

    def _best(self, outputs: dict[str, Outputs], items: Items) -> str:
        """Return the setting with the highest score; the first of those that have it."""
        scores = {}
        for name, values in outputs.items():
            usable = items[has_output(values[items])]
            score = self.problem.scores(values[usable], usable, 0.95)[self.problem.main]
            # An undefined score, as where all outputs are the same, must not win, nor stop the
            # others.
            scores[name] = -np.inf if score.value is None else score.value
        # max() keeps the first of equals, which is the earlier one in ``SETTINGS``.
        return max(scores, key=scores.__getitem__)

    def _fit(
        self, settings: Sequence[NamedCorrection], without: tuple[int, ...]
    ) -> tuple[NamedCorrection, ...]:
        found = self.rows.fit(settings, () if self.transductive else without)
        self._done += 1
        report(self.progress, "try corrections", self._done, self._total)
        return found

    def _outputs(
        self, correction: NamedCorrection | None, without: tuple[int, ...], held: Items
    ) -> Outputs:
        """Return the outputs of some items; labels of the folds left out are not learned from."""
        # Both folds of a pair are left out, also where only one is scored: labels of the outer fold
        # must not reach the choice of a setting.
        out = np.concatenate([self.folds[fold] for fold in without])
        learn = np.setdiff1d(self._items, out)
        if correction is None:
            return self.problem.outputs(self.vectors, learn, held)
        rows = self.problem.rows_of(np.union1d(learn, held) if self.problem.learns else held)
        rows = rows[self._finite[rows]]
        # Only the rows that these items need: one fit of many is applied to one fold of many.
        changed = correction.apply(self.vectors[rows])
        if self.own_centres is not None:
            changed = self.own_centres.applied(correction, rows, changed, without)
        # Rows that were not corrected are NaN, not the original vectors: if an item used one by
        # mistake it would have no output, instead of a wrong one.
        space = np.full((len(self.vectors), changed.shape[1]), np.nan)
        space[rows] = changed
        return self.problem.outputs(space, learn, held)

    def _add(
        self,
        found: dict[Key, Outputs],
        key: Key,
        correction: NamedCorrection | None,
        without: tuple[int, ...],
        fold: int,
    ) -> None:
        """Put the outputs of the items of a fold in their places among those of all items."""
        some = self._outputs(correction, without, self.folds[fold])
        if key not in found:
            found[key] = np.full((len(self._items), *some.shape[1:]), np.nan)
        found[key][self.folds[fold]] = some


FLOW = "flow"

# The settings of every correction, by how much a correction stores and changes, least first: of two
# that are as good, the earlier one is recommended.
SETTINGS: dict[str, tuple[str, ...]] = {
    "clip": ("clip", "clip:by=length"),
    "center": ("center",),
    "center-scaled": ("center-scaled",),
    "standardize": ("standardize",),
    "all-but-the-top": tuple(
        f"all-but-the-top:n_components={count}" for count in (1, 2, 3, 5, 8, 15)
    ),
    "whiten": ("whiten", *(f"whiten:n_components={count}" for count in (256, 128, 64, 32))),
    "cluster-pc-removal": tuple(
        f"cluster-pc-removal:n_clusters={clusters}:n_components={count}"
        for clusters, count in ((5, 1), (10, 3), (27, 12))
    ),
    FLOW: (FLOW,),
}


@dataclass(frozen=True)
class Candidate:
    """A correction with the settings that are tried; one is chosen inside each fold."""

    name: str
    settings: tuple[NamedCorrection, ...]

    @property
    def rank(self) -> int:
        """How simple it is among all corrections; those of somebody else's come last."""
        names = list(SETTINGS)
        plain = self.name.split(" ")[0]
        # A centre for each side is one more thing to store and to keep up to date.
        return 2 * (names.index(plain) if plain in names else len(names)) + (plain != self.name)


@dataclass(eq=False)
class OwnCentres:
    """Corrects queries with their own mean in place of the documents'.

    Parameters
    ----------
    vectors : array
        A row for everything that items stand on.
    query_rows : array of int
        Which of them are queries.
    folds : sequence of array of int
        The rows that the items of each fold stand on: the mean for a fold leaves its queries out.
    """

    vectors: NDArray[np.float64]
    query_rows: NDArray[np.intp]
    folds: Sequence[NDArray[np.intp]]

    def __post_init__(self) -> None:
        self._is_query = np.zeros(len(self.vectors), np.bool_)
        self._is_query[self.query_rows] = True
        self._finite = np.isfinite(self.vectors).all(axis=1)

    def mean(self, without: Collection[int] = ()) -> NDArray[np.float64]:
        """Return the mean of all queries but those of some folds."""
        counted = self._is_query & self._finite
        for fold in without:
            counted[self.folds[fold]] = False
        if not counted.any():
            raise DataError("a fold has no queries to compute a mean of")
        return np.asarray(self.vectors[counted].mean(axis=0))

    def applied(
        self,
        correction: NamedCorrection,
        rows: NDArray[np.intp],
        changed: NDArray[np.float64],
        without: Collection[int],
    ) -> NDArray[np.float64]:
        """Put queries centred on their own mean in the place of those with the documents'."""
        queries = self._is_query[rows]
        if queries.any():
            own = centred_on(correction.transformer, self.mean(without))
            changed = changed.copy()
            changed[queries] = own.transform(self.vectors[rows[queries]])
        return changed


def with_own_centres(tried: Sequence[Candidate]) -> tuple[Candidate, ...]:
    """Return those candidates that subtract a mean, under a name that says whose."""
    return tuple(
        Candidate(one.name + OWN, one.settings)
        for one in tried
        if all(isinstance(setting.transformer, Centring) for setting in one.settings)
    )


def check_own(tried: Sequence[Candidate]) -> None:
    """Refuse own centres where nothing subtracts a mean."""
    if not with_own_centres(tried):
        names = ", ".join(one.name for one in tried)
        raise UsageError(f"none of {names} subtracts a mean that queries could have of their own")


def is_own(name: Any) -> bool:
    """Whether a correction gives queries a centre of their own."""
    return str(name).endswith(OWN)


def run_with_centres(
    fitting: CrossFitting, tried: Sequence[Candidate], centres: Centres, own: OwnCentres | None
) -> list[CrossFitted]:
    """Try candidates with the documents' centre for queries, with their own, or with each."""
    if centres == "own":
        check_own(tried)
    found = [] if centres == "own" else fitting.run(tried)
    if own is not None:
        found += replace(fitting, own_centres=own).run(with_own_centres(tried))
    return found


def own_centres_of(ground: Ground, folds: list[Items]) -> OwnCentres:
    """Tell queries from documents, and which fold each belongs to."""
    if ground.query_rows is None:
        raise UsageError(
            f"{ground.problem.task} does not distinguish queries from documents; separate "
            "centres need --queries, or a folder for --retrieval"
        )
    rows = [np.intersect1d(ground.problem.rows_of(items), ground.query_rows) for items in folds]
    return OwnCentres(np.asarray(ground.vectors, np.float64), ground.query_rows, rows)
