from __future__ import annotations

from typing import Any

from figures_for_tests import NASTY, check_figure, outside_data, values_of

from isoscope.results.result import Result, Row, Table
from isoscope.verbs.profile.charts.outliers import MOST_DIMENSIONS, norm_rank_figures


def table(*ranks: tuple[str, str, Any, Any], subject: str = "m") -> Table:
    rows = [
        {"norm": norm, "of": of, "dimension": dimension, "rank": rank}
        for norm, of, dimension, rank in ranks
    ]
    return Table(subject, "", "none", "outlier_ranks_in_norms", rows)


def test_a_map_of_gains_and_one_of_biases() -> None:
    ranks = [
        ("embedding", "gain", 5, 1), ("block 1, a", "gain", 5, 1), ("block 1, b", "gain", 5, 300),
        ("embedding", "gain", 9, 2), ("block 1, a", "gain", 9, 7), ("block 1, b", "gain", 9, 1),
        ("embedding", "bias", 5, 3), ("block 1, a", "bias", 5, 4),
    ]  # fmt: skip
    gains, biases = norm_rank_figures(Result([], [table(*ranks)]))
    assert [(m["norm"], "gain", int(m["dimension"]), m["rank"]) for m in values_of(gains)] == (
        ranks[:6]
    )
    assert "Dimension 5 is the first of 2 of 3 norms" in gains.alt
    assert len(values_of(biases)) == 2
    assert "No dimension is the first of any norm" in biases.alt
    assert "biases" in biases.title
    for figure in (gains, biases):
        check_figure(figure)


def test_a_study_names_the_norms_by_their_numbers() -> None:
    rows = [
        Row("m", "layer 1", "none", "rank/first gain/557", 3.0),
        Row("m", "layer 1", "none", "rank/second gain/557", 1.0),
        Row("m", "layer 1", "none", "rank/other", 1.0),
        Row("m", "layer 1", "none", "rank/first mean/557", 1.0),
    ]
    (figure,) = norm_rank_figures(Result(rows))
    assert [(m["norm"], m["dimension"], m["rank"]) for m in values_of(figure)] == [
        ("layer 1, first", "557", 3.0), ("layer 1, second", "557", 1.0),
    ]  # fmt: skip
    check_figure(figure)


def test_many_dimensions_are_left_out_in_words() -> None:
    ranks = [(norm, "gain", k, 1) for norm in ("a", "b") for k in range(20)]
    (figure,) = norm_rank_figures(Result([], [table(*ranks)]))
    assert len(values_of(figure)) == 2 * MOST_DIMENSIONS
    assert "4 more dimensions are left out" in figure.alt


def test_nothing_for_other_results() -> None:
    assert norm_rank_figures(Result([])) == []
    assert norm_rank_figures(Result([], [table(("a", "gain", 5, 1))])) == []
    assert norm_rank_figures(Result([], [table(("a", "gain", 5, None), ("b", "gain", 5, 1))])) == []


def test_names_stay_data() -> None:
    ranks = [(norm, of, 5, 1) for norm in (NASTY, "b") for of in ("gain", NASTY)]
    made = table(*ranks, subject=NASTY)
    (figure,) = norm_rank_figures(Result([], [made]))
    assert "alert" not in outside_data(figure.spec)
    check_figure(figure)
