"""Logistic regression on frozen features."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.errors import UsageError
from isoscope.tasks.probes.scaling import WORDS, Scale, Scaling, check_scaling

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from isoscope.tasks.probes.contract import Codes, Lesson, Matrix

STRENGTHS = (1e-5, 1e-4, 0.001, 0.01, 0.1, 1.0, 10.0, 100.0)
ITERATIONS = 5000
NEWTON_WIDTH = 1024
"""Up to this many features Newton's steps, which solve for all weights at once, are cheap."""

TOLERANCE = 1e-5
LITTLE, ERRORS = 0.05, 3.0
"""A fall by less, in nats a row and in standard errors, does not end the search for a strength."""

SMALLEST = 1e-15
"""A probability below this counts as this: one sure error must not decide a choice."""


@dataclass(frozen=True)
class LogisticProbe:
    """Multinomial logistic regression with an L2 penalty, as scikit-learn has it.

    The strength C is chosen as SentEval does, on rows that are held back: the one with the highest
    mean log-probability of their classes, which moves more smoothly than accuracy; of equals the
    strongest penalty. Then it is fitted on all rows, unless the rows to choose on are given
    (a release's dev part), which are then only chosen on, as SentEval does too.

    Gradients alone (L-BFGS) take hundreds of steps where variances differ by a factor of 100,000,
    and are then stopped short in the narrow directions: a correction would help the solver, not
    the classifier. So two classes are solved by Newton's method, whose steps do not depend on the
    spectrum, where there are no more than 1,024 features; L-BFGS does the others, ten times as
    exactly as scikit-learn asks of it.

    Attributes
    ----------
    strengths : tuple of float
        The values of C, weakest classifier first.
    scaling : {"block", "each", "none"}
        What is done to features first; see ``scaling``.
    seed : int
        Of the rows that are held back.

    References
    ----------
    Conneau & Kiela (2018), SentEval: an evaluation toolkit for universal sentence
    representations, LREC.
    """

    strengths: tuple[float, ...] = STRENGTHS
    scaling: Scaling = "block"
    seed: int = 0
    name: str = "logistic"

    def __post_init__(self) -> None:
        check_scaling(self.scaling)
        if not self.strengths or min(self.strengths) <= 0:
            raise UsageError(f"strengths are positive numbers, not {self.strengths}")

    def __str__(self) -> str:
        low, high = min(self.strengths), max(self.strengths)
        grid = f"one of {len(self.strengths)} C from {low:g} to {high:g} chosen on held-back rows"
        strength = f"C = {low:g}" if len(self.strengths) == 1 else grid
        return f"logistic regression, {WORDS[self.scaling]}, {strength}"

    def predict(self, lesson: Lesson) -> Codes:
        """Choose C, fit, and classify."""
        back = lesson.held_back(self.seed)
        model = self.chosen(lesson, back)
        kept = ~back if back is lesson.choosing else np.ones(len(back), np.bool_)
        scale = Scale.of(lesson.features[kept], self.scaling, lesson.blocks)
        model.fit(scale(lesson.features[kept]), lesson.codes[kept])
        return np.asarray(model.predict(scale(lesson.asked)), np.intp)

    def chosen(self, lesson: Lesson, back: NDArray[np.bool_]) -> Any:
        """Return the classifier of the other rows that fits the held-back ones best.

        Strengths are tried in order until one is clearly worse than the best: beyond it are the
        fits that take the longest. A small fall is no reason to stop, as a class that shows in
        narrow directions is found only after the wide ones have been of no use.
        """
        strengths = sorted(self.strengths)
        if len(strengths) == 1 or not back.any():
            return regression(lesson, strengths[len(strengths) // 2])
        scale = Scale.of(lesson.features[~back], self.scaling, lesson.blocks)
        learned, chosen_on = scale(lesson.features[~back]), scale(lesson.features[back])
        model, best, highest = None, None, np.full(int(back.sum()), -np.inf)
        for strength in strengths:
            model = regression(lesson, strength, model)
            model.fit(learned, lesson.codes[~back])
            fit = log_probabilities(model, chosen_on, lesson.codes[back])
            if best is None or fit.mean() > highest.mean():
                best, highest = model, fit
            elif clearly_worse(fit, highest):
                break
        return best


def regression(lesson: Lesson, strength: float, start: Any = None) -> Any:
    """Return scikit-learn's estimator with the solver that suits.

    It starts from the weights of another one, if there is one, or from its own when it is fitted
    again: from one strength to the next, or to a few more rows, it is a short way.
    """
    from sklearn.linear_model import LogisticRegression

    newton = lesson.features.shape[1] <= NEWTON_WIDTH and len(np.unique(lesson.codes)) == 2
    model = LogisticRegression(
        C=strength,
        solver="newton-cholesky" if newton else "lbfgs",
        max_iter=ITERATIONS,
        tol=TOLERANCE,
        warm_start=True,
    )
    if start is not None:
        model.coef_, model.intercept_ = start.coef_.copy(), start.intercept_.copy()
    return model


def log_probabilities(model: Any, features: Matrix, codes: Codes) -> NDArray[np.float64]:
    """Return the log-probability that a classifier gives to the true class of every row.

    All of them are classes that it has learned.
    """
    columns = np.searchsorted(model.classes_, codes)
    found = model.predict_proba(features)[np.arange(len(codes)), columns]
    return np.asarray(np.log(np.maximum(found, SMALLEST)))


def clearly_worse(fit: NDArray[np.float64], best: NDArray[np.float64]) -> bool:
    """Whether log-probabilities fall by more than little, and by more than chance."""
    fall = best - fit
    error = float(fall.std()) / np.sqrt(len(fall))
    return bool(fall.mean() > max(LITTLE, ERRORS * error))
