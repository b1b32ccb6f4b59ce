"""Biś et al. (2021), Too much in common: Shifting of embeddings in transformer language models.

Embedding matrices drifted in one common direction; removing the mean restores isotropy.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from isoscope.compute.stats.estimates import pearson
from isoscope.results.result import Result, Row
from isoscope.studies.claims import ALL_MODELS, Claim
from isoscope.studies.reference import printed_table
from isoscope.studies.registry import Key, Request, Study, register
from isoscope.studies.scale_tables import MATRICES, SPECTRA, WORDS
from isoscope.studies.several import joined, measured, renamed
from isoscope.studies.subjects import open_vectors
from isoscope.tasks.evaluating import evaluate

PAPER = (
    "Biś, Podkorytov & Liu (2021), Too much in common: Shifting of embeddings in transformer "
    "language models and its implications, NAACL"
)
MATRIX = (
    "the input embedding matrix of a model, or the model itself, all rows, special and unused ones "
    "included"
)
WORD_SETS = {
    "men": "MEN",
    "rare-words": "RW",
    "simlex-999": "SimLex-999",
    "wordsim-similarity": "WordSim-Sim",
    "wordsim-relatedness": "WordSim-Rel",
}
"""Task names, and what the paper calls them."""

ALL_BUT_TWO = "all-but-the-top:n_components=2"
METHODS = ("none", "center", "center-scaled", "all-but-the-top", ALL_BUT_TWO)
"""The text of the paper removes ⌈d/100⌉ components, its authors' benchmark two: both."""


def table_1(request: Request) -> Result:
    """I1 and I2 of embedding matrices, raw, centred and without their top components."""
    names = "mean_norm,norm_of_mean,i1,i2"
    return measured(request, names, "none,center,all-but-the-top")


def printed_table_1() -> dict[Key, float]:
    """Return I1 and norms as printed."""
    columns = {
        ("none", "i1"): "isotropy",
        ("center", "i1"): "isotropy_centered",
        ("all-but-the-top", "i1"): "isotropy_pc_removed",
        ("none", "mean_norm"): "mean_norm",
        ("none", "norm_of_mean"): "norm_of_mean",
    }
    return {
        (row["model"], "", correction, name): float(row[column])
        for row in printed_table("bis2021_table1_isotropy")
        for (correction, name), column in columns.items()
    }


def word_similarity(request: Request) -> Result:
    """Pearson's r of cosine and inner product on the five word sets, for every method."""
    results = []
    for subject in request.subjects:
        options: dict[str, Any] = dict(request.words)
        found = evaluate(
            open_vectors(subject, request.column), list(WORD_SETS), METHODS,
            data=request.data, progress=request.progress, **options,
        )  # fmt: skip
        kept = [row for row in found.rows if "/pearson" in row.measure]
        results.append(renamed(replace(found, rows=kept), subject=subject.name))
    return joined(results)


def table_2(request: Request) -> Result:
    """Return the mean of the five sets, per method, with the gain over none."""
    result = word_similarity(request)
    groups: dict[tuple[str, str, str, str], list[Row]] = {}
    for row in result.rows:
        _, score = row.measure.split("/", 1)
        groups.setdefault((row.subject, row.part, row.correction, score), []).append(row)
    return replace(result, rows=[average(rows, score) for (*_, score), rows in groups.items()])


def average(rows: list[Row], score: str) -> Row:
    """Return the mean of a score over word sets; undefined where one of them is."""
    values = [row.value for row in rows if row.value is not None]
    undefined = [row for row in rows if row.value is None]
    counts = ", ".join(f"{row.measure.split('/')[0]} {row.n or 0:,}" for row in rows)
    note = f"mean over word sets, pairs: {counts}"
    if undefined:
        note = f"{undefined[0].measure} is undefined: {undefined[0].note}"
    return replace(
        rows[0],
        measure=f"average/{score}",
        value=None if undefined else float(np.mean(values)),
        low=None,
        high=None,
        n=sum(row.n or 0 for row in rows),
        note=note,
        extra={"unit": "pairs"},
    )


def printed_table_2() -> dict[Key, float]:
    """Return the averages as printed, as r instead of r × 100."""
    return {
        (row["model"], "", row["method"], f"average/{score}/pearson"): percent(row, score)
        for row in printed_table("bis2021_table2_wordsim_average")
        for score in ("cosine", "inner")
    }


def percent(row: dict[str, str], score: str) -> float:
    """Return r where r × 100 is printed."""
    return float(row[f"pearson_{score}"]) / 100


def printed_table_3() -> dict[Key, float]:
    """Return the scores of every word set as printed, as r instead of r × 100."""
    tasks = {name: task for task, name in WORD_SETS.items()}
    return {
        (row["model"], "", row["method"], f"{tasks[row['dataset']]}/{score}/pearson"): percent(
            row, score
        )
        for row in printed_table("bis2021_table3_wordsim")
        for score in ("cosine", "inner")
    }


def figure_1(request: Request) -> Result:
    """Spectra before and after centring, and whether the first direction is the mean."""
    result = measured(request, "mean_alignment,spectrum", "none,center")
    return replace(result, rows=[*result.rows, *singular_ratios(result)])


def singular_ratios(result: Result) -> list[Row]:
    """Return σ₁/σ₂ of every spectrum in a result."""
    rows = []
    for table in result.tables:
        if table.measure != "spectrum":
            continue
        first, second = (entry["singular_value"] for entry in table.rows[:2])
        note = "" if second > 0 else "the second singular value is zero"
        rows.append(
            Row(
                table.subject,
                table.part,
                table.correction,
                "singular_ratio",
                first / second if second > 0 else None,
                note=note,
            )
        )
    return rows


def figure_5(request: Request) -> Result:
    """Densities of norms, and how mean norm and I1 go together over models."""
    result = measured(request, "mean_norm,i1,norm_density", "none")
    norms = [row.value for row in result.rows if row.measure == "mean_norm"]
    evenness = [row.value for row in result.rows if row.measure == "i1"]
    both = [(n, i) for n, i in zip(norms, evenness, strict=True) if n is not None and i is not None]
    found = pearson([n for n, _ in both], [i for _, i in both])
    together = Row(
        ALL_MODELS, "", "none", "correlation(mean_norm, i1)", found.value,
        low=found.low, high=found.high, n=found.n,
        protocol="over models", note=found.note, extra={"unit": "models"},
    )  # fmt: skip
    return replace(result, rows=[*result.rows, together])


def figure_6(request: Request) -> Result:
    """Densities of norms before and after centring."""
    return measured(request, "mean_norm,norm_density", "none,center")


NONE, CENTER, TOP = ({"correction": name} for name in ("none", "center", "all-but-the-top"))
TABLE_1_MODELS = tuple(row["model"] for row in printed_table("bis2021_table1_isotropy"))
TABLE_2_MODELS = tuple(
    dict.fromkeys(row["model"] for row in printed_table("bis2021_table2_wordsim_average"))
)

register(
    Study(
        "B-T1", "Isotropy of input embedding matrices, raw, centred, top components removed",
        PAPER + ", table 1", MATRIX, table_1,
        (
            Claim("centred I1 is at least 0.87, except for RoBERTa-large (0.64)",
                  {"measure": "i1"}, CENTER, ">=", 0.87, excluding=({"subject": "RoBERTa-large"},)),
            Claim("I1 without the top components is at least 0.95",
                  {"measure": "i1"}, TOP, ">=", 0.95),
            Claim("centring raises I1", {"measure": "i1"}, CENTER, ">", NONE),
        ),
        TABLE_1_MODELS, printed_table_1, scales=MATRICES,
    )
)  # fmt: skip
WORDS_NEED = (
    "an embedding matrix with its words (labels or --vocabulary), and a --data folder with MEN, "
    "RW, SimLex-999 and both halves of WordSim-353"
)
GAIN = "average/{}/pearson/difference"
register(
    Study(
        "B-T2", "Word similarity before and after corrections, mean of five sets",
        PAPER + ", table 2", WORDS_NEED, table_2,
        (
            Claim("centring raises r of the inner product, except for BERT-cased",
                  {"measure": "average/inner/pearson"}, CENTER, ">", NONE,
                  excluding=({"subject": "BERT-*-cased"},)),
            Claim("every method gains more with the inner product than with the cosine",
                  {"measure": GAIN.format("*")}, {"measure": GAIN.format("inner")}, ">",
                  {"measure": GAIN.format("cosine")}),
            Claim("scaled centring is at least as good as none, except for BERT-large with cosine",
                  {"measure": "average/*/pearson"}, {"correction": "center-scaled"}, ">=", NONE,
                  excluding=({"subject": "BERT-large-cased", "measure": "*/cosine/*"},)),
        ),
        TABLE_2_MODELS, printed_table_2, scales=WORDS,
    )
)  # fmt: skip
register(
    Study(
        "B-T3", "Word similarity before and after corrections, set by set",
        PAPER + ", table 3", WORDS_NEED, word_similarity,
        (
            Claim("all-but-the-top beats none on MEN, with both scores",
                  {"measure": "men/*/pearson"}, TOP, ">", NONE),
        ),
        TABLE_2_MODELS, printed_table_3, scales=WORDS,
    )
)  # fmt: skip
register(
    Study(
        "B-F1", "Spectra of embedding matrices, and their common direction",
        PAPER + ", figure 1", MATRIX, figure_1,
        (
            Claim("the first right singular vector is the mean: cosine at least 0.95",
                  {"measure": "mean_alignment"}, NONE, ">=", 0.95),
            Claim("the gap between the first two singular values shrinks with centring",
                  {"measure": "singular_ratio"}, CENTER, "<", NONE),
        ),
        ("RoBERTa-large", "GPT-2 (12 layers)"), scales=SPECTRA,
    )
)  # fmt: skip
register(
    Study(
        "B-F5", "Norms of embeddings, and their correlation with isotropy over models",
        PAPER + ", figure 5", f"at least five models: {MATRIX}", figure_5,
        (
            Claim("models with longer vectors are less isotropic: the correlation is negative",
                  {"measure": "correlation(mean_norm, i1)"}, NONE, "<", 0.0, min_subjects=5),
        ),
        TABLE_1_MODELS, lambda: {(ALL_MODELS, "", "none", "correlation(mean_norm, i1)"): -0.61},
        scales=MATRICES,
    )
)  # fmt: skip
register(
    Study(
        "B-F6", "Norms of embeddings before and after centring",
        PAPER + ", figure 6", MATRIX, figure_6,
        (Claim("centring lowers the mean norm", {"measure": "mean_norm"}, CENTER, "<", NONE),),
        TABLE_1_MODELS, scales=MATRICES,
    )
)  # fmt: skip
