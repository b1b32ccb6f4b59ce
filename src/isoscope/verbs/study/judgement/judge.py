"""Judge the claims of a study: decide each one at a level that is corrected for their number.

The p-values of the claims of one study about one model are corrected by Holm's method: adding
another model does not change a verdict.

References
----------
Holm (1979), A simple sequentially rejective multiple test procedure, Scandinavian Journal of
Statistics 6.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from isoscope.compute.stats.significance import holm
from isoscope.results.tables import grouped
from isoscope.verbs.study.judgement.evidence import EXACT, NOTHING
from isoscope.verbs.study.judgement.verdicts import (
    FAILS,
    HOLDS,
    LEVEL,
    REVERSED,
    TOO_WEAK,
    UNDECIDED,
    Verdict,
)

if TYPE_CHECKING:
    from isoscope.results.result import Result
    from isoscope.verbs.study.judgement.claims import Claim


def judge_claims(
    claims: Sequence[Claim], result: Result, models: Collection[str] = ()
) -> tuple[Verdict, ...]:
    """Judge the claims of a study, claim by claim and model by model, corrected for their number.

    Examples
    --------
    >>> from isoscope.results.result import Result
    >>> judge_claims((), Result([]))
    ()
    """
    found = [verdict for claim in claims for verdict in claim.judge(result, models)]
    weighed = grouped(
        (k for k, verdict in enumerate(found) if verdict.p_holds is not None),
        lambda k: found[k].subject,
    )
    for places in weighed.values():
        raw = [smallest_p(found[k]) for k in places]
        for k, p, adjusted in zip(places, raw, holm(raw), strict=True):
            # What Holm's method multiplies the p-value with counts for the opposite as well.
            factor = adjusted / p if p > 0 else len(places)
            found[k] = decided(found[k], adjusted, factor)
    return tuple(found)


def in_scope(claims: Iterable[Claim], result: Result, models: Collection[str] = ()) -> Result:
    """Return a result with the models alone that claims about several models are about.

    A correlation over models is computed on these: others would change a verdict about them.
    """
    named = [claim.known_as(models) for claim in claims if claim.compares_models]
    if not named:
        return result
    kept = {name for claim in named for name in claim.meant(result)}
    return replace(result, rows=[row for row in result.rows if row.subject in kept])


def smallest_p(verdict: Verdict) -> float:
    """Return the p-value of the direction that the figures favour."""
    assert verdict.p_holds is not None
    assert verdict.p_fails is not None
    return min(verdict.p_holds, verdict.p_fails)


def decided(verdict: Verdict, adjusted: float, factor: float) -> Verdict:
    """Return a verdict with its outcome, at the level that is corrected for all claims."""
    assert verdict.p_holds is not None
    assert verdict.p_fails is not None
    assert verdict.p_reversed is not None
    outcome = UNDECIDED
    if adjusted <= LEVEL:
        if verdict.p_holds <= verdict.p_fails:
            outcome = HOLDS
        else:
            outcome = REVERSED if verdict.p_reversed * factor <= LEVEL else FAILS
    return replace(verdict, outcome=outcome, p=adjusted, reason=because(verdict, adjusted))


def because(verdict: Verdict, adjusted: float) -> str:
    """Say in how many cases a claim is true, and how certain that is."""
    cases = verdict.cases
    unknown = sum(case.how == NOTHING.how for case in cases)
    weak = [case.note for case in cases if case.how == TOO_WEAK]
    if len(weak) == len(cases):
        return weak[0]
    if unknown + len(weak) == len(cases):
        return f"{NOTHING.how} for {unknown} of {len(cases)}"
    true = sum(case.true is True for case in cases)
    false = sum(2 * case.p_false <= LEVEL for case in cases)
    surely = sum(2 * case.p_true <= LEVEL for case in cases)
    said = [f"true in {true} of {len(cases)}"]
    if len(cases) > 1:
        said.append(f"significantly in {surely}")
        said += [f"significantly false in {false}"] if false else []
    undefined = [case.note for case in cases if case.true is None]
    said += [f"{NOTHING.how} for {unknown}"] if unknown else []
    said += [f"undefined in {len(undefined)} ({undefined[0]})"] if undefined else []
    said += [f"{TOO_WEAK} in {len(weak)}"] if weak else []
    said += [f"no figures for {', '.join(verdict.sets_missing)}"] if verdict.sets_missing else []
    exact = all(case.how == EXACT for case in cases)
    said.append(EXACT if exact else f"p {p_text(adjusted)}")
    return ", ".join(said)


def p_text(p: float) -> str:
    """Write a p-value with two digits.

    Examples
    --------
    >>> p_text(0.0312), p_text(1e-9), p_text(1.0)
    ('= 0.031', '< 0.001', '= 1')
    """
    return "< 0.001" if p < 0.001 else f"= {p:.2g}"
