"""One line: is this cloud unevenly filled, what is the likely cause, and what follows from it.

No verdict rests on I1 or any other measure that changes with the length of the vectors, and none
says that a correction will help a task: only the task can.

Every cause has a figure with two limits, ``OFFSET``, ``CARRIED``, ``VARIANCE`` and ``LOW_RANK``:
beyond the first it is mild, beyond the second it is strong. A figure that chance alone reaches in
more than 1 % of evenly filled clouds of the same size is no finding. Where the interval of a figure
holds a limit, the sentence names both grades, and "nothing stands out" is said only where no
interval reaches a limit. ``benchmarks/verdict_limits.py`` has the simulations that the limits
rest on (``docs/verdict.md``), ``benchmarks/sentences.py`` counts how often the verdict is wrong.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from isoscope.compute.stats.quantiles import beta_quantile, chi_square_limit
from isoscope.measures.families.cosine import mean_cosine
from isoscope.measures.families.dimensions import cosine_parts, dead_dimensions, variance_shares
from isoscope.measures.families.spectrum import effective_rank, participation_ratio
from isoscope.measures.intervals import FEWEST_ROWS
from isoscope.measures.registry import find_measure
from isoscope.measures.space import known

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from isoscope.measures.intervals import IntervalEstimator
    from isoscope.measures.registry import Value
    from isoscope.measures.space import Space
    from isoscope.typing import Vector


Cause = Literal[
    "constant",
    "collapsed",
    "long vectors",
    "outlier dimensions",
    "common offset",
    "uneven lengths",
    "low rank",
    "dead dimensions",
    "undecided",
    "none",
]

Grade = Literal["none", "mild", "strong"]
GRADES: tuple[Grade, ...] = ("none", "mild", "strong")


@dataclass(frozen=True)
class Limits:
    """From which value on a finding is mild, and from which on it is strong."""

    mild: float
    strong: float

    @property
    def rising(self) -> bool:
        """Whether larger values are the worse ones."""
        return self.strong >= self.mild

    def grade(self, value: float) -> Grade:
        """Return the grade of a value; the limit itself belongs to the higher grade if rising."""
        if self.rising:
            return GRADES[int(value >= self.mild) + int(value >= self.strong)]
        return GRADES[int(value < self.mild) + int(value < self.strong)]


# Mean cosine. Simulated (64 and 384 dimensions, even and 1/k spectra): an offset that lifts it to
# 0.1 changes 15 to 31 % of everybody's ten nearest neighbours, and 2 to 35 % instead of 1 % of the
# unrelated pairs lie above a threshold chosen without it. With 0.4 it is 37 to 51 % of the
# neighbours, and a quarter to all of the unrelated pairs.
OFFSET = Limits(0.1, 0.4)

# Mean cosine from which on the cloud has collapsed into one direction. What tells vectors apart is
# 1 − c of their squared length: a twentieth and less. I1 of vectors with root mean square length 1
# is then about exp(−√c), between 0.377 and its floor of 1/e ≈ 0.368: whatever the rest looks like,
# it changes by less than 0.01, so that it cannot tell such clouds apart.
COLLAPSED = 0.95

# Share of the mean cosine that a few dimensions carry, where there is an offset. With half of it
# they are the offset; with a quarter, removing them changes it more than any threshold is exact.
CARRIED = Limits(0.25, 0.5)

# Share of the variance that a few dimensions have. Simulated, as above: with a tenth in one
# dimension, removing it changes 35 to 67 % of the ten nearest neighbours, with a quarter 52 to
# 80 %: a cosine adds up products, so that its spread goes with the square of a variance.
VARIANCE = Limits(0.1, 0.25)

# Effective rank as a share of what n and d allow. Variances that fall as 1/k, as those of many
# embeddings do, leave 0.25 in 384 and 0.20 in 768 dimensions; below that directions are missing.
LOW_RANK = Limits(0.2, 0.1)

# With fewer directions to fill, a share of them says nothing.
FEWEST_DIRECTIONS = 10

# How many dimensions are few; 1 % of all where that is more.
FEW = 3

# A single vector with this share of all squared length decides means and variances.
LONG = 0.1

# Chance that an evenly filled cloud, or an offset in a random direction, passes for a finding.
ALPHA = 0.01


@dataclass(frozen=True)
class Figure:
    """A number that the verdict rests on, with its interval and limits.

    Attributes
    ----------
    name : str
        What it is.
    value, low, high : float, optional
        The number and the ends of its interval, where it has one.
    mild, strong : float
        Its limits for this cloud: chance may demand more than ``Limits`` do.
    """

    name: str
    value: float
    low: float | None
    high: float | None
    mild: float
    strong: float

    @classmethod
    def of(
        cls, name: str, value: float, limits: Limits, ends: tuple[float, float] | None = None
    ) -> Figure:
        """Put a value beside its limits; ``ends`` are those of its interval."""
        low, high = (None, None) if ends is None else ends
        return cls(name, value, low, high, limits.mild, limits.strong)

    @property
    def limits(self) -> Limits:
        """From where on it is mild, and strong."""
        return Limits(self.mild, self.strong)

    @property
    def grade(self) -> Grade:
        """The grade of the value itself."""
        return self.limits.grade(self.value)

    @property
    def grades(self) -> tuple[Grade, ...]:
        """All grades that the interval leaves possible, the mildest first."""
        ends = [end for end in (self.low, self.value, self.high) if end is not None]
        places = [GRADES.index(self.limits.grade(end)) for end in ends]
        return GRADES[min(places) : max(places) + 1]

    def text(self, of: str = "", *, share: bool = False) -> str:
        """Return the value, and in parentheses its interval and its limits.

        Parameters
        ----------
        of : str
            What stands behind the value.
        share : bool
            Whether it is a share, to be shown in percent.
        """
        show = percent if share else shown
        about = []
        if self.low is not None and self.high is not None:
            about.append(f"{show(self.low, self.limits)} to {show(self.high, self.limits)}")
        about.append(bounds(self.limits, share=share))
        return f"{show(self.value, self.limits)}{of} ({'; '.join(about)})"

    @property
    def doubt(self) -> str:
        """What the interval leaves possible besides the grade; nothing where it is certain."""
        others = [one for one in self.grades if one != self.grade]
        return f"; the interval does not exclude {' or '.join(map(repr, others))}" if others else ""


@dataclass(frozen=True)
class Verdict:
    """The likely cause of uneven filling, with its consequence."""

    cause: Cause
    sentence: str
    implies: str
    does_not_imply: str
    grade: Grade = "strong"
    """How much of it there is, by the value itself; an interval may leave more than one."""
    figures: tuple[Figure, ...] = ()
    """What it rests on."""
    dimensions: tuple[int, ...] = ()
    """The dimensions that it names, where it is about some."""
    also: tuple[str, ...] = ()
    """Further findings, less important than the cause."""
    explains_offset: bool = False
    """Whether the mean cosine is already accounted for."""

    def to_dict(self) -> dict[str, Any]:
        """Return the verdict as a plain dictionary."""
        values = {
            **asdict(self),
            "also": list(self.also),
            "dimensions": list(self.dimensions),
            "figures": [asdict(one) for one in self.figures],
        }
        del values["explains_offset"]
        return values


class Evidence:
    """What the verdict on one space rests on.

    Parameters
    ----------
    space : Space
        The cloud as it is.
    intervals : IntervalEstimator, optional
        Gives the mean cosine and the effective rank their intervals.
    """

    def __init__(self, space: Space, intervals: IntervalEstimator | None) -> None:
        self.space = space
        self._intervals = intervals
        self.cosine = self._cosine()
        self.rank = self._rank()
        self.variances = variance_shares(space)
        self.largest = Figure.of(
            "largest_variance_share", float(self.variances.max()), self.limits(VARIANCE)
        )

    @property
    def figures(self) -> tuple[Figure, ...]:
        """Every figure that is known."""
        found = [self.cosine, self.largest, self.rank]
        return tuple(one for one in found if one is not None)

    def limits(self, of_shares: Limits) -> Limits:
        """Return limits of the share of few dimensions: not below what chance gives to one."""
        if self.space.width < 2:
            return Limits(1.0, 1.0)
        chance = share_by_chance(self.space.width, 1)
        return Limits(max(of_shares.mild, chance), max(of_shares.strong, chance))

    def _cosine(self) -> Figure | None:
        value = mean_cosine(self.space)
        if value.value is None:
            return None
        chance = cosine_by_chance(self.space)
        limits = Limits(max(OFFSET.mild, chance), max(OFFSET.strong, chance))
        return Figure.of("mean_cosine", value.value, limits, self._ends("mean_cosine", value))

    def _rank(self) -> Figure | None:
        value, possible = effective_rank(self.space), self.directions
        if value.value is None or possible < FEWEST_DIRECTIONS:
            return None
        limits = Limits(LOW_RANK.mild * possible, LOW_RANK.strong * possible)
        ends = self._ends("effective_rank", value)
        if ends is not None:  # an interval from errors may reach beyond what a rank can be
            ends = max(ends[0], 1.0), min(ends[1], float(possible))
        return Figure.of("effective_rank", value.value, limits, ends)

    @property
    def directions(self) -> int:
        """How many directions the rows could fill."""
        return min(self.space.width, self.space.rows - 1)

    def _ends(self, name: str, value: Value) -> tuple[float, float] | None:
        if self._intervals is None:
            return None
        found = self._intervals.interval(find_measure(name), self.space, value)
        return None if found.low is None or found.high is None else (found.low, found.high)


def judge(space: Space, intervals: IntervalEstimator | None = None) -> Verdict:
    """Name the likely cause for the raw cloud: the first of the highest grade, others as ``also``.

    Parameters
    ----------
    space : Space
        The cloud as it is, with sums over dimensions and its spectrum.
    intervals : IntervalEstimator, optional
        What gives the cloud's measures their intervals; without it values are taken as exact.
    """
    known(space.dimensions, "the sums over dimensions")
    if known(space.spectrum, "the spectrum").total == 0:
        return Verdict(
            "constant",
            "All vectors are the same, up to rounding.",
            "there is nothing to compare: check how the vectors were made",
            "anything about a model",
        )
    evidence = Evidence(space, intervals)
    findings: list[Verdict] = []
    for look in (collapsed, long_vectors, outlier_dimensions, common_offset, low_rank, dead):
        finding = look(evidence)
        explained = look is common_offset and any(f.explains_offset for f in findings)
        if finding is not None and not explained:
            findings.append(finding)
    if not findings:
        return undecided(evidence) or healthy(evidence)
    first, *rest = sorted(findings, key=lambda one: -GRADES.index(one.grade))
    return replace(first, also=tuple(finding.sentence for finding in rest))


def healthy(evidence: Evidence) -> Verdict:
    """Say that nothing stands out, with every figure beside its limit."""
    cosine, largest, rank = evidence.cosine, evidence.largest, evidence.rank
    said = []
    if cosine is not None:
        said.append(f"the mean cosine is {cosine.text()}")
    if evidence.space.width > 1:
        one = largest.text(" of the variance", share=True)
        said.append(f"the largest dimension has {one}")
    if rank is not None:
        said.append(f"the effective rank is {rank.text(f' of {evidence.directions:,}')}")
    said.append("no dimension is dead")
    return Verdict(
        "none",
        f"Nothing stands out: {', '.join(said[:-1])}, and {said[-1]}.",
        "on average unrelated vectors have low cosines, as most thresholds assume"
        if cosine is not None
        else "no single dimension or direction dominates",
        "that the vectors are good for a task, or that no correction could help one",
        "none",
        evidence.figures,
    )


def undecided(evidence: Evidence) -> Verdict | None:
    """Say what prevents "nothing stands out"; None where nothing does."""
    rows, cosine, rank = evidence.space.rows, evidence.cosine, evidence.rank
    if rows < FEWEST_ROWS:
        sentence = (
            f"Undecided: {rows:,} rows are too few to say that nothing stands out; it takes at "
            f"least {FEWEST_ROWS}."
        )
        does = "measure more rows of the same kind"
    elif cosine is not None and len(cosine.grades) > 1:
        sentence = (
            f"Undecided: the mean cosine is {cosine.text()}, and its interval contains the limit "
            "of a common offset."
        )
        does = "a mild common offset is possible; more rows would decide it"
    elif rank is not None and len(rank.grades) > 1:
        sentence = (
            f"Undecided: the effective rank is {rank.text(f' of {evidence.directions:,}')}, and "
            "its interval contains the limit of a low one."
        )
        does = "a mildly low rank is possible; more rows would decide it"
    else:
        return None
    return Verdict(
        "undecided", sentence, does, "that the space is evenly filled", "none", evidence.figures
    )


def collapsed(evidence: Evidence) -> Verdict | None:
    """All vectors in nearly the same direction: a mean cosine near 1."""
    space, cosine = evidence.space, evidence.cosine
    if cosine is None or space.width < 2:
        return None
    limit = max(COLLAPSED, cosine.strong)  # chance may demand more
    if cosine.value < limit:
        return None
    ends = None if cosine.low is None or cosine.high is None else (cosine.low, cosine.high)
    figure = Figure.of("mean_cosine", cosine.value, Limits(limit, limit), ends)
    doubt = "; the interval does not exclude a lower one" if len(figure.grades) > 1 else ""
    left = 100 * (1 - cosine.value)
    return Verdict(
        "collapsed",
        f"Collapsed: the mean cosine is {figure.text()}{doubt}, so that all vectors point in "
        f"nearly the same direction and differ in about {left:.2g} % of their squared length.",
        "measures of the vectors as they are describe this one direction (i1_scaled is near its "
        "floor of 1/e ≈ 0.368 and says nothing more); judge the vectors after centring",
        "that the vectors are all the same: centred, they may be evenly spread",
        figures=(figure,),
        explains_offset=True,
    )


def long_vectors(evidence: Evidence) -> Verdict | None:
    """One vector so long that means and variances describe it instead of the cloud."""
    space = evidence.space
    total = space.rows * space.lengths.root_mean_square**2
    share = space.lengths.largest**2 / total if total > 0 else 0.0
    limit = max(LONG, 10 / space.rows)
    if share < limit:
        return None
    times = space.lengths.largest / space.lengths.mean
    return Verdict(
        "long vectors",
        f"Long vectors: one is {times:.3g} times as long as the average and has "
        f"{100 * share:.0f} % of all squared length (limit {100 * limit:.0f} %).",
        "mean, variances, ranks and I1 describe it more than the cloud; look at the longest rows",
        "that cosines are affected: they do not depend on the norm",
        figures=(Figure("squared_length_share", share, None, None, limit, limit),),
    )


def outlier_dimensions(evidence: Evidence) -> Verdict | None:
    """A few dimensions that carry much of the mean cosine, or of the variance."""
    space, cosine = evidence.space, evidence.cosine
    if cosine is None or space.width < 2:
        return None
    of_variance, of_cosine = evidence.limits(VARIANCE), evidence.limits(CARRIED)
    chosen = standing_out(evidence.variances, of_variance)
    parts = cosine_parts(space) / cosine.value if cosine.grade != "none" else None
    if parts is not None:
        carrying = standing_out(parts, of_cosine)
        carried = of_cosine.grade(float(parts[carrying].sum()))
        # Most of a small offset is still small.
        by_cosine = min(carried, cosine.grade, key=GRADES.index)
        by_variance = of_variance.grade(float(evidence.variances[chosen].sum()))
        if by_cosine != "none" and GRADES.index(by_cosine) >= GRADES.index(by_variance):
            chosen = carrying
    varying = Figure.of("variance_share", float(evidence.variances[chosen].sum()), of_variance)
    grade, figures, explains = varying.grade, [varying], False
    said = f"{varying.text(' of the variance', share=True)}."
    if parts is not None:
        share = min(float(parts[chosen].sum()), 1.0)  # others may be negative
        carried_by = Figure.of("mean_cosine_share", share, of_cosine)
        by_cosine = min(carried_by.grade, cosine.grade, key=GRADES.index)
        if by_cosine != "none":
            grade = max(grade, by_cosine, key=GRADES.index)
            explains = carried_by.grade == "strong"
            figures += [carried_by, cosine]
            said = (
                f"{said[:-1]}, and {carried_by.text(' of the mean cosine', share=True)}. The "
                f"offset that they carry is {cosine.grade}: the mean cosine is {cosine.text()}"
                f"{cosine.doubt}."
            )
    if grade == "none":
        return None
    listed = ", ".join(str(int(k)) for k in chosen)
    name = f"dimension {listed} has" if len(chosen) == 1 else f"dimensions {listed} have"
    if varying.grade == "none":
        implies = "they act as a common offset, so that centring or clipping them removes it"
    else:
        implies = (
            "a few numbers decide which vectors are near: centring cannot change that, clipping can"
        )
    return Verdict(
        "outlier dimensions",
        f"{grade.capitalize()} outlier dimensions: {name} {said}",
        implies,
        "that those dimensions are useless: some models keep position or frequency in them",
        grade,
        tuple(figures),
        tuple(int(k) for k in chosen),
        explains_offset=explains,
    )


def standing_out(shares: Vector, limits: Limits) -> NDArray[np.intp]:
    """Return the few dimensions that stand out, none where chance could explain the largest.

    The k-th largest share stands out where k dimensions of a random direction all reach it with a
    chance of at most 1 %. Of those, the fewest that reach the same grade are returned.
    """
    most = min(max(FEW, len(shares) // 100), len(shares) - 1)
    order = np.argsort(-shares, kind="stable")[:most]
    count = 0
    while count < len(order) and shares[order[count]] >= share_by_chance(len(shares), count + 1):
        count += 1
    if not count:
        return order[:0]
    grades = [limits.grade(float(one)) for one in np.cumsum(shares[order[:count]])]
    return order[: grades.index(grades[-1]) + 1]


def share_by_chance(dimension: int, count: int) -> float:
    """Return the share that ``count`` dimensions of a random direction each reach in 1 of 100.

    A squared entry of a random unit vector is distributed as Beta(1/2, (d − 1)/2), and with p the
    chance that one entry exceeds a share, P(k of d exceed it) ≤ (d choose k) pᵏ.
    """
    sets = math.lgamma(dimension + 1) - math.lgamma(count + 1) - math.lgamma(dimension - count + 1)
    single = math.exp((math.log(ALPHA) - sets) / count)
    # By symmetry the upper tail of Beta(a, b) is the lower one of Beta(b, a).
    return 1.0 - beta_quantile((dimension - 1) / 2, 0.5, single)


def cosine_by_chance(space: Space) -> float:
    """Return the mean cosine that a cloud around zero exceeds in 1 of 100 draws.

    With r directions evenly filled, n r ‖mean of unit vectors‖² is distributed as χ² of r degrees
    of freedom, and the mean cosine is (n ‖mean‖² − 1) / (n − 1). The participation ratio stands for
    r; it is too small in small clouds, which makes the limit too high rather than too low.
    """
    filled = participation_ratio(space).value
    rows = space.units.rows
    if filled is None or rows < 2:
        return 1.0
    limit = chi_square_limit(filled, ALPHA)
    return float(min((limit / filled - 1) / (rows - 1), 1.0))


def common_offset(evidence: Evidence) -> Verdict | None:
    """A direction that all vectors share: in their mean, or only once they have unit length."""
    space, cosine = evidence.space, evidence.cosine
    if cosine is None or cosine.grade == "none":
        return None
    share = min(space.norm_of_mean / space.lengths.mean, 1.0)
    if share < np.sqrt(cosine.value) / 2:
        return Verdict(
            "uneven lengths",
            f"Uneven lengths: the mean cosine is {cosine.text()}, but the mean is only "
            f"{100 * share:.0f} % as long as the vectors{cosine.doubt}.",
            "short vectors share a direction that long ones cancel: normalise before centring",
            "that centring alone lowers the cosines",
            cosine.grade,
            (cosine,),
        )
    how_high = {
        "mild": "a little higher than without an offset",
        "strong": "high and close together",
    }
    return Verdict(
        "common offset",
        f"A {cosine.grade} common offset: the mean is {100 * share:.0f} % as long as the vectors, "
        f"and the mean cosine is {cosine.text()}{cosine.doubt}.",
        f"cosine thresholds are {how_high[cosine.grade]}; centring lowers them",
        "that rankings are bad: only a task can show whether centring improves them",
        cosine.grade,
        (cosine,),
    )


def low_rank(evidence: Evidence) -> Verdict | None:
    """Variance in few directions."""
    rank, possible = evidence.rank, evidence.directions
    if rank is None or rank.grade == "none":
        return None
    return Verdict(
        "low rank",
        f"A {'mildly' if rank.grade == 'mild' else 'strongly'} low rank: the variance fills about "
        f"{rank.text(f' of {possible:,} possible directions')}{rank.doubt}.",
        "the vectors could be shorter at little loss, and whitening would amplify noise",
        "that information is missing: few directions may be all the data has",
        rank.grade,
        (rank,),
    )


def dead(evidence: Evidence) -> Verdict | None:
    """Dimensions without variance."""
    space = evidence.space
    rows = dead_dimensions(space).rows
    if not rows:
        return None
    listed = ", ".join(str(next(iter(row.values()))) for row in rows[:5])
    more = ", …" if len(rows) > 5 else ""
    verb, which = ("varies", "dimension") if len(rows) == 1 else ("vary", "dimensions")
    return Verdict(
        "dead dimensions",
        f"Dead dimensions: {len(rows):,} of {space.width:,} never {verb} ({which} {listed}{more}).",
        "they cost memory, and whitening that does not drop them amplifies rounding",
        "that the other dimensions are unevenly filled",
        "mild",
    )


def bounds(limits: Limits, *, share: bool = False) -> str:
    """Return from where on something is mild and strong."""
    mild, strong = (
        f"{100 * one:.0f} %" if share else f"{one:.3g}" for one in (limits.mild, limits.strong)
    )
    if mild == strong:
        return f"limit {mild}"
    side = "from" if limits.rising else "below"
    return f"mild {side} {mild}, strong {side} {strong}"


# A value that is this close to a limit may look as if it were on it.
MOST_DIGITS = 6


def shown(value: float, limits: Limits, digits: int | None = None) -> str:
    """Return a number with as many digits as it takes to be on its own side of the limits."""
    if digits is None:
        digits = 2 if limits.mild <= 1 else 1
    text = f"{value:.{digits}f}"
    while limits.grade(float(text)) != limits.grade(value) and digits < MOST_DIGITS:
        digits += 1
        text = f"{value:.{digits}f}"
    return text if float(text) else text.lstrip("-")


def percent(share: float, limits: Limits) -> str:
    """Return a share in percent, with digits enough to be on its own side of the limits."""
    return f"{shown(100 * share, Limits(100 * limits.mild, 100 * limits.strong), 0)} %"
