"""What thresholds mean, in sentences that a person can act on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoscope.search.labelled import RARE, rare_precision
from isoscope.tasks.corrected import NONE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoscope.search.background import Meaning
    from isoscope.search.labelled import SpaceScores

TYPICAL = 0.01
"""The share of random pairs that the first sentence is about."""

MOVED = 0.02
"""A threshold that moves by less gives nearly the same matches."""

SMALL = 0.01
"""An area that changes by less is, for a user, the same."""


def background_sentence(one: Meaning) -> str:
    """Say what the 99th percentile of random pairs is, and what it lets through."""
    found = one.pairs.score_at(TYPICAL)
    matches = TYPICAL * one.others
    if found.value is None:
        return f"{one.pairs.count:,} random pairs are too few for a 99th percentile."
    return (
        f"A cosine of {found.value:.3f} (distance {1 - found.value:.3f}) is the 99th percentile of "
        f"random pairs: a query meets about {matches:,.0f} of {one.others:,} other vectors above "
        "it by chance."
    )


def range_sentence(one: Meaning) -> str | None:
    """Point out where scores of random pairs are high, so that a high score says little."""
    middle = one.pairs.score_at(0.5).value
    if middle is None or middle < 0.5:
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
        change = one.change
        if change is None or change.value is None or one.auc.value is None:
            continue
        before, after = (each.thresholds[0].chosen.threshold for each in (plain, one))
        moved = (
            f"moves the threshold from {before:.3f} to {after:.3f}"
            if before is not None and after is not None and abs(after - before) >= MOVED
            else "leaves the threshold about where it is"
        )
        certain = change.p_value is not None and change.p_value <= 0.05
        areas = f"{plain.auc.value:.4f} to {one.auc.value:.4f}"
        if not certain or abs(change.value) < SMALL:
            verb = "leaves the AUC alone"
        else:
            verb = "raises the AUC" if change.value > 0 else "lowers the AUC"
        lines.append(f"{one.name} {moved} and {verb} ({areas}).")
    return lines


def rare_sentence(scored: Sequence[SpaceScores], share: float) -> str | None:
    """Warn that precision is that of the labelled pairs, which hold more yeses than a search."""
    cut = scored[0].thresholds[0]
    rare = rare_precision(cut, share)
    if rare is None or cut.precision.value is None or share <= RARE:
        return None
    return (
        f"Precision is that of pairs like these, of which {share:.0%} are a yes. Where one pair in "
        f"{1 / RARE:,.0f} is, the first threshold ({scored[0].name}) has a precision of {rare:.3f} "
        f"instead of {cut.precision.value:.3f}; recall stays."
    )
