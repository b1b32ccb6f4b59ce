"""Queries and documents are two clouds, and have three mean cosines."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from isoscope.tasks.datasets.own_pairs import OwnPairProblem
from isoscope.tasks.vectors import Ground
from isoscope.verbs.advise.api import advise
from isoscope.verbs.advise.mean_cosines import MeanCosine, in_words, mean_cosines, sides_of


def cosines(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    units = [x / np.linalg.norm(x, axis=1, keepdims=True) for x in (first, second)]
    return np.asarray(units[0] @ units[1].T)


def mean_of_others(square: np.ndarray) -> float:
    return float(square[~np.eye(len(square), dtype=bool)].mean())


def test_within_documents_within_queries_and_between_them(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    documents = random.standard_normal((80, 6)) + 2 * np.eye(6)[0]
    queries = random.standard_normal((30, 6)) + 3 * np.eye(6)[1]
    np.save(tmp_path / "documents.npy", documents)
    np.save(tmp_path / "queries.npy", queries)
    lines = [f"{k % 30}\t{k}\t{int(random.integers(2))}" for k in range(80)]
    pairs = tmp_path / "pairs.tsv"
    pairs.write_text("\n".join(["query_row\tdocument_row\tlabel", *lines]) + "\n")
    advice = advise(
        tmp_path / "documents.npy", pairs=pairs, queries=tmp_path / "queries.npy",
        corrections=["center"],
    )  # fmt: skip
    found = advice.result.extra["mean_cosines"]["none"]
    assert found["documents"]["n"] == 80
    assert found["documents"]["value"] == pytest.approx(
        mean_of_others(cosines(documents, documents))
    )
    assert found["queries"]["n"] == 30
    assert found["queries"]["value"] == pytest.approx(mean_of_others(cosines(queries, queries)))
    assert found["between"]["n"] == 2_400
    assert found["between"]["value"] == pytest.approx(cosines(queries, documents).mean())
    said = [line for line in advice.result.extra["caveats"] if line.startswith("Mean cosine: ")]
    assert said == [
        f"Mean cosine: {found['documents']['value']:.2f} within 80 documents, "
        f"{found['queries']['value']:.2f} within 30 queries and "
        f"{found['between']['value']:.2f} between them (2,400 pairs)."
    ]
    assert said[0] in advice.result.to_markdown()


def pairs_of(first: list[int], second: list[int], rows: int) -> Ground:
    problem = OwnPairProblem(
        "toy", (), np.array(first), np.array(second), np.zeros(len(first)),
        np.full(len(first), "", object), main="cosine/spearman",
    )  # fmt: skip
    return Ground(problem, np.eye(rows), "toy", "drawn")


def test_sides_of_pairs_are_told_apart_where_no_row_is_on_both() -> None:
    apart = sides_of(pairs_of([0, 1, 0], [2, 3, 4], 5))
    assert {name: rows.tolist() for name, rows in apart.items()} == {
        "first side": [0, 1], "second side": [2, 3, 4],
    }  # fmt: skip
    mixed = sides_of(pairs_of([0, 1, 2], [1, 2, 3], 4))
    assert {name: rows.tolist() for name, rows in mixed.items()} == {"vectors": [0, 1, 2, 3]}


def test_rows_without_a_direction_are_left_out() -> None:
    rows = np.array([[1.0, 0.0], [0.0, 0.0], [np.nan, 1.0], [1.0, 1.0]])
    found = mean_cosines({"vectors": rows})
    assert found["vectors"].n == 2
    assert found["vectors"].value == pytest.approx(np.sqrt(0.5))
    none = mean_cosines({"documents": rows[:1], "queries": rows[1:2]})
    assert none == {
        "documents": MeanCosine(None, 1), "queries": MeanCosine(None, 0),
        "between": MeanCosine(None, 0),
    }  # fmt: skip
    assert in_words(none) == (
        "undefined within 1 documents, undefined within 0 queries and undefined between them "
        "(0 pairs)"
    )
