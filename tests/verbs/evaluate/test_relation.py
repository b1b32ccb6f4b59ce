"""Isotropy against scores: planted relations are found, with their sign, in the right table."""

from __future__ import annotations

import numpy as np
import pytest
from relations_for_tests import CORRECTIONS, evaluation
from scipy import stats

from isoscope.errors import UsageError
from isoscope.results.result import Result, Row
from isoscope.verbs.evaluate.relation import (
    ALL,
    SPACES,
    UNCORRECTED,
    WITHIN_LAYERS,
    WITHIN_MODELS,
    relate,
)
from isoscope.verbs.evaluate.text import DIRECTION, ISOTROPY

SCORE = "sts-b/cosine/spearman"
NOISE = np.random.default_rng(0).standard_normal((2, 8, 4))
LAYER, CORRECTION = np.mgrid[:8, :4].astype(float)


def found(result: Result, question: str, measure: str = "i1_scaled", score: str = SCORE) -> Row:
    name = f"{score} ~ {measure}"
    (row,) = (row for row in result if (row.subject, row.measure) == (question, name))
    return row


def noisy() -> Result:
    return evaluation(*NOISE)


def test_every_question_is_what_scipy_says() -> None:
    result = relate(noisy())
    score, isotropy = NOISE
    everything = stats.spearmanr(isotropy.ravel(), score.ravel()).statistic
    assert found(result, ALL).value == pytest.approx(everything, abs=1e-12)
    assert found(result, ALL).n == 32
    plain = stats.spearmanr(isotropy[:, 0], score[:, 0]).statistic
    assert found(result, UNCORRECTED).value == pytest.approx(plain, abs=1e-12)
    within = [stats.spearmanr(*pair).statistic for pair in zip(isotropy, score, strict=True)]
    assert found(result, WITHIN_LAYERS).value == pytest.approx(np.mean(within), abs=1e-12)
    assert found(result, WITHIN_LAYERS).extra["groups"] == 8
    for question in (ALL, UNCORRECTED, WITHIN_LAYERS):
        row = found(result, question)
        assert row.low is not None
        assert row.value is not None
        assert row.high is not None
        assert row.low < row.value < row.high
    assert {row.subject for row in result} == {ALL, UNCORRECTED, WITHIN_LAYERS}


def test_signs_are_those_of_isotropy() -> None:
    result = relate(noisy())
    for question in (ALL, UNCORRECTED, WITHIN_LAYERS):
        up, down = found(result, question), found(result, question, "mean_cosine")
        assert (up.extra[DIRECTION], down.extra[DIRECTION]) == ("higher", "lower")
        assert (up.value, up.low, up.high) == (down.value, down.low, down.high)
    length = found(result, ALL, "mean_norm")
    assert length.extra[DIRECTION] == "neither"
    assert length.value == pytest.approx(1)


def test_powers_of_ten_below_the_smallest_double_keep_their_ranks() -> None:
    result = relate(evaluation(LAYER + CORRECTION / 10, LAYER + CORRECTION / 10 - 400))
    assert found(result, ALL).value == pytest.approx(1)
    assert found(result, ALL).note == "no interval around a perfect correlation"


def test_correcting_and_choosing_a_layer_are_two_questions() -> None:
    """Later layers are more isotropic and better; a correction that makes one so makes it worse."""
    scores = LAYER - CORRECTION / 2 + NOISE[0] / 20
    result = relate(evaluation(scores, LAYER + 10 * CORRECTION))
    assert found(result, UNCORRECTED).value == pytest.approx(1)
    assert found(result, WITHIN_LAYERS).value == pytest.approx(-1)
    assert "+1.00" in result.verdicts[1]["sentence"]
    assert "-1.00" in result.verdicts[2]["sentence"]


def test_a_planted_relation_is_told_from_none_and_noise_is_not() -> None:
    planted = evaluation(NOISE[0], NOISE.sum(axis=0))
    strong = found(relate(planted), ALL)
    assert strong.low is not None
    assert strong.low > 0
    none = found(relate(noisy()), ALL)
    assert none.low is not None
    assert none.high is not None
    assert none.low < 0 < none.high


def test_models_are_compared_together_and_apart() -> None:
    """Within each model isotropic layers are worse, and the more isotropic model is better."""
    scores, powers = (NOISE[0] / 2 - LAYER)[:, :1], LAYER[:, :1]
    result = relate(
        [evaluation(scores, powers, "small"), evaluation(scores + 100, powers + 100, "large")]
    )
    together, apart = found(result, ALL), found(result, WITHIN_MODELS)
    assert together.value is not None
    assert together.value > 0
    assert apart.value == pytest.approx(-1)
    assert apart.extra["groups"] == 2
    assert apart.extra["models"] == 2
    assert "within 2 models, over 16 spaces of 16 layers of 2 models" in apart.protocol
    assert found(result, WITHIN_LAYERS).note == "undefined: no two spaces to compare"
    assert result.extra["models"] == {"small": {}, "large": {}}


def test_many_models_are_left_out_as_wholes() -> None:
    rng = np.random.default_rng(1)
    results = []
    for number in range(6):
        scores, noise = rng.standard_normal((2, 3, 4))
        results.append(evaluation(scores, scores + noise, f"m{number}"))
    row = found(relate(results), ALL)
    assert row.extra["left_out_together"] == "model"
    assert "leaving out one model at a time" in row.protocol
    few = found(relate(results[:4]), ALL)
    assert few.extra["left_out_together"] == "layer"
    assert "nothing about other models" in few.protocol


def test_tasks_stand_beside_each_other_with_their_own_measures() -> None:
    other = evaluation(LAYER[:5], CORRECTION[:5], task="sick-r")
    kept = [row for row in other if "mean_norm" not in row.measure]
    result = relate([noisy(), Result(kept)])
    assert found(result, ALL, score="sick-r/cosine/spearman").n == 20
    measures = [row.extra[ISOTROPY] for row in result if row.measure.startswith("sick-r")]
    assert set(measures) == {"mean_cosine", "i1_scaled"}
    rows = result.table(SPACES).rows
    assert len(rows) == 32 + 20
    assert len({tuple(row) for row in rows}) == 1
    assert rows[0]["value"] == NOISE[0, 0, 0]
    assert rows[-1]["mean_norm"] is None
    assert [row["correction"] for row in rows[:4]] == list(CORRECTIONS)


def test_undefined_is_said() -> None:
    constant = relate(evaluation(np.full((8, 4), 0.5), NOISE[1]))
    assert all(row.value is None for row in constant)
    assert "the same everywhere" in found(constant, ALL).note
    assert constant.verdicts[0]["sentence"] == "all spaces: no relation is defined."
    few = relate(evaluation(CORRECTION[:1], CORRECTION[:1]))
    assert found(few, UNCORRECTED).note == "undefined: fewer than 4 spaces"
    assert found(few, ALL).value == pytest.approx(1)
    scores = NOISE[0].copy()
    scores[3] = np.nan
    holes = relate(evaluation(scores, NOISE[1]))
    assert found(holes, ALL).n == 28
    assert "4 spaces without score or isotropy left out" in found(holes, ALL).note


def test_it_survives_being_saved() -> None:
    result = relate(noisy(), level=0.9, command="as typed")
    again = Result.from_json(result.to_json())
    assert again.rows == result.rows
    assert again.tables == result.tables
    assert again.to_markdown() == result.to_markdown()
    assert again.command == "as typed"
    assert relate(Result.from_json(noisy().to_json()), level=0.9).rows == result.rows
    wide, narrow = found(relate(noisy()), ALL), found(result, ALL)
    assert wide.low is not None
    assert narrow.low is not None
    assert wide.low < narrow.low


def test_wrong_calls_are_refused() -> None:
    with pytest.raises(UsageError, match="level must be between 0 and 1"):
        relate(noisy(), level=95)
    with pytest.raises(UsageError, match="no scores with isotropy"):
        relate([])
    with pytest.raises(UsageError, match="two values of sts-b/cosine/spearman for m, block 1"):
        relate([noisy(), evaluation(*NOISE[::-1])])
