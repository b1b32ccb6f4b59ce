"""Main effects against least squares with dummy columns, scipy's tests, and simulated grids."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from scipy.stats import f as fisher
from scipy.stats import t as student
from scipy.stats import ttest_rel

from isoscope.errors import UsageError

pytest.importorskip("torch")
pytest.importorskip("transformers")

from isoscope.verbs.train.pretrain.main_effects import Effect, chance, main_effects
from isoscope.verbs.train.pretrain.plan import Cell, Factor, cells

Numbers = NDArray[np.float64]
GRIDS = [(2,), (3,), (2, 2), (3, 2), (2, 2, 2), (2, 4, 3)]


def factors_of(shape: tuple[int, ...]) -> tuple[Factor, ...]:
    return tuple(
        Factor(f"f{place}", tuple(f"{place}{level}" for level in range(levels)))
        for place, levels in enumerate(shape)
    )


def by_cell(numbers: Numbers, factors: tuple[Factor, ...]) -> dict[Cell, list[float]]:
    """Return rows of numbers, a column for each seed, by cell."""
    return dict(zip(cells(factors), numbers.tolist(), strict=True))


def some_numbers(shape: tuple[int, ...], seeds: int, key: int = 0) -> Numbers:
    """Return numbers with effects of cells and seeds, and noise."""
    rng = np.random.default_rng([len(shape), *shape, seeds, key])
    count = int(np.prod(shape))
    return (
        5 + rng.normal(0, 1, (count, 1)) + rng.normal(0, 2, (1, seeds))
        + rng.normal(0, 0.5, (count, seeds))
    )  # fmt: skip


class LeastSquares:
    """A model with a column for all that may differ; its main effects by contrasts of columns.

    Levels are coded with sums of zero: level k has 1 in column k, the first one −1 in every column,
    so that coefficients are deviations from the mean over the levels.
    """

    def __init__(self, numbers: Numbers, shape: tuple[int, ...], *, together: bool) -> None:
        count, seeds = numbers.shape
        codings = [np.vstack([-np.ones(levels - 1), np.eye(levels - 1)]) for levels in shape]
        where = list(product(*(range(levels) for levels in shape)))
        columns, self.terms = [np.ones(count * seeds)], [()]
        for term in product((False, True), repeat=len(shape)):
            if sum(term) == 0 or (sum(term) > 1 and not together):
                continue
            used = [place for place, there in enumerate(term) if there]
            for chosen in product(*(range(shape[place] - 1) for place in used)):
                column = [
                    np.prod([codings[p][at[p], k] for p, k in zip(used, chosen, strict=True)])
                    for at in where
                ]
                columns.append(np.repeat(np.array(column, float), seeds))
                self.terms.append(tuple(zip(used, chosen, strict=True)))
        for seed in range(1, seeds):
            columns.append(np.tile((np.arange(seeds) == seed).astype(float), count))
            self.terms.append(("seed", seed))
        self.design, self.answers = np.stack(columns, axis=1), numbers.ravel()
        self.weights, self.rest, rank = self.fit(self.design)
        self.free = len(self.answers) - rank
        self.variance = self.rest / self.free if self.free else np.nan

    def fit(self, design: Numbers) -> tuple[Numbers, float, int]:
        weights, _, rank, _ = np.linalg.lstsq(design, self.answers, rcond=None)
        left = self.answers - design @ weights
        return weights, float(left @ left), int(rank)

    def columns_of(self, place: int) -> list[int]:
        return [k for k, term in enumerate(self.terms) if len(term) == 1 and term[0][0] == place]

    def effect(self, place: int, level: int) -> tuple[float, float, float]:
        """Return value and interval of a level against the first."""
        contrast = np.zeros(len(self.weights))
        contrast[self.columns_of(place)] = 1
        contrast[self.columns_of(place)[level - 1]] = 2
        value = float(contrast @ self.weights)
        spread = contrast @ np.linalg.pinv(self.design.T @ self.design) @ contrast
        reach = float(np.sqrt(self.variance * spread) * student.ppf(0.975, self.free))
        return value, value - reach, value + reach

    def p(self, place: int) -> float:
        """Return the p-value of a model without the main effect of a factor."""
        out = self.columns_of(place)
        _, worse, _ = self.fit(np.delete(self.design, out, axis=1))
        return float(fisher.sf((worse - self.rest) / len(out) / self.variance, len(out), self.free))


def check_against(found: list[Effect], model: LeastSquares, factors: tuple[Factor, ...]) -> None:
    expected = [
        (place, level)
        for place, factor in enumerate(factors)
        for level in range(1, len(factor.levels))
    ]
    assert len(found) == len(expected)
    for effect, (place, level) in zip(found, expected, strict=True):
        factor = factors[place]
        assert (effect.factor, effect.level, effect.reference) == (
            factor.name, factor.levels[level], factor.levels[0],
        )  # fmt: skip
        assert (effect.value, effect.low, effect.high) == pytest.approx(model.effect(place, level))
        assert effect.p == pytest.approx(model.p(place))


@pytest.mark.parametrize("seeds", [2, 3, 5])
@pytest.mark.parametrize("shape", GRIDS)
def test_effects_are_those_of_least_squares(shape: tuple[int, ...], seeds: int) -> None:
    """With a column for every factor, all that factors do together, and every seed."""
    factors, numbers = factors_of(shape), some_numbers(shape, seeds)
    model = LeastSquares(numbers, shape, together=True)
    variance, free = chance(numbers, cells(factors), factors)
    assert free == model.free == (np.prod(shape) - 1) * (seeds - 1)
    assert variance == pytest.approx(model.variance)
    check_against(main_effects(by_cell(numbers, factors), factors), model, factors)


@pytest.mark.parametrize("shape", [shape for shape in GRIDS if len(shape) > 1])
def test_one_run_a_cell_has_what_main_effects_leave_over(shape: tuple[int, ...]) -> None:
    factors, numbers = factors_of(shape), some_numbers(shape, 1)
    model = LeastSquares(numbers, shape, together=False)
    variance, free = chance(numbers, cells(factors), factors)
    assert free == model.free
    assert variance == pytest.approx(model.variance)
    check_against(main_effects(by_cell(numbers, factors), factors), model, factors)


@pytest.mark.parametrize("seeds", [2, 3, 8])
def test_one_factor_of_two_levels_is_scipys_paired_test(seeds: int) -> None:
    factors, numbers = factors_of((2,)), some_numbers((2,), seeds)
    (found,) = main_effects(by_cell(numbers, factors), factors)
    test = ttest_rel(numbers[1], numbers[0])
    interval = test.confidence_interval(0.95)
    assert found.value == pytest.approx((numbers[1] - numbers[0]).mean())
    assert (found.low, found.high) == pytest.approx((interval.low, interval.high))
    assert found.p == pytest.approx(test.pvalue)
    assert found.runs == 2 * seeds


def test_two_factors_of_two_levels_by_hand() -> None:
    factors = factors_of((2, 2))
    values = {
        ("00", "10"): [1.0, 2.0], ("00", "11"): [3.0, 5.0],
        ("01", "10"): [7.0, 8.0], ("01", "11"): [9.0, 9.0],
    }  # fmt: skip
    first, second = main_effects(values, factors)
    assert (first.value, second.value) == (5.5, 2.0)
    # Cells have means of 1.5, 4, 7.5, 9, seeds of 5, 6: ±½, ±½ is taken off, and ½ stays in two.
    assert chance(np.array(list(values.values())), list(values), factors) == (
        pytest.approx(1 / 3), 3
    )  # fmt: skip
    reach = student.ppf(0.975, 3) * np.sqrt(1 / 3 * (1 / 4 + 1 / 4))
    assert (first.low, first.high) == pytest.approx((5.5 - reach, 5.5 + reach))
    assert (first.runs, second.runs) == (8, 8)


def test_the_order_of_cells_does_not_matter() -> None:
    factors = factors_of((3, 2))
    values = by_cell(some_numbers((3, 2), 3), factors)
    turned = {cell: values[cell] for cell in reversed(values)}
    for one, other in zip(
        main_effects(values, factors), main_effects(turned, factors), strict=True
    ):
        assert vars(one) == pytest.approx(vars(other))


def test_without_degrees_of_freedom_there_is_no_interval() -> None:
    for shape in [(2,), (3,)]:
        factors = factors_of(shape)
        numbers = some_numbers(shape, 1)
        found = main_effects(by_cell(numbers, factors), factors)
        assert [one.value for one in found] == pytest.approx((numbers[1:] - numbers[0]).ravel())
        for one in found:
            assert (one.low, one.high, one.p, one.excludes_zero) == (None, None, None, False)


@pytest.mark.parametrize("number", [0.0, 0.1, 0.3, -7.7, 1e9])
@pytest.mark.parametrize("seeds", [1, 2, 3])
def test_the_same_number_everywhere_is_no_effect(number: float, seeds: int) -> None:
    """Also where rounding makes the mean of some numbers another one than each."""
    factors = factors_of((3, 2))
    for one in main_effects(by_cell(np.full((6, seeds), number), factors), factors):
        assert one.value == pytest.approx(0, abs=1e-15 * abs(number))
        assert not one.excludes_zero
        assert one.p == 1
        assert one.low == pytest.approx(0, abs=1e-14 * abs(number))
        assert one.high == pytest.approx(0, abs=1e-14 * abs(number))


@pytest.mark.parametrize("number", [0.5, 0.1])
def test_numbers_without_chance_have_an_effect_beyond_any_chance(number: float) -> None:
    factors = factors_of((2, 2))
    numbers = np.array([[0.0], [0.0], [number], [number]]) + np.zeros((1, 3))
    first, second = main_effects(by_cell(numbers, factors), factors)
    assert (first.value, first.low, first.high) == pytest.approx((number,) * 3)
    assert first.excludes_zero
    assert first.p == pytest.approx(0, abs=1e-12)
    assert (second.value, second.p) == (0, 1)
    assert not second.excludes_zero


def test_seeds_that_all_cells_follow_are_no_chance() -> None:
    factors = factors_of((2, 2))
    numbers = np.array([[0.0], [1.0], [2.0], [3.0]]) + np.array([[0.0, 64.0, -8.0]])
    for one, value in zip(main_effects(by_cell(numbers, factors), factors), (2, 1), strict=True):
        assert (one.value, one.low, one.high) == pytest.approx((value,) * 3)


def test_what_is_not_balanced_is_refused() -> None:
    factors = factors_of((2, 2))
    values = by_cell(some_numbers((2, 2), 3), factors)
    first = next(iter(values))
    for wrong in ({**values, first: values[first][:2]}, {cell: [] for cell in values}, {}):
        with pytest.raises(UsageError, match="as many runs in every cell") as refused:
            main_effects(wrong, factors)
        assert len(str(refused.value).splitlines()) == 1


def test_a_cell_that_is_not_there_is_refused() -> None:
    """Without it, a mean over the other factors is one over others in every level."""
    factors = factors_of((2, 2))
    values = by_cell(some_numbers((2, 2), 3), factors)
    del values["01", "11"]
    with pytest.raises(UsageError, match="every cell"):
        main_effects(values, factors)


@pytest.mark.parametrize(
    ("low", "high", "excludes"),
    [
        (0.1, 0.2, True), (-0.2, -0.1, True), (-0.1, 0.1, False), (0.0, 0.1, False),
        (None, None, False),
    ],
)  # fmt: skip
def test_when_an_interval_excludes_zero(
    low: float | None, high: float | None, excludes: bool
) -> None:
    assert Effect("tie", "untied", "tied", 0.1, low, high, None, 4).excludes_zero is excludes


def spans(found: list[Effect]) -> Numbers:
    return np.array([(one.value, one.low, one.high) for one in found], float)


TABLES = arrays(np.float64, (6, 3), elements=st.floats(-100, 100, allow_subnormal=False))
ROOM = 1e-9


@given(TABLES, st.floats(-1e3, 1e3))
def test_effects_do_not_change_with_a_shift(numbers: Numbers, shift: float) -> None:
    factors = factors_of((3, 2))
    before, after = (
        spans(main_effects(by_cell(one, factors), factors)) for one in (numbers, numbers + shift)
    )
    np.testing.assert_allclose(after, before, atol=ROOM)


@given(TABLES, st.floats(0.01, 100), st.sampled_from([1, -1]))
def test_effects_and_intervals_scale(numbers: Numbers, scale: float, sign: int) -> None:
    factors = factors_of((3, 2))
    before = spans(main_effects(by_cell(numbers, factors), factors)) * scale * sign
    after = spans(main_effects(by_cell(numbers * scale * sign, factors), factors))
    if sign < 0:
        before = before[:, [0, 2, 1]]
    np.testing.assert_allclose(after, before, atol=ROOM * scale)


@given(TABLES, arrays(np.float64, (1, 3), elements=st.floats(-1e3, 1e3, allow_subnormal=False)))
def test_what_all_runs_of_a_seed_have_in_common_changes_nothing(
    numbers: Numbers, of_seeds: Numbers
) -> None:
    factors = factors_of((3, 2))
    before, after = (
        spans(main_effects(by_cell(one, factors), factors)) for one in (numbers, numbers + of_seeds)
    )
    np.testing.assert_allclose(after, before, atol=ROOM)


@given(TABLES)
def test_the_order_of_seeds_changes_nothing(numbers: Numbers) -> None:
    factors = factors_of((3, 2))
    before, after = (
        spans(main_effects(by_cell(one, factors), factors)) for one in (numbers, numbers[:, ::-1])
    )
    np.testing.assert_allclose(after, before, atol=ROOM)


SIMULATED = 400


def simulated(rng: np.random.Generator, effect: float) -> list[Effect]:
    """Return effects of a 2 × 2 × 2 grid with three seeds; the first factor has a known one.

    Seeds differ five times as much as runs, and the first two factors do more together than apart.
    """
    factors = factors_of((2, 2, 2))
    signs = np.array(list(product((-0.5, 0.5), repeat=3)))
    means = effect * signs[:, 0] - 0.7 * signs[:, 1] + 3 * signs[:, 0] * signs[:, 1]
    numbers = means[:, None] + rng.normal(0, 5, (1, 3)) + rng.normal(0, 1, (8, 3))
    return main_effects(by_cell(numbers, factors), factors)


def test_intervals_hold_the_true_effect_as_often_as_they_say() -> None:
    """A share of 400 that is 95 % at length has a deviation of √(0.95 · 0.05 / 400) = 1.1 %.

    92 to 98 % is 2.7 deviations to either side: right intervals pass with 99 of 100 seeds, and
    those of a test with seeds as noise, which are five times as wide, with none.
    """
    rng = np.random.default_rng(5)
    held, other = 0, 0
    for _ in range(SIMULATED):
        first, second, third = simulated(rng, 0.4)
        for one in (first, second, third):
            assert one.low is not None
            assert one.high is not None
            assert one.p is not None
            assert one.excludes_zero == (one.p < 0.05)
        held += first.low <= 0.4 <= first.high  # type: ignore[operator]
        other += second.low <= -0.7 <= second.high  # type: ignore[operator]
    assert 0.92 <= held / SIMULATED <= 0.98
    assert 0.92 <= other / SIMULATED <= 0.98


def test_no_effect_gets_a_star_in_one_of_twenty_grids() -> None:
    """The same deviation: 2 to 8 % of 400."""
    rng = np.random.default_rng(6)
    stars = sum(simulated(rng, 0.0)[0].excludes_zero for _ in range(SIMULATED))
    assert 0.02 <= stars / SIMULATED <= 0.08
