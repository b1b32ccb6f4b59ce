from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import isoscope
from isoscope.measures.diagnosis import (
    CARRIED,
    COLLAPSED,
    LOW_RANK,
    OFFSET,
    VARIANCE,
    Figure,
    Limits,
    share_by_chance,
    shown,
)


def with_offset(rows: int = 20_000, width: int = 100) -> np.ndarray:
    """Ordinary vectors with a common offset: mean cosine 0.80."""
    random = np.random.default_rng(0)
    direction = random.standard_normal(width)
    offset = 2.0 * np.sqrt(width) * direction / np.linalg.norm(direction)
    return random.standard_normal((rows, width)) + offset


def with_noisy_dimension(rows: int = 20_000, width: int = 100) -> np.ndarray:
    """Ordinary vectors with one large and noisy dimension: mean cosine 0.80 too."""
    random = np.random.default_rng(1)
    cloud = random.standard_normal((rows, width))
    cloud[:, 17] = 32.0 + 15.0 * random.standard_normal(rows)
    return cloud


def verdict(cloud: object) -> dict[str, object]:
    return isoscope.measure(cloud).verdicts[0]


def test_the_same_mean_cosine_from_two_causes() -> None:
    for cloud in (with_offset(), with_noisy_dimension()):
        assert isoscope.measure(cloud).value("mean_cosine") == pytest.approx(0.80, abs=0.01)
    offset, noisy = verdict(with_offset()), verdict(with_noisy_dimension())
    assert offset["cause"] == "common offset"
    assert "centring lowers them" in str(offset["implies"])
    assert noisy["cause"] == "outlier dimensions"
    assert "dimension 17 " in str(noisy["sentence"])
    assert "clipping can" in str(noisy["implies"])


def test_a_healthy_cloud_gets_none() -> None:
    assert verdict(np.random.default_rng(0).standard_normal((5_000, 64)))["cause"] == "none"


def test_a_healthy_cloud_of_tensors_gets_none() -> None:
    torch = pytest.importorskip("torch")
    assert verdict(torch.randn(500, 300, generator=torch.Generator().manual_seed(0)))["cause"] == (
        "none"
    )


def test_an_offset_in_one_dimension_can_be_centred_away() -> None:
    cloud = np.random.default_rng(0).standard_normal((5_000, 64))
    cloud[:, 5] += 20
    found = verdict(cloud)
    assert found["cause"] == "outlier dimensions"
    assert "act as a common offset" in str(found["implies"])


def test_a_noisy_dimension_around_zero() -> None:
    cloud = np.random.default_rng(0).standard_normal((5_000, 64))
    cloud[:, 9] *= 30
    found = verdict(cloud)
    assert found["cause"] == "outlier dimensions"
    assert "dimension 9 " in str(found["sentence"])


def test_low_rank_and_dead_dimensions() -> None:
    random = np.random.default_rng(0)
    flat = random.standard_normal((3_000, 3)) @ random.standard_normal((3, 80))
    assert verdict(flat)["cause"] == "low rank"
    dead = random.standard_normal((3_000, 80))
    dead[:, [3, 70]] = 0.5
    found = verdict(dead)
    assert found["cause"] == "dead dimensions"
    assert found["sentence"] == "Dead dimensions: 2 of 80 never vary (dimensions 3, 70)."


def test_several_findings_are_all_told() -> None:
    cloud = with_offset()
    cloud[:, 4] = 1.0
    found = verdict(cloud)
    assert found["cause"] == "common offset"
    assert any(
        "Dead dimensions: 1 of 100 never varies (dimension 4)." in line for line in found["also"]
    )  # type: ignore[attr-defined]


@pytest.mark.parametrize("width", [8, 16, 24, 32, 300])
def test_an_offset_in_a_random_direction_is_no_outlier(width: int) -> None:
    """In few dimensions a few carry half of any direction."""
    causes = []
    for seed in range(40):
        random = np.random.default_rng(seed)
        direction = random.standard_normal(width)
        offset = 2 * np.sqrt(width) * direction / np.linalg.norm(direction)
        causes.append(verdict(random.standard_normal((300, width)) + offset)["cause"])
    assert causes.count("common offset") >= 38


def test_outliers_in_few_dimensions() -> None:
    cloud = np.random.default_rng(0).standard_normal((2_000, 4))
    cloud[:, 1] *= 100
    assert verdict(cloud)["cause"] == "outlier dimensions"


def test_one_long_vector() -> None:
    cloud = np.random.default_rng(0).standard_normal((5_000, 64))
    cloud[7] *= 200
    found = verdict(cloud)
    assert found["cause"] == "long vectors"
    shifted = verdict(cloud + 3)
    assert shifted["cause"] == "long vectors"
    assert any("common offset" in line for line in shifted["also"])  # type: ignore[attr-defined]


def test_unit_vectors_share_what_the_mean_does_not_show() -> None:
    """Nine in ten point one way, the tenth is nine times as long and points the other way."""
    random = np.random.default_rng(0)
    cloud = 0.1 * random.standard_normal((5_000, 30))
    cloud[:, :] += np.where(np.arange(5_000) % 10 == 0, -9.0, 1.0)[:, None] / np.sqrt(30)
    result = isoscope.measure(cloud)
    assert result.verdicts[0]["cause"] == "uneven lengths"
    cosines = result.value("mean_cosine"), result.value("mean_cosine", "center")
    assert cosines[1] == pytest.approx(cosines[0], abs=0.05)


def test_the_verdict_does_not_depend_on_the_order_of_corrections() -> None:
    result = isoscope.measure(with_offset(), corrections=["center", "none"])
    assert result.verdicts[0]["cause"] == "common offset"


def test_a_constant_cloud() -> None:
    for rows in (50, 1_000, 20_000):
        assert verdict(np.full((rows, 6), 0.1))["cause"] == "constant"
    assert verdict(np.full((50, 6), 0.1, np.float32))["cause"] == "constant"
    assert verdict(np.zeros((50, 6)))["cause"] == "constant"


def test_no_verdict_rests_on_length() -> None:
    for cloud in (with_offset(), with_noisy_dimension()):
        causes = {verdict(cloud * factor)["cause"] for factor in (1e-3, 1, 1e3)}
        assert len(causes) == 1


def shifted(cosine: float, rows: int, width: int, seed: int = 0) -> np.ndarray:
    """An even cloud with an offset in a random direction that gives it this mean cosine."""
    random = np.random.default_rng(seed)
    direction = random.standard_normal(width)
    size = np.sqrt(cosine / (1 - cosine) * width) / np.linalg.norm(direction)
    return random.standard_normal((rows, width)) + size * direction


@pytest.mark.parametrize(
    ("cosine", "cause", "grade"),
    [(0.0, "none", "none"), (0.05, "none", "none"), (0.2, "common offset", "mild"),
     (0.6, "common offset", "strong")],
)  # fmt: skip
@pytest.mark.parametrize(("rows", "width"), [(500, 64), (500, 384), (2_000, 64)])
def test_an_offset_has_the_grade_that_its_size_deserves(
    cosine: float, cause: str, grade: str, rows: int, width: int
) -> None:
    found = verdict(shifted(cosine, rows, width))
    assert (found["cause"], found["grade"]) == (cause, grade)
    assert "mild from 0.1, strong from 0.4" in str(found["sentence"])


@pytest.mark.parametrize(
    ("share", "cause", "grade"),
    [(0.03, "none", "none"), (0.15, "outlier dimensions", "mild"),
     (0.4, "outlier dimensions", "strong")],
)  # fmt: skip
def test_a_dimension_with_much_of_the_variance(share: float, cause: str, grade: str) -> None:
    cloud = np.random.default_rng(0).standard_normal((1_000, 200))
    cloud[:, 9] *= np.sqrt(share / (1 - share) * 199)
    found = verdict(cloud)
    assert (found["cause"], found["grade"]) == (cause, grade)
    assert "mild from 10 %, strong from 25 %" in str(found["sentence"])


@pytest.mark.parametrize(("rank", "grade"), [(40, "none"), (15, "mild"), (4, "strong")])
def test_a_low_rank_has_a_grade(rank: int, grade: str) -> None:
    random = np.random.default_rng(0)
    flat = random.standard_normal((2_000, rank)) @ random.standard_normal((rank, 100))
    found = verdict(flat)
    assert found["grade"] == grade
    assert found["cause"] == ("none" if grade == "none" else "low rank")
    assert "mild below 20, strong below 10" in str(found["sentence"])


@pytest.mark.parametrize(("shift", "high"), [(0.5, False), (2.0, True)])
def test_thresholds_sit_high_only_where_the_offset_is_strong(shift: float, high: bool) -> None:
    """A mean cosine of 0.2 leaves most random pairs low: nothing sits high there."""
    cloud = np.random.default_rng(0).normal(size=(400, 16)) + shift
    (found,) = isoscope.measure(cloud, corrections="none").verdicts
    assert found["cause"] == "common offset"
    assert ("high and close together" in found["implies"]) == high
    assert ("a little higher than without an offset" in found["implies"]) != high


def test_a_mild_offset_that_two_dimensions_carry() -> None:
    """As GloVe: a mean cosine of 0.11, more than half of it from two of 50 dimensions."""
    random = np.random.default_rng(0)
    cloud = random.standard_normal((4_000, 50))
    cloud += np.sqrt(0.04 / 48 * 50 / 0.89)
    cloud[:, 30] = random.standard_normal(4_000) - np.sqrt(0.045 * 50 / 0.89)
    cloud[:, 25] = random.standard_normal(4_000) + np.sqrt(0.03 * 50 / 0.89)
    found = verdict(cloud)
    assert (found["cause"], found["grade"]) == ("outlier dimensions", "mild")
    assert str(found["sentence"]).startswith("Mild outlier dimensions: dimensions 30, 25 have ")
    assert "act as a common offset" in str(found["implies"])


def test_the_strongest_finding_comes_first() -> None:
    cloud = shifted(0.7, 1_000, 200)
    cloud[:, 9] *= np.sqrt(0.15 / 0.85 * 199)
    found = verdict(cloud)
    assert (found["cause"], found["grade"]) == ("common offset", "strong")
    assert any("Mild outlier dimensions: dimension 9 " in line for line in found["also"])  # type: ignore[attr-defined]


def test_nothing_stands_out_only_where_the_interval_says_so() -> None:
    close = verdict(shifted(0.097, 200, 64, seed=1))
    assert close["cause"] == "undecided"
    assert "its interval contains the limit" in str(close["sentence"])
    few = verdict(np.random.default_rng(0).standard_normal((40, 16)))
    assert few["cause"] == "undecided"
    assert few["sentence"] == (
        "Undecided: 40 rows are too few to say that nothing stands out; it takes at least 62."
    )
    above = verdict(shifted(0.11, 200, 64, seed=1))
    assert above["cause"] == "common offset"
    assert str(above["sentence"]).endswith("; the interval does not exclude 'none'.")


def test_few_rows_in_few_dimensions_have_no_offset_by_chance() -> None:
    """The mean cosine of 20 rows in 3 dimensions exceeds 0.1 in one draw of 20."""
    causes = [
        verdict(np.random.default_rng(seed).standard_normal((20, 3)))["cause"] for seed in range(60)
    ]
    assert causes.count("common offset") <= 3
    assert "none" not in causes


def test_entries_of_a_random_direction_do_not_stand_out() -> None:
    random = np.random.default_rng(0)
    for width in (8, 50, 400):
        squares = np.sort(random.standard_normal((4_000, width)) ** 2, axis=1)[:, ::-1]
        shares = squares / squares.sum(axis=1, keepdims=True)
        for count in (1, 2, 3):
            passed = np.mean(shares[:, count - 1] >= share_by_chance(width, count))
            assert passed <= 0.015


LIMITS = st.sampled_from([OFFSET, CARRIED, VARIANCE, LOW_RANK, Limits(0.3, 0.3)])


@given(value=st.floats(0, 1), limits=LIMITS)
@settings(max_examples=300, deadline=None)
def test_a_printed_number_is_on_its_own_side_of_the_printed_limit(
    value: float, limits: Limits
) -> None:
    grade = limits.grade(value)
    text = shown(value, limits)
    # Six digits tell all numbers apart but those that nobody could.
    assert limits.grade(float(text)) == grade or abs(float(text) - value) < 1e-6


@given(
    value=st.floats(0, 1), below=st.floats(0, 0.5), above=st.floats(0, 0.5), limits=LIMITS,
)  # fmt: skip
@settings(max_examples=300, deadline=None)
def test_a_grade_is_certain_only_where_the_interval_holds_no_limit(
    value: float, below: float, above: float, limits: Limits
) -> None:
    low, high = value - below, value + above
    figure = Figure.of("some figure", value, limits, (low, high))
    inside = any(low < limit <= high for limit in (limits.mild, limits.strong))
    if not inside:
        assert figure.doubt == "" or low in (limits.mild, limits.strong)
    else:
        assert len(figure.grades) > 1
        assert "does not exclude" in figure.doubt
    for grade in re.findall(r"'(\w+)'", figure.doubt):
        assert grade != figure.grade


@given(
    cosine=st.floats(0, 0.6), rows=st.integers(20, 150), width=st.integers(2, 40),
    scale=st.floats(1, 30), rank=st.integers(1, 40), seed=st.integers(0, 100),
)  # fmt: skip
@settings(max_examples=40, deadline=None)
def test_no_verdict_stands_beside_an_interval_that_says_otherwise(
    cosine: float, rows: int, width: int, scale: float, rank: int, seed: int
) -> None:
    random = np.random.default_rng(seed)
    cloud = shifted(cosine, rows, width, seed)
    if rank < width:
        thin = random.standard_normal((width, rank)) @ random.standard_normal((rank, width))
        cloud = cloud @ thin
    cloud[:, 0] *= scale
    result = isoscope.measure(
        cloud, ["mean_cosine", "effective_rank", "outlier_dimensions"], ["none"]
    )
    found = result.verdicts[0]
    printed = result.row("mean_cosine")
    for figure in found["figures"]:
        row = next((row for row in result.rows if row.measure == figure["name"]), None)
        if row is not None:  # the sentence and the table show one interval
            assert (figure["value"], figure["low"], figure["high"]) == (
                row.value, row.low, row.high,
            )  # fmt: skip
    if found["cause"] == "none":
        assert rows >= 62
        assert printed.high is None or printed.high < 0.1 or printed.high < limit_of(found)
    said = " ".join([found["sentence"], *found["also"]])
    offset = "common offset" in said or "The offset that they carry" in said
    if offset and printed.low is not None and printed.low < 0.1:
        assert "does not exclude 'none'" in said


def limit_of(found: dict[str, object]) -> float:
    """Return the limit of the mean cosine, which chance may raise."""
    figures: list[dict[str, float]] = found["figures"]  # type: ignore[assignment]
    return next(one["mild"] for one in figures if one["name"] == "mean_cosine")  # type: ignore[comparison-overlap]


@given(
    cosine=st.floats(0.5, 0.999), rows=st.integers(70, 300), width=st.integers(8, 60),
    size=st.floats(1e-3, 1e3), seed=st.integers(0, 100),
)  # fmt: skip
@settings(max_examples=40, deadline=None)
def test_a_mean_cosine_near_one_is_a_verdict_of_its_own(
    cosine: float, rows: int, width: int, size: float, seed: int
) -> None:
    cloud = size * shifted(cosine, rows, width, seed)
    names = ["mean_cosine", "effective_rank", "outlier_dimensions", "i1_scaled"]
    result = isoscope.measure(cloud, names, ["none"])
    found, measured = result.verdicts[0], result.row("mean_cosine")
    assert measured.value is not None
    assert (found["cause"] == "collapsed") == (measured.value >= COLLAPSED)
    if found["cause"] != "collapsed":
        assert "Collapsed" not in " ".join([found["sentence"], *found["also"]])
        return
    assert found["grade"] == "strong"
    assert "common offset" not in " ".join([found["sentence"], *found["also"]])
    (figure,) = found["figures"]
    assert (figure["value"], figure["low"], figure["high"]) == (
        measured.value, measured.low, measured.high,
    )  # fmt: skip
    assert measured.low is not None
    assert ("does not exclude a lower one" in found["sentence"]) == (measured.low < COLLAPSED)
    # The reason for the limit: I1 tells nothing apart any more.
    assert result.value("i1_scaled") == pytest.approx(1 / np.e, abs=0.02)


def test_what_a_collapsed_cloud_differs_in_is_said() -> None:
    found = verdict(shifted(0.98, 2_000, 64))
    assert found["cause"] == "collapsed"
    assert "the mean cosine is 0.98 (0.98 to 0.98; limit 0.95)" in str(found["sentence"])
    assert "about 2 % of their squared length" in str(found["sentence"])
    assert "1/e" in str(found["implies"])


def test_outlier_dimensions_of_a_collapsed_cloud_are_named_too() -> None:
    random = np.random.default_rng(0)
    cloud = random.standard_normal((1_000, 64))
    cloud[:, 5] += 100.0
    found = verdict(cloud)
    assert found["cause"] == "collapsed"
    assert any("dimension 5 " in one for one in found["also"])  # type: ignore[attr-defined]


def test_numbers_on_a_line_have_not_collapsed() -> None:
    cloud = 100 + np.random.default_rng(0).standard_normal((200, 1))
    assert verdict(cloud)["cause"] != "collapsed"


def test_the_interval_of_a_rank_holds_ranks_only() -> None:
    """One vector that is far longer than all others makes the error of the rank huge."""
    cloud = np.random.default_rng(0).standard_normal((500, 64))
    cloud[0] *= 200
    found = isoscope.measure(cloud, corrections=["none"]).verdicts[0]
    (rank,) = (line for line in found["also"] if "low rank" in line)
    assert "(1.0 to 64.0; mild below 12.8" in rank
