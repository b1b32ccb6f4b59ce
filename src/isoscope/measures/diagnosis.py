"""One line: is this cloud unevenly filled, what is the likely cause, and what follows from it.

No verdict rests on I1 or any other measure that changes with the length of the vectors, and none
says that a correction will help a task: only the task can.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from isoscope.measures.families.cosine import mean_cosine
from isoscope.measures.families.dimensions import cosine_parts, dead_dimensions, variance_shares
from isoscope.measures.families.spectrum import effective_rank
from isoscope.measures.space import known

if TYPE_CHECKING:
    from isoscope.measures.space import Space


Cause = Literal[
    "constant",
    "long vectors",
    "outlier dimensions",
    "common offset",
    "uneven lengths",
    "low rank",
    "dead dimensions",
    "none",
]

# From here on unrelated vectors look related: a fifth of the way to identical.
HIGH_COSINE = 0.2

# A few dimensions that carry this share of the mean cosine or variance are outliers.
DOMINANT = 0.5

# How many dimensions are few; 1 % of the width where that is more.
FEW = 3

# An outlier carries at least this many times an even share (or 0.9, in few dimensions): of any
# direction in few dimensions, a few carry half.
STANDING_OUT = 8.0

ALMOST_ALL = 0.9

# A single vector with this share of all squared length decides means and variances.
LONG = 0.1

# An effective rank below this share of what n and d allow is low.
LOW_RANK = 0.1


@dataclass(frozen=True)
class Verdict:
    """The likely cause of uneven filling, with its consequence."""

    cause: Cause
    sentence: str
    implies: str
    does_not_imply: str
    also: tuple[str, ...] = ()
    """Further findings, less important than the cause."""
    explains_offset: bool = False
    """Whether the mean cosine is already accounted for."""

    def to_dict(self) -> dict[str, Any]:
        """Return the verdict as a plain dictionary."""
        values = {**asdict(self), "also": list(self.also)}
        del values["explains_offset"]
        return values


def judge(space: Space) -> Verdict:
    """Name the likely cause for the raw cloud; the first that applies, others as ``also``."""
    known(space.dimensions, "the sums over dimensions")
    if known(space.spectrum, "the spectrum").total == 0:
        return Verdict(
            "constant",
            "All vectors are the same, up to rounding.",
            "there is nothing to compare: check how the vectors were made",
            "anything about a model",
        )
    findings: list[Verdict] = []
    for look in (long_vectors, outlier_dimensions, common_offset, low_rank, dead):
        finding = look(space)
        explained = look is common_offset and any(f.explains_offset for f in findings)
        if finding is not None and not explained:
            findings.append(finding)
    if not findings:
        return healthy(space)
    first, *rest = findings
    return replace(first, also=tuple(finding.sentence for finding in rest))


def healthy(space: Space) -> Verdict:
    """Say that nothing stands out."""
    cosine = mean_cosine(space).value
    return Verdict(
        "none",
        f"No common offset, outlier or dead dimensions, nor low rank stand out "
        f"(mean cosine {shown(cosine)}).",
        "on average unrelated vectors have low cosines, as most thresholds assume",
        "that the vectors are good for a task, or that no correction could help one",
    )


def long_vectors(space: Space) -> Verdict | None:
    """One vector so long that means and variances describe it instead of the cloud."""
    total = space.rows * space.lengths.root_mean_square**2
    share = space.lengths.largest**2 / total if total > 0 else 0.0
    if share < max(LONG, 10 / space.rows):
        return None
    times = space.lengths.largest / space.lengths.mean
    return Verdict(
        "long vectors",
        f"Long vectors: one is {times:.3g} times as long as the average and has "
        f"{100 * share:.0f} % of all squared length.",
        "mean, variances, ranks and I1 describe it more than the cloud; look at the longest rows",
        "that cosines are affected: they do not depend on length",
    )


def outlier_dimensions(space: Space) -> Verdict | None:
    """A few dimensions that carry most of the mean cosine, or most of the variance."""
    few = max(FEW, space.width // 100)
    cosine = mean_cosine(space).value
    if cosine is None or space.width < 2:
        return None
    parts, spread = cosine_parts(space), variance_shares(space)
    by_variance = smallest_set(spread, few)
    by_cosine = smallest_set(parts / cosine, few) if cosine >= HIGH_COSINE else None
    chosen = by_cosine if by_cosine is not None else by_variance
    if chosen is None:
        return None
    listed = ", ".join(str(int(k)) for k in chosen)
    name = f"dimension {listed}" if len(chosen) == 1 else f"dimensions {listed}"
    varies = float(spread[chosen].sum())
    sentence = f"Few outlier dimensions: {name} with {100 * varies:.0f} % of the variance"
    if by_cosine is not None:
        carried = min(float(parts[chosen].sum()) / cosine, 1.0)  # others may be negative
        sentence += f" and {100 * carried:.0f} % of the mean cosine {shown(cosine)}"
    if varies >= DOMINANT:
        implies = "a few numbers decide every cosine: centring cannot mend that, clipping can"
    else:
        implies = "they act as a common offset, so that centring or clipping them takes it away"
    return Verdict(
        "outlier dimensions",
        sentence + ".",
        implies,
        "that those dimensions are useless: some models keep position or frequency in them",
        explains_offset=by_cosine is not None,
    )


def smallest_set(shares: np.ndarray, most: int) -> np.ndarray | None:
    """Return the fewest dimensions, at most ``most``, that dominate; each must stand out."""
    order = np.argsort(-shares, kind="stable")[:most]
    reached = np.flatnonzero(np.cumsum(shares[order]) >= DOMINANT)
    if not len(reached):
        return None
    chosen = order[: int(reached[0]) + 1]
    least = min(STANDING_OUT / len(shares), ALMOST_ALL)
    return chosen if (shares[chosen] >= least).all() else None


def common_offset(space: Space) -> Verdict | None:
    """A direction that all vectors share: in their mean, or only once they have unit length."""
    cosine = mean_cosine(space).value
    if cosine is None or cosine < HIGH_COSINE:
        return None
    share = min(space.norm_of_mean / space.lengths.mean, 1.0)
    if share < np.sqrt(cosine) / 2:
        return Verdict(
            "uneven lengths",
            f"Uneven lengths: the mean cosine is {shown(cosine)}, but the mean is only "
            f"{100 * share:.0f} % as long as the vectors.",
            "short vectors share a direction that long ones cancel: normalise before centring",
            "that centring alone lowers the cosines",
        )
    return Verdict(
        "common offset",
        f"A common offset: the mean is {100 * share:.0f} % as long as the vectors, and lifts the "
        f"mean cosine to {shown(cosine)}.",
        "cosine thresholds sit high and close together; centring brings them down",
        "that rankings are bad: an offset moves scores more than their order",
    )


def low_rank(space: Space) -> Verdict | None:
    """Variance in few directions."""
    rank = effective_rank(space).value
    possible = min(space.width, space.rows - 1)
    if rank is None or possible < 10 or rank >= LOW_RANK * possible:
        return None
    return Verdict(
        "low rank",
        f"Low rank: the variance fills about {rank:.1f} of {possible:,} possible directions.",
        "the vectors could be shorter at little loss, and whitening would amplify noise",
        "that information is missing: few directions may be all the data has",
    )


def dead(space: Space) -> Verdict | None:
    """Dimensions without variance."""
    rows = dead_dimensions(space).rows
    if not rows:
        return None
    listed = ", ".join(str(next(iter(row.values()))) for row in rows[:5])
    more = ", …" if len(rows) > 5 else ""
    verb = "varies" if len(rows) == 1 else "vary"
    return Verdict(
        "dead dimensions",
        f"Dead dimensions: {len(rows):,} of {space.width:,} never {verb} ({listed}{more}).",
        "they cost memory, and whitening that does not drop them amplifies rounding",
        "that the other dimensions are unevenly filled",
    )


def shown(value: float | None) -> str:
    """Return a cosine as text."""
    return "undefined" if value is None else f"{value:.2f}".replace("-0.00", "0.00")
