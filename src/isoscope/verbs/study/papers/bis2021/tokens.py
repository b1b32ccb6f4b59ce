"""Biś et al. (2021), figures 3 and 4: unused tokens, and how much of a text few words cover.

Unused tokens only ever moved away from what a model predicted, so that their direction is the
common one; the rarer a token is, the closer it stays to it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from isoscope.data.combine import SingleCloud
from isoscope.models.frequencies import Coverage, token_counts, word_counts
from isoscope.results.merge import joined_without_verdicts
from isoscope.results.result import Result, Row
from isoscope.verbs.explain.api import coverage_rows, unused_cosines
from isoscope.verbs.explain.names import COSINE_WITH_UNUSED, DIFFERENCE, FREQUENT, RARE, bin_name
from isoscope.verbs.study.claims import Claim
from isoscope.verbs.study.inputs import CNN_DM, check_single, open_subject, open_vectors
from isoscope.verbs.study.registry import Request, add_study

if TYPE_CHECKING:
    from isoscope.data.texts.base import TextSource
    from isoscope.verbs.study.reference import Key


def figure_3(request: Request) -> Result:
    """Mean cosine of unused tokens with the tokens of each bin, raw and centred."""
    rows: list[Row] = []
    for subject in request.subjects:
        group = open_vectors(subject, request.column)
        check_single(subject, group, "B-F3")
        found = unused_cosines(SingleCloud(group, group.names[0]), request.last_unused)
        rows += [replace(row, subject=subject.name) for row in found]
    return joined_without_verdicts([Result(rows)])


def printed_figure_3() -> dict[Key, float]:
    """Return the two means that the text prints."""
    bert = "BERT-base-uncased"
    return {
        (bert, bin_name(FREQUENT), "none", COSINE_WITH_UNUSED): 0.27,
        (bert, bin_name(RARE), "none", COSINE_WITH_UNUSED): 0.63,
        (bert, "", "none", DIFFERENCE): 0.36,
    }


add_study(
    "B-F3", figure_3,
    Claim("unused tokens are closer to rare tokens than to frequent ones, by at least 0.2",
          {"measure": DIFFERENCE}, {"correction": "none"}, ">=", 0.2),
    models=("BERT-base-uncased|BERT", "RoBERTa-base|RoBERTa"), printed=printed_figure_3,
)  # fmt: skip


WORDS = "words"
FEW, SOME = 13, 85
SHARES = (0.3, 0.5, 0.98)


def figure_4(request: Request) -> Result:
    """Coverage of a text by its words, and by the tokens of every model."""
    assert request.text is not None
    found = [covered(WORDS, Coverage.of(word_counts(request.text).values()), request.text)]
    for subject in request.subjects:
        counts = token_counts(open_subject(subject, request).tokenizer, request.text)
        found.append(covered(subject.name, Coverage.of(counts.tolist()), request.text))
    return joined_without_verdicts(found)


def covered(subject: str, coverage: Coverage, text: TextSource) -> Result:
    """Return shares, numbers of words and the exponent as rows."""
    rows, table = coverage_rows(coverage, text.name, (FEW, SOME), SHARES)
    named = [replace(row, subject=subject, extra={"unit": "words"}) for row in rows]
    return Result(named, [replace(table, subject=subject)])


add_study(
    "B-F4", figure_4,
    Claim("13 of them cover at least 30 % of the text",
          {"measure": f"share_of_first_{FEW}"}, {}, ">=", 0.3),
    Claim("85 of them cover at least half",
          {"measure": f"share_of_first_{SOME}"}, {}, ">=", 0.5),
    Claim("98 % take about 15,000: at least 10,000",
          {"measure": "needed_for_0.98"}, {}, ">=", 10_000),
    Claim("98 % take about 15,000: at most 20,000",
          {"measure": "needed_for_0.98"}, {}, "<=", 20_000),
    models=("BERT|bert-base-cased|bert-base-uncased", "words"), sources=False,
    may_have_sources=True, text=CNN_DM,
)  # fmt: skip
