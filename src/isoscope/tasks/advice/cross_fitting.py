"""Outputs of every item from corrections that were fitted, and whose settings were chosen, without it.

For every fold k each correction is fitted on the rows that no item of k stands on. Where a
correction has several settings, the one is taken that scores best on the other folds, each of these
again scored with a fit that has seen neither it nor k: what decides is never what is decided on.
"""  # noqa: E501

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.corrections.named import NamedCorrection
from isoscope.tasks.problem_rows import has_output

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from isoscope.compute.stage import Progress
    from isoscope.tasks.advice.candidates import Candidate
    from isoscope.tasks.advice.fitting import FoldedRows
    from isoscope.tasks.advice.own_centres import OwnCentres
    from isoscope.tasks.problem import Items, Problem

    Outputs = NDArray[np.float64]


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


class CrossFitting:
    """Tries corrections on a problem, fold by fold.

    Parameters
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

    def __init__(
        self,
        problem: Problem,
        vectors: NDArray[Any],
        rows: FoldedRows,
        folds: Sequence[Items],
        progress: Progress | None = None,
        *,
        transductive: bool = False,
        own_centres: OwnCentres | None = None,
    ) -> None:
        self._transductive, self._own_centres = transductive, own_centres
        self._problem, self._rows, self._folds = problem, rows, folds
        self._vectors = np.asarray(vectors, np.float64)
        self._finite = np.asarray(np.isfinite(self._vectors).all(axis=1))
        self._progress = progress
        self._items = np.arange(len(problem))
        self._done, self._total = 0, 0

    def with_centres(self, own_centres: OwnCentres) -> CrossFitting:
        """Return the same, with a centre of their own for queries."""
        return CrossFitting(
            self._problem, self._vectors, self._rows, self._folds, self._progress,
            transductive=self._transductive, own_centres=own_centres,
        )  # fmt: skip

    def uncorrected(self) -> Outputs:
        """Return the outputs of the vectors as they are."""
        found = None
        for fold, held in enumerate(self._folds):
            some = self._outputs(None, (fold,), held)
            found = self._placed(found, held, some)
        assert found is not None
        return found

    def run(self, candidates: Sequence[Candidate]) -> list[CrossFitted]:
        """Try every candidate."""
        settings = [one for candidate in candidates for one in candidate.settings]
        if self._one_fit_serves_all():
            return self._run_once(candidates, settings)
        several = [
            one for candidate in candidates if len(candidate.settings) > 1
            for one in candidate.settings
        ]  # fmt: skip
        numbers = range(len(self._folds))
        self._done, self._total = 0, len(self._folds)
        inner: dict[tuple[str, int], Outputs] = {}
        if several:
            pairs = list(combinations(numbers, 2))
            self._total += len(pairs)
            for pair in pairs:
                for one in self._fit(several, pair):
                    for outer, scored in (pair, pair[::-1]):
                        held = self._folds[scored]
                        some = self._outputs(one, pair, held)
                        key = (one.name, outer)
                        inner[key] = self._placed(inner.get(key), held, some)
        outer_outputs: dict[str, Outputs] = {}
        for fold in numbers:
            for one in self._fit(settings, (fold,)):
                held = self._folds[fold]
                some = self._outputs(one, (fold,), held)
                outer_outputs[one.name] = self._placed(outer_outputs.get(one.name), held, some)
        return [self._chosen(candidate, inner, outer_outputs) for candidate in candidates]

    def _one_fit_serves_all(self) -> bool:
        """Whether folds differ neither in what is fitted on nor in what is learned from."""
        if self._problem.learns or self._own_centres is not None:
            return False
        return self._transductive or not self._rows.holds_out

    def _run_once(
        self, candidates: Sequence[Candidate], settings: Sequence[NamedCorrection]
    ) -> list[CrossFitted]:
        """Fit every setting once, as for the documents of a search; only choices go by fold."""
        self._done, self._total = 0, 1
        outputs = {
            one.name: self._outputs(one, (0,), self._items) for one in self._fit(settings, ())
        }
        inner = {
            (name, fold): found
            for name, found in outputs.items()
            for fold in range(len(self._folds))
        }
        return [self._chosen(candidate, inner, outputs) for candidate in candidates]

    def space(self, correction: NamedCorrection) -> NDArray[np.float64]:
        """Return all vectors, corrected by a fit on all of them; for measures, not for scores."""
        (ready,) = self._rows.fit([correction])
        return ready.apply(self._vectors[self._finite])

    def _chosen(
        self,
        candidate: Candidate,
        inner: dict[tuple[str, int], Outputs],
        outer: dict[str, Outputs],
    ) -> CrossFitted:
        names = [one.name for one in candidate.settings]
        by_name = dict(zip(names, candidate.settings, strict=True))
        everywhere = self._best({name: outer[name] for name in names}, self._items)
        chosen: list[str] = []
        outputs = np.full_like(outer[names[0]], np.nan)
        for fold, held in enumerate(self._folds):
            best = names[0]
            if len(names) > 1:
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
            score = self._problem.scores(values[usable], usable, 0.95)[self._problem.main]
            scores[name] = -np.inf if score.value is None else score.value
        return max(scores, key=scores.__getitem__)

    def _fit(
        self, settings: Sequence[NamedCorrection], without: tuple[int, ...]
    ) -> tuple[NamedCorrection, ...]:
        found = self._rows.fit(settings, () if self._transductive else without)
        self._done += 1
        if self._progress is not None:
            self._progress("try corrections", self._done, self._total)
        return found

    def _outputs(
        self, correction: NamedCorrection | None, without: tuple[int, ...], held: Items
    ) -> Outputs:
        """Return the outputs of some items; labels of the folds left out are not learned from."""
        out = np.concatenate([self._folds[fold] for fold in without])
        learn = np.setdiff1d(self._items, out)
        if correction is None:
            return self._problem.outputs(self._vectors, learn, held)
        rows = self._problem.rows_of(np.union1d(learn, held) if self._problem.learns else held)
        rows = rows[self._finite[rows]]
        changed = correction.apply(self._vectors[rows])
        if self._own_centres is not None:
            changed = self._own_centres.applied(correction, rows, changed, without)
        space = np.full((len(self._vectors), changed.shape[1]), np.nan)
        space[rows] = changed
        return self._problem.outputs(space, learn, held)

    def _placed(self, whole: Outputs | None, held: Items, some: Outputs) -> Outputs:
        if whole is None:
            whole = np.full((len(self._items), *some.shape[1:]), np.nan)
        whole[held] = some
        return whole
