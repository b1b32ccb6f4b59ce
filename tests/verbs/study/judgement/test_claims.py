"""Claims hold, fail, are reversed or undecided, or are not about a model at all."""

from __future__ import annotations

import itertools
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isoscope.compute.stats.trends import permuted_p, trend
from isoscope.results.result import Result, Row
from isoscope.verbs.study.judgement.claims import Claim, Floor, conjunction
from isoscope.verbs.study.judgement.judge import in_scope, judge_claims
from isoscope.verbs.study.judgement.rows import ALL_MODELS, compare
from isoscope.verbs.study.judgement.scope import ANY_CLOUD, FACTS, Facts, Scope, named
from isoscope.verbs.study.judgement.verdicts import NOT_RUN_FIELD, OUTCOMES, Verdict

I1 = {"measure": "i1"}
NONE, CENTER = {"correction": "none"}, {"correction": "center"}
RISES = Claim("centring raises I1", I1, CENTER, ">", NONE, scope=ANY_CLOUD)


def figure(
    subject: str, correction: str, value: float | None, reach: float | None = 0.01, **fields: Any
) -> Row:
    """Return I1 with an interval of 95 % of value ± reach."""
    ends = {} if value is None or reach is None else {"low": value - reach, "high": value + reach}
    fields = {"measure": "i1", "part": "", **fields}
    measure, part = fields.pop("measure"), fields.pop("part")
    return Row(subject, part, correction, measure, value, **{**ends, **fields})


ROWS = [
    figure("A", "none", 0.2),
    figure("A", "center", 0.9),
    figure("B", "none", 0.5),
    figure("B", "center", 0.4),
    figure("A", "none", 7.0, measure="i2"),
]


def result_of(rows: list[Row], **facts: Facts) -> Result:
    return Result(rows, extra={FACTS: {name: known.to_dict() for name, known in facts.items()}})


def judge(
    claim: Claim, rows: list[Row] | Result = ROWS, models: tuple[str, ...] = ("A",)
) -> tuple[Verdict, ...]:
    result = rows if isinstance(rows, Result) else Result(rows)
    claim = claim if claim.scope != Scope() else replace(claim, scope=ANY_CLOUD)
    return judge_claims([claim], result, models)


def outcomes(*args: Any, **options: Any) -> list[str]:
    return [verdict.outcome for verdict in judge(*args, **options)]


LOSES = Claim(
    "it costs at least 6 BLEU", {"measure": "bleu/difference"}, {"correction": "spectrum-*"},
    "<=", -6.0, opposite=0.0, floor=Floor(">=", 6.0),
)  # fmt: skip


def translated(plain: float, calibrated: float, part: str = "de-en") -> list[Row]:
    """Return scores without and with a calibration, and their difference."""
    return [
        figure("A", "none", plain, measure="bleu", part=part),
        figure("A", "spectrum-exp", calibrated, measure="bleu", part=part),
        figure("A", "spectrum-exp", calibrated - plain, measure="bleu/difference", part=part),
    ]


def test_a_baseline_that_cannot_lose_what_a_claim_says_decides_nothing() -> None:
    assert outcomes(LOSES, translated(8.5, 0.1)) == ["holds"]
    assert outcomes(LOSES, translated(8.5, 7.9)) == ["fails"]
    (weak,) = judge(LOSES, translated(2.4, 0.1))
    assert (weak.outcome, weak.p) == ("undecided", 1.0)
    assert weak.reason == (
        "the baseline is too weak: de-en bleu is 2.4 without correction, and the claim takes at "
        "least 6"
    )
    # Without the floor the loss of all that there was would count against the paper.
    assert outcomes(replace(LOSES, floor=None), translated(2.4, 0.1)) == ["fails"]
    missing = [row for row in translated(8.5, 0.1) if row.correction != "none"]
    (alone,) = judge(LOSES, missing)
    assert (alone.outcome, "no figure without correction" in alone.reason) == ("undecided", True)


def test_one_weak_baseline_leaves_a_claim_about_every_case_open() -> None:
    rows = [*translated(8.5, 0.1), *translated(2.4, 0.1, "en-ro")]
    (mixed,) = judge(LOSES, rows)
    assert mixed.outcome == "undecided"
    assert "the baseline is too weak in 1" in mixed.reason
    # A case that is decided against it is enough to contradict "in every case".
    rows = [*translated(8.5, 8.4), *translated(2.4, 0.1, "en-ro")]
    assert outcomes(LOSES, rows) == ["fails"]


def test_every_model_is_judged_for_itself() -> None:
    first, second = judge(RISES)
    assert (first.subject, first.outcome) == ("A", "holds")
    assert (second.subject, second.outcome) == ("B", "reversed")
    assert (first.other_models, second.other_models) == ((), ("B",))
    assert first.reason == "true in 1 of 1, p < 0.001"
    case = first.cases[0]
    assert (case.subject, case.left, case.left_value) == ("A", "i1 (center)", 0.9)
    assert (case.right, case.right_value, case.true) == ("i1 (none)", 0.2, True)


@pytest.mark.parametrize(
    ("left", "right", "outcome"),
    [(0.6794, 0.6791, "undecided"), (0.6791, 0.6794, "undecided"), (0.9, 0.2, "holds"),
     (0.2, 0.9, "reversed")],
)  # fmt: skip
def test_noise_is_not_a_failure(left: float, right: float, outcome: str) -> None:
    rows = [figure("A", "center", left), figure("A", "none", right)]
    assert outcomes(RISES, rows) == [outcome]


def test_without_a_valid_interval_nothing_is_decided() -> None:
    rows = [figure("A", "center", 0.9, None), figure("A", "none", 0.1)]
    (verdict,) = judge(RISES, rows)
    assert (verdict.outcome, verdict.reason) == ("undecided", "no valid interval for 1 of 1")


@pytest.mark.parametrize(
    ("value", "outcome"),
    [(0.95, "holds"), (0.871, "undecided"), (0.869, "undecided"), (0.6, "fails")],
)
def test_a_threshold_is_decided_by_an_interval(value: float, outcome: str) -> None:
    claim = Claim("at least 0.87", I1, NONE, ">=", 0.87)
    assert outcomes(claim, [figure("A", "none", value)]) == [outcome]


def test_a_size_is_reversed_beyond_its_opposite() -> None:
    claim = Claim("by at least 0.2", I1, NONE, ">=", 0.2, opposite=0.0)
    for value, outcome in [(0.3, "holds"), (0.1, "fails"), (0.005, "fails"), (-0.1, "reversed")]:
        assert outcomes(claim, [figure("A", "none", value)]) == [outcome]
    falls = Claim("costs 3", I1, NONE, "<=", -3.0, opposite=0.0)
    for value, outcome in [(-4.0, "holds"), (-1.0, "fails"), (1.0, "reversed")]:
        assert outcomes(falls, [figure("A", "none", value)]) == [outcome]


@pytest.mark.parametrize(
    ("value", "outcome"),
    [(0.77, "holds"), (0.735, "undecided"), (0.745, "undecided"), (0.7, "fails"), (0.9, "fails")],
)
def test_a_range_is_one_claim(value: float, outcome: str) -> None:
    claim = Claim("0.77 ± 0.03", I1, NONE, "within", (0.74, 0.80))
    (verdict,) = judge(claim, [figure("A", "none", value)])
    assert verdict.outcome == outcome
    assert verdict.cases[0].bounds == (0.74, 0.80)


def test_a_range_that_is_narrower_than_the_error_is_undecided() -> None:
    claim = Claim("0.77", I1, NONE, "within", (0.765, 0.775))
    assert outcomes(claim, [figure("A", "none", 0.77, 0.02)]) == ["undecided"]


def test_rho_of_four_hundredths_is_no_rise() -> None:
    rises = Claim("rises with depth", {"measure": "rho"}, NONE, ">", 0.0)

    def verdict(curve: list[float]) -> str:
        found = trend(curve)
        assert found is not None
        row = Row("A", "", "none", "rho", found.rho, extra={"p": found.p})
        return outcomes(rises, [row])[0]

    noise = [4.0, 1, 6, 12, 10, 9, 11, 2, 5, 7, 3, 8]
    found = trend(noise)
    assert found is not None
    assert found.rho == pytest.approx(0.04, abs=0.005)
    assert verdict(noise) == "undecided"
    assert verdict(list(range(12))) == "holds"
    assert verdict(list(range(12))[::-1]) == "reversed"


def test_a_correlation_over_six_models_is_undecided_unless_permutations_exclude_zero() -> None:
    claim = Claim("negative", {"measure": "correlation(a, b)"}, NONE, "<", 0.0, min_subjects=5)

    def verdict(x: list[float], y: list[float]) -> Verdict:
        r = float(np.corrcoef(x, y)[0, 1])
        rows = [figure(name, "none", 0.1) for name in "abcdef"[: len(x)]]
        row = Row(ALL_MODELS, "", "none", "correlation(a, b)", r, extra={"p": permuted_p(x, y)})
        (found,) = judge(claim, [*rows, row])
        return found

    noise = verdict([1, 2, 3, 4, 5, 6], [4, 3, 6, 1, 5, 0.0])
    assert noise.cases[0].left_value == pytest.approx(-0.44, abs=0.005)
    assert noise.outcome == "undecided"
    clear = verdict([1, 2, 3, 4, 5, 6], [6, 5, 4, 3, 2, 1.0])
    assert (clear.outcome, clear.p) == ("holds", pytest.approx(2 / 720))
    few = verdict([1, 2, 3, 4], [4, 3, 2, 1.0])
    assert few.outcome == "not run"
    assert few.reason.startswith("needs at least 5 models, got 4")


def layers(values: list[float], reach: float | None = 0.01) -> list[Row]:
    return [figure("A", "none", v, reach, part=f"layer {k}") for k, v in enumerate(values)]


ABOVE = Claim("above half in every layer", I1, NONE, ">", 0.5)


def test_all_cases_must_hold_and_one_can_fail() -> None:
    assert outcomes(ABOVE, layers([0.9, 0.8, 0.7])) == ["holds"]
    assert outcomes(ABOVE, layers([0.9, 0.8, 0.502])) == ["undecided"]
    (verdict,) = judge(ABOVE, layers([0.9, 0.8, 0.3]))
    assert verdict.outcome == "fails"
    assert verdict.reason == (
        "true in 2 of 3, significantly in 2, significantly false in 1, p < 0.001"
    )
    (partly,) = judge(ABOVE, [*layers([0.9, 0.3]), figure("A", "none", 0.9, None, part="last")])
    assert partly.outcome == "fails"
    assert "no valid interval for 1" in partly.reason


def test_reversed_means_the_opposite_in_every_case() -> None:
    claim = Claim("positive in every layer", I1, NONE, ">", 0.0)
    assert outcomes(claim, layers([-0.9, -0.8])) == ["reversed"]
    assert outcomes(claim, layers([-0.9, 0.8])) == ["fails"]
    assert outcomes(claim, layers([-0.9, -0.001])) == ["fails"]


def test_a_share_of_cases_may_be_enough() -> None:
    most = replace(ABOVE, over="share", share=0.6)
    assert outcomes(most, layers([0.9, 0.8, 0.3])) == ["holds"]
    assert outcomes(most, layers([0.9, 0.3, 0.3])) == ["fails"]
    assert outcomes(most, layers([0.9, 0.8, 0.501, 0.3])) == ["undecided"]


@given(
    p_values=st.lists(st.floats(1e-6, 1), min_size=1, max_size=6),
    least=st.integers(1, 6),
)
def test_partial_conjunction_is_the_worst_choice_of_cases_to_leave_out(
    p_values: list[float], least: int
) -> None:
    """At least k of m are true where any m − k + 1 of them hold a true one (Benjamini & Heller)."""
    least = min(least, len(p_values))
    some = len(p_values) - least + 1
    worst = max(min(1.0, some * min(chosen)) for chosen in itertools.combinations(p_values, some))
    assert conjunction(p_values, least) == pytest.approx(worst)


def test_claims_of_one_model_share_the_level() -> None:
    # One claim with p = 0.04 is decided alone, and not beside nine others.
    claims = [Claim(f"claim {k}", {"measure": f"m{k}"}, NONE, ">", 0.0, scope=ANY_CLOUD)
              for k in range(10)]  # fmt: skip
    clear = [Row(name, "", "none", "m0", 1.0, extra={"p": 0.04}) for name in "AB"]
    noise = [Row("A", "", "none", f"m{k}", 1.0, extra={"p": 0.5}) for k in range(1, 10)]
    found = judge_claims(claims, Result([*clear, *noise]))
    of_first = {verdict.subject: verdict for verdict in found if verdict.text == "claim 0"}
    assert (of_first["A"].outcome, of_first["A"].p) == ("undecided", pytest.approx(0.4))
    assert (of_first["B"].outcome, of_first["B"].p) == ("holds", pytest.approx(0.04))


def test_the_opposite_is_corrected_as_well() -> None:
    # Whether it fails is clear; whether it is reversed is not, with three claims.
    size = Claim("at least 0.2", I1, NONE, ">=", 0.2, opposite=0.0)
    row = figure("A", "none", -0.0115)
    assert outcomes(size, [row]) == ["reversed"]
    others = [replace(size, text=f"other {k}", opposite=None) for k in range(2)]
    claims = [replace(claim, scope=ANY_CLOUD) for claim in (size, *others)]
    assert [v.outcome for v in judge_claims(claims, Result([row]))] == ["fails"] * 3


@pytest.mark.parametrize(
    ("op", "value", "outcome"),
    [(">", 0.5, "fails"), (">=", 0.5, "holds"), ("<=", 0.5, "holds"), (">", 0.6, "holds"),
     (">=", 0.5 - 1e-13, "holds"), (">", 0.4, "fails"), ("<", 0.5, "fails")],
)  # fmt: skip
def test_what_is_exact_needs_no_interval(op: Any, value: float, outcome: str) -> None:
    row = figure("A", "none", value, None, extra={"exact": True})
    (verdict,) = judge(Claim("half", I1, NONE, op, 0.5), [row])
    assert verdict.outcome == outcome
    assert verdict.reason == f"true in {int(outcome == 'holds')} of 1, exact"


def test_exact_sides_that_are_equal_are_not_reversed() -> None:
    rows = [figure("A", name, 0.5, None, extra={"exact": True}) for name in ("none", "center")]
    assert outcomes(RISES, rows) == ["fails"]
    below = [rows[0], replace(rows[1], value=0.4)]
    assert outcomes(RISES, below) == ["reversed"]
    ends = Claim("range", I1, NONE, "within", (0.5, 0.6))
    assert outcomes(ends, rows) == ["holds"]
    assert outcomes(replace(ends, right=(0.6, 0.7)), rows) == ["fails"]


@given(
    value=st.floats(-10, 10), reach=st.floats(0.001, 5), number=st.floats(-10, 10),
    op=st.sampled_from([">", ">=", "<", "<="]),
)  # fmt: skip
def test_an_interval_that_holds_the_number_never_decides(
    value: float, reach: float, number: float, op: Any
) -> None:
    (verdict,) = judge(Claim("x", I1, NONE, op, number), [figure("A", "none", value, reach)])
    if abs(value - number) < reach * 0.999:
        assert verdict.outcome == "undecided"
    elif abs(value - number) > reach * 1.001:
        true = value > number if op.startswith(">") else value < number
        assert (verdict.outcome == "holds") == true
        assert verdict.outcome in OUTCOMES


def test_a_model_outside_the_scope_is_not_judged() -> None:
    claim = Claim("large ones", I1, NONE, ">", 0.3, scope=Scope(smallest=400_000_000))
    small = Facts("transformer", "llama", "causal", 135_000_000)
    rows = [figure("SmolLM2", "none", 0.1), figure("words", "none", 0.1)]
    first, second = judge(claim, result_of(rows, SmolLM2=small, words=Facts()))
    assert (first.outcome, first.reason, first.cases) == ("not applicable", "too small", [])
    assert (second.outcome, second.reason) == ("not applicable", "not a transformer")


def test_a_claim_about_named_models_is_not_about_others() -> None:
    claim = Claim("GPT-2 stays below 1e-40", {**I1, "subject": "GPT-2|gpt2*"}, NONE, "<", 1e-40)
    rows = [
        figure("gpt2-small", "none", 0.0, None, log10=-300.0, extra={"exact": True}),
        figure("SmolLM2", "none", 0.3),
    ]
    own, other = judge(claim, rows)
    assert own.outcome == "holds"
    assert (other.outcome, other.reason) == ("not applicable", "names other models")
    assert outcomes(Claim("x", I1, NONE, ">", 0.0, scope=named("b"))) == [
        "not applicable",
        "holds",
    ]
    but = Claim("x", I1, NONE, ">", 0.0, scope=replace(ANY_CLOUD, but=("b",)))
    assert [v.reason for v in judge(but)][1] == "excepted by name"


def test_a_result_that_does_not_say_what_a_model_is_is_not_judged_by_structure() -> None:
    claim = Claim("masked models", I1, NONE, ">", 0.0, scope=Scope(objectives=("masked",)))
    old = Result(ROWS[:1], extra={"models": {"A": {}}})
    (verdict,) = judge_claims([claim], old)
    assert verdict.outcome == "not run"
    assert "run the study again" in verdict.reason


def test_a_model_that_could_not_be_run_is_said_with_the_reason() -> None:
    result = replace(
        result_of(ROWS[:2]), extra={NOT_RUN_FIELD: {"C": "C has no unembedding: isoscope …"}}
    )
    found = judge(RISES, result)
    assert [(v.subject, v.outcome) for v in found] == [("A", "holds"), ("C", "not run")]
    assert found[1].reason.startswith("C has no unembedding")


@pytest.mark.parametrize(
    ("claim", "rows", "reason"),
    [
        (
            Claim("x", {"measure": "nothing"}, NONE, ">", 0.0),
            ROWS[:2],
            "no figures for measure noth",
        ),
        (Claim("x", I1, {"correction": "whiten"}, ">", NONE), ROWS[:2], "no figures for .*whiten"),
        (Claim("x", I1, NONE, ">", 0.0, min_subjects=3), ROWS, "at least 3 models, got 2"),
        (
            Claim("x", I1, NONE, ">", 0.0),
            [Row("A", "", "none", "i1", None, note="one vector")],
            "one vector",
        ),
        (
            Claim("x", {**I1, **NONE}, {"subject": "A"}, ">", {"subject": "!A"}),
            ROWS[:2],
            "needs not A to compare with",
        ),
        (
            Claim("x", {**I1, **NONE}, {"subject": "A"}, ">", {"subject": "C|D"}),
            ROWS[:2],
            "needs C or D to compare with",
        ),
    ],
)
def test_what_was_not_run_says_why(claim: Claim, rows: list[Row], reason: str) -> None:
    for verdict in judge(claim, rows):
        assert verdict.outcome == "not run"
        assert re.search(reason, verdict.reason)


def test_a_claim_that_compares_models_names_them() -> None:
    rows = [*ROWS, figure("C", "none", 0.1)]
    claim = Claim(
        "A and B are above C", {**I1, **NONE}, {"subject": "a|b"}, ">", {"subject": "!a|b"}
    )
    (verdict,) = judge(claim, rows)
    assert (verdict.outcome, verdict.subject) == ("holds", ALL_MODELS)
    assert verdict.reason.startswith("true in 2 of 2, significantly in 2")
    assert verdict.other_models == ("B", "C")
    assert {case.right_subject for case in verdict.cases} == {"C"}
    highest = Claim("B is the highest", {**I1, **NONE}, {"subject": "B"}, ">", {"subject": "*"})
    (found,) = judge(highest, rows)
    assert len(found.cases) == 2  # not compared with itself
    named_both = Claim("A above C", {**I1, **NONE}, {"subject": "A"}, ">", {"subject": "C"})
    assert named_both.meant(Result(rows)) == ["A", "C"]
    absent = Claim("D above E", {**I1, **NONE}, {"subject": "D"}, ">", {"subject": "E"})
    assert judge(absent, rows)[0].reason == "names other models"


def test_a_figure_over_models_counts_those_that_it_is_about() -> None:
    causal, masked = (Facts("transformer", "x", name) for name in ("causal", "masked"))
    rows = [figure(name, "none", 0.1) for name in "abcdef"]
    rows.append(Row(ALL_MODELS, "", "none", "r", -0.9, extra={"p": 0.01}))
    scope = Scope(objectives=("causal",))
    claim = Claim("negative", {"measure": "r"}, NONE, "<", 0.0, min_subjects=5, scope=scope)
    all_causal = result_of(rows, **dict.fromkeys("abcdef", causal))
    (verdict,) = judge(claim, all_causal, ("a", "b", "c", "d"))
    assert (verdict.outcome, verdict.other_models) == ("holds", ("e", "f"))
    some = result_of(rows, **dict.fromkeys("abcd", causal), **dict.fromkeys("ef", masked))
    assert judge(claim, some)[0].reason.startswith("needs at least 5 models, got 4")
    none = result_of(rows, **dict.fromkeys("abcdef", masked))
    assert (judge(claim, none)[0].outcome, judge(claim, none)[0].reason) == (
        "not applicable", "masked model",
    )  # fmt: skip
    kept = in_scope([claim], some)
    assert {row.subject for row in kept.rows} == set("abcd")


def test_exceptions_are_left_out() -> None:
    claim = Claim("but B", I1, CENTER, ">", NONE, excluding=({"subject": "b*"},))
    assert outcomes(claim) == ["holds", "not applicable"]
    rows = [*ROWS, figure("B", "center", 3.0, measure="i2"), figure("B", "none", 2.0, measure="i2")]
    out = ({"subject": "B", "measure": "i1"},)
    several = Claim("but B's i1", {"measure": "i*"}, CENTER, ">", NONE, excluding=out)
    assert outcomes(several, rows) == ["holds", "holds"]


def test_sides_may_be_other_measures_for_every_correction() -> None:
    rows = [
        figure("A", c, v, measure=f"average/{s}")
        for c, s, v in [("x", "inner", 2.0), ("x", "cosine", 1.0), ("y", "inner", 3.0)]
    ]
    claim = Claim(
        "gain", {"measure": "average/*"}, {"measure": "average/inner"}, ">",
        {"measure": "average/cosine"},
    )  # fmt: skip
    (verdict,) = judge(claim, rows)  # y has no cosine to compare with
    assert len(verdict.cases) == 1


def test_a_claim_about_certain_sets_takes_all_of_them_to_hold() -> None:
    claim = Claim(
        "on both", {"measure": "*/acc"}, CENTER, ">", NONE, sets=("rte", "cola")
    )  # fmt: skip
    better = [figure("A", "none", 0.5, measure="rte/acc"),
              figure("A", "center", 0.7, measure="rte/acc")]  # fmt: skip
    worse = [replace(row, value=1.2 - (row.value or 0.0), low=1.2 - (row.high or 0.0),
                     high=1.2 - (row.low or 0.0)) for row in better]  # fmt: skip
    other = [replace(row, measure="cola/acc") for row in better]
    assert outcomes(claim, [*better, *other]) == ["holds"]
    (some,) = judge(claim, better)
    assert (some.outcome, some.sets_missing) == ("undecided", ("cola",))
    assert "no figures for cola" in some.reason
    (against,) = judge(claim, worse)
    assert against.outcome == "fails"  # and not reversed, which is about all sets as well
    assert outcomes(claim, [*worse, *(replace(row, measure="cola/acc") for row in worse)]) == [
        "reversed"
    ]


def test_an_undefined_case_says_nothing_and_the_others_can_contradict() -> None:
    claim = Claim("on all", {"measure": "*/acc"}, CENTER, ">", NONE)
    unknown = [figure("A", name, None, measure="cola/acc", note="one class")
               for name in ("none", "center")]  # fmt: skip

    def scored(before: float, after: float) -> list[Row]:
        return [figure("A", "none", before, measure="rte/acc"),
                figure("A", "center", after, measure="rte/acc")]  # fmt: skip

    (better,) = judge(claim, [*unknown, *scored(0.5, 0.7)])
    assert better.outcome == "undecided"
    assert "undefined in 1 (one class)" in better.reason
    assert outcomes(claim, [*unknown, *scored(0.7, 0.5)]) == ["fails"]
    (nothing,) = judge(claim, unknown)
    assert (nothing.outcome, nothing.reason) == ("not run", "one class")


def test_the_difference_of_two_scores_is_used_where_there_is_one() -> None:
    rows = [
        figure("A", "none", 0.65, 0.1, measure="sts/spearman"),
        figure("A", "center", 0.66, 0.1, measure="sts/spearman"),
    ]
    claim = Claim("helps", {"measure": "sts/spearman"}, CENTER, ">", NONE)
    assert outcomes(claim, rows) == ["undecided"]
    gap = figure("A", "center", 0.01, 0.005, measure="sts/spearman/difference")
    assert outcomes(claim, [*rows, gap]) == ["holds"]
    turned = Claim("none is above", {"measure": "sts/spearman"}, NONE, ">", CENTER)
    assert outcomes(turned, [*rows, gap]) == ["reversed"]


def test_tiny_values_are_compared_by_their_logarithms() -> None:
    rows = [
        Row("A", "", name, "i1", 0.0, log10=log, extra={"exact": True})
        for name, log in (("none", -400.0), ("center", -390.0))
    ]
    assert outcomes(RISES, rows) == ["holds"]
    assert outcomes(Claim("x", I1, NONE, "<", 1e-300), rows) == ["holds"]
    assert compare(">", (0.0, -400.0), (0.0, None)) is False
    assert compare(">", (None, None), (0.0, None)) is None


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_what_is_not_finite_is_not_judged_saved_or_not(value: float) -> None:
    claim = Claim("large", I1, NONE, ">", 0.5)
    result = Result([Row("A", "", "none", "i1", value, log10=float("-inf"))])
    saved = Result.from_json(result.to_json())
    assert outcomes(claim, result) == outcomes(claim, saved) == ["not run"]


def test_numbers_of_numpy_are_numbers() -> None:
    row = Row("A", "", "none", "i1", np.float64(0.5), low=np.float64(0.4), high=np.float64(0.6))
    for value, outcome in ((0.1, "holds"), (0.9, "fails")):
        (verdict,) = judge(Claim("even", I1, NONE, ">", value), [row])
        assert verdict.outcome == outcome
        assert isinstance(verdict.cases[0].true, bool)


def test_names_of_the_papers_models_in_any_case_and_by_other_names() -> None:
    claim = Claim("all", I1, NONE, ">", 0.0)
    assert [v.other_models for v in judge(claim, models=("a", "b"))] == [(), ()]
    assert [v.other_models for v in judge(claim, models=("X|a",))] == [(), ("B",)]


def test_a_claim_that_makes_no_sense_is_refused() -> None:
    with pytest.raises(ValueError, match="no field"):
        Claim("x", {"model": "A"}, NONE, ">", 0.0)
    with pytest.raises(ValueError, match="no operator"):
        Claim("x", I1, NONE, "=", 0.0)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="takes a range"):
        Claim("x", I1, NONE, "within", 0.5)
    with pytest.raises(ValueError, match="takes a range"):
        Claim("x", I1, NONE, ">", (0.5, 0.6))


def test_a_verdict_becomes_plain_data() -> None:
    values = judge(RISES)[1].to_dict()
    assert values["cases"][0]["left_value"] == 0.4
    assert (values["other_models"], values["flags"]) == (["B"], [])


def test_a_name_stands_for_all_names_of_a_model() -> None:
    rows = [
        figure("gpt2", "none", 0.0, None, log10=-50.0, extra={"exact": True}),
        figure("bert-base-uncased", "none", 0.9),
    ]
    models = ("GPT-2|gpt2", "BERT|bert-base-uncased")
    claim = Claim("GPT-2 stays below", {**I1, "subject": "GPT-2"}, NONE, "<", 1e-40)
    assert outcomes(claim, rows, models) == ["holds", "not applicable"]
    both = Claim("above", {**I1, **NONE}, {"subject": "BERT"}, ">", {"subject": "!BERT"})
    (verdict,) = judge(both, [rows[0], replace(rows[1], extra={"exact": True})], models)
    assert (verdict.outcome, len(verdict.cases)) == ("holds", 1)
    but = Claim("but BERT", I1, NONE, "<", 1e-40, scope=replace(ANY_CLOUD, but=("BERT",)))
    assert outcomes(but, rows, models) == ["holds", "not applicable"]
    left_out = Claim("x", I1, NONE, "<", 1e-40, excluding=({"subject": "BERT"},))
    assert outcomes(left_out, rows, models) == ["holds", "not applicable"]
