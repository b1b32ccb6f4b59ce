"""One line: is this cloud unevenly filled, what is the likely cause, and what follows from it.

No verdict rests on I1 or any other measure that changes with the length of the vectors, and none
says that a correction will help a task: only the task can.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from isoscope.measures.cosine import mean_cosine
from isoscope.measures.dimensions import cosine_parts, dead_dimensions, variance_shares
from isoscope.measures.variance import effective_rank

if TYPE_CHECKING:
    from isoscope.measures.space import Space

Cause = Literal[
    "constant",
    "outlier dimensions",
    "common offset",
    "low rank",
    "dead dimensions",
    "none",
]

HIGH_COSINE = 0.2
"""From here on unrelated vectors look related: a fifth of the way to identical."""

DOMINANT = 0.5
"""A few dimensions that carry this share of the mean cosine or variance are outliers."""

FEW = 3
"""How many dimensions are few; 1 % of the width where that is more."""

LOW_RANK = 0.1
"""An effective rank below this share of what n and d allow is low."""


@dataclass(frozen=True)
class Verdict:
    """The likely cause of uneven filling, with its consequence."""

    cause: Cause
    sentence: str
    implies: str
    does_not_imply: str
    also: tuple[str, ...] = ()
    """Further findings, less important than the cause."""

    def to_dict(self) -> dict[str, Any]:
        """Return the verdict as a plain dictionary."""
        return {**asdict(self), "also": list(self.also)}


def judge(space: Space) -> Verdict:
    """Name the likely cause for the raw cloud; the first that applies, others as ``also``."""
    if space.spectrum is None or space.dimensions is None:
        raise ValueError("a verdict needs the spectrum and the dimensions")
    if space.spectrum.total == 0:
        return Verdict(
            "constant",
            "All vectors are the same, up to rounding.",
            "there is nothing to compare: check how the vectors were made",
            "anything about a model",
        )
    findings = [
        finding
        for look in (outlier_dimensions, common_offset, low_rank, dead)
        if (finding := look(space)) is not None
    ]
    if not findings:
        return healthy(space)
    first, *rest = findings
    also = tuple(finding.sentence for finding in rest)
    return Verdict(first.cause, first.sentence, first.implies, first.does_not_imply, also)


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


def outlier_dimensions(space: Space) -> Verdict | None:
    """A few dimensions that carry most of the mean cosine, or most of the variance."""
    few = max(FEW, space.width // 100)
    if space.width <= 2 * few:
        return None
    cosine = mean_cosine(space).value or 0.0
    parts, spread = cosine_parts(space), variance_shares(space)
    by_variance = smallest_set(spread, DOMINANT, few)
    by_cosine = smallest_set(parts / cosine, DOMINANT, few) if cosine >= HIGH_COSINE else None
    chosen = by_cosine if by_cosine is not None else by_variance
    if chosen is None:
        return None
    listed = ", ".join(str(int(k)) for k in chosen)
    name = f"dimension {listed}" if len(chosen) == 1 else f"dimensions {listed}"
    varies = float(spread[chosen].sum())
    sentence = f"Few outlier dimensions: {name} with {100 * varies:.0f} % of the variance"
    if by_cosine is not None:
        carried = 100 * float(parts[chosen].sum()) / cosine
        sentence += f" and {carried:.0f} % of the mean cosine {shown(cosine)}"
    if varies >= DOMINANT:
        implies = "a few numbers decide every cosine: centring cannot mend that, clipping can"
    else:
        implies = "they act as a common offset, so that centring or clipping them takes it away"
    return Verdict(
        "outlier dimensions",
        sentence + ".",
        implies,
        "that those dimensions are useless: some models keep position or frequency in them",
    )


def smallest_set(shares: np.ndarray, enough: float, most: int) -> np.ndarray | None:
    """Return the fewest dimensions, at most ``most``, whose shares add up to ``enough``."""
    order = np.argsort(-shares, kind="stable")[:most]
    reached = np.flatnonzero(np.cumsum(shares[order]) >= enough)
    return order[: int(reached[0]) + 1] if len(reached) else None


def common_offset(space: Space) -> Verdict | None:
    """A mean vector that all vectors share."""
    cosine = mean_cosine(space).value
    if cosine is None or cosine < HIGH_COSINE:
        return None
    share = space.norm_of_mean / space.lengths.mean
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
    more = f" and {len(rows) - 5:,} more" if len(rows) > 5 else ""
    word = "dimension" if len(rows) == 1 else "dimensions"
    return Verdict(
        "dead dimensions",
        f"Dead {word}: {listed}{more} of {space.width:,} never vary.",
        "they cost memory, and whitening that does not drop them amplifies rounding",
        "that the other dimensions are unevenly filled",
    )


def shown(value: float | None) -> str:
    """Return a cosine as text."""
    return "undefined" if value is None else f"{value:.2f}"
