"""Clusters of labelled texts against scikit-learn's own figures, whole and in folds."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sklearn import metrics

from isoscope.compute.stats.estimates import difference
from isoscope.errors import DataError, UsageError
from isoscope.tasks import find_task
from isoscope.tasks.problems.clustering import ClusteringProblem, ClusteringTask
from isoscope.tasks.registry import LabelledText

NOTHING = np.zeros(0, np.intp)


def drawn(n: int = 240, apart: float = 3.0) -> tuple[ClusteringProblem, np.ndarray]:
    rng = np.random.default_rng(0)
    classes = rng.integers(0, 3, n)
    examples = [LabelledText(f"text {k}", None, f"c{c}", "test") for k, c in enumerate(classes)]
    centres = apart * np.eye(3, 6)
    problem = ClusteringProblem.of("cluster:toy", examples)
    assert problem.classes.tolist() == classes.tolist()
    return problem, centres[classes] + rng.normal(size=(n, 6))


def test_the_score_is_the_mean_over_seeds() -> None:
    problem, vectors = drawn()
    everything = np.arange(len(problem))
    outputs = problem.outputs(vectors, NOTHING, everything)
    assert outputs.shape == (240, 10)
    assert {len(np.unique(column)) for column in outputs.T} == {3}
    found = problem.scores(outputs, everything, 0.95)["v-measure"]
    each = [metrics.v_measure_score(problem.classes, column) for column in outputs.T]
    assert found.value == pytest.approx(np.mean(each), abs=1e-12)
    assert found.seed_variance == pytest.approx(np.var(each, ddof=1) / 10)
    assert 0.4 < found.low < found.value < found.high < 1  # type: ignore[operator]


def test_seeds_differ_and_repeat() -> None:
    problem, vectors = drawn(apart=0.5)
    everything = np.arange(len(problem))
    outputs = problem.outputs(vectors, NOTHING, everything)
    assert len({column.tobytes() for column in outputs.T}) > 1
    assert np.array_equal(outputs, problem.outputs(vectors, NOTHING, everything))


def test_other_seeds_are_no_difference() -> None:
    """Of 60 comparisons of vectors with themselves 3 should differ, and 9 are too many."""
    rng = np.random.default_rng(2)
    centres = rng.normal(size=(6, 6))
    classes = rng.integers(0, 6, 200)
    examples = [LabelledText(f"{k}", None, f"c{c}", "test") for k, c in enumerate(classes)]
    problem = ClusteringProblem.of("cluster:toy", examples)
    vectors = 1.5 * centres[classes] + rng.normal(size=(200, 6))
    everything = np.arange(200)
    runs = replace(problem, seeds=tuple(range(1200))).outputs(vectors, NOTHING, everything)
    scores = [
        problem.scores(columns, everything, 0.95)["v-measure"] for columns in np.hsplit(runs, 120)
    ]
    found = [difference(*two) for two in zip(scores[::2], scores[1::2], strict=True)]
    honest = sum(one.p_value < 0.05 for one in found)  # type: ignore[operator,misc]
    assert honest <= 8
    careless = [replace(score, seed_variance=0.0) for score in scores]
    found = [difference(*two) for two in zip(careless[::2], careless[1::2], strict=True)]
    assert sum(one.p_value < 0.05 for one in found) > honest  # type: ignore[operator,misc]


def test_an_offset_changes_nothing() -> None:
    problem, vectors = drawn()
    everything = np.arange(len(problem))
    plain = problem.outputs(vectors, NOTHING, everything)
    moved = problem.outputs(vectors + 1e4, NOTHING, everything)
    assert np.array_equal(plain, moved)
    scores = [problem.scores(one, everything, 0.95)["v-measure"] for one in (plain, moved)]
    assert "the two do not differ" in difference(*scores).note


def test_folds_are_scored_apart() -> None:
    problem, vectors = drawn()
    folds = np.arange(0, 240, 2), np.arange(1, 240, 2)
    outputs = [problem.outputs(vectors, NOTHING, fold) for fold in folds]
    items = np.concatenate(folds)
    found = problem.scores(np.concatenate(outputs), items, 0.95)["v-measure"]
    each = [
        metrics.v_measure_score(problem.classes[fold], column)
        for fold, own in zip(folds, outputs, strict=True)
        for column in own.T
    ]
    assert found.value == pytest.approx(np.mean(each), abs=1e-12)
    assert found.influences is not None
    # In another order of items the influences are in that order.
    mixed = np.random.default_rng(1).permutation(240)
    again = problem.scores(np.concatenate(outputs)[mixed], items[mixed], 0.95)["v-measure"]
    assert again.influences == pytest.approx(found.influences[mixed])


def test_texts_without_a_vector_have_no_cluster() -> None:
    problem, vectors = drawn()
    vectors[7] = np.nan
    outputs = problem.outputs(vectors, NOTHING, np.arange(240))
    assert np.flatnonzero(np.isnan(outputs).any(axis=1)).tolist() == [7]
    one_of_each = np.array([np.flatnonzero(problem.classes == k)[-1] for k in range(3)])
    assert np.isnan(problem.outputs(vectors, NOTHING, one_of_each)).all()


def test_equal_vectors_are_one_cluster() -> None:
    problem, _ = drawn()
    everything = np.arange(240)
    outputs = problem.outputs(np.ones((240, 4)), NOTHING, everything)
    found = problem.scores(outputs, everything, 0.95)["v-measure"]
    assert found.value == pytest.approx(0, abs=1e-12)


def test_the_same_text_stands_once() -> None:
    examples = [
        LabelledText(text, None, label, "all") for text, label in zip("aab", "xyx", strict=True)
    ]
    problem = ClusteringProblem.of("cluster:toy", examples)
    assert problem.texts == ("a", "b")
    assert problem.rows.tolist() == [0, 0, 1]
    assert problem.rows_of(np.array([0, 1])).tolist() == [0]


def test_what_cannot_be_clustered_is_refused() -> None:
    one = LabelledText("a", None, "x", "all")
    with pytest.raises(DataError, match="all 2 texts are of the class x"):
        ClusteringProblem.of("cluster:toy", [one, one])
    with pytest.raises(UsageError, match="pairs of texts"):
        ClusteringProblem.of("cluster:toy", [one, replace(one, second="b", label="y")])
    with pytest.raises(DataError, match="no text"):
        ClusteringProblem.of("cluster:toy", [])
    with pytest.raises(UsageError, match="cluster:rte: an example of rte is two texts"):
        find_task("cluster:rte")
    with pytest.raises(UsageError, match="men is word-similarity"):
        find_task("cluster:men")
    with pytest.raises(UsageError, match="did you mean"):
        find_task("cluster:trecc")
    problem, _ = drawn()
    with pytest.raises(UsageError, match="two seeds"):
        replace(problem, seeds=(0,))
    items = np.flatnonzero(problem.classes == 0)
    found = problem.scores(np.zeros((len(items), 10)), items, 0.95)["v-measure"]
    assert found.note == "undefined: one class only"


def test_parts_that_are_clustered(tmp_path: Path) -> None:
    task = find_task("cluster:TREC")
    assert isinstance(task, ClusteringTask)
    assert (task.name, task.family, task.scored) == ("cluster:trec", "clustering", ("test",))
    (tmp_path / "TREC.test.all").write_text("0 What is it ?\n4 Where is it ?\n", encoding="latin-1")
    with pytest.warns(UserWarning, match="holds 2 questions"):
        problem = ClusteringProblem.of(task.name, task.load(tmp_path), task.unit)
    assert (problem.texts, problem.unit) == (("What is it ?", "Where is it ?"), "questions")
    for name, scored in (("mr", "all"), ("sst-2", "dev")):
        other = find_task(f"cluster:{name}")
        assert isinstance(other, ClusteringTask)
        assert other.scored == (scored,)
