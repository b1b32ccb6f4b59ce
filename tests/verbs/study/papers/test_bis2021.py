"""The recipes of Biś et al. against numpy on small clouds."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from benchmark_files import OTHER_SIZE
from judging_for_tests import hardly, judged, outcomes, surely
from scipy import stats

from isoscope.data.arrays import ArrayCloud
from isoscope.errors import UsageError
from isoscope.models.frequencies import WholeWords
from isoscope.results.result import Result, Row
from isoscope.verbs.study.api import run_study
from isoscope.verbs.study.judgement.scope import Facts
from isoscope.verbs.study.papers.bis2021 import WORD_SETS, average, norms_and_isotropy
from isoscope.verbs.study.registry import Subject

pytestmark = OTHER_SIZE

RNG = np.random.default_rng(0)
WORDS = [f"w{k}" for k in range(50)]
X = RNG.normal(0.5, 0.4, (50, 5))
FILES = {
    "men": ("MEN_dataset_lemma_form_full", "{}-n {}-v {}"),
    "rare-words": ("rw.txt", "{}\t{}\t{}\t1\t2\t3\t4\t5\t6\t7"),
    "simlex-999": ("SimLex-999.txt", "{}\t{}\tN\t{}\t1\t1\t1\t1\t1\t1"),
    "wordsim-similarity": ("wordsim_similarity_goldstandard.txt", "{}\t{}\t{}"),
    "wordsim-relatedness": ("wordsim_relatedness_goldstandard.txt", "{}\t{}\t{}"),
}
PAIRS = {name: RNG.integers(0, 50, (60, 3)) for name in FILES}


def words(vectors: np.ndarray = X) -> ArrayCloud:
    return ArrayCloud(vectors, "toy", labels={"word": np.array(WORDS, dtype=object)})


@pytest.fixture
def data(tmp_path: Path) -> Path:
    for name, (file, line) in FILES.items():
        lines = [line.format(f"w{a}", f"w{b}", s) for a, b, s in PAIRS[name]]
        (tmp_path / file).write_text("\n".join(lines))
    return tmp_path


def inner_scores(vectors: np.ndarray) -> list[float]:
    return [
        stats.pearsonr(np.einsum("ij,ij->i", vectors[p[:, 0]], vectors[p[:, 1]]), p[:, 2])[0]
        for p in PAIRS.values()
    ]


def test_table_1_has_three_spaces() -> None:
    result = run_study("B-T1", [words()]).result
    assert {row.correction for row in result} == {"none", "center", "all-but-the-top"}
    assert result.value("norm_of_mean") == pytest.approx(np.linalg.norm(X.mean(axis=0)))
    raw, centred = result.value("i1"), result.value("i1", "center")
    assert raw is not None
    assert centred is not None
    assert 0 < raw < centred < 1


def test_table_2_is_the_mean_of_five(data: Path) -> None:
    run = run_study("B-T2", [words()], data=data)
    centred = X - X.mean(axis=0)
    before, after = np.mean(inner_scores(X)), np.mean(inner_scores(centred))
    value = run.result.value
    assert value("average/inner/pearson") == pytest.approx(before)
    assert value("average/inner/pearson", "center") == pytest.approx(after)
    assert value("average/inner/pearson/difference", "center") == pytest.approx(after - before)
    assert {verdict.outcome for verdict in run.verdicts} == {"not applicable"}  # a list of words
    row = run.result.row("average/inner/pearson/difference", "center")
    assert len(row.extra["replicates"]) == 20
    # Block k is left out of all sets; what is left is the mean of what each set has without it.
    alone = run_study("B-T3", [words()], data=data).result
    each = [
        alone.row(f"{name}/inner/pearson/difference", "center").extra["replicates"]
        for name in WORD_SETS
    ]
    assert row.extra["replicates"] == pytest.approx(np.mean(each, axis=0))
    assert "men 60" in run.result.row("average/inner/pearson").note
    assert all(row.measure.startswith("average/") for row in run.result)


def test_table_3_has_every_set(data: Path) -> None:
    run = run_study("B-T3", [words()], data=data)
    assert run.result.value("rare-words/inner/pearson") == pytest.approx(inner_scores(X)[1])
    assert {row.measure.split("/")[0] for row in run.result} == set(WORD_SETS)
    assert not any("spearman" in row.measure for row in run.result)
    (verdict,) = run.verdicts
    assert (verdict.outcome, verdict.reason) == ("not applicable", "not a transformer")


@pytest.mark.parametrize(
    ("tokens", "expected"),
    [
        (["Ġthe", "Ġw1", "w1", "Ġof", "ing"], {"prefix": "Ġ", "lowercase": True}),
        (["▁The", "▁w1", "w1", "s"], {"prefix": "▁", "lowercase": False}),
        (["the", "w1", "##ing", "##ed", "of"], {"prefix": "", "lowercase": True}),
    ],
)
def test_words_are_written_as_the_vocabulary_has_them(
    tokens: list[str], expected: dict[str, object]
) -> None:
    ids = {token: row for row, token in enumerate(tokens)}
    tokenizer = SimpleNamespace(all_special_ids=[], get_vocab=lambda: ids)
    assert asdict(WholeWords.of(tokenizer, len(tokens))) == expected


def test_words_of_a_model_have_its_mark(
    data: Path, tiny_model: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    found: list[dict[str, object]] = []

    def looked_up(*_: object, **options: object) -> Result:
        found.append({name: options[name] for name in ("prefix", "lowercase")})
        return Result([])

    monkeypatch.setattr("isoscope.evaluate", looked_up)
    source = str(tiny_model("gpt2"))
    for options in ({}, {"prefix": "_"}, {"lowercase": True}):
        with contextlib.suppress(UsageError):
            run_study("B-T3", [source], data=data, **options)  # type: ignore[arg-type]
    assert found[1:] == [{"prefix": "_", "lowercase": False}, {"prefix": "", "lowercase": True}]
    assert found[0]["prefix"] == "Ġ"


def test_a_mean_with_a_gap_is_undefined() -> None:
    rows = [
        Row("A", "", "none", "men/cosine/pearson", 0.5, n=9),
        Row("A", "", "none", "rare-words/cosine/pearson", None, n=0, note="0 of 4 pairs"),
    ]
    found = average(rows, "cosine/pearson")
    assert found.value is None
    assert "0 of 4 pairs" in found.note


def test_figure_1_is_the_svd() -> None:
    run = run_study("B-F1", [words()])
    for correction, vectors in (("none", X), ("center", X - X.mean(axis=0))):
        values = np.linalg.svd(vectors, compute_uv=False)
        found = run.result.value("singular_ratio", correction)
        assert found == pytest.approx(values[0] / values[1])
    _, _, right = np.linalg.svd(X)
    mean = X.mean(axis=0)
    cosine = abs(right[0] @ mean) / np.linalg.norm(mean)
    row = run.result.row("mean_alignment")
    assert row.value == pytest.approx(cosine)
    assert len(row.extra["replicates"]) == 10
    assert outcomes("B-F1", run.result.rows) == ["holds", "holds"]
    # After centring there is no gap left that a second centring could close.
    turned = [
        replace(row, correction={"none": "center", "center": "none"}[row.correction])
        for row in run.result.rows
    ]
    assert outcomes("B-F1", turned)[1] == "reversed"


def test_figure_2_is_seeded_and_holds() -> None:
    run = run_study("B-F2", seed=1)
    assert [verdict.outcome for verdict in run.verdicts[:2]] == ["holds", "holds"]
    assert run.verdicts[2].outcome == "not applicable"  # without a training
    assert run.result.rows == run_study("B-F2", seed=1).result.rows
    assert run.result.rows != run_study("B-F2", seed=2).result.rows
    # a shift of 4 adds 16 along one direction to the mean squares of 1/3 along each
    ratio = run.result.value("singular_ratio", part="shift 4")
    assert ratio == pytest.approx(np.sqrt((16 + 1 / 3) * 3), rel=0.05)


def test_figure_5_needs_five_models() -> None:
    clouds = [Subject(f"m{k}", X * (k + 1)) for k in range(5)]
    run = run_study("B-F5", clouds)
    assert run.verdicts[0].outcome == "not applicable"  # vectors without a model
    (row,) = norms_and_isotropy(run.result)
    # Longer vectors, lower I1: two of the 120 orders of five models are as extreme.
    figures = [one for one in run.result if one.subject != "all models"]
    assert outcomes("B-F5", [*figures, row]) == ["holds"]
    norms = [r.value for r in run.result if r.measure == "mean_norm"]
    evenness = [r.value for r in run.result if r.measure == "i1"]
    assert row.value == pytest.approx(stats.pearsonr(norms, evenness)[0])
    assert row.n == 5
    some = [one for one in figures if one.subject != "m4"]
    (few,) = judged("B-F5", [*some, *norms_and_isotropy(Result(some))])
    assert few.outcome == "not run"
    assert "at least 5 models" in few.reason


def test_figure_6_compares_mean_norms() -> None:
    run = run_study("B-F6", [words()])
    assert run.verdicts[0].outcome == "not applicable"
    assert outcomes("B-F6", run.result.rows) == ["holds"]
    assert run.result.value("mean_norm", "center") == pytest.approx(
        np.linalg.norm(X - X.mean(axis=0), axis=1).mean()
    )
    assert {table.correction for table in run.result.tables} == {"none", "center"}


def of_matrix(name: str, raw: float, centred: float, removed: float) -> list[Row]:
    values = (("none", raw), ("center", centred), ("all-but-the-top", removed))
    return [Row(name, "", correction, "i1", value) for correction, value in values]


def test_claims_about_matrices() -> None:
    good = of_matrix("mine", 0.3, 0.9, 0.97)
    assert outcomes("B-T1", surely(good)) == ["holds"] * 3
    assert outcomes("B-T1", surely(of_matrix("mine", 0.9, 0.3, 0.2))) == [
        "fails", "fails", "reversed",
    ]  # fmt: skip
    assert outcomes("B-T1", hardly(good)) == ["undecided"] * 3
    assert outcomes("B-T1", good) == ["undecided"] * 3
    assert outcomes("B-T1", surely(good), Facts()) == ["not applicable"] * 3
    large = judged("B-T1", surely(of_matrix("RoBERTa-large", 0.3, 0.64, 0.97)))
    assert [verdict.outcome for verdict in large] == ["not applicable", "holds", "holds"]
    assert large[0].reason == "excepted by name"


def of_words(name: str, *, inner: float, cosine: float) -> list[Row]:
    """Averages of one method, whose gains are known."""
    rows = []
    for score, gain in (("inner", inner), ("cosine", cosine)):
        measure = f"average/{score}/pearson"
        rows += [
            Row(name, "", "none", measure, 0.3),
            *(Row(name, "", one, measure, 0.3 + gain) for one in ("center", "center-scaled")),
            *(Row(name, "", one, f"{measure}/difference", gain)
              for one in ("center", "center-scaled")),
        ]  # fmt: skip
    return rows


def test_claims_about_words() -> None:
    assert outcomes("B-T2", surely(of_words("mine", inner=0.2, cosine=0.1))) == ["holds"] * 3
    turned = surely(of_words("mine", inner=-0.2, cosine=-0.1))
    assert outcomes("B-T2", turned) == ["reversed"] * 3
    assert outcomes("B-T2", hardly(of_words("mine", inner=0.2, cosine=0.1))) == ["undecided"] * 3
    cased = surely(of_words("BERT-base-cased", inner=0.2, cosine=0.1))
    assert outcomes("B-T2", cased) == ["not applicable", "holds", "holds"]
    # The paper excepts one score of one model, and the other one is still judged.
    large = surely(of_words("BERT-large-cased", inner=0.2, cosine=-0.1))
    assert outcomes("B-T2", large) == ["not applicable", "holds", "holds"]
