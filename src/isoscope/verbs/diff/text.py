"""A comparison of two clouds in sentences that a person can act on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoscope.corrections.summary import fingerprint_of, same_vectors
from isoscope.verbs.diff.names import (
    COSINE_LIMIT,
    COVARIANCES,
    LENGTHS,
    MEANS,
    NEIGHBOURS,
    NEIGHBOURS_LIMIT,
    THRESHOLD_FACTOR,
)
from isoscope.verbs.diff.reuse import rounded_share

if TYPE_CHECKING:
    from isoscope.compute.stats.estimates import Estimate
    from isoscope.corrections.base import Correction
    from isoscope.verbs.diff.effects import Effects
    from isoscope.verbs.diff.permutation import EqualityTest
    from isoscope.verbs.diff.reuse import CorrectionKept, Kept, ThresholdKept
    from isoscope.verbs.diff.same_rows import SameRows
    from isoscope.verbs.diff.support import Outside
    from isoscope.verbs.diff.two_clouds import TwoSides


ALPHA = 0.05


def about_same_rows(same: SameRows) -> list[str]:
    """Say how alike two spaces are to somebody who searches in them."""
    said = [
        f"Of the {same.k} nearest rows of a row, {ranged(same.overlap, 2)} are the same in both "
        f"spaces (chance: {same.chance:.2g})."
    ]
    if same.overlap.low is not None and same.overlap.low <= 2 * same.chance:
        said.append(
            "That is hardly more than chance: are these the same rows? --other-rows compares them "
            "as clouds of others."
        )
    return said


def about_differences(found: Effects | None, tests: dict[str, EqualityTest] | None) -> list[str]:
    """Say what differs beyond chance, and by how much."""
    if found is None:
        return ["Neither cloud has any variance: all vectors of each are the same."]
    if tests is None:
        return ["There are too few documents to test whether the clouds differ."]
    sizes = {
        MEANS: f"the means, by {found.mean_shift:.3f} of the spread",
        COVARIANCES: f"the covariances, by {found.covariance_distance:.2f} of their size",
        LENGTHS: f"the lengths, on average {found.mean_lengths[0]:.4g} and "
        f"{found.mean_lengths[1]:.4g}",
    }
    differ = [
        f"{words} (p = {tests[name].p_holm:.2g})"
        for name, words in sizes.items()
        if (tests[name].p_holm or 0.0) <= ALPHA and tests[name].p_value is not None
    ]
    if not differ:
        return ["Means, covariances and lengths differ by no more than chance makes of one cloud."]
    return [f"Beyond chance differ {'; '.join(differ)}."]


def about_support(found: dict[str, list[Outside]]) -> list[str]:
    """Say how much of each cloud is new to the other."""
    lines = []
    for direction, shares in found.items():
        one = shares[0]
        if one.share is None or one.low is None or one.high is None:
            continue
        inside, other = direction.split(" outside ")
        verb = "more than" if one.low > one.expected else "about as much as"
        if one.high < one.expected:
            verb = "less than"
        lines.append(
            f"{rounded_share(one.share)} of {inside} lies outside {other}'s support ({verb} the "
            f"{rounded_share(one.expected)} of {other} itself)"
        )
    return ["; ".join(lines) + "."] if lines else []


def about_keeping(kept: Kept) -> list[str]:
    """Answer whether the correction and the threshold of A serve for B."""
    lines = [] if kept.correction is None else [about_correction(kept.space, kept.correction)]
    return [*lines, about_threshold(kept.space, kept.threshold)]


def about_correction(name: str, kept: CorrectionKept) -> str:
    """Say whether to keep a correction, with what decides."""
    figures = (
        f"with {name} fitted on B instead, {ranged(kept.kept, 2)} of the {NEIGHBOURS} nearest stay "
        f"(fitting on other rows of B: {valued(kept.by_chance, 2)}) and the mean cosine of random "
        f"pairs goes from {valued(kept.old_cosine, 3)} to {valued(kept.new_cosine, 3)}"
    )
    if kept.keep:
        return f"Keep A's correction: {figures}."
    reasons = []
    if kept.neighbours_differ:
        reasons.append(f"more than {NEIGHBOURS_LIMIT:g} of the neighbours change beyond chance")
    if kept.cosines_differ:
        reasons.append(f"the mean cosine is off by more than {COSINE_LIMIT:g}")
    return f"Fit the correction again ({' and '.join(reasons)}): {figures}."


def about_threshold(name: str, cut: ThresholdKept) -> str:
    """Say whether to keep a threshold, with what decides."""
    where = "of vectors as they are" if name == "none" else f"after A's {name}"
    a, b = cut.share_a, cut.share_b
    figures = (
        f"{percent(b)} of B's random pairs score above {cut.threshold:.3f} {where}, where "
        f"{rounded_share(a.value or 0.0)} of A's do"
    )
    if cut.keep:
        return f"Keep the threshold: {figures}."
    factor = f"a factor of more than {THRESHOLD_FACTOR:g}"
    return f"Choose a new threshold ({factor}): {figures}."


def about_sources(two: TwoSides) -> list[str]:
    """Say what must be known of a source, such as that its codes are lossy."""
    told = {"A": two.a.caveat, "B": two.b.caveat}
    return [f"{name} has {caveat}." for name, caveat in told.items() if caveat]


def about_origin(given: Correction, two: TwoSides) -> list[str]:
    """Say where a correction that was given is not one of A."""
    sums = getattr(given, "moments_", None)
    if sums is None:
        same = given.fitted_on_.fingerprint == fingerprint_of(two.a.moments)
    else:
        same = same_vectors(sums, two.a.moments)
    if same:
        return []
    return [
        f"The correction was fitted on {given.fitted_on_.rows:,} vectors that are not those of A."
    ]


def valued(found: Estimate, digits: int) -> str:
    """Return a figure."""
    # Adding zero turns −0 into 0.
    return "undefined" if found.value is None else f"{round(found.value, digits) + 0.0:.{digits}f}"


def ranged(found: Estimate, digits: int) -> str:
    """Return a figure with its interval."""
    if found.low is None or found.high is None:
        return valued(found, digits)
    return f"{valued(found, digits)} ({found.low:.{digits}f} to {found.high:.{digits}f})"


def percent(found: Estimate) -> str:
    """Return a share with its interval, as percentages."""
    value = rounded_share(found.value or 0.0)
    if found.low is None or found.high is None:
        return value
    return f"{value} ({rounded_share(found.low)} to {rounded_share(found.high)})"
