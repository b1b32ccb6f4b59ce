"""Biś et al. (2021): how much of a text few words and subwords cover."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoscope.explain.counting import token_counts, word_counts
from isoscope.explain.coverage import Coverage
from isoscope.results.result import Result, Row, Table
from isoscope.studies.bis2021 import PAPER
from isoscope.studies.claims import Claim
from isoscope.studies.registry import Request, Study, register
from isoscope.studies.scale_tables import COVERAGE
from isoscope.studies.several import joined
from isoscope.studies.subjects import open_subject
from isoscope.studies.texts import CNN_DM

if TYPE_CHECKING:
    from isoscope.data.texts.base import TextSource


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
    return joined(found)


def covered(subject: str, coverage: Coverage, text: TextSource) -> Result:
    """Return shares, numbers of words and the exponent as rows."""
    values: dict[str, float | None] = {
        f"share_of_first_{first}": coverage.share_of(first) for first in (FEW, SOME)
    }
    values |= {f"needed_for_{share:g}": float(coverage.needed_for(share)) for share in SHARES}
    values["zipf_exponent"] = coverage.zipf_exponent()
    how = f"{coverage.total:,} of {len(coverage.counts):,} kinds in {text.name}, punctuation in"
    rows = [
        Row(
            subject, "", "none", name, value, n=coverage.total, protocol=how,
            note="" if value is not None else "one kind of words only", extra={"unit": "words"},
        )
        for name, value in values.items()
    ]  # fmt: skip
    return Result(rows, [Table(subject, "", "none", "coverage", coverage.curve(), how)])


register(
    Study(
        "B-F4", "How much of a text its most frequent words and subwords cover",
        PAPER + ", figure 4",
        "a text, the paper's being CNN/DailyMail; models, whose subwords are counted beside words",
        figure_4,
        (
            Claim("13 of them cover at least 30 % of the text",
                  {"measure": f"share_of_first_{FEW}"}, {}, ">=", 0.3),
            Claim("85 of them cover at least half",
                  {"measure": f"share_of_first_{SOME}"}, {}, ">=", 0.5),
            Claim("98 % take about 15,000: at least 10,000",
                  {"measure": "needed_for_0.98"}, {}, ">=", 10_000),
            Claim("98 % take about 15,000: at most 20,000",
                  {"measure": "needed_for_0.98"}, {}, "<=", 20_000),
        ),
        ("BERT|bert-base-cased|bert-base-uncased", "words"),
        sources=False, may_have_sources=True, text=CNN_DM, scales=COVERAGE,
    )
)  # fmt: skip
