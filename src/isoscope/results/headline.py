"""What a page opens with: a verdict in a sentence, and the three numbers that carry it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from isoscope.results.fields import TOPIC
from isoscope.results.numbers import shown
from isoscope.results.result import Result, Row

# Measures that tell most, in turn.
CARRYING = (
    "mean_cosine", "i1_scaled", "effective_rank", "iso_score", "mean_norm", "top_variance_share",
)  # fmt: skip

NUMBERS = 3
MOST_SENTENCES = 8

# Outcomes of claims that are counted together, each under its first; files of before schema 2 know
# the last one.
COUNTED_OUTCOMES = (("holds",), ("fails", "reversed"), ("undecided", "cannot be judged"))


@dataclass(frozen=True)
class Number:
    """A number in large type."""

    label: str
    value: str
    note: str = ""


@dataclass(frozen=True)
class Headline:
    """What stands at the top of a page."""

    title: str
    sentences: list[str]
    numbers: list[Number]


def headline(results: Sequence[Result]) -> Headline:
    """Sum results up."""
    subjects = dict.fromkeys(row.subject for result in results for row in result.rows)
    named = [name for name in subjects if name]
    studies = [about for about in map(study_of, results) if about]
    if len(studies) == 1 and len(results) == 1:
        title = f"{studies[0]['id']}: {studies[0]['title']}"
    else:
        more = f" and {len(named) - 3} more" if len(named) > 3 else ""
        title = ", ".join(named[:3]) + more or "Results"
    sentences = [
        f"{whose(result)}: {sentence}" if len(results) > 1 else sentence
        for result in results
        for sentence in sentences_of(result)
    ]
    if len(sentences) > MOST_SENTENCES:
        left = len(sentences) - MOST_SENTENCES
        sentences = [*sentences[:MOST_SENTENCES], f"And {left} more verdicts below."]
    return Headline(title, sentences, numbers_of(results))


def whose(result: Result) -> str:
    """Return what a result is about: a study, or subjects."""
    subjects = list(dict.fromkeys(row.subject for row in result.rows if row.subject))
    return str(study_of(result).get("id", "")) or ", ".join(subjects[:2]) or "result"


def sentences_of(result: Result) -> list[str]:
    """Return the verdicts of a result; of a study, what became of its claims."""
    claims = claims_of(result)
    if not study_of(result):
        said = [one for one in result.verdicts if one.get("sentence")]
        # What is said of a whole model sums up what is said of its layers.
        whole = [one for one in said if not one.get("part")]
        return [in_words(one) for one in whole or said]
    if not claims:
        return ["The paper shows this and claims nothing that could fail."]
    # What is not about a model says nothing about it; the table has it.
    about = [claim for claim in claims if claim["outcome"] != "not applicable"]
    return [
        f"{claim['outcome'].capitalize()}{of_model(claim)}: {claim['text']}."
        for claim in about or claims
    ]


def of_model(claim: Mapping[str, Any]) -> str:
    """Return for which model a claim was judged; nothing in files of before."""
    return f" for {claim['subject']}" if claim.get("subject") else ""


def study_of(result: Result) -> dict[str, Any]:
    """Return id and title of the study that made a result; nothing where none did."""
    about = result.extra.get("study")
    return about if isinstance(about, dict) and {"id", "title"} <= set(about) else {}


def claims_of(result: Result) -> list[dict[str, Any]]:
    """Return the claims of a study; what somebody damaged is none."""
    claims = result.extra.get("claims")
    return [
        claim
        for claim in (claims if isinstance(claims, list) else [])
        if isinstance(claim, dict) and {"text", "outcome"} <= set(claim)
    ]


def in_words(verdict: Mapping[str, Any]) -> str:
    """Return the sentence of a verdict; of an explanation, with its topic."""
    topic = str(verdict.get(TOPIC, ""))
    return f"{topic.capitalize()}: {verdict['sentence']}" if topic else str(verdict["sentence"])


def numbers_of(results: Sequence[Result]) -> list[Number]:
    """Return the three numbers that carry the verdict."""
    claims = [claim for result in results for claim in claims_of(result)]
    if claims:
        counts = Counter(claim["outcome"] for claim in claims)
        return [outcome_number(counts, outcomes) for outcomes in COUNTED_OUTCOMES]
    topics = [one for result in results for one in result.verdicts if one.get(TOPIC)]
    if topics:
        found = [one for one in topics if one.get("found")]
        return [
            Number("topics asked", str(len(topics))),
            Number("topics that explain something", str(len(found))),
            Number("topics that explain nothing", str(len(topics) - len(found))),
        ]
    rows = [row for result in results for row in result.rows if row.value is not None]
    chosen: list[Row] = []
    for measure in CARRYING:
        of_measure = [row for row in rows if row.measure == measure and row.correction == "none"]
        chosen += of_measure[-1:]  # of layers the last one, which people use
    # Results without these measures, such as scores, open with their first numbers.
    chosen += [row for row in rows if row not in chosen]
    return [number_of(row) for row in chosen[:NUMBERS]]


def outcome_number(counts: Mapping[str, int], outcomes: Sequence[str]) -> Number:
    """Count outcomes that belong together, under the names of those that there are.

    Examples
    --------
    >>> outcome_number(Counter(fails=1, reversed=2), ("fails", "reversed"))
    Number(label='claims: fails or reversed', value='3', note='')
    """
    there = [outcome for outcome in outcomes if counts.get(outcome)] or list(outcomes[:1])
    total = sum(counts.get(outcome, 0) for outcome in outcomes)
    return Number(f"claims: {' or '.join(there)}", str(total))


def number_of(row: Row) -> Number:
    """Return a row in large type."""
    about = [word for word in (row.subject, row.part) if word]
    if row.correction != "none":
        about.append(row.correction)
    if row.low is not None and row.high is not None:
        about.append(f"95 % interval {shown(row.low)} to {shown(row.high)}")
    return Number(row.measure, shown(row.value), ", ".join(about))
