"""Which corrections are tried, and which of them, if any, is worth its step.

Every correction is compared with the vectors as they are by a paired difference. Holm's step-down
correction over all m that were tried keeps the chance of recommending anything, where nothing
helps, below α = 5 %: with p-values in ascending order,

    p̃₍ₖ₎ = max over j ≤ k of min((m − j + 1) · p₍ⱼ₎, 1)

What is left must gain as much as the user calls worthwhile. Of several that are as good as the best
one, but for a gain that is not worthwhile or not significant, the simplest is recommended.

References
----------
Holm (1979), A simple sequentially rejective multiple test procedure.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

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


ALPHA = 0.05
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

    @property
    def name(self) -> str:
        """The correction."""
        return self.found.candidate.name

    @property
    def gain(self) -> float:
        """How much it gains; 0 where that is undefined."""
        return 0.0 if self.change.value is None else self.change.value

    @property
    def helps(self) -> bool:
        """Whether it is better than the vectors as they are, and not by chance."""
        return self.gain > 0 and self.p_holm <= ALPHA


@dataclass(frozen=True)
class Decision:
    """The vectors as they are, all that was tried, and what is recommended."""

    before: Score
    tried: tuple[Tried, ...]
    """Best first."""
    recommended: Tried | None
    worthwhile: float


def decide(
    problem: Problem,
    before: Doubles,
    found: Sequence[CrossFitted],
    *,
    level: float = 0.95,
    worthwhile: float = WORTHWHILE,
) -> Decision:
    """Compare every correction with the vectors as they are, and choose."""
    plain = score_of(problem, before, before, level)[0]
    if plain.value is None:
        raise DataError(
            f"{problem.task}: {problem.main} is {plain.note}; there is nothing to compare"
        )
    scores = [score_of(problem, one.outputs, before, level) for one in found]
    changes = [difference(after, base, level=level) for after, base in scores]
    # A correction that changes nothing has no p-value; it still counts among those tried.
    adjusted = holm([1.0 if one.p_value is None else one.p_value for one in changes])
    tried = [
        Tried(one, after, change, p)
        for one, (after, _), change, p in zip(found, scores, changes, adjusted, strict=True)
    ]
    tried.sort(key=lambda one: -one.gain)  # stable: equal gains stay in order
    good = [one for one in tried if one.helps and one.gain >= worthwhile]
    recommended = None
    if good:
        best = good[0]
        as_good = [one for one in good if comparable(problem, one, best, level, worthwhile)]
        recommended = min(as_good, key=lambda one: one.found.candidate.rank)
    return Decision(plain, tuple(tried), recommended, worthwhile)


def comparable(problem: Problem, one: Tried, best: Tried, level: float, worthwhile: float) -> bool:
    """Whether the best one is not better by a gain that is worthwhile and told from chance."""
    if one is best:
        return True
    higher, lower = score_of(problem, best.found.outputs, one.found.outputs, level)
    apart = difference(higher, lower, level=level)
    if apart.value is None or apart.value < worthwhile:
        return True
    return apart.p_value is not None and apart.p_value > ALPHA


def score_of(
    problem: Problem, outputs: Doubles, others: Doubles, level: float
) -> tuple[Score, Score]:
    """Score two spaces on the items that have an output in both."""
    both = np.flatnonzero(has_output(outputs) & has_output(others))
    one, other = (problem.scores(x[both], both, level)[problem.main] for x in (outputs, others))
    return one, other
