"""What the papers disagree about, question by question: how many verdicts support their claims.

A paper is about several questions, and a question is in several papers. The catalogue has the
question of every study. Counts are of verdicts: of a claim on one model each.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from isoscope.results.render import markdown_table
from isoscope.results.tables import grouped
from isoscope.verbs.study.judgement.verdicts import (
    FAILS,
    HOLDS,
    NOT_APPLICABLE,
    NOT_RUN,
    REVERSED,
    UNDECIDED,
)
from isoscope.verbs.study.records.debate import listed, measured_words, sentence
from isoscope.verbs.study.records.matrix import ClaimLine
from isoscope.verbs.study.reference import catalogue
from isoscope.wording import counted

DECIDED = (HOLDS, FAILS, REVERSED)
COLUMNS = (*DECIDED, UNDECIDED, NOT_RUN)

# Verdicts of a question, so that a share of them is told.
FEWEST = 2


def questions_part(lines: Sequence[ClaimLine]) -> str:
    """Return what was found about every question: a table, shares, and what was the opposite."""
    questions = catalogue()["questions"]
    studies = catalogue()["studies"]
    own = grouped(
        (line for line in lines if line.concerns), lambda line: studies[line.study]["question"]
    )
    counts = {name: outcomes(own.get(name, [])) for name in questions}
    body = [
        [
            text,
            ", ".join(dict.fromkeys(line.study[0] for line in own.get(name, []))),
            str(len(own.get(name, []))),
            *(str(counts[name][outcome] or "") for outcome in COLUMNS),
        ]
        for name, text in questions.items()
    ]
    header = ["question", "papers", "claims", *COLUMNS]
    parts = ["## What was found, question by question", markdown_table([header, *body], left=2)]
    said = shares({questions[name]: found for name, found in counts.items()})
    parts += [text for text in (said, opposites(lines)) if text]
    return "\n\n".join(parts)


def outcomes(lines: Sequence[ClaimLine]) -> Counter[str]:
    """Count the verdicts on claims."""
    return Counter(
        one.outcome for line in lines for one in line.verdicts if one.outcome != NOT_APPLICABLE
    )


def shares(counts: dict[str, Counter[str]]) -> str:
    """Say how many of the decided verdicts about each question support the papers."""
    said = []
    for text, found in counts.items():
        decided = sum(found[outcome] for outcome in DECIDED)
        if decided >= FEWEST:
            said.append(f"{found[HOLDS]} of {decided} about “{text[:1].lower()}{text[1:]}”")
    if not said:
        return ""
    return f"Of the verdicts that the data decide, these support the papers: {listed(said)}."


def opposites(lines: Sequence[ClaimLine]) -> str:
    """List claims whose opposite was found, with what was measured."""
    found = [(line, one) for line in lines for one in line.verdicts if one.outcome == REVERSED]
    if not found:
        return ""
    each = grouped(found, lambda pair: (pair[0].study, pair[0].text))
    items = "\n".join(
        f"- not “{sentence(text)}” ({study}): "
        + listed([f"{one.subject or study}{measured_words(one)}" for _, one in pairs])
        for (study, text), pairs in each.items()
    )
    return f"The opposite of a claim was found in {counted(len(found), 'verdict')}:\n\n{items}"
