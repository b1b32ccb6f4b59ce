"""The share of random pairs above each cosine, with thresholds as rules."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from drawn_charts_for_tests import (
    HOSTILE,
    axes_of,
    check_chart,
    kind_of,
    marks_in,
    picture,
    units,
    values_of,
)

import isoscope
from isoscope.results.result import Result, Row
from isoscope.verbs.threshold.charts import random_pair_figures

TOPICS = 60


def vectors() -> np.ndarray:
    """Three vectors a topic, all shifted."""
    generator = np.random.default_rng(0)
    topics = generator.normal(size=(TOPICS, 16))
    return np.repeat(topics, 3, axis=0) + 0.7 * generator.normal(size=(3 * TOPICS, 16)) + 0.8


def percentile(correction: str, percent: float, cosine: float | None) -> Row:
    return Row("m", "", correction, f"random-pairs/{percent}%", cosine,
               extra={"share_above": 1 - percent / 100, "matches_per_query": 2.0})  # fmt: skip


def kinds(figure_spec: dict[str, object]) -> list[str]:
    return [kind_of(unit) for unit in units(figure_spec)]


def test_percentiles_and_a_score_that_is_looked_up() -> None:
    result = isoscope.threshold(vectors(), at=[0.5], corrections="none,center").result
    (figure,) = random_pair_figures(result)
    check_chart(figure)
    points = [p for p in values_of(figure) if "cosine" in p]
    wanted = [
        row for row in result.rows
        if row.measure.startswith("random-pairs/") and row.value is not None
        and "score" not in row.extra
    ]  # fmt: skip
    assert len(points) == len(wanted) > 8
    assert {(p["space"], p["cosine"], p["above"]) for p in points} == {
        (row.correction, row.value, 100 * row.extra["share_above"]) for row in wanted
    }
    assert [p["threshold"] for p in values_of(figure) if "threshold" in p] == [0.5]
    at = {row.correction: row.value for row in result.rows if "score" in row.extra}
    for space, below in at.items():
        assert below is not None
        assert f"{space} {100 - below:.4g} % above" in figure.alt
        assert f"{space} {result.value('random-pairs/99%', space):.4g}" in figure.alt
    assert "facet" not in figure.spec
    assert len(figure.rows) == len(points) + 2
    assert axes_of(figure, "point") == axes_of(figure, "line") == {("cosine", "above")}
    svg = picture(figure)
    assert marks_in(svg, "point") == len(points)
    assert marks_in(svg, "rule mark") == 1
    assert ">score 0.5<" in svg


def test_thresholds_of_labelled_pairs_stand_in_the_chart_of_their_space(tmp_path: Path) -> None:
    lines = ["row1\trow2\tscore"]
    for k in range(TOPICS):
        other = 3 * ((k + 7) % TOPICS)
        lines += [f"{3 * k}\t{3 * k + 1}\t1", f"{3 * k}\t{other}\t0"]
    (tmp_path / "pairs.tsv").write_text("\n".join(lines) + "\n")
    result = isoscope.threshold(
        vectors(), pairs=tmp_path / "pairs.tsv", recall=0.8, at=[0.7], corrections="none,center"
    ).result
    (figure,) = random_pair_figures(result)
    check_chart(figure)
    assert figure.spec["facet"]["sort"] == ["none", "center"]
    rules = [p for p in values_of(figure) if "threshold" in p]
    chosen = [row for row in result.rows if row.measure.endswith("/threshold")]
    assert len(chosen) >= 4
    assert len(rules) == len(chosen) + 2
    assert {(r["space"], r["threshold"]) for r in rules} >= {
        (row.correction, row.value) for row in chosen
    }
    for row in chosen:
        assert f"{row.correction} {row.value:.4g}" in figure.alt
    assert marks_in(picture(figure), "rule mark") == len(rules)


def test_without_thresholds_there_are_no_rules() -> None:
    rows = [percentile("none", 50, 0.1), percentile("none", 99, None), percentile("none", 90, 0.2)]
    (figure,) = random_pair_figures(Result(rows))
    check_chart(figure)
    assert kinds(figure.spec) == ["line", "point"]
    assert [p["cosine"] for p in values_of(figure)] == [0.1, 0.2]
    assert "Rules" not in figure.alt
    assert "hundred" not in figure.alt


def test_more_spaces_than_colours_are_small_charts() -> None:
    rows = [percentile(f"c{k}", percent, percent / 200) for k in range(9) for percent in (50, 99)]
    (figure,) = random_pair_figures(Result(rows))
    check_chart(figure)
    assert len(figure.spec["facet"]["sort"]) == 8
    assert "Drawn are 8 of 9 spaces." in figure.alt


def test_the_words_of_thresholds_and_names_stay_data() -> None:
    goal = Row(HOSTILE, "", HOSTILE, "x/threshold", 0.3, extra={"goal": HOSTILE})
    rows = [
        Row(HOSTILE, "", c, "random-pairs/50%", 0.1, extra={"share_above": 0.5})
        for c in ("none", HOSTILE)
    ]
    (figure,) = random_pair_figures(Result([goal, *rows]))
    check_chart(figure)
    assert "<b>" not in picture(figure)


@pytest.mark.parametrize("measure", ["mean_cosine", "pairs:p/best-f1/threshold"])
def test_nothing_for_other_results(measure: str) -> None:
    assert not random_pair_figures(Result([]))
    assert not random_pair_figures(Result([Row("m", "", "none", measure, 0.1)]))
    assert not random_pair_figures(Result([percentile("none", 50, None)]))
