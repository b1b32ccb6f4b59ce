"""Ablations as tables: the last step, main effects with stars, the way there, and a sentence."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from isoscope.results.kinds import grids
from isoscope.results.result import Result, Row
from isoscope.results.tables import Grid
from isoscope.verbs.train.names import is_ablation
from isoscope.verbs.train.text import ablation_grids

PERPLEXITY = ("validation", "perplexity")
UNEMBEDDING = ("unembedding matrix", "i1")
LAST = ("last layer", "mean_cosine")
EXTREME = ("non-input layers", "largest_share_as_extreme")
BLOCK = ("block 1", "mean_cosine")

Place = tuple[str, str]


def cell(
    name: str, step: int, place: Place, value: float | None, sd: float | None = 0.01
) -> Row:  # fmt: skip
    part, measure = place
    return Row(
        name, part, "none", measure, value, n=3, protocol="tiny clm, 1,000 steps",
        extra={"step": step, "unit": "runs", "runs": [value] * 3, "sd": sd,
               "factors": dict(zip(("tie", "positions"), name.split(", "), strict=True))},
    )  # fmt: skip


def effect(
    change: str, place: Place, value: float, low: float | None = None, high: float | None = None
) -> Row:
    part, measure = place
    excludes = low is not None and high is not None and not low <= 0 <= high
    return Row(
        "main effects", part, change, measure, value, low=low, high=high, n=12,
        protocol="tiny clm, 1,000 steps",
        extra={"factor": "f", "p": None if low is None else 0.03, "excludes_zero": excludes,
               "unit": "runs"},
    )  # fmt: skip


UNTIED, NONE = "untied instead of tied", "none instead of learned"
CELLS = ("tied, learned", "tied, none", "untied, learned", "untied, none")


def cell_rows(**more: Any) -> list[Row]:
    rows = []
    for k, name in enumerate(CELLS):
        for step in (0, 200, 1_000):
            rows += [
                cell(name, step, PERPLEXITY, 300 - step / 10 + k, 2.25),
                cell(name, step, UNEMBEDDING, 0.9 - step / 10_000 - k / 100, **more),
                cell(name, step, LAST, 0.1 + step / 2_000 + k / 100, **more),
                cell(name, step, BLOCK, 0.3, **more),
            ]
    return rows


EFFECTS = [
    effect(UNTIED, PERPLEXITY, 7.25, 3.5, 11.0),
    effect(NONE, PERPLEXITY, -0.25, -4.0, 3.5),
    effect(UNTIED, UNEMBEDDING, -0.0625, -0.09375, -0.03125),
    effect(NONE, UNEMBEDDING, 0.001, -0.03, 0.032),
    effect(UNTIED, LAST, 0.25, 0.125, 0.375),
    effect(NONE, LAST, 0.5, 0.375, 0.625),
    effect(UNTIED, BLOCK, 9.0, 8.0, 10.0),
]


def result(effects: list[Row] | None = None, cells: list[Row] | None = None) -> Result:
    rows = [*(cell_rows() if cells is None else cells), *(EFFECTS if effects is None else effects)]
    return Result(rows, extra={"kind": "ablation", "factors": {}})


def verdict(effects: list[Row]) -> str:
    (said,) = ablation_grids(result(effects))[1].verdict
    return said


def test_the_first_table_has_the_last_step_alone() -> None:
    first = ablation_grids(result())[0]
    assert first.title == "models after 1,000 steps, mean ± deviation over seeds"
    assert first.header == [
        "model", "perplexity", "I1 of unembedding", "mean cosine of last layer",
    ]  # fmt: skip
    assert first.rows == [
        ["tied, learned", "200.0 ± 2.2", "0.800 ± 0.010", "0.600 ± 0.010"],
        ["tied, none", "201.0 ± 2.2", "0.790 ± 0.010", "0.610 ± 0.010"],
        ["untied, learned", "202.0 ± 2.2", "0.780 ± 0.010", "0.620 ± 0.010"],
        ["untied, none", "203.0 ± 2.2", "0.770 ± 0.010", "0.630 ± 0.010"],
    ]
    assert first.notes == ["tiny clm, 1,000 steps"]
    assert first.verdict == []
    turned = ablation_grids(result(cells=cell_rows()[::-1]))[0]
    assert sorted(turned.rows) == sorted(first.rows)


def test_effects_have_intervals_and_stars() -> None:
    grid = ablation_grids(result())[1]
    assert grid.title == "main effects (95 % interval)"
    assert grid.header == ["measure", UNTIED, NONE]
    assert grid.rows == [
        ["perplexity", "+7.2 (3.5 to 11.0) *", "-0.2 (-4.0 to 3.5)"],
        ["I1 of unembedding", "-0.062 (-0.094 to -0.031) *", "+0.001 (-0.030 to 0.032)"],
        ["mean cosine of last layer", "+0.250 (0.125 to 0.375) *", "+0.500 (0.375 to 0.625) *"],
    ]
    notes = " ".join(grid.notes)
    assert "*: the 95 % interval does not hold 0; no correction for many comparisons" in notes
    assert "seeds as blocks" in notes


def test_the_verdict_names_every_change_that_moves_something() -> None:
    assert verdict(EFFECTS) == (
        "Verdict: I1 of the unembedding: untied instead of tied lowers it by 0.062; the mean "
        "cosine of the last layer: untied instead of tied raises it by 0.250, none instead of "
        "learned raises it by 0.500."
    )


def test_the_verdict_says_where_nothing_does() -> None:
    still = [
        effect(change, place, 0.1, -0.1, 0.3)
        for place in (PERPLEXITY, UNEMBEDDING, LAST)
        for change in (UNTIED, NONE)
    ]
    assert verdict(still) == (
        "Verdict: I1 of the unembedding: no significant change; the mean cosine of the "
        "last layer: no significant change."
    )
    assert "*" not in "".join(" ".join(row) for row in ablation_grids(result(still))[1].rows)
    one = [row for row in EFFECTS if row.measure == "i1"] + [effect(UNTIED, LAST, 0.1, -0.1, 0.3)]
    assert verdict(one).endswith("the last layer: no significant change.")
    assert "unembedding: untied instead of tied lowers it by 0.062;" in verdict(one)


def test_one_run_a_cell_says_nothing_about_chance() -> None:
    """Nothing is known of it: neither that something moves beyond it, nor that nothing does."""
    single = [effect(UNTIED, place, 0.25) for place in (PERPLEXITY, UNEMBEDDING, LAST)]
    shown = result(single, cell_rows(sd=None))
    assert ablation_grids(shown)[1].rows == [
        ["perplexity", "+0.2"],
        ["I1 of unembedding", "+0.250"],
        ["mean cosine of last layer", "+0.250"],
    ]
    assert ablation_grids(shown)[0].rows[0][2] == "0.800"
    assert "no significant change" not in verdict(single)


def test_the_way_has_all_steps_in_their_order() -> None:
    cells = cell_rows()
    way = ablation_grids(result(cells=[*cells[len(cells) // 2 :], *cells[: len(cells) // 2]]))[2:]
    assert [grid.title for grid in way] == [
        "perplexity over training", "I1 of unembedding over training",
        "mean cosine of last layer over training",
    ]  # fmt: skip
    for grid in way:
        assert grid.header == ["model", "step 0", "step 200", "step 1,000"]
        assert {row[0] for row in grid.rows} == set(CELLS)
    by_name = {row[0]: row[1:] for row in way[0].rows}
    assert by_name["untied, none"] == ["303.0 ± 2.2", "283.0 ± 2.2", "203.0 ± 2.2"]


def test_what_a_model_does_not_have_is_empty() -> None:
    cells = [
        *cell_rows(),
        cell("tied, none", 1_000, EXTREME, 0.5),
        cell("tied, learned", 1_000, EXTREME, None, None),
    ]
    first = ablation_grids(result(cells=cells))[0]
    assert first.header[-1] == "one dimension is extreme in"
    assert [row[-1] for row in first.rows] == ["", "0.500 ± 0.010", "", ""]


def test_tables_without_rows_are_left_out() -> None:
    only = [cell(name, 1_000, PERPLEXITY, 200.0) for name in CELLS]
    assert [grid.title for grid in ablation_grids(result([], only))] == [
        "models after 1,000 steps, mean ± deviation over seeds", "perplexity over training",
    ]  # fmt: skip


def test_effects_on_other_measures_alone_have_no_verdict() -> None:
    grid = ablation_grids(result([effect(UNTIED, PERPLEXITY, 7.25, 3.5, 11.0)]))[1]
    assert grid.verdict == []
    assert len(grid.rows) == 1


def test_a_result_that_was_saved_looks_the_same(tmp_path: Path) -> None:
    before = result()
    before.save(tmp_path / "found.json")
    after = Result.load(tmp_path / "found.json")
    assert after.rows == before.rows
    assert grids(after) == grids(before)
    assert repr(after) == repr(before)
    assert after.to_markdown() == before.to_markdown()
    assert after._repr_html_() == before._repr_html_()
    after.save(tmp_path / "found.md")
    assert (tmp_path / "found.md").read_text() == before.to_markdown() + "\n"


@pytest.mark.parametrize("kind", [None, "fine-tuning", "pretraining"])
def test_other_results_are_no_ablations(kind: str | None) -> None:
    assert is_ablation(result())
    assert not is_ablation(Result([], extra={} if kind is None else {"kind": kind}))


def test_an_ablation_is_shown_by_these_grids() -> None:
    found = grids(result())
    assert all(isinstance(grid, Grid) for grid in found)
    assert found == ablation_grids(result())
    text = repr(result())
    assert "-0.062 (-0.094 to -0.031) *" in text
    assert "Verdict: I1 of the unembedding" in text
    assert r"-0.062 (-0.094 to -0.031) \*" in result().to_markdown()
