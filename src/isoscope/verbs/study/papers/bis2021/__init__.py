"""Biś et al. (2021), Too much in common: Shifting of embeddings in transformer language models.

Embedding matrices drifted in one common direction; removing the mean restores isotropy.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import isoscope
from isoscope.models.frequencies import WholeWords
from isoscope.results.merge import joined_without_verdicts
from isoscope.results.result import Result, Row
from isoscope.results.tables import grouped
from isoscope.verbs.study.inputs import (
    correlation_over_models,
    is_a_transformer,
    mean_of,
    measured,
    measured_with_error,
    of_every_cloud,
    open_subject,
)
from isoscope.verbs.study.judgement.claims import Claim
from isoscope.verbs.study.judgement.replicates import difference_replicates, mean_replicates
from isoscope.verbs.study.judgement.rows import ALL_MODELS
from isoscope.verbs.study.judgement.scope import Scope
from isoscope.verbs.study.reference import Column, printed_numbers, printed_table
from isoscope.verbs.study.registry import Request, Subject, add_study

if TYPE_CHECKING:
    from collections.abc import Mapping

    from isoscope.data.base import CloudGroup

# Task names, and what the paper calls them.
WORD_SETS = {
    "men": "MEN",
    "rare-words": "RW",
    "simlex-999": "SimLex-999",
    "wordsim-similarity": "WordSim-Sim",
    "wordsim-relatedness": "WordSim-Rel",
}

ALL_BUT_TWO = "all-but-the-top:n_components=2"
# The text of the paper removes ⌈d/100⌉ components, its authors' benchmark two: both.
METHODS = ("none", "center", "center-scaled", "all-but-the-top", ALL_BUT_TWO)


def table_1(request: Request) -> Result:
    """I1 and I2 of embedding matrices, raw, centred and without their top components."""
    names = "mean_norm,norm_of_mean,i1,i1_scaled,i2"
    return measured_with_error(request, names, "none,center,all-but-the-top")


# I1 and norms as printed.
PRINTED_1 = partial(
    printed_numbers, "bis2021_table1_isotropy",
    Column("isotropy", ("{model}", "", "none", "i1")),
    Column("isotropy_centered", ("{model}", "", "center", "i1")),
    Column("isotropy_pc_removed", ("{model}", "", "all-but-the-top", "i1")),
    Column("mean_norm", ("{model}", "", "none", "mean_norm")),
    Column("norm_of_mean", ("{model}", "", "none", "norm_of_mean")),
)  # fmt: skip


def word_similarity(request: Request) -> Result:
    """Pearson's r of cosine and inner product on the five word sets, for every method."""

    def scored(cloud: CloudGroup, subject: Subject) -> Result:
        return isoscope.evaluate(
            cloud, list(WORD_SETS), METHODS, data=request.data, progress=request.progress,
            replicates=True, **words_of(subject, request.words),
        )  # fmt: skip

    result = joined_without_verdicts(
        of_every_cloud(replace(request, subjects=(one,)), partial(scored, subject=one))
        for one in request.subjects
    )
    rows = [row for row in result.rows if "/pearson" in row.measure]
    return replace(result, rows=difference_replicates(rows))


def words_of(subject: Subject, asked: Mapping[str, Any]) -> dict[str, Any]:
    """Return how words are looked up: as the user says, else as the model's vocabulary has them.

    A byte-level vocabulary has ``Ġdog`` for the word and ``dog`` for a part of others, and an
    uncased one has no *Japan*.
    """
    options = dict(asked)
    if any(options.values()) or not is_a_transformer(subject):
        return options
    model = open_subject(subject)
    size = model.weights.shape(model.parts.input_embedding)[0]
    found = WholeWords.of(model.tokenizer, max(len(model.tokenizer), size))
    return {**options, "prefix": found.prefix, "lowercase": found.lowercase}


def table_2(request: Request) -> Result:
    """Return the mean of the five sets, per method, with the gain over none."""
    result = word_similarity(request)
    groups = grouped(
        result.rows,
        lambda row: (row.subject, row.part, row.correction, row.measure.partition("/")[2]),
    )
    return replace(result, rows=[average(rows, score) for (*_, score), rows in groups.items()])


def average(rows: list[Row], score: str) -> Row:
    """Return the mean of a score over word sets; undefined where one of them is."""
    undefined = next((row for row in rows if row.value is None), None)
    counts = ", ".join(f"{row.measure.split('/')[0]} {row.n or 0:,}" for row in rows)
    note = f"mean over word sets, pairs: {counts}"
    low, high = mean_interval(rows)
    if undefined is not None:
        note = f"{undefined.measure} is undefined: {undefined.note}"
    return replace(
        rows[0],
        measure=f"average/{score}",
        value=mean_of(row.value for row in rows),
        low=low,
        high=high,
        n=sum(row.n or 0 for row in rows),
        note=note,
        extra={
            "unit": "pairs",
            **mean_replicates(rows, f"blocks of pairs: {counts}"),
        },
    )


def mean_interval(rows: list[Row]) -> tuple[float | None, float | None]:
    """Return the interval of a mean over word sets, whose pairs were judged by different people."""
    value = mean_of(row.value for row in rows)
    known = [row for row in rows if None not in (row.value, row.low, row.high)]
    if value is None or len(known) < len(rows):
        return None, None
    # The errors of independent means add up as squares.
    below = [((row.value or 0.0) - (row.low or 0.0)) / len(rows) for row in rows]
    above = [((row.high or 0.0) - (row.value or 0.0)) / len(rows) for row in rows]
    return value - math.hypot(*below), value + math.hypot(*above)


def pearsons(which: str) -> list[Column]:
    """Return the columns of correlations, of a set or the average, as r instead of r × 100."""
    return [
        Column(
            f"pearson_{of}", ("{model}", "", "{method}", f"{which}/{of}/pearson"), divided_by=100
        )
        for of in ("cosine", "inner")
    ]


PRINTED_2 = partial(printed_numbers, "bis2021_table2_wordsim_average", *pearsons("average"))
PRINTED_3 = partial(
    printed_numbers, "bis2021_table3_wordsim", *pearsons("{dataset}"),
    names={name: task for task, name in WORD_SETS.items()},
)  # fmt: skip


def figure_1(request: Request) -> Result:
    """Spectra before and after centring, and whether the first direction is the mean."""
    return measured_with_error(
        request, "mean_alignment,spectrum", "none,center",
        lambda found: [*found.rows, *singular_ratios(found)],
    )  # fmt: skip


def singular_ratios(result: Result) -> list[Row]:
    """Return σ₁/σ₂ of every spectrum in a result."""
    rows = []
    for table in result.tables:
        if table.measure != "spectrum":
            continue
        first, second = (entry["singular_value"] for entry in table.rows[:2])
        note = "" if second > 0 else "the second singular value is zero"
        value = first / second if second > 0 else None
        rows.append(
            Row(table.subject, table.part, table.correction, "singular_ratio", value, note=note)
        )
    return rows


def figure_5(request: Request) -> Result:
    """Densities of norms, and how mean norm and I1 go together over models."""
    return measured(request, "mean_norm,i1,norm_density", "none")


def norms_and_isotropy(result: Result) -> list[Row]:
    """Correlate mean norm and I1 over models."""
    return [correlation_over_models(result, "mean_norm", "i1")]


def figure_6(request: Request) -> Result:
    """Densities of norms before and after centring."""
    return measured_with_error(request, "mean_norm,norm_density", "none,center")


NONE, CENTER, TOP = ({"correction": name} for name in ("none", "center", "all-but-the-top"))
TABLE_1_MODELS = tuple(row["model"] for row in printed_table("bis2021_table1_isotropy"))
TABLE_2_MODELS = tuple(
    dict.fromkeys(row["model"] for row in printed_table("bis2021_table2_wordsim_average"))
)

add_study(
    "B-T1", table_1,
    Claim("centred I1 is at least 0.87, except for RoBERTa-large (0.64)",
          {"measure": "i1"}, CENTER, ">=", 0.87, scope=Scope(but=("RoBERTa-large",))),
    Claim("I1 is at least 0.95 when the top components are removed",
          {"measure": "i1"}, TOP, ">=", 0.95),
    Claim("centring raises I1", {"measure": "i1"}, CENTER, ">", NONE),
    models=TABLE_1_MODELS, printed=PRINTED_1,
)  # fmt: skip
GAIN = "average/{}/pearson/difference"
add_study(
    "B-T2", table_2,
    Claim("centring raises Pearson's r of the inner product, except for BERT-cased",
          {"measure": "average/inner/pearson"}, CENTER, ">", NONE,
          scope=Scope(but=("BERT-base-cased", "BERT-large-cased"))),
    Claim("every method raises r of the inner product more than r of the cosine",
          {"measure": GAIN.format("*")}, {"measure": GAIN.format("inner")}, ">",
          {"measure": GAIN.format("cosine")}),
    Claim("scaled centring does not lower r, except for BERT-large with the cosine",
          {"measure": "average/*/pearson"}, {"correction": "center-scaled"}, ">=", NONE,
          excluding=({"subject": "BERT-large-cased", "measure": "*/cosine/*"},)),
    models=TABLE_2_MODELS, printed=PRINTED_2,
)  # fmt: skip
add_study(
    "B-T3", word_similarity,
    Claim("removing the mean and the top components raises r on MEN, with both scores",
          {"measure": "men/*/pearson"}, TOP, ">", NONE),
    models=TABLE_2_MODELS, printed=PRINTED_3,
)  # fmt: skip
add_study(
    "B-F1", figure_1,
    Claim("the first right singular vector points along the mean: their cosine is at least 0.95",
          {"measure": "mean_alignment"}, NONE, ">=", 0.95),
    Claim("centring lowers the ratio of the first two singular values",
          {"measure": "singular_ratio"}, CENTER, "<", NONE),
    models=("RoBERTa-large", "GPT-2 (12 layers)"),
)  # fmt: skip
add_study(
    "B-F5", figure_5,
    Claim("over models, mean norm and I1 are negatively correlated",
          {"measure": "correlation(mean_norm, i1)"}, NONE, "<", 0.0, min_subjects=5),
    models=TABLE_1_MODELS, over_models=norms_and_isotropy,
    printed=lambda: {(ALL_MODELS, "", "none", "correlation(mean_norm, i1)"): -0.61},
)  # fmt: skip
add_study(
    "B-F6", figure_6,
    Claim("centring lowers the mean norm", {"measure": "mean_norm"}, CENTER, "<", NONE),
    models=TABLE_1_MODELS,
)  # fmt: skip
