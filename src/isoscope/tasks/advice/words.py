"""Advice in sentences that a person can act on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoscope.corrections.affine import AffineCorrection
from isoscope.corrections.estimators.clip import Clip
from isoscope.tasks.class_problem import ClassProblem
from isoscope.tasks.probes.logistic import LogisticProbe

if TYPE_CHECKING:
    from isoscope.corrections.named import NamedCorrection
    from isoscope.tasks.advice.deciding import Decision, Tried
    from isoscope.tasks.problem import Problem


NOTICEABLE_COSINE = 0.1
"""From this mean cosine on a common offset moves thresholds."""

MOST_DIMENSIONS = 5


def recommendation(problem: Problem, decision: Decision, final: NamedCorrection | None) -> str:
    """Say what to do, with the figures that speak for it."""
    chosen = decision.recommended
    before = decision.before
    name = f"{problem.task} {problem.main}"
    if chosen is not None and final is not None:
        return (
            f"Use {described(final)}: {name} goes from {before.value:.4f} to "
            f"{chosen.score.value:.4f}, {gain_of(chosen)}, cross-fitted over {before.n:,} "
            f"{problem.unit}."
        )
    small = [one for one in decision.tried if one.helps]
    if small:
        best = small[0]
        return (
            f"Leave it alone: the best correction, {best.name}, gains {gain_of(best)} on {name}, "
            f"less than the {decision.worthwhile:g} that a change should bring (--worthwhile)."
        )
    best = decision.tried[0]
    unclear = "" if best.gain <= 0 else f"; the best, {best.name}, is at {gain_of(best)}"
    return (
        f"Leave it alone: none of {len(decision.tried)} corrections improves {name} "
        f"({before.value:.4f} over {before.n:,} {problem.unit}) beyond chance{unclear}."
    )


def described(correction: NamedCorrection) -> str:
    """Name a fitted correction, and the dimensions that a clip sets to zero."""
    if isinstance(correction.transformer, Clip):
        found = [str(one) for one in correction.transformer.dimensions_]
        more = ", …" if len(found) > MOST_DIMENSIONS else ""
        what = "dimension" if len(found) == 1 else "dimensions"
        return f"clip, which sets {what} {', '.join(found[:MOST_DIMENSIONS])}{more} to zero"
    return correction.name


def gain_of(tried: Tried) -> str:
    """Return a gain with its interval."""
    change = tried.change
    if change.low is None or change.high is None:
        return f"{tried.gain:+.4f}"
    return f"{tried.gain:+.4f} ({change.low:+.4f} to {change.high:+.4f})"


def caveats(problem: Problem, decision: Decision, mean_cosine: float | None) -> list[str]:
    """Return what holds by theory, where it applies."""
    lines = []
    if is_linear_on_vectors(problem) and any(is_affine(one) for one in decision.tried):
        lines.append(
            "An invertible linear correction cannot help an unregularised linear classifier, which "
            "would undo it: what centring, standardising or whitening changes here, it changes "
            "through regularisation or early stopping."
        )
    whitening = next((one for one in decision.tried if one.name.startswith("whiten")), None)
    if whitening is not None and whitening.gain < 0:
        lines.append(
            f"Whitening is at {gain_of(whitening)} here. It often hurts encoders that were trained "
            "with a contrastive loss: their directions of little variance are noise, and it makes "
            "them as loud as the others."
        )
    offset = mean_cosine is not None and mean_cosine >= NOTICEABLE_COSINE
    if offset and not isinstance(problem, ClassProblem):
        lines.append(
            f"The mean cosine is {mean_cosine:.2f}: a common offset moves thresholds more than "
            "rankings. If you cut at a fixed cosine, choose the cut anew after any correction."
        )
    return lines


def is_linear_on_vectors(problem: Problem) -> bool:
    """Whether a linear classifier sees the vectors themselves, not products of two."""
    if not isinstance(problem, ClassProblem):
        return False
    return problem.probe.name == LogisticProbe.name and problem.second is None


def is_affine(tried: Tried) -> bool:
    """Whether a correction is a linear map and a shift."""
    given = tried.found.final.transformer
    return isinstance(given, AffineCorrection) and not given.renormalize
