"""The debate in words: which findings were observed where, and what would decide more."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from isoscope.verbs.study.judgement.evidence import NO_INTERVAL
from isoscope.verbs.study.judgement.rows import ALL_MODELS
from isoscope.verbs.study.judgement.verdicts import (
    FAILS,
    HOLDS,
    NOT_APPLICABLE,
    NOT_RUN,
    REVERSED,
    TOO_WEAK,
    UNDECIDED,
    Verdict,
)
from isoscope.verbs.study.records.matrix import OWN, ClaimLine
from isoscope.verbs.study.reference import catalogue
from isoscope.wording import counted

# Groups of findings, in the order in which they are told.
OBSERVED, DIFFERS, AGAINST, OPEN, NONE = (
    "observed wherever it was decided",
    "not the same on all models",
    "not observed",
    "undecided",
    "not run",
)
OPENINGS = {
    OBSERVED: "**Observed**",
    DIFFERS: "**Not the same on all models**",
    AGAINST: "**Not observed**",
    OPEN: "**Undecided**",
    NONE: "**Not run**",
}


def paper_part(letter: str, lines: Sequence[ClaimLine]) -> str:
    """Return a paper in words: counts, findings by what became of them, what would decide more."""
    own = [line for line in lines if line.study[0] == letter]
    document = str(catalogue()["papers"][letter]["document"])
    heading = f"## {document}"
    if not own:
        return f"{heading}\n\nIts studies show figures and make no claims."
    groups: dict[str, list[ClaimLine]] = {}
    for line in own:
        if line.concerns:
            groups.setdefault(group_of(line), []).append(line)
    parts = [heading, opening(document, own, groups)]
    for name, words in OPENINGS.items():
        if name in groups and name == NONE:
            parts.append(f"{words}: {not_run(groups[name])}.")
        elif name in groups:
            items = "\n".join(f"- {finding(line)}" for line in groups[name])
            parts.append(f"{words}\n\n{items}")
    decide = what_would_decide([line for found in groups.values() for line in found])
    if decide:
        parts.append(decide)
    return "\n\n".join(parts)


def group_of(line: ClaimLine) -> str:
    """Tell what became of a finding as a whole."""
    found = {one.outcome for one in line.verdicts}
    if found & {FAILS, REVERSED}:
        return DIFFERS if HOLDS in found else AGAINST
    if HOLDS in found:
        return OBSERVED
    return OPEN if UNDECIDED in found else NONE


def opening(document: str, lines: Sequence[ClaimLine], groups: dict[str, list[ClaimLine]]) -> str:
    """Return the counts of a paper in sentences."""
    studies = len({line.study for line in lines})
    about = sum(line.concerns for line in lines)
    verb = "is" if about == 1 else "are"
    said = (
        f"We judge {counted(len(lines), 'claim')} from "
        f"{'one experiment' if studies == 1 else f'{studies} experiments'} of {document}. "
    )
    if not about:
        return f"{said}None of them is about a model that we have: {elsewhere(len(lines))}"
    counts = [
        f"{len(groups[name])} {words}"
        for name, words in (
            (OBSERVED, "observed wherever the data decide"),
            (DIFFERS, "observed on some models and contradicted on others"),
            (AGAINST, "not observed on any model"),
            (OPEN, "undecided"),
            (NONE, "not run"),
        )
        if name in groups
    ]
    said += f"{about} {verb} about models that we have: {listed(counts)}."
    said += whose_models(lines)
    outside = len(lines) - about
    if outside:
        said += (
            f" The other {outside} {'is' if outside == 1 else 'are'} about other models; "
            f"{elsewhere(outside)}"
        )
    return said


def whose_models(lines: Sequence[ClaimLine]) -> str:
    """Say whether any model of the paper was among those that its claims were judged on."""
    # A toy and what isoscope trains itself are nobody's models.
    judged = [one for line in lines for column, found in line.cells.items() for one in found
              if column not in (OWN, ALL_MODELS)
              and (one.is_decided or one.outcome == UNDECIDED)]  # fmt: skip
    models = list(dict.fromkeys(one.subject for one in judged if not one.other_models))
    if not judged:
        return ""
    if models:
        verb = "was" if len(models) == 1 else "were"
        return f" Of the paper's own models, {listed(models)} {verb} run."
    return (
        " None of these models is the paper's: the verdicts say how far its findings apply to "
        "others."
    )


def elsewhere(count: int) -> str:
    """Say what would decide claims about other models."""
    them = "it" if count == 1 else "them"
    return f"`--scale paper`, on the paper's own models, would decide {them}."


def not_run(lines: Sequence[ClaimLine]) -> str:
    """Return the studies whose claims were not judged on any model, by the reason."""
    found: dict[str, Counter[str]] = {}
    for line in lines:
        reason = next(short_reason(one) for one in line.verdicts if one.outcome == NOT_RUN)
        found.setdefault(reason, Counter())[line.study] += 1
    said = []
    for reason, counts in found.items():
        studies = [f"{study} ({counted(count, 'claim')})" for study, count in counts.items()]
        said.append(f"{listed(studies)}: {reason}")
    return "; ".join(said)


def finding(line: ClaimLine) -> str:
    """Return a claim with the models of every outcome."""
    names: dict[str, list[str]] = {}
    for one in line.verdicts:
        if one.outcome != NOT_APPLICABLE:
            name = f"{one.subject or line.study}{measured_words(one)}"
            names.setdefault(one.outcome, []).append(name)
    order = (HOLDS, FAILS, REVERSED, UNDECIDED, NOT_RUN)
    said = [f"{outcome} on {listed(names[outcome])}" for outcome in order if outcome in names]
    flags: dict[str, list[str]] = {}
    for one in line.verdicts:
        for flag in one.flags if one.is_decided else ():
            flags.setdefault(flag, []).append(one.subject or line.study)
    noted = "; ".join(f"{flag}: {listed(models)}" for flag, models in flags.items())
    about = f" ({noted})" if noted else ""
    return f"{sentence(line.text)} ({line.study}): {'; '.join(said)}{about}."


def measured_words(verdict: Verdict) -> str:
    """Return in brackets what a claim was judged on: its figures, or how many cases are true.

    Examples
    --------
    >>> from dataclasses import replace
    >>> from isoscope.verbs.study.judgement.verdicts import Case
    >>> one = Case("m", "i1 (center)", 0.9, ">", "i1 (none)", 0.2, True)
    >>> measured_words(Verdict("", "holds", "", (), [one]))
    ' (0.9 against 0.2)'
    >>> measured_words(Verdict("", "fails", "", (), [one, replace(one, true=False)]))
    ' (1 of 2)'
    """
    if verdict.outcome == NOT_RUN or not verdict.cases:
        return ""
    if len(verdict.cases) > 1:
        true = sum(case.true is True for case in verdict.cases)
        return f" ({true} of {len(verdict.cases)})"
    (case,) = verdict.cases
    other = f" against {short(case.right_value)}" if case.right else ""
    return f" ({short(case.left_value)}{other})"


def short(value: float | None) -> str:
    """Return a figure with three digits."""
    return (
        "undefined" if value is None else f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
    )


# Letters of a reason that are told; the page of the study has all of it.
REASON = 90


def short_reason(verdict: Verdict) -> str:
    """Return why a claim was not judged, in short."""
    text = verdict.reason
    return text if len(text) <= REASON else f"{text[:REASON].rsplit(' ', 1)[0]} …"


def what_would_decide(lines: Sequence[ClaimLine]) -> str:
    """Say what would decide the claims that are open, by why they are."""
    needs: Counter[str] = Counter()
    for line in lines:
        for one in line.verdicts:
            if one.outcome == UNDECIDED:
                needs[need_of(one)] += 1
    missing = sum(one.outcome == NOT_RUN for line in lines for one in line.verdicts)
    said = [f"{need} ({counted(count, 'verdict')})" for need, count in needs.most_common()]
    text = f"**What would decide more**: {'; '.join(said)}." if said else ""
    if missing:
        verb = "is" if missing == 1 else "are"
        text += f" {counted(missing, 'verdict')} {verb} missing; the pages give the reasons."
    return text.strip()


def need_of(verdict: Verdict) -> str:
    """Say what an undecided claim lacks."""
    if "depends on the seed" in verdict.reason:
        return "a larger sample, as seeds disagree"
    if NO_INTERVAL in verdict.reason:
        return "an interval for figures that have none yet"
    if verdict.subject == ALL_MODELS:
        return "more models"
    hows = {case.how for case in verdict.cases}
    if TOO_WEAK in hows:
        return "a baseline that can show it, from more data or longer training"
    if "runs" in hows:
        return "more training runs with other seeds"
    if hows & {"blocks of the data"} or any(how.startswith("interval") for how in hows):
        return "more texts, pairs or rows, for narrower intervals"
    if any("checkpoint" in how for how in hows):
        return "more checkpoints"
    return "models with more layers, for a trend over depth"


def sentence(text: str) -> str:
    """Return a claim with a capital letter, unless it begins with a symbol."""
    return text[:1].upper() + text[1:]


def listed(names: Sequence[str]) -> str:
    """Join names with commas and an *and*.

    Examples
    --------
    >>> listed(["a"]), listed(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
