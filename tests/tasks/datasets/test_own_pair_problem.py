"""Pairs of one's own against scipy and scikit-learn, for every kind of file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from sklearn import metrics

from isoscope.errors import DataError, UsageError
from isoscope.tasks import find_task
from isoscope.tasks.datasets.own_pairs import (
    OwnPairProblem,
    OwnPairs,
    OwnPairTask,
    left_out_sentences,
    read_own_pairs,
)
from isoscope.tasks.scores import problem_rows

RNG = np.random.default_rng(0)
SIZE = 60
NOTHING = np.zeros(0, np.intp)


def loaded(tmp_path: Path, lines: list[str]) -> OwnPairs:
    path = tmp_path / "mine.tsv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    task = find_task(f"pairs:{path}")
    assert isinstance(task, OwnPairTask)
    assert (task.name, task.family) == ("pairs:mine", "pairs")
    return task.load()


def cosine(a: np.ndarray, b: np.ndarray) -> float:
    return float(a @ b / np.sqrt((a @ a) * (b @ b)))


def scored(problem: OwnPairProblem, vectors: np.ndarray) -> dict:
    everything = np.arange(len(problem))
    return problem.scores(problem.outputs(vectors, NOTHING, everything), everything, 0.95)


def test_texts_with_numbers(tmp_path: Path) -> None:
    sides = RNG.integers(0, 20, (SIZE, 2))
    human = np.round(RNG.uniform(0, 5, SIZE), 1)
    lines = [f"text {a}\ttext {b}\t{h}" for (a, b), h in zip(sides, human, strict=True)]
    problem = OwnPairProblem.of_texts("pairs:mine", loaded(tmp_path, lines))
    assert len(set(problem.texts)) == len(problem.texts) == len(np.unique(sides))
    vectors = RNG.normal(size=(20, 8))
    given = np.array([vectors[int(text.split()[1])] for text in problem.texts])
    expected = [1.0 if a == b else cosine(vectors[a], vectors[b]) for a, b in sides]
    held = np.array([5, 2, 30])
    assert problem.outputs(given, NOTHING, held) == pytest.approx(np.array(expected)[held])
    found = scored(problem, given)
    assert list(found) == ["cosine/spearman", "cosine/pearson"]
    assert problem.main == "cosine/spearman"
    for name, peer in (("spearman", stats.spearmanr), ("pearson", stats.pearsonr)):
        value = found[f"cosine/{name}"].value
        assert value == pytest.approx(peer(expected, human).statistic, abs=1e-12)


def test_rows_with_labels(tmp_path: Path) -> None:
    sides = RNG.integers(0, 20, (SIZE, 2)) * 3  # rows of a larger source
    sides[:, 1] += 3 * (sides[:, 0] == sides[:, 1])
    labels = RNG.integers(0, 2, SIZE)
    lines = ["row1\trow2\tsame"]
    lines += [f"{a}\t{b}\t{'no' if h else 'yes'}" for (a, b), h in zip(sides, labels, strict=True)]
    pairs = loaded(tmp_path, lines)
    vectors = RNG.normal(size=(70, 5)).astype(np.float32)
    problem = OwnPairProblem.of_rows("pairs:mine", pairs, 70)
    assert problem.texts == ()
    assert problem.rows_of(np.arange(SIZE)).tolist() == np.unique(sides).tolist()
    expected = [cosine(vectors[a], vectors[b]) for a, b in sides]
    found = scored(problem, vectors)
    assert list(found) == ["cosine/auc", "cosine/spearman"]
    assert problem.main == "cosine/auc"
    area = metrics.roc_auc_score(1 - labels, expected)
    assert found["cosine/auc"].value == pytest.approx(area, abs=1e-6)
    with pytest.raises(DataError, match="there is no row 57; the source has 10"):
        OwnPairProblem.of_rows("pairs:mine", loaded(tmp_path, [lines[0], "57\t0\tyes"]), 10)


def test_a_row_paired_with_itself_is_left_out_and_counted(tmp_path: Path) -> None:
    lines = ["row1\trow2\tsame", "1\t2\tno", "5\t5\tyes", "3\t1\tyes"]
    found = OwnPairProblem.of_rows("pairs:mine", loaded(tmp_path, lines), 10)
    assert (found.first.tolist(), found.second.tolist()) == ([1, 3], [2, 1])
    assert (found.human.tolist(), found.lines) == ([0, 1], (2, 4))
    assert found.left_out == "1 pair of a row with itself left out (line 3)"
    found = OwnPairProblem.of_rows("pairs:mine", loaded(tmp_path, [*lines, "4\t4\tno"]), 10)
    assert found.left_out == "2 pairs of a row with itself left out (first: line 3)"
    with pytest.raises(DataError, match="every pair a row is paired with itself; .* --queries"):
        OwnPairProblem.of_rows("pairs:mine", loaded(tmp_path, [lines[0], lines[2]]), 10)


def test_rows_of_queries_need_the_queries(tmp_path: Path) -> None:
    lines = ["query_row,document_row,score", "0,0,1", "1,4,0"]
    path = tmp_path / "clicks.csv"
    path.write_text("\n".join(lines) + "\n")
    pairs = read_own_pairs(path)
    with pytest.raises(UsageError, match="name the vectors of the queries with --queries"):
        OwnPairProblem.of_rows("pairs:clicks", pairs, 10)
    problem = OwnPairProblem.of_queries("pairs:clicks", pairs, (10, 2))
    assert problem.first.tolist() == [10, 11]  # documents stand before queries
    assert problem.second.tolist() == [0, 4]


def test_two_files_of_vectors(tmp_path: Path) -> None:
    human = RNG.uniform(0, 5, SIZE)
    pairs = loaded(tmp_path, [str(value) for value in human])
    first, second = RNG.normal(size=(2, SIZE, 6))
    problem = OwnPairProblem.of_two_files("pairs:mine", pairs, SIZE, SIZE)
    outputs = problem.outputs(np.concatenate([first, second]), NOTHING, np.arange(SIZE))
    expected = [cosine(a, b) for a, b in zip(first, second, strict=True)]
    assert outputs == pytest.approx(np.array(expected), abs=1e-12)
    assert problem.rows_of(np.array([3])).tolist() == [3, SIZE + 3]
    with pytest.raises(DataError, match="60 scores, but the files of vectors have 60 and 61"):
        OwnPairProblem.of_two_files("pairs:mine", pairs, SIZE, SIZE + 1)


@pytest.mark.parametrize(
    ("value", "note"), [("1", "one class only"), ("2.5", "all scores are the same")]
)
def test_constant_scores_are_undefined(tmp_path: Path, value: str, note: str) -> None:
    pairs = loaded(tmp_path, [value] * SIZE)
    problem = OwnPairProblem.of_two_files("pairs:mine", pairs, SIZE, SIZE)
    found = scored(problem, RNG.normal(size=(2 * SIZE, 6)))
    assert found[problem.main].value is None
    assert note in found[problem.main].note
    assert all(score.value is None for score in found.values())


def test_constant_cosines_are_undefined_and_zero_vectors_left_out(tmp_path: Path) -> None:
    pairs = loaded(tmp_path, [str(k % 2) for k in range(SIZE)])
    problem = OwnPairProblem.of_two_files("pairs:mine", pairs, SIZE, SIZE)
    same = scored(problem, np.ones((2 * SIZE, 4)))
    assert all(score.value is None for score in same.values())
    vectors = RNG.normal(size=(2 * SIZE, 6))
    vectors[3] = 0
    everything = np.arange(SIZE)
    outputs = {"none": problem.outputs(vectors, NOTHING, everything)}
    rows = problem_rows(("model", "last"), problem, outputs, everything, "how", 0.95)
    assert [row.measure for row in rows] == ["pairs:mine/cosine/auc", "pairs:mine/cosine/spearman"]
    assert all("1 pair without a score left out" in row.note and row.n == 59 for row in rows)


def test_an_absent_file_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no file .*nowhere.tsv; pairs:nowhere reads TSV"):
        find_task(f"pairs:{tmp_path}/nowhere.tsv").find(None)


def test_pairs_that_are_left_out_are_told() -> None:
    assert left_out_sentences("") == []
    (said,) = left_out_sentences("3 pairs of a row with itself left out (first: line 7)")
    assert said.startswith("3 pairs of a row with itself left out (first: line 7): such a pair")
    assert said.endswith("name their vectors with --queries.")
