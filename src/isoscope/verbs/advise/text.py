"""Advice for people: what was tried, best first, then what to do in sentences to act on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoscope.corrections.affine import AffineCorrection
from isoscope.corrections.estimators.clip import Clip
from isoscope.results.fields import DIFFERENCE, KIND
from isoscope.results.numbers import cell, with_interval
from isoscope.results.tables import Grid
from isoscope.tasks.probes import LogisticProbe
from isoscope.tasks.problems.classification import ClassProblem

if TYPE_CHECKING:
    from isoscope.corrections.named import NamedCorrection
    from isoscope.results.result import Result
    from isoscope.tasks.problem import Problem
    from isoscope.verbs.advise.decision import Decision, Tried


# Mean cosine from which on a common offset moves thresholds.
NOTICEABLE_COSINE = 0.1

MOST_DIMENSIONS = 5


def recommendation(problem: Problem, decision: Decision, final: NamedCorrection | None) -> str:
    """Describe what to do, with the numbers behind it."""
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
    """Describe a fitted correction, with the dimensions that a clip sets to zero."""
    if not isinstance(correction.transformer, Clip):
        return correction.name
    found = [str(one) for one in correction.transformer.dimensions_]
    more = ", …" if len(found) > MOST_DIMENSIONS else ""
    what = "dimension" if len(found) == 1 else "dimensions"
    return f"clip, which sets {what} {', '.join(found[:MOST_DIMENSIONS])}{more} to zero"


def gain_of(tried: Tried) -> str:
    """Return a gain with its interval."""
    return with_interval(tried.change, "+.4f", undefined=f"{0.0:+.4f}")


def caveats(problem: Problem, decision: Decision, mean_cosine: float | None) -> list[str]:
    """Return what holds by theory, where it applies."""
    lines = []
    tried = [one.found.final.transformer for one in decision.tried]
    affine = any(isinstance(one, AffineCorrection) and not one.renormalize for one in tried)
    if (
        affine
        and isinstance(problem, ClassProblem)
        # Products of two vectors are features that no linear map of the vectors undoes.
        and problem.second is None
        and problem.probe.name == LogisticProbe.name
    ):
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


ADVICE = "advice"


def is_advice(result: Result) -> bool:
    """Whether a result is an advice."""
    return result.extra.get(KIND) == ADVICE


def advice_grids(result: Result) -> list[Grid]:
    """Arrange corrections down: score, difference and whether chance could explain it."""
    scores = [row for row in result.rows if not row.measure.endswith(DIFFERENCE)]
    changes = {row.correction: row for row in result.rows if row.measure.endswith(DIFFERENCE)}
    body = []
    for row in scores:
        change = changes.get(row.correction)
        chance = change.extra.get("p_holm") if change is not None else None
        mark = "→ " if row.extra.get("recommended") else ""
        body.append(
            [
                mark + row.correction,
                "undefined" if row.value is None else f"{row.value:.4f}",
                "" if change is None else cell(change, error=False),
                "" if chance is None else f"{chance:.2g}",
            ]
        )
    first = scores[0]
    title = f"{first.subject}: {first.measure}, {first.n:,} {first.extra['unit']}"
    notes = ["p: two-sided, by Holm's correction over all that was tried"]
    settings = [str(row.extra.get("setting", row.correction)) for row in scores]
    chosen = [text for text in settings if ":" in text]
    if chosen:
        notes.append(f"settings that score best over all folds: {', '.join(chosen)}")
    notes += [f"{row.correction}: {row.note}" for row in scores if row.note]
    told = result.extra["recommendation"]
    lines = [told["sentence"], *result.extra.get("caveats", [])]
    if written := told.get("written"):
        lines.append(
            f"Written to {written}; isoscope correct apply {written} VECTORS --out FILE uses it."
        )
    if beside := told.get("written_for_queries"):
        lines.append(f"The queries' own is in {beside}.")
    header = ["correction", "score", "difference to none", "p"]
    return [Grid(f"{title} ({first.protocol})", header, body, notes, lines)]
