"""Which corrections are tried, and which of them, if any, is worth its step.

Every correction is compared with the vectors as they are by a paired difference. Holm's step-down
correction over all m that were tried keeps the chance of recommending anything, where nothing
helps, below α = 5 %: with p-values in ascending order,

    p̃₍ₖ₎ = max over j ≤ k of min((m − j + 1) · p₍ⱼ₎, 1)

What is left must gain as much as the user calls worthwhile, and score more than chance would: a
correction that moves an AUC from 0.45 to 0.49 is of no use. Of several that are as good as the best
one, but for a gain that is not worthwhile or not significant, the simplest is recommended.

The interval of a gain is taken at the level at which Holm's procedure tests it, 1 − α/(m − k + 1)
for the k-th smallest p-value, and for all that are not significant at the level of the first of
these. So an interval excludes 0 exactly where the gain is significant, and its upper end says which
gains the data exclude.

References
----------
Holm (1979), A simple sequentially rejective multiple test procedure.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from isoscope.compute.stats.estimates import Difference, Score, difference
from isoscope.compute.stats.significance import holm
from isoscope.corrections.named import NONE, NamedCorrection, named
from isoscope.errors import DataError, UsageError
from isoscope.tasks.cross_fitting import FLOW, SETTINGS, Candidate
from isoscope.tasks.scores import has_output

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from isoscope.tasks.cross_fitting import CrossFitted
    from isoscope.tasks.problem import Problem
    from isoscope.typing import Doubles


def candidates(
    given: Iterable[str] | None, dimension: int | None, *, flow: bool = False
) -> tuple[Candidate, ...]:
    """Make candidates of names, or of all corrections.

    Parameters
    ----------
    given : iterable of str, optional
        Names of corrections; one with options, such as ``whiten:n_components=64``, is tried as it
        stands. By default all but the flow.
    dimension : int, optional
        Number of dimensions: settings that need more are left out; none are while it is not known.
    flow : bool
        Whether the flow is among the default ones; it takes minutes.
    """
    if given is None:
        names = [name for name in SETTINGS if flow or name != FLOW]
    else:
        names = [name.strip() for name in given if name.strip() and name.strip() != NONE]
    if not names:
        raise UsageError("name at least one correction to try, besides 'none'")
    found = []
    for name in dict.fromkeys(names):
        options = named(SETTINGS.get(name, (name,)))
        fitting = tuple(one for one in options if fits(one, dimension))
        found.append(Candidate(name, fitting or options[:1]))
    return tuple(found)


def fits(correction: NamedCorrection, dimension: int | None) -> bool:
    """Whether a setting leaves something of vectors of this dimension."""
    count = getattr(correction.transformer, "n_components", None)
    return dimension is None or not isinstance(count, int) or count < dimension


def settings_of(tried: Iterable[Candidate]) -> list[NamedCorrection]:
    """Return every setting that is tried."""
    return [one for candidate in tried for one in candidate.settings]


# Confidence of the intervals; 1 less this is the chance of recommending anything by mistake.
LEVEL = 0.95
# Gains below this are not worth a step that has to be stored, deployed and kept up to date.
WORTHWHILE = 0.01


@dataclass(frozen=True)
class Tried:
    """What became of one correction: its outputs and settings, its score, and its gain."""

    found: CrossFitted
    score: Score
    """Over all items."""
    change: Difference
    """Paired, to the vectors as they are."""
    p_holm: float
    """Two-sided, adjusted for all that was tried; 1 where it changes nothing."""
    level: float = LEVEL
    """Coverage of the interval of the gain."""

    @property
    def name(self) -> str:
        """The correction."""
        return self.found.candidate.name

    @property
    def gain(self) -> float:
        """How much it gains; 0 where that is undefined."""
        return 0.0 if self.change.value is None else self.change.value

    @property
    def most(self) -> float:
        """The largest gain that the data do not exclude; infinite where that is not known."""
        if self.change.value is None or self.change.high is not None:
            return -math.inf if self.change.high is None else self.change.high
        # A correction that changes no output gains exactly nothing.
        return 0.0 if self.change.value == 0 else math.inf

    @property
    def loss(self) -> float:
        """The largest loss that the data do not exclude, as ``most``."""
        if self.change.value is None or self.change.low is not None:
            return -math.inf if self.change.low is None else -self.change.low
        return 0.0 if self.change.value == 0 else math.inf


# What scores are that have nothing to do with the labels, by the end of their name.
BY_CHANCE = {"/auc": 0.5, "/spearman": 0.0, "/pearson": 0.0}


def chance_of(metric: str) -> float | None:
    """Return the score that chance gives; None where it depends on the items."""
    return next((score for end, score in BY_CHANCE.items() if metric.endswith(end)), None)


def above_chance(one: Tried, metric: str) -> bool:
    """Whether the score after a correction is significantly above what chance gives."""
    chance = chance_of(metric)
    if chance is None or one.score.value is None:
        return True
    return (one.score.value if one.score.low is None else one.score.low) > chance


Outcome = Literal["use", "leave it alone", "negligible", "undecided"]


@dataclass(frozen=True)
class Decision:
    """The vectors as they are, all that was tried, and what is recommended."""

    before: Score
    tried: tuple[Tried, ...]
    """Best first."""
    recommended: Tried | None
    worthwhile: float
    alpha: float = 1 - LEVEL
    """The chance of any recommendation where nothing helps."""

    def significant(self, one: Tried) -> bool:
        """Whether a correction changes the score, in either direction."""
        return one.p_holm <= self.alpha

    @property
    def helpful(self) -> tuple[Tried, ...]:
        """All that gain significantly, however little."""
        return tuple(one for one in self.tried if one.gain > 0 and self.significant(one))

    @property
    def likeliest(self) -> Tried:
        """The correction of which the largest gain cannot be excluded."""
        return max(self.tried, key=lambda one: one.most)

    @property
    def outcome(self) -> Outcome:
        """What the data say: whether to use a correction, and how certain it is that not.

        "leave it alone" and "negligible" are said only where a worthwhile gain is excluded for
        all that was tried; "negligible" where there is a significant gain.
        """
        if self.recommended is not None:
            return "use"
        most = self.likeliest.most
        # Where no correction has a score, nothing is excluded either.
        if most == -math.inf or (most >= self.worthwhile and most > 0):
            return "undecided"
        return "negligible" if self.helpful else "leave it alone"


def decide(
    problem: Problem,
    before: Doubles,
    found: Sequence[CrossFitted],
    *,
    level: float = LEVEL,
    worthwhile: float = WORTHWHILE,
) -> Decision:
    """Compare every correction with the vectors as they are, and choose.

    Parameters
    ----------
    problem : Problem
        What is scored.
    before : array
        The outputs of the vectors as they are.
    found : sequence of CrossFitted
        The outputs of every correction.
    level : float
        1 − α: the chance of recommending nothing where nothing helps.
    worthwhile : float
        The smallest gain that is worth a change.
    """
    plain = score_of(problem, before, before, level)[0]
    if plain.value is None:
        raise DataError(
            f"{problem.task}: {problem.main} is {plain.note}; there is nothing to compare"
        )
    scores = [score_of(problem, one.outputs, before, level) for one in found]
    tests = [difference(after, base, level=level) for after, base in scores]
    # A correction that changes nothing has no p-value; it still counts among those tried.
    p_values = [1.0 if one.p_value is None else one.p_value for one in tests]
    adjusted = holm(p_values)
    alpha = round(1 - level, 12)
    tested = holm_levels(p_values, alpha)
    tried = [
        Tried(one, after, difference(after, base, level=own), p, own)
        for one, (after, base), p, own in zip(found, scores, adjusted, tested, strict=True)
    ]
    tried.sort(key=lambda one: -one.gain)  # stable: equal gains stay in order
    decision = Decision(plain, tuple(tried), None, worthwhile, alpha)
    good = [
        one
        for one in decision.helpful
        if one.gain >= worthwhile and above_chance(one, problem.main)
    ]
    recommended = None
    if good:
        best = good[0]
        as_good = [one for one in good if comparable(problem, one, best, level, worthwhile)]
        recommended = min(as_good, key=lambda one: one.found.candidate.rank)
    return replace(decision, recommended=recommended)


def holm_levels(p_values: Sequence[float], alpha: float) -> list[float]:
    """Return the level at which Holm's procedure tests each of some p-values, 1 − α/(m − k + 1).

    The procedure stops at the first that is not significant, so that this level holds for all
    others: an interval at these levels excludes 0 exactly where Holm's procedure rejects.

    Examples
    --------
    >>> [round(level, 4) for level in holm_levels([0.01, 0.04, 0.03], 0.05)]
    [0.9833, 0.975, 0.975]
    """
    count = len(p_values)
    levels = [0.0] * count
    step, stopped = 0, False
    for place in np.argsort(p_values, kind="stable"):
        levels[place] = 1 - alpha / (count - step)
        stopped = stopped or p_values[place] > alpha / (count - step)
        step += not stopped
    return levels


def comparable(problem: Problem, one: Tried, best: Tried, level: float, worthwhile: float) -> bool:
    """Whether the best one is not better by a worthwhile and significant gain."""
    if one is best:
        return True
    higher, lower = score_of(problem, best.found.outputs, one.found.outputs, level)
    apart = difference(higher, lower, level=level)
    if apart.value is None or apart.value < worthwhile:
        return True
    return apart.p_value is not None and apart.p_value > 1 - level


def score_of(
    problem: Problem, outputs: Doubles, others: Doubles, level: float
) -> tuple[Score, Score]:
    """Score two spaces on the items that have an output in both."""
    both = np.flatnonzero(has_output(outputs) & has_output(others))
    one, other = (problem.scores(x[both], both, level)[problem.main] for x in (outputs, others))
    return one, other
