"""Which factors a grid names, what it refuses, and the plan of every cell."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, get_args

import pytest

from isoscope.errors import UsageError

pytest.importorskip("torch")
pytest.importorskip("transformers")

from isoscope.verbs.train.pretrain import plan as plans
from isoscope.verbs.train.pretrain.plan import (
    KNOWN,
    USUAL,
    USUAL_GRID,
    Factor,
    Plan,
    cell_name,
    cells,
    levels_of,
    parse_grid,
    plan_of,
)


def test_factors_without_levels_have_the_usual_ones() -> None:
    assert parse_grid(USUAL_GRID) == (
        Factor("tie", ("tied", "untied")),
        Factor("positions", ("learned", "none")),
        Factor("final-norm", ("layernorm", "layernorm-no-bias")),
    )
    assert parse_grid("objective") == (Factor("objective", ("clm", "mlm")),)


def test_levels_are_those_that_are_named_in_their_order() -> None:
    found = parse_grid("positions=none+rotary+learned,tie,final-norm=rmsnorm+layernorm")
    assert found == (
        Factor("positions", ("none", "rotary", "learned")),
        Factor("tie", ("tied", "untied")),
        Factor("final-norm", ("rmsnorm", "layernorm")),
    )
    assert parse_grid("tie=untied+tied") == (Factor("tie", ("untied", "tied")),)


def test_room_around_commas_and_a_comma_too_many_do_not_matter() -> None:
    assert parse_grid(" tie , positions,") == parse_grid("tie,positions")


def test_a_factor_is_written_as_it_is_read() -> None:
    for text in ("tie=untied+tied", "positions=none+rotary+learned", "objective=clm+mlm"):
        (factor,) = parse_grid(text)
        assert str(factor) == text


def test_all_levels_are_those_of_a_plan() -> None:
    assert KNOWN["positions"] == get_args(plans.Positions)
    assert KNOWN["final-norm"] == get_args(plans.FinalNorm)
    assert KNOWN["objective"] == get_args(plans.Objective)
    assert set(USUAL) == set(KNOWN)
    for name, levels in USUAL.items():
        assert len(set(levels) & set(KNOWN[name])) == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("depth", "no factor is called 'depth'.*known: final-norm, objective, positions, tie"),
        ("tie,postions", "no factor is called 'postions'; did you mean positions"),
        ("positions=learnt+none", "no level of positions is called 'learnt'; did you mean learned"),
        ("final-norm=layernorm+rms", "no level of final-norm is called 'rms'.*rmsnorm"),
        ("tie=learned+none", "no level of tie is called 'learned'.*known: tied, untied"),
        ("tie=", "no level of tie is called ''"),
        ("tie=tied+", "no level of tie is called ''"),
        ("=tied+untied", "no factor is called ''"),
        ("tie,positions,tie", "the factor tie is there twice"),
        ("tie,tie=untied+tied", "the factor tie is there twice"),
        ("tie=tied", "tie needs two levels or more, each once, not tied"),
        ("positions=none+learned+none", "positions needs two levels or more, each once"),
        ("", "name at least one factor: tie, positions, final-norm, objective"),
        (" , ", "name at least one factor"),
        ("tie\nx", "no factor is called"),
    ],
)
def test_refusals_are_one_line(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message) as refused:
        parse_grid(text)
    assert len(str(refused.value).splitlines()) == 1


def test_every_combination_is_there_once_and_the_references_are_first() -> None:
    factors = parse_grid("tie,positions=learned+rotary+none,final-norm,objective")
    found = cells(factors)
    assert len(found) == len(set(found)) == 2 * 3 * 2 * 2
    assert found[0] == ("tied", "learned", "layernorm", "clm")
    for place, factor in enumerate(factors):
        for level in factor.levels:
            here = [cell for cell in found if cell[place] == level]
            assert len(here) == len(found) / len(factor.levels)


BASE = Plan("mlm", "mini", "sinusoidal", True, "rmsnorm", 40, 4, 11, {"width": 64})


@pytest.mark.parametrize(
    ("grid", "cell", "fields"),
    [
        ("tie", ("tied",), {"tie": True}),
        ("tie", ("untied",), {"tie": False}),
        ("positions=rotary+none", ("none",), {"positions": "none"}),
        ("final-norm", ("layernorm-no-bias",), {"final_norm": "layernorm-no-bias"}),
        ("objective", ("clm",), {"objective": "clm"}),
        (
            "final-norm,objective,tie,positions",
            ("layernorm", "clm", "untied", "learned"),
            {"tie": False, "positions": "learned", "final_norm": "layernorm", "objective": "clm"},
        ),
    ],
)
def test_a_plan_has_the_levels_of_its_cell_and_all_else_of_the_base(
    grid: str, cell: tuple[str, ...], fields: dict[str, Any]
) -> None:
    before = asdict(BASE)
    found = plan_of(BASE, parse_grid(grid), cell, 3)
    assert asdict(found) == {**before, **fields, "seed": 3}
    assert asdict(BASE) == before


def test_a_cell_that_no_plan_allows_is_refused() -> None:
    odd = Plan(changed={"width": 9, "heads": 3})
    factors = parse_grid("positions=learned+rotary")
    assert plan_of(odd, factors, ("learned",), 0).positions == "learned"
    with pytest.raises(UsageError, match="rotary"):
        plan_of(odd, factors, ("rotary",), 0)


def test_names_and_levels_of_a_cell() -> None:
    factors = parse_grid("tie,positions")
    assert cell_name(("untied", "none")) == "untied, none"
    assert levels_of(factors, ("untied", "none")) == {"tie": "untied", "positions": "none"}
    for wrong in (("untied",), ("untied", "none", "clm")):
        with pytest.raises(ValueError, match="zip"):
            levels_of(factors, wrong)
