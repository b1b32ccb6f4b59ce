"""Figures of retrieval against their definitions, written out slowly, and one by hand."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

from isoscope.errors import DataError, UsageError
from isoscope.tasks import find_task
from isoscope.tasks.datasets.beir import RetrievalSet, Texts
from isoscope.tasks.problems.retrieval import (
    METRICS,
    RetrievalProblem,
    RetrievalTask,
    query_figures,
)
from isoscope.tasks.scores import problem_rows

NOTHING = np.zeros(0, np.intp)


def test_a_query_by_hand() -> None:
    """Grades 3 and 1 at ranks 2 and 4, one of grade 2 not among the first ten."""
    found = np.array([10, 11, 12, 13, *range(20, 30)])
    ndcg, *others = query_figures(found, {11: 3, 13: 1, 29: 2})
    gained = 3 / math.log2(3) + 1 / math.log2(5)
    assert ndcg == pytest.approx(gained / (3 + 2 / math.log2(3) + 1 / 2), abs=1e-15)
    assert ndcg == pytest.approx(0.4879325, abs=1e-7)
    assert others == pytest.approx([0, 2 / 3, 1, 0.5])


def defined(data: RetrievalSet, vectors: dict[str, np.ndarray], query: str) -> list[float]:
    """Score a query by the definitions; documents fall by cosine, then by id."""
    judged = data.judgements[query]
    asked = vectors[f"query {query}"]

    def cosine(document: str) -> float:
        other = vectors[f"document {document}"]
        return round(float(asked @ other) / math.sqrt((asked @ asked) * (other @ other)), 9)

    searched = [d for d in data.documents.ids if d != query or judged.get(d, 0) > 0]
    ranking = sorted(searched, key=lambda d: (cosine(d), d), reverse=True)
    grades = [max(judged.get(d, 0), 0) for d in ranking]
    best = sorted((grade for grade in judged.values() if grade > 0), reverse=True)

    def gain(values: list[int]) -> float:
        return sum(g / math.log2(rank + 1) for rank, g in enumerate(values[:10], start=1))

    first = next((rank for rank, g in enumerate(grades, start=1) if g), math.inf)
    recall = [sum(g > 0 for g in grades[:k]) / len(best) for k in (1, 10, 100)]
    return [gain(grades) / gain(best), *recall, 1 / first if first <= 10 else 0.0]


def drawn(rng: np.random.Generator) -> RetrievalSet:
    documents = tuple(str(k) for k in range(150))
    queries = (*(f"q{k}" for k in range(12)), "3", "7", "unjudged")
    judgements: dict[str, dict[str, int]] = {}
    for query in queries[:-1]:
        chosen = rng.choice(150, rng.integers(2, 30), replace=False)
        judgements[query] = {str(d): int(rng.integers(-1, 4)) for d in chosen} | {"149": 1}
    judgements["7"]["7"] = 2  # judged relevant, so that the same id is another thing
    judgements["3"].pop("3", None)
    return RetrievalSet(
        Texts(queries, tuple(f"query {q}" for q in queries)),
        Texts(documents, tuple(f"document {d}" for d in documents)),
        judgements,
    )


def test_figures_are_their_definitions() -> None:
    rng = np.random.default_rng(0)
    data = drawn(rng)
    named = [*(data.documents.texts or ()), *(data.queries.texts or ())]
    vectors = {text: rng.integers(-3, 4, 4) + 0.5 for text in named}  # many ties
    judged = list(data.judgements)
    expected = np.array([defined(data, vectors, query) for query in judged])
    everything = np.arange(len(judged))

    on_texts = RetrievalProblem.of_texts("toy", data)
    assert "query unjudged" not in on_texts.texts
    given = np.array([vectors[text] for text in on_texts.texts])
    assert on_texts.outputs(given, NOTHING, everything) == pytest.approx(expected, abs=1e-12)

    on_vectors = RetrievalProblem.of_vectors("toy", data, len(named))
    rows = np.array([vectors[text] for text in named], np.float32)
    assert on_vectors.texts == ()
    assert on_vectors.outputs(rows, NOTHING, everything) == pytest.approx(expected, abs=1e-12)
    held = np.array([4, 1])
    assert on_vectors.outputs(rows, NOTHING, held) == pytest.approx(expected[held], abs=1e-12)
    assert on_vectors.rows_of(held).tolist() == [*range(150), 151, 154]

    found = on_vectors.scores(expected, everything, 0.95)
    assert tuple(found) == METRICS
    for name, column in zip(METRICS, expected.T, strict=True):
        assert found[name].value == pytest.approx(column.mean())
    assert found[on_vectors.main].low is not None


def test_the_same_text_is_encoded_once() -> None:
    data = RetrievalSet(
        Texts(("a", "b"), ("what?", "who?")),
        Texts(("1", "2", "3"), ("that", "what?", "that")),
        {"a": {"2": 1}, "b": {"1": 1}},
    )
    problem = RetrievalProblem.of_texts("toy", data)
    assert problem.texts == ("that", "what?", "who?")
    figures = problem.outputs(np.eye(3), NOTHING, np.arange(2))
    assert figures[0].tolist() == [1] * 5
    # All cosines of the second query are 0: the highest id comes first, and "1" last.
    assert figures[1].tolist() == pytest.approx([1 / 2, 0, 1, 1, 1 / 3])


def test_queries_without_a_score_are_left_out() -> None:
    data = RetrievalSet(
        Texts(("a", "b", "c", "d"), None),
        Texts(("1", "2"), None),
        {"a": {"2": 1}, "b": {"1": 0}, "c": {"1": 1}, "d": {"1": 2}},
    )
    problem = RetrievalProblem.of_vectors("toy", data, 6)
    vectors = np.array([[1.0, 0], [0, 1], [0, 1], [0, 1], [0, 0], [np.nan, 1]])
    everything = np.arange(4)
    outputs = problem.outputs(vectors, NOTHING, everything)
    assert np.isnan(outputs).all(axis=1).tolist() == [False, True, True, True]
    rows = problem_rows(("m", "p"), problem, {"none": outputs}, everything, "how", 0.95)
    assert [row.measure for row in rows] == [f"toy/{name}" for name in METRICS]
    assert all(row.value == 1 and row.n == 1 and row.extra["of"] == 4 for row in rows)


def test_a_document_without_a_vector_is_never_found() -> None:
    data = RetrievalSet(Texts(("a",), None), Texts(("1", "2"), None), {"a": {"1": 1}})
    problem = RetrievalProblem.of_vectors("toy", data, 3)
    vectors = np.array([[0.0, 0], [-1, 0], [1, 0]])
    assert problem.outputs(vectors, NOTHING, np.arange(1)).tolist() == [[0] * 5]


def test_wrong_data_are_refused() -> None:
    data = RetrievalSet(Texts(("a",), None), Texts(("1",), ("that",)), {"a": {"1": 1}})
    with pytest.raises(DataError, match="ids and no texts of its queries; give it vectors"):
        RetrievalProblem.of_texts("toy", data)
    with pytest.raises(DataError, match="1 documents and 1 queries, but there are 3 vectors"):
        RetrievalProblem.of_vectors("toy", data, 3)


def test_a_folder_of_ones_own(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    (folder / "qrels").mkdir(parents=True)
    for name, ids in (("corpus", "12"), ("queries", "ab")):
        lines = [json.dumps({"_id": one, "text": f"text {one}"}) for one in ids]
        (folder / f"{name}.jsonl").write_text("\n".join(lines), encoding="utf-8")
    (folder / "qrels" / "test.tsv").write_text("a\t1\t1\nb\t2\t1\n", encoding="utf-8")
    task = find_task(f"retrieval:{folder}")
    assert isinstance(task, RetrievalTask)
    assert (task.name, task.family, task.find(None)) == ("retrieval:mine", "retrieval", folder)
    problem = RetrievalProblem.of_texts(task.name, task.load())
    assert problem.texts == ("text 1", "text 2", "text a", "text b")
    assert len(problem) == 2
    absent = find_task(f"retrieval:{tmp_path}/nowhere")
    assert isinstance(absent, RetrievalTask)
    with pytest.raises(UsageError, match="there is no folder .*nowhere; it should hold corpus"):
        absent.load()
