"""What thresholds mean, in sentences that a person can act on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoscope.corrections.named import NONE
from isoscope.verbs.measure.search.random_pairs import FEWEST_PAIRS
from isoscope.verbs.threshold.labelled_pairs import RARE, rare_precision

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoscope.compute.stats.estimates import Difference
    from isoscope.verbs.threshold.chance import Meaning
    from isoscope.verbs.threshold.labelled_pairs import SpaceScores


TYPICAL = 0.01
"""The share of random pairs that the first sentence is about."""

MOVED = 0.02
"""A threshold that moves by less gives nearly the same matches."""

SMALL = 0.01
"""An area that changes by less is, for a user, the same."""


def background_sentence(one: Meaning) -> str:
    """Say what the 99th percentile of random pairs is, and what it lets through."""
    if TYPICAL * one.pairs.count < FEWEST_PAIRS:
        return f"{one.pairs.count:,} random pairs are too few for a 99th percentile."
    score, matches = one.pairs.quantile(TYPICAL), TYPICAL * one.others
    return (
        f"A cosine of {score:.3f} (distance {1 - score:.3f}) is the 99th percentile of "
        f"random pairs: a query meets about {matches:,.0f} of {one.others:,} other vectors above "
        "it by chance."
    )


def range_sentence(one: Meaning) -> str | None:
    """Point out where scores of random pairs are high, so that a high score says little."""
    middle = one.pairs.quantile(0.5)
    if middle < 0.5:
        return None
    return (
        f"Half of all random pairs have a cosine above {middle:.3f}: scores are high here because "
        "vectors share a direction, not because they are related."
    )


def change_sentences(scored: Sequence[SpaceScores]) -> list[str]:
    """Say of every correction whether it moves the threshold, the ranking of pairs, or both."""
    plain = next((one for one in scored if one.name == NONE), None)
    if plain is None or plain.auc.value is None:
        return []
    lines = []
    for one in scored:
        if one.change is None or one.change.value is None or one.auc.value is None:
            continue
        areas = f"{plain.auc.value:.4f} to {one.auc.value:.4f}"
        lines.append(f"{one.name} {moved(plain, one)}{area_change(one.change)} ({areas}).")
    return lines


def moved(plain: SpaceScores, one: SpaceScores) -> str:
    """Say what becomes of the first threshold that both have."""
    for cut_before, cut_after in zip(plain.thresholds, one.thresholds, strict=True):
        before, after = cut_before.chosen.threshold, cut_after.chosen.threshold
        if before is not None and after is not None:
            if abs(after - before) < MOVED:
                return f"leaves the threshold for {cut_after.goal.words} where it is, and "
            goal = cut_after.goal.words
            return f"moves the threshold for {goal} from {before:.3f} to {after:.3f}, and "
    return ""


def area_change(change: Difference) -> str:
    """Say whether the ranking of pairs changes; that it does not takes an interval close to 0."""
    low, high = change.low, change.high
    if low is None or high is None:
        return "leaves the AUC as it is" if not change.value else "changes the AUC"
    if max(abs(low), abs(high)) <= SMALL:
        return "leaves the AUC alone"
    if low > 0:
        return "raises the AUC"
    if high < 0:
        return "lowers the AUC"
    return "whether it changes the AUC these pairs cannot tell"


def rare_sentence(scored: Sequence[SpaceScores], share: float) -> str | None:
    """Warn that precision is that of the labelled pairs, which hold more yeses than a search."""
    cut = scored[0].thresholds[0]
    rare = rare_precision(cut)
    if rare is None or rare.value is None or cut.precision.value is None or share <= RARE:
        return None
    between = ""
    if rare.low is not None and rare.high is not None:
        between = f" ({rare.low:.3f} to {rare.high:.3f})"
    return (
        f"Precision is that of pairs like these, of which {share:.0%} are a yes. Where one pair in "
        f"{1 / RARE:,.0f} is, the threshold for {cut.goal.words} ({scored[0].name}) has a "
        f"precision of {rare.value:.3f}{between} instead of {cut.precision.value:.3f}; recall "
        "stays."
    )
