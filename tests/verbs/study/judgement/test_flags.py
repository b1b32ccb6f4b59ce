"""What a reader must know beside a verdict."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from isoscope.results.result import Result, Row
from isoscope.verbs.study.judgement.claims import Claim
from isoscope.verbs.study.judgement.judge import judge_claims
from isoscope.verbs.study.judgement.rows import ALL_MODELS
from isoscope.verbs.study.judgement.scope import ANY_CLOUD, FACTS, Facts
from isoscope.verbs.study.judgement.verdicts import NORMS, QUANTISED, SELECTED, SIGNS, TOKENIZER

I1 = {"measure": "i1"}
NONE, CENTER = {"correction": "none"}, {"correction": "center"}
RISES = Claim("centring raises I1", I1, CENTER, ">", NONE, scope=ANY_CLOUD)


def i1(correction: str, log10: float, measure: str = "i1", **extra: Any) -> Row:
    extra = {"exact": True, **extra}
    return Row("A", "", correction, measure, 10**log10, log10=log10, extra=extra)


def flags(claim: Claim, rows: list[Row], *models: str, **facts: Facts) -> tuple[str, ...]:
    known = {name: one.to_dict() for name, one in facts.items()}
    (verdict,) = judge_claims([claim], Result(rows, extra={FACTS: known}), models)
    return verdict.flags


def signed(correction: str, log10: float, low: float, high: float) -> Row:
    return i1(correction, log10, sign_low_log10=low, sign_high_log10=high)


@pytest.mark.parametrize(
    ("none", "center", "flagged"),
    [
        ((-3.0, -3.5, -2.5), (-1.0, -1.2, -0.5), False),
        ((-3.0, -3.5, -1.1), (-1.0, -1.2, -0.5), True),
        ((-3.0, -3.5, -1.2), (-1.0, -1.2, -0.5), True),
    ],
)
def test_ranges_over_signs_that_overlap(none: Any, center: Any, flagged: bool) -> None:
    rows = [signed("none", *none), signed("center", *center)]
    assert (SIGNS in flags(RISES, rows)) == flagged


def test_a_number_in_the_range_over_signs() -> None:
    rows = [signed("none", -1.0, -1.5, -0.5)]
    assert flags(Claim("x", I1, NONE, "<", 0.2, scope=ANY_CLOUD), rows) == (SIGNS,)
    assert flags(Claim("x", I1, NONE, "<", 0.9, scope=ANY_CLOUD), rows) == ()
    inside = Claim("x", I1, NONE, "within", (0.01, 0.2), scope=ANY_CLOUD)
    assert flags(inside, rows) == (SIGNS,)


def test_a_side_without_a_range_is_a_point() -> None:
    rows = [signed("none", -3.0, -3.5, -0.9), i1("center", -1.0)]
    assert flags(RISES, rows) == (SIGNS,)
    assert flags(RISES, [signed("none", -3.0, -3.5, -1.1), i1("center", -1.0)]) == ()
    assert flags(RISES, [i1("none", -1.0), i1("center", -1.0)]) == ()


def test_i1_and_i1_scaled_that_disagree() -> None:
    rows = [i1("none", -3.0), i1("center", -1.0)]
    agree = [i1("none", -0.5, "i1_scaled"), i1("center", -0.1, "i1_scaled")]
    disagree = [i1("none", -0.1, "i1_scaled"), i1("center", -0.5, "i1_scaled")]
    assert flags(RISES, [*rows, *agree]) == ()
    assert flags(RISES, [*rows, *disagree]) == (NORMS,)
    assert flags(RISES, [*rows, disagree[0]]) == ()  # nothing to compare it with
    below = Claim("below 0.01", I1, NONE, "<", 0.01, scope=ANY_CLOUD)
    assert flags(below, [*rows, *agree]) == (NORMS,)
    other = Claim("x", {"measure": "i2"}, NONE, "<", 1.0, scope=ANY_CLOUD)
    assert flags(other, [i1("none", -3.0, "i2"), *agree]) == ()


def test_a_score_that_was_chosen_on_what_it_scores() -> None:
    rows = [i1("none", -3.0), i1("center", -1.0, selected=True)]
    assert flags(RISES, rows) == (SELECTED,)


def test_weights_that_a_file_held_with_fewer_bits() -> None:
    rows = [i1("none", -3.0), i1("center", -1.0)]
    facts = Facts("transformer", "qwen2", "causal", quantisation="Q8_0")
    assert flags(RISES, rows, A=facts) == (QUANTISED,)
    assert flags(RISES, rows, A=replace(facts, quantisation="none")) == ()
    # What a tokenizer makes of a text has nothing to do with weights.
    assert flags(replace(RISES, takes_weights=False), rows, A=facts) == ()


def test_a_figure_over_models_of_which_one_is_quantised() -> None:
    rows = [Row(name, "", "none", "i1", 0.1) for name in "abcde"]
    rows.append(Row(ALL_MODELS, "", "none", "r", 0.5, extra={"p": 0.5}))
    claim = Claim("r", {"measure": "r"}, {}, ">", 0.0, min_subjects=5)
    whole = Facts("transformer", "llama", "causal")
    facts = {**dict.fromkeys("abcd", whole), "e": replace(whole, quantisation="Q4_K")}
    assert flags(claim, rows, **facts) == (QUANTISED,)
    # One that the claim is not about does not count.
    sixth = [*rows, Row("f", "", "none", "i1", 0.1)]
    others = {**dict.fromkeys("abcde", whole), "f": Facts(quantisation="int8")}
    assert flags(claim, sixth, **others) == ()


def test_another_tokenizer_matters_where_tokens_are_counted() -> None:
    rows = [i1("none", -3.0), i1("center", -1.0)]
    counts = replace(RISES, counts_tokens=True)
    assert flags(counts, rows) == (TOKENIZER,)
    assert flags(counts, rows, "a") == ()  # the paper's own model
    assert flags(RISES, rows) == ()
