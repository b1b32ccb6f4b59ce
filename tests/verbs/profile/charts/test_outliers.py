from __future__ import annotations

from typing import Any

from figures_for_tests import NASTY, check_figure, outside_data, values_of

from isoscope.results.result import Result, Row, Table
from isoscope.verbs.profile.charts.outliers import MOST_DIMENSIONS, outlier_figures


def entry(dimension: int, minimum: float, maximum: float, **more: Any) -> dict[str, Any]:
    return {"dimension": dimension, "share_minimum": minimum, "share_maximum": maximum, **more}


def of_layer(part: str, *entries: dict[str, Any], correction: str = "none") -> Table:
    return Table("m", part, correction, "outlier_dimensions", list(entries))


def persistence(*dimensions: int) -> Table:
    return Table("m", "", "none", "persistence", [{"dimension": k} for k in dimensions])


def test_a_profile_gives_a_cell_for_each_listed_dimension() -> None:
    tables = [
        of_layer("block 1", entry(5, 0.9, 0.0), entry(3, 0.1, 0.2), entry(8, 0.001, 0.0)),
        of_layer("embedding", entry(3, 0.0, 0.4)),
        of_layer("embedding", entry(3, 0.0, 0.7), correction="center"),
        of_layer("embedding matrix", entry(3, 0.0, 0.8)),
        persistence(3, 5, 99),
    ]
    (figure,) = outlier_figures(Result([], tables))
    cells = [(c["dimension"], c["layer"], c["share"]) for c in values_of(figure)]
    assert cells == [("3", "embedding", 0.4), ("3", "block 1", 0.2), ("5", "block 1", -0.9)]
    assert "dimension 5 is the minimum in 90.0% of the vectors of block 1" in figure.alt
    assert figure.rows[1] == ["3", "block 1", "10.00%", "20.00%"]
    assert figure.spec["encoding"]["color"]["scale"]["domain"] == [-0.9, 0.9]
    check_figure(figure)


def test_without_a_ranking_the_largest_shares_come_first() -> None:
    tables = [
        of_layer("block 1", entry(5, 0.3, 0.0), entry(3, 0.0, 0.8), entry(8, 0.001, 0.0)),
        of_layer("block 2", entry(5, 0.9, 0.0)),
    ]
    (figure,) = outlier_figures(Result([], tables))
    assert [c["dimension"] for c in values_of(figure)] == ["5", "5", "3"]
    many = [of_layer(f"block {b}", *(entry(k, 0.5, 0) for k in range(20))) for b in (1, 2)]
    (figure,) = outlier_figures(Result([], many))
    assert len({c["dimension"] for c in values_of(figure)}) == MOST_DIMENSIONS
    assert "4 more dimensions are left out" in figure.alt


def test_an_explanation_has_one_table_for_all_layers() -> None:
    table = Table("m", "", "none", "outliers", [
        entry(5, 0.0, 0.9, layer="block 1"), entry(5, 0.0, 0.5, layer="block 2"),
    ])  # fmt: skip
    (figure,) = outlier_figures(Result([], [table, persistence(5)]))
    assert [(c["layer"], c["share"]) for c in values_of(figure)] == [
        ("block 1", 0.9), ("block 2", 0.5),
    ]  # fmt: skip
    check_figure(figure)


def test_a_study_has_rows_about_one_dimension() -> None:
    rows = [
        Row("m", part, "none", f"largest_share_as_{extreme}", share, extra={"dimension": k})
        for part, extreme, share, k in (
            ("non-input layers", "minimum", 0.9, 1), ("layer 0", "minimum", 0.2, 4),
            ("layer 0", "maximum", 0.3, 4), ("layer 1", "minimum", 0.6, 1),
            ("layer 1", "maximum", 0.5, 2),
        )
    ]  # fmt: skip
    (figure,) = outlier_figures(Result(rows))
    assert {(c["layer"], c["dimension"]): c["share"] for c in values_of(figure)} == {
        ("layer 1", "1"): -0.6, ("layer 1", "2"): 0.5, ("layer 0", "4"): 0.3,
    }  # fmt: skip
    (both,) = [c for c in values_of(figure) if c["layer"] == "layer 0"]
    assert (both["minimum"], both["maximum"]) == (0.2, 0.3)
    check_figure(figure)


def test_nothing_for_one_layer_or_for_no_outlier() -> None:
    assert outlier_figures(Result([])) == []
    assert outlier_figures(Result([], [of_layer("block 1", entry(5, 0.9, 0.0))])) == []
    faint = [of_layer(part, entry(5, 0.001, 0.0)) for part in ("block 1", "block 2")]
    assert outlier_figures(Result([], faint)) == []
    assert outlier_figures(Result([], [Table("m", "", "none", "outliers", [{"a": 1}])])) == []


def test_names_stay_data() -> None:
    rows = [entry(5, 0.0, 0.9, layer=NASTY), entry(5, 0.0, 0.5, layer="block 2")]
    (figure,) = outlier_figures(Result([], [Table(NASTY, "", "none", "outliers", rows)]))
    assert "alert" not in outside_data(figure.spec)
    check_figure(figure)
