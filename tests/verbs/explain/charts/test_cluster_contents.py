from __future__ import annotations

from typing import Any

import pytest
from figures_for_tests import NASTY, check_figure, outside_data, values_of

from isoscope.results.result import Result, Row, Table
from isoscope.verbs.explain.charts.groups import MOST_CLUSTERS, cluster_figures


def cluster(number: int, marks: float, stops: float, **more: Any) -> dict[str, Any]:
    return {"cluster": number, "size": 1_000 - number, "punctuation": marks, "stop_words": stops,
            "special": 0.0, "tokens": "the of", **more}  # fmt: skip


def table(*clusters: dict[str, Any], subject: str = "m") -> Table:
    return Table(subject, "block 6", "none", "clusters", list(clusters))


def test_bars_are_the_clusters_with_most_punctuation_first() -> None:
    clusters = [cluster(0, 0.1, 0.2), cluster(1, 0.9, 0.0), cluster(2, 0.1, 0.6)]
    (figure,) = cluster_figures(Result([], [table(*clusters)]))
    marks = values_of(figure)
    assert len(marks) == 9
    places = {m["cluster"]: m["place"] for m in marks}
    assert places == {"1 (999)": 0, "2 (998)": 1, "0 (1,000)": 2}
    assert list(dict.fromkeys(m["kind"] for m in marks)) == ["punctuation", "stop words", "other"]
    for place in range(3):
        assert sum(m["share"] for m in marks if m["place"] == place) == pytest.approx(1)
    assert "1 are mostly punctuation, 1 mostly stop words" in figure.alt
    assert figure.rows[0] == ["1", "999", "90.0%", "0.0%", "10.0%", "the of"]
    check_figure(figure)


def test_special_tokens_have_a_kind_where_there_are_any() -> None:
    clusters = [cluster(0, 0.1, 0.2, special=0.3)]
    (figure,) = cluster_figures(Result([], [table(*clusters)]))
    assert {m["kind"]: m["share"] for m in values_of(figure)} == {
        "punctuation": 0.1, "stop words": 0.2, "special tokens": 0.3, "other": pytest.approx(0.4),
    }  # fmt: skip
    check_figure(figure)


def test_the_smallest_of_many_clusters_are_left_out() -> None:
    many = [cluster(k, k / 100, 0.0) for k in range(70)]
    (figure,) = cluster_figures(Result([], [table(*many)]))
    assert len(figure.rows) == MOST_CLUSTERS
    assert "69" not in {row[0] for row in figure.rows}
    assert "The 10 smallest are left out" in figure.alt


def test_nothing_for_other_results() -> None:
    assert cluster_figures(Result([Row("m", "", "none", "mean_cosine", 0.1)])) == []
    assert cluster_figures(Result([], [table()])) == []
    assert cluster_figures(Result([], [table({"cluster": 1, "size": 3})])) == []


def test_tokens_stay_data() -> None:
    (figure,) = cluster_figures(Result([], [table(cluster(0, 0.1, 0.2, tokens=NASTY),
                                                  subject=NASTY)]))  # fmt: skip
    assert "alert" not in outside_data(figure.spec)
    assert values_of(figure)[0]["tokens"] == NASTY
    check_figure(figure)
