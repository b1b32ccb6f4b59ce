from __future__ import annotations

from result_figures_for_tests import NASTY, check_figure, outside_data, values_of

from isoscope.results.result import Result, Row
from isoscope.verbs.measure.search.charts import search_figures

QUERIES = {"unit": "queries"}
SHARES = {
    "kept": (1.0, 0.5), "hnsw": (0.9, 0.95), "binary": (0.1, 0.3), "binary/original": (0.1, 0.2),
}  # fmt: skip


def neighbours(
    subject: str = "docs", corrections: tuple[str, str] = ("none", "center")
) -> list[Row]:
    rows = [
        Row(subject, "", name, f"neighbours/{figure}", values[k], low=values[k] - 0.01,
            high=values[k] + 0.01, extra=QUERIES)
        for figure, values in SHARES.items()
        for k, name in enumerate(corrections)
    ]  # fmt: skip
    rows.append(Row(subject, "", corrections[1], "neighbours/hnsw/difference", 0.05, extra=QUERIES))
    rows.append(Row(subject, "", corrections[0], "neighbours/hubness", 3.5))
    rows.append(Row(subject, "", corrections[0], "neighbours/ivf", None, note="too few"))
    return rows


def shorter(subject: str = "docs") -> list[Row]:
    rows = []
    for way, components, name in (("as they are", 64, "none"), ("pca", 16, "pca:n_components=16")):
        for code, size in (("float32", 4.0), ("binary", 0.125)):
            about = {"way": way, "components": components, "unit": "queries"}
            kept = components / 64 * (0.5 if code == "binary" else 1.0)
            for measure, value in (
                ("bytes", components * size), ("kept", kept), ("kept_rescored", kept**0.5),
            ):  # fmt: skip
                rows.append(Row(subject, code, name, f"reduce/{measure}", value, extra=about))
    rows.append(Row(subject, "float32", "none", "reduce/sts/difference", 0.1, extra=QUERIES))
    return rows


def test_shares_of_neighbours_for_every_correction() -> None:
    (figure,) = search_figures(Result(neighbours()))
    marks = values_of(figure)
    assert len(marks) == len(figure.rows) == 8
    kept = [p for p in marks if p["label"] == "exact search"]
    assert [(p["series"], p["value"], p["low"]) for p in kept] == [
        ("none", 1.0, 0.99), ("center", 0.5, 0.49),
    ]  # fmt: skip
    assert len({p["panel"] for p in marks if p["label"] == "binary codes"}) == 2
    assert {p["panel"] for p in marks if p["label"] == "HNSW"} == {
        "of the exact ones in the same space"
    }
    assert "neighbours kept: none 1, center 0.5" in figure.alt
    assert "HNSW 0.9, corrected 0.95" in figure.alt
    assert "Hubness, which is no share: none 3.5" in figure.alt
    assert "1 undefined" in figure.alt
    check_figure(figure)


def test_neighbours_kept_against_bytes() -> None:
    (figure,) = search_figures(Result(shorter()))
    marks = values_of(figure)
    assert len(marks) == len(figure.rows) == 8
    alone = [p for p in marks if p["panel"] == "by the short vectors alone"]
    assert [(p["series"], p["label"], p["bytes"], p["value"]) for p in alone] == [
        ("as they are", "float32", 256, 1.0), ("as they are", "binary", 8, 0.5),
        ("pca", "float32", 64, 0.25), ("pca", "binary", 2, 0.125),
    ]  # fmt: skip
    assert "2 bytes: 0.125 (pca, 16 components as binary)" in figure.alt
    assert "256 bytes: 1 (as they are, 64 components as float32)" in figure.alt
    points = figure.spec["spec"]["layer"][1]["encoding"]
    assert points["shape"]["field"] == "label"
    assert points["x"]["scale"]["type"] == "log"
    check_figure(figure)


def test_each_cloud_has_its_figures() -> None:
    rows = [*neighbours("a"), *shorter("a"), *neighbours("b")]
    assert [figure.title for figure in search_figures(Result(rows))] == [
        "What a search would notice: a", "What shorter vectors keep: a",
        "What a search would notice: b",
    ]  # fmt: skip


def test_names_stay_data() -> None:
    figures = search_figures(Result([*neighbours(NASTY), *shorter(NASTY)]))
    assert len(figures) == 2
    for figure in figures:
        assert "alert" not in outside_data(figure.spec)
        check_figure(figure)
    (hostile,) = search_figures(Result(neighbours("x", ("none", NASTY))))
    check_figure(hostile)


def test_nothing_for_other_results() -> None:
    assert search_figures(Result([Row("m", "", "none", "mean_cosine", 0.5)])) == []
    assert search_figures(Result([Row("m", "", "none", "neighbours/hubness", 0.5)])) == []
    lone = [row for row in shorter() if row.measure != "reduce/bytes"]
    assert search_figures(Result(lone)) == []
