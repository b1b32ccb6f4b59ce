"""Advice for people: what was tried, best first, then what to do in sentences to act on."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from isoscope.corrections.affine import AffineCorrection
from isoscope.corrections.estimators.clip import Clip
from isoscope.measures.diagnosis import OFFSET
from isoscope.results.fields import DIFFERENCE, KIND
from isoscope.results.numbers import cell, with_interval
from isoscope.results.tables import Grid
from isoscope.tasks.datasets.own_pairs import OwnPairProblem, left_out_sentences
from isoscope.tasks.probes import LogisticProbe
from isoscope.tasks.problems.classification import ClassProblem
from isoscope.verbs.advise.decision import chance_of
from isoscope.verbs.advise.mean_cosines import in_words

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from isoscope.corrections.named import NamedCorrection
    from isoscope.results.result import Result
    from isoscope.tasks.problem import Problem
    from isoscope.verbs.advise.decision import Decision, Tried
    from isoscope.verbs.advise.mean_cosines import MeanCosine


MOST_DIMENSIONS = 5


def recommendation(problem: Problem, decision: Decision, final: NamedCorrection | None) -> str:
    """Describe what to do, with the numbers behind it."""
    chosen, before, limit = decision.recommended, decision.before, decision.worthwhile
    name = f"{problem.task} {problem.main}"
    score = f"{name} ({before.value:.4f} over {before.n:,} {problem.unit})"
    if chosen is not None and final is not None:
        return (
            f"Use {described(final)}: {name} goes from {before.value:.4f} to "
            f"{chosen.score.value:.4f}, {gain_of(chosen, limit)}, cross-fitted over {before.n:,} "
            f"{problem.unit}."
        )
    if decision.outcome == "undecided":
        return undecided(problem, decision, score)
    count = len(decision.tried)
    several = {1: "the correction", 2: "both corrections"}.get(count, f"all {count} corrections")
    excluded = f"a gain of {limit:g} or more (--worthwhile) on {score} is excluded for {several}"
    if decision.outcome == "negligible":
        best = decision.helpful[0]
        return (
            f"Leave it alone: the gain of {best.name}, {gain_of(best, limit)}, is significant but "
            f"negligible; {excluded}."
        )
    best = decision.likeliest
    return f"Leave it alone: {excluded}; {best.name} comes nearest with {gain_of(best, limit)}."


def undecided(problem: Problem, decision: Decision, score: str) -> str:
    """Describe what cannot be excluded, and what would decide it."""
    best, limit = decision.likeliest, decision.worthwhile
    gaining = decision.helpful[0] if decision.helpful else None
    if gaining is not None and gaining.gain >= limit:
        chance = chance_of(problem.main)
        return (
            f"No recommendation: {gaining.name} gains significantly on {score}, "
            f"{gain_of(gaining, limit)}, but then scores {with_interval(gaining.score, '.4f')}, "
            f"which is not significantly more than chance ({chance:g})."
        )
    if gaining is None:
        said = f"No recommendation: no correction gains significantly on {score}"
    else:
        said = (
            f"No recommendation: {gaining.name} gains significantly on {score}, "
            f"{gain_of(gaining, limit)}, but by less than {limit:g} (--worthwhile)"
        )
    if not math.isfinite(best.most):
        return f"{said}, and gains have no interval that would exclude one."
    whose = "" if best is gaining else f" ({best.name}: {gain_of(best, limit)})"
    most = f"{best.most:+.{digits_of([best.most], limit)}f}"
    said += f"; a gain of up to {most} cannot be excluded{whose}."
    half = best.most - best.gain
    if 0 < limit < half:
        # An interval narrows with the root of the number of items.
        needed = rounded(decision.before.n * (half / limit) ** 2)
        said += f" About {needed:,} {problem.unit} would narrow the interval to ±{limit:g}."
    return said


def rounded(count: float) -> int:
    """Round a number up to two significant digits."""
    step = int(10 ** max(math.floor(math.log10(count)) - 1, 0))
    return math.ceil(count / step) * step


def described(correction: NamedCorrection) -> str:
    """Describe a fitted correction, with the dimensions that a clip sets to zero."""
    if not isinstance(correction.transformer, Clip):
        return correction.name
    found = [str(one) for one in correction.transformer.dimensions_]
    more = ", …" if len(found) > MOST_DIMENSIONS else ""
    what = "dimension" if len(found) == 1 else "dimensions"
    return f"clip, which sets {what} {', '.join(found[:MOST_DIMENSIONS])}{more} to zero"


FEWEST_DIGITS, MOST_DIGITS = 4, 7


def gain_of(tried: Tried, limit: float = 0.0) -> str:
    """Return a gain with its interval, with digits enough to tell its ends from 0 and a limit."""
    ends = [end for end in (tried.change.low, tried.change.high) if end is not None]
    return with_interval(tried.change, f"+.{digits_of(ends, limit)}f", undefined=f"{0.0:+.4f}")


def digits_of(ends: Sequence[float], limit: float) -> int:
    """Return how many digits tell numbers from 0 and from a limit on either side of it."""
    digits = FEWEST_DIGITS
    while digits < MOST_DIGITS and any(
        (round(end, digits) > edge) != (end > edge) or (round(end, digits) < edge) != (end < edge)
        for end in ends
        for edge in (-limit, 0.0, limit)
    ):
        digits += 1
    return digits


def caveats(
    problem: Problem, decision: Decision, cosines: Mapping[str, Mapping[str, MeanCosine]]
) -> list[str]:
    """Return what was measured besides, and what holds by theory, each where it applies.

    Parameters
    ----------
    problem : Problem
        What is scored.
    decision : Decision
        What came of it.
    cosines : mapping
        Mean cosines of the vectors as they are, then of the recommended correction if there is
        one.
    """
    lines = left_out_sentences(problem.left_out) if isinstance(problem, OwnPairProblem) else []
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
    limit = decision.worthwhile
    whitening = next((one for one in decision.tried if one.name.startswith("whiten")), None)
    if (
        whitening is not None
        and decision.significant(whitening)
        and whitening.gain <= -limit
        and whitening.gain < 0
    ):
        lines.append(
            f"Whitening lowers the score: {gain_of(whitening, limit)}. It often hurts encoders "
            "that were trained with a contrastive loss: it gives directions of little variance, "
            "which are often noise, as much weight as the others."
        )
    if isinstance(problem, ClassProblem):
        return lines
    before, *after = cosines.items()
    lines.append(f"Mean cosine: {in_words(before[1])}.")
    if after:
        ((name, found),) = after
        lines.append(
            f"After {name}: {in_words(found)}. If you use a fixed cosine threshold, choose it "
            "again."
        )
    elif decision.recommended is None and (said := offset_sentence(decision, before[1])):
        lines.append(said)
    return lines


def offset_sentence(decision: Decision, cosines: Mapping[str, MeanCosine]) -> str:
    """Say that an offset changes no ranking, where it is there and centring shows just that."""
    highest = max((one.value or 0.0 for one in cosines.values()), default=0.0)
    centring = next((one for one in decision.tried if one.name == "center"), None)
    limit = decision.worthwhile
    if highest < OFFSET.mild or centring is None or centring.change.value is None:
        return ""
    if max(centring.most, centring.loss) >= limit:
        return ""
    return (
        f"An offset (a mean cosine from {OFFSET.mild:g} on) moves thresholds here, not rankings: "
        f"centring changes the score by {gain_of(centring, limit)}, less than {limit:g} either way."
    )


ADVICE = "advice"


def is_advice(result: Result) -> bool:
    """Whether a result is an advice."""
    return result.extra.get(KIND) == ADVICE


HOLM = "two-sided, by Holm's correction over all that was tried"


def alpha_of(result: Result) -> float:
    """Return the level of significance of an advice."""
    return float(result.extra["recommendation"].get("alpha", 0.05))


def advice_grids(result: Result) -> list[Grid]:
    """Arrange corrections down: score, difference and p-value."""
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
    notes = [f"p: {HOLM}"]
    if any("level" in row.extra for row in changes.values()):
        agree = f"an interval excludes 0 exactly where p ≤ {alpha_of(result):g}"
        notes = [f"intervals and p: {HOLM}; {agree}"]
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
