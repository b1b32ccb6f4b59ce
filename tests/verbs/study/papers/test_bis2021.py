"""The recipes of Biś et al. against numpy on small clouds."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from benchmark_files import OTHER_SIZE
from scipy import stats

from isoscope.data.arrays import ArrayCloud
from isoscope.results.result import Row
from isoscope.verbs.study.api import run_study
from isoscope.verbs.study.papers.bis2021 import WORD_SETS, average
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
PAIRS = {name: RNG.integers(0, 50, (40, 3)) for name in FILES}


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
    assert len(run.verdicts[1].cases) == 4  # every method but none
    assert "men 40" in run.result.row("average/inner/pearson").note
    assert all(row.measure.startswith("average/") for row in run.result)


def test_table_3_has_every_set(data: Path) -> None:
    run = run_study("B-T3", [words()], data=data)
    assert run.result.value("rare-words/inner/pearson") == pytest.approx(inner_scores(X)[1])
    assert {row.measure.split("/")[0] for row in run.result} == set(WORD_SETS)
    assert not any("spearman" in row.measure for row in run.result)
    assert len(run.verdicts[0].cases) == 2


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
    assert run.verdicts[0].cases[0].left_value == pytest.approx(cosine)
    assert run.verdicts[1].outcome == "holds"


def test_figure_2_is_seeded_and_holds() -> None:
    run = run_study("B-F2", seed=1)
    assert [verdict.outcome for verdict in run.verdicts[:2]] == ["holds", "holds"]
    assert run.verdicts[2].outcome == "cannot be judged"  # without a training
    assert run.result.rows == run_study("B-F2", seed=1).result.rows
    assert run.result.rows != run_study("B-F2", seed=2).result.rows
    # a shift of 4 adds 16 along one direction to the mean squares of 1/3 along each
    ratio = run.result.value("singular_ratio", part="shift 4")
    assert ratio == pytest.approx(np.sqrt((16 + 1 / 3) * 3), rel=0.05)


def test_figure_5_needs_five_models() -> None:
    clouds = [Subject(f"m{k}", X * (k + 1)) for k in range(5)]
    run = run_study("B-F5", clouds)
    assert run.verdicts[0].outcome == "holds"  # longer vectors, lower I1
    row = run.result.row("correlation(mean_norm, i1)")
    norms = [r.value for r in run.result if r.measure == "mean_norm"]
    evenness = [r.value for r in run.result if r.measure == "i1"]
    assert row.value == pytest.approx(stats.pearsonr(norms, evenness)[0])
    assert row.n == 5
    few = run_study("B-F5", clouds[:4])
    assert few.verdicts[0].outcome == "cannot be judged"
    assert "at least 5 models" in few.verdicts[0].reason


def test_figure_6_compares_mean_norms() -> None:
    run = run_study("B-F6", [words()])
    assert run.verdicts[0].outcome == "holds"
    assert run.result.value("mean_norm", "center") == pytest.approx(
        np.linalg.norm(X - X.mean(axis=0), axis=1).mean()
    )
    assert {table.correction for table in run.result.tables} == {"none", "center"}
