"""What a terminal shows first: what became of the paper's claims, then the numbers behind it.

Screens are made from verdicts as they are stored, and from nothing that was written for people
before. ``--details`` prints all figures, cases and notes instead (`screen`).
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from isoscope.results.fields import UNCORRECTED
from isoscope.results.screen.blocks import Block, Fact, Numbers, Screen, Text
from isoscope.results.tables import grouped
from isoscope.verbs.study.judgement.evidence import EXACT, NOTHING
from isoscope.verbs.study.judgement.judge import p_text
from isoscope.verbs.study.judgement.rows import ALL_MODELS
from isoscope.verbs.study.judgement.verdicts import (
    FAILS,
    HOLDS,
    NOT_APPLICABLE,
    NOT_RUN,
    NOT_RUN_FIELD,
    OUTCOMES,
    REVERSED,
    TOO_WEAK,
    UNDECIDED,
    Case,
    Verdict,
)
from isoscope.verbs.study.records.costs import in_words, measured_costs
from isoscope.verbs.study.records.debate import listed, need_of
from isoscope.verbs.study.records.matrix import MIXED
from isoscope.verbs.study.reference import catalogue
from isoscope.verbs.study.text import (
    DESCRIPTIVE,
    beside_printed,
    command_for,
    figure_number,
    figures,
    given_source,
    outcomes_of,
    scope_words,
    subjects_of,
)
from isoscope.wording import counted as counted_noun

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from isoscope.verbs.study.api import StudyRun
    from isoscope.verbs.study.registry import Study

# Verdicts that are told one by one with their figures; of more, claims are told with all models.
MOST_TOLD = 5

# Models that have a sentence of their own, and lines of other things.
MOST_MODELS, MOST_PRINTED, MOST_MISSING, MOST_CLAIMS, MOST_NAMED = 3, 6, 3, 6, 4

# Studies that a table lists one by one; of more, papers are.
MOST_STUDIES = 14

# What a claim of each outcome is said to be, of one model.
SAID = {
    HOLDS: "The paper's claim holds on {model}",
    FAILS: "The paper's claim does not hold on {model}",
    REVERSED: "The opposite of the paper's claim is true of {model}",
    UNDECIDED: "The data do not decide the paper's claim about {model}",
    NOT_RUN: "The paper's claim could not be judged on {model}",
}

DETAILS = "--details  all numbers, intervals and notes"


def run_screen(run: StudyRun) -> Screen:
    """Return the screen of one study: the claims, the figures that decide them, what is open."""
    applicable = [one for one in run.verdicts if one.outcome != NOT_APPLICABLE]
    models = [name for name in subjects_of(run) if name != ALL_MODELS]
    named = [models[0]] if len(models) == 1 else []
    named += [counted_noun(len(models), "model")] if len(models) > 1 else []
    title = " · ".join([run.study.id, *named, run.study.title])
    body: list[list[Block]] = []
    if not applicable:
        table = figures(run.result)
        body += [[Numbers(table[0], table[1:])]] if table[1:] else []
    elif len(applicable) <= MOST_TOLD:
        body.append([told(one, applicable) for one in applicable])
    else:
        body.append(list(findings(applicable)))
    printed = printed_numbers(run)
    body += [[printed]] if printed is not None else []
    return Screen(title, answers(run, applicable), body, facts_of_run(run, applicable))


def answers(run: StudyRun, applicable: Sequence[Verdict]) -> list[str]:
    """Say what became of the claims, model by model."""
    if not run.verdicts:
        return [DESCRIPTIVE]
    if not applicable:
        reasons = listed(list(dict.fromkeys(one.reason for one in run.verdicts)))
        models = [name for name in subjects_of(run) if name != ALL_MODELS]
        about = listed(models) if 0 < len(models) <= MOST_MODELS else "these models"
        count = len(run.study.claims)
        said = (
            "The only claim of this study is not about"
            if count == 1
            else f"None of the {count} claims of this study is about"
        )
        return [f"{said} {about} ({reasons})."]
    by_model = grouped(applicable, lambda one: one.subject)
    if len(by_model) > MOST_MODELS:
        return [tally(applicable)]
    return [sentence_about(name, own) for name, own in by_model.items()]


def sentence_about(model: str, verdicts: Sequence[Verdict]) -> str:
    """Say what became of the claims about one model."""
    name = "the models together" if model == ALL_MODELS else model or "this study"
    if len(verdicts) == 1:
        (only,) = verdicts
        return f"{SAID[only.outcome].format(model=name)}: {only.text}."
    counts = Counter(one.outcome for one in verdicts)
    if len(counts) == 1:
        (outcome,) = counts
        every = "both" if len(verdicts) == 2 else f"all {len(verdicts)}"
        return PLURAL[outcome].format(every=every, model=name, Every=every.capitalize())
    said = [
        f"{counts[outcome]} {COUNTED[outcome][counts[outcome] > 1]}"
        for outcome in COUNTED
        if counts[outcome]
    ]
    return f"Of {len(verdicts)} claims about {name}, {listed(said)}."


# What is said where all claims about a model have one outcome.
PLURAL = {
    HOLDS: "{Every} claims about {model} hold.",
    FAILS: "{Every} claims do not hold on {model}.",
    REVERSED: "The opposite of {every} claims is true of {model}.",
    UNDECIDED: "The data decide none of the claims about {model}.",
    NOT_RUN: "{Every} claims could not be judged on {model}.",
}


# How a number of claims about a model is told, of one and of more.
COUNTED = {
    HOLDS: ("holds", "hold"),
    FAILS: ("is not true", "are not true"),
    REVERSED: ("is the opposite of what is true", "are the opposite of what is true"),
    UNDECIDED: ("is undecided", "are undecided"),
    NOT_RUN: ("was not run", "were not run"),
}

# How a number of verdicts is told, of one and of more.
WORDS = {
    HOLDS: ("supports the papers", "support the papers"),
    FAILS: ("contradicts them", "contradict them"),
    REVERSED: ("shows the opposite", "show the opposite"),
    UNDECIDED: ("is undecided", "are undecided"),
    NOT_RUN: ("was not run", "were not run"),
}


def tally(verdicts: Sequence[Verdict]) -> str:
    """Count outcomes over all models."""
    counts = Counter(one.outcome for one in verdicts)
    models = {one.subject for one in verdicts} - {ALL_MODELS, ""}
    said = [
        f"{counts[outcome]} {WORDS[outcome][counts[outcome] > 1]}"
        for outcome in WORDS
        if counts[outcome]
    ]
    about = f" on {counted_noun(len(models), 'model')}" if models else ""
    return f"Of {counted_noun(len(verdicts), 'verdict')}{about}, {listed(said)}."


def told(verdict: Verdict, every: Sequence[Verdict]) -> Fact:
    """Return one claim with its outcome, the figures nearest to it, and how certain it is."""
    several = len({one.subject for one in every}) > 1
    about = f"{verdict.subject}: " if several and verdict.subject else ""
    text = f"{about}{verdict.text}. " if len(every) > 1 else ""
    label = verdict.outcome.ljust(max(len(one.outcome) for one in every))
    return Fact(label, f"{text}{evidence_words(verdict)}")


# What a comparison with a number takes.
TAKES = {">": "more than", ">=": "at least", "<": "less than", "<=": "at most"}


def evidence_words(verdict: Verdict) -> str:
    """Say what was measured, the case that is most against the claim first, and how certain it is.

    A claim about many layers or sets is told by one of them, and by how many are like it.
    """
    cases = verdict.cases
    if not cases or verdict.outcome == NOT_RUN:
        return f"{capital(verdict.reason)}."
    first = min(cases, key=lambda case: (case.true is True, case.p_false))
    measured = case_words(first)
    if len(cases) == 1:
        certain = "" if verdict.p is None or first.how == EXACT else f", p {p_text(verdict.p)}"
        because = f"; {verdict.reason}" if first.how in (NOTHING.how, TOO_WEAK) else ""
        return f"{measured}{because or certain}."
    return f"{capital(verdict.reason)}; for example, {measured}."


def case_words(case: Case) -> str:
    """Say what one comparison found.

    Examples
    --------
    >>> case_words(Case("m", "i1 (center)", 0.9, ">", "i1 (none)", 0.2, True))
    'i1 (center) is 0.9, i1 is 0.2'
    >>> case_words(Case("m", "fall (none)", 0.1353, ">=", "", 0.2, False))
    'fall is 0.1353, and the claim takes at least 0.2'
    """
    left = f"{without_none(case.left)} is {figure_number(case.left_value)}"
    if case.bounds is not None:
        low, high = map(figure_number, case.bounds)
        return f"{left}, and the claim takes {low} to {high}"
    if not case.right:
        return f"{left}, and the claim takes {TAKES[case.op]} {figure_number(case.right_value)}"
    other = f"{case.right_subject}: " if case.right_subject else ""
    return f"{left}, {other}{without_none(case.right)} is {figure_number(case.right_value)}"


def without_none(figure: str) -> str:
    """Leave out of a figure's name that nothing was corrected."""
    return figure.removesuffix(f" ({UNCORRECTED})")


def capital(text: str) -> str:
    """Return a text that begins like a sentence."""
    return text[:1].upper() + text[1:]


def findings(verdicts: Sequence[Verdict]) -> list[Block]:
    """Return every claim with the models of each outcome."""
    by_claim = grouped(verdicts, lambda one: one.text)
    labels = {text: label_of(own) for text, own in by_claim.items()}
    room = max(map(len, labels.values()))
    found: list[Block] = []
    for text, own in list(by_claim.items())[:MOST_CLAIMS]:
        models = grouped(own, lambda one: one.outcome)
        told_models = "; ".join(
            f"{outcome} on {listed([one.subject or 'this study' for one in several][:MOST_NAMED])}"
            + (f" and {len(several) - MOST_NAMED} more" if len(several) > MOST_NAMED else "")
            for outcome, several in models.items()
        )
        found.append(Fact(labels[text].ljust(room), f"{text}: {told_models}."))
    rest = len(by_claim) - MOST_CLAIMS
    return [*found, *([Text(f"{rest} more claims: --details.")] if rest > 0 else [])]


def label_of(verdicts: Sequence[Verdict]) -> str:
    """Return the outcome of a claim on all models, or that they differ."""
    outcomes = {one.outcome for one in verdicts}
    return next(iter(outcomes)) if len(outcomes) == 1 else MIXED


def printed_numbers(run: StudyRun) -> Numbers | None:
    """Return the numbers of the paper's own models beside those that it prints."""
    found = beside_printed(run)
    if not found:
        return None
    body = [
        [one.what, figure_number(one.measured), f"{one.printed:g}", figure_number(one.difference)]
        for one in found[:MOST_PRINTED]
    ]
    head = "number" if len(found) <= MOST_PRINTED else f"first {MOST_PRINTED} of {len(found)}"
    return Numbers([head, "measured", "printed", "difference"], body, turn=False)


def facts_of_run(run: StudyRun, applicable: Sequence[Verdict]) -> list[Fact]:
    """Return what else to know about the verdicts, what would decide more, and what to do next."""
    facts: list[Fact] = []
    weighed = [one for one in applicable if one.p is not None]
    each = Counter(one.subject for one in weighed)
    if each and max(each.values()) > 1:
        facts.append(
            Fact("Note", f"p-values are corrected for {max(each.values())} claims (Holm).")
        )
    flags = grouped(
        ((flag, one.subject) for one in applicable for flag in one.flags), lambda pair: pair[0]
    )
    for flag, pairs in list(flags.items())[:2]:
        names = list(dict.fromkeys(name for _, name in pairs))
        facts.append(Fact("Note", f"{listed(names)}: {flag}."))
    others = list(dict.fromkeys(name for one in applicable for name in one.other_models))
    if others and run.study.printed():
        verb = "is not a model" if len(others) == 1 else "are not models"
        facts.append(Fact("Note", f"{listed(others[:4])} {verb} of the paper."))
    outside = sum(one.outcome == NOT_APPLICABLE for one in run.verdicts)
    if outside and applicable:
        verb = "is" if outside == 1 else "are"
        facts.append(Fact("Note", f"{counted_noun(outside, 'claim')} {verb} about other models."))
    needs = Counter(need_of(one) for one in applicable if one.outcome == UNDECIDED)
    if needs:
        facts.append(Fact("Open", f"What would decide more: {listed(list(needs)[:3])}."))
    facts += missing_facts([run])
    show = f"isoscope study show {run.study.id}"
    facts.append(Fact("Next", show, "what the paper did, and on which models", command=True))
    return [*facts, Fact("More", f"{DETAILS}     --html FILE  a page")]


def missing_facts(runs: Sequence[StudyRun], most: int = MOST_MISSING) -> list[Fact]:
    """Return what was not run: the reason, and the command that runs it."""
    found = [
        (run, name, str(why))
        for run in runs
        for name, why in run.result.extra.get(NOT_RUN_FIELD, {}).items()
        if not run.verdicts or any(one.subject == name and one.outcome == NOT_RUN
                                   for one in run.verdicts)
    ]  # fmt: skip
    facts = [
        fact
        for run, name, why in found[:most]
        for fact in (
            Fact("Not run", f"{run.study.id} on {name}: {why}"),
            Fact("", command_for(run.study, given_source(run.result, name)), command=True),
        )
    ]
    rest = len(found) - most
    return [*facts, *([Fact("Not run", f"{rest} more: --details")] if rest > 0 else [])]


def several_screen(runs: Sequence[StudyRun], where: str, *, compared: bool = False) -> Screen:
    """Return the screen of several studies: counts, a table, what did not run, what to do next."""
    every = [one for run in runs for one in run.verdicts]
    applicable = [one for one in every if one.outcome != NOT_APPLICABLE]
    names = dict.fromkeys(name for run in runs for name in subjects_of(run))
    models = [name for name in names if name != ALL_MODELS]
    title = (
        f"{where} · {len(runs)} {'study' if len(runs) == 1 else 'studies'} · "
        f"{counted_noun(len(models), 'model')}"
    )
    answer = [
        tally(applicable)
        if applicable
        else "None of the claims of these studies is about these models."
    ]
    body: list[list[Block]] = [[study_table(runs)]]
    by_model = [one for one in applicable if one.subject]
    if len({one.subject for one in by_model}) > 1:
        body.append([model_table(by_model)])
    facts = missing_facts(runs)
    pages = f"isoscope study compare {where} --pages pages"
    if compared:
        facts.append(Fact("Next", pages, "every claim on a page", command=True))
    else:
        facts.append(Fact("Next", f"isoscope study compare {where}", command=True))
    return Screen(title, answer, body, [*facts, Fact("More", f"{DETAILS}, claim by claim")])


# What heads the columns of outcomes.
HEADS = {NOT_APPLICABLE: "other models"}


def study_table(runs: Sequence[StudyRun]) -> Numbers:
    """Count outcomes by study, or by paper where there are many studies."""
    heads = [HEADS.get(outcome, outcome) for outcome in OUTCOMES]
    if len(runs) <= MOST_STUDIES:
        rows = [[run.study.id, *cells(outcomes_of(run))] for run in runs]
        return Numbers(["study", *heads], rows, turn=False)
    papers = grouped(runs, lambda run: run.study.id[0])
    rows = [
        [str(catalogue()["papers"][letter]["document"]), *cells(outcomes_of(*own))]
        for letter, own in papers.items()
    ]
    return Numbers(["paper", *heads], rows, turn=False)


def model_table(verdicts: Sequence[Verdict]) -> Numbers:
    """Count outcomes by model."""
    rows = [
        [name, *cells(Counter(one.outcome for one in own))[:4]]
        for name, own in grouped(verdicts, lambda one: one.subject).items()
        if any(one.outcome != NOT_RUN for one in own)
    ]
    return Numbers(["model", *OUTCOMES[:4]], rows, turn=False)


def cells(counts: Mapping[str, int]) -> list[str]:
    """Return the number of every outcome, nothing for none."""
    return [str(counts.get(outcome) or "") for outcome in OUTCOMES]


def study_screen(study: Study) -> Screen:
    """Return what is known of one study: what is done, claims, needs, cost, how to run it."""
    names = [name.replace("|", " or ") for name in study.models]
    claims = [
        Fact("Claim", f"{claim.text} (about {scope_words(claim.about)})")
        for claim in study.claims[:MOST_CLAIMS]
    ]
    rest = len(study.claims) - MOST_CLAIMS
    claims += [Fact("Claim", f"{rest} more: --details")] if rest > 0 else []
    costs = measured_costs(study.id)
    facts = [Fact("Needs ", study.needs), Fact("Models", ", ".join(names) or "none of its own")]
    if costs:
        facts.append(Fact("Took  ", cost_words(costs)))
    printed = len(study.printed())
    if printed:
        facts.append(Fact("Paper ", f"prints {counted_noun(printed, 'number')}: --details"))
    facts.append(Fact("Next  ", command_for(study), command=True))
    return Screen(
        f"{study.id} · {study.document} · {study.title}",
        [study.does if study.claims else f"{study.does} {DESCRIPTIVE}"],
        [list(claims)] if claims else [],
        [*facts, Fact("More  ", "--details  formulas, misprints, printed numbers")],
    )


def cost_words(costs: Sequence[Mapping[str, object]]) -> str:
    """Say what a study took where it was run: the cheapest and the dearest model."""
    ordered = sorted(costs, key=lambda one: float(str(one["seconds"])))
    said = [
        f"{in_words(float(str(one['seconds'])))} and {one['memory']} GiB on {one['model']}"
        for one in ([ordered[0], ordered[-1]] if len(ordered) > 1 else ordered)
    ]
    return f"{' to '.join(said)} ({ordered[0]['machine']})"
