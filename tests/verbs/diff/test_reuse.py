"""May the old correction and threshold be kept?"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from isoscope.compute.nearest_neighbours import nearest_rows, shared
from isoscope.compute.stats.estimates import Difference, Score
from isoscope.compute.stats.significance import holm
from isoscope.corrections import Center, ClusterRemoval, Whiten
from isoscope.data.arrays import ArrayCloud
from isoscope.measures.reads.moments import MomentParts
from isoscope.verbs.diff.held_out import FOLDS
from isoscope.verbs.diff.names import NEIGHBOURS_LIMIT
from isoscope.verbs.diff.reuse import (
    SomeRows,
    ThresholdReuse,
    adjusted,
    corrected_space,
    fitted_again,
    space_as_it_is,
)
from isoscope.verbs.diff.text import rounded_share
from isoscope.verbs.diff.two_clouds import Reading, TwoSides

Matrix = NDArray[np.float64]


def cloud(seed: int, rows: int = 600, offset: float = 1.0) -> Matrix:
    random = np.random.default_rng(seed)
    return (random.standard_normal((rows, 16)) + offset) * np.arange(1, 17) ** -0.5


def two(a: Matrix, b: Matrix, *, paired: bool = False) -> TwoSides:
    clouds = ArrayCloud(a, "a"), ArrayCloud(b, "b")
    return Reading(MomentParts(), 5_000, 0).both(*clouds, paired=paired)


def test_between_equal_clouds_everything_is_kept() -> None:
    sides = two(cloud(0), cloud(1))
    for old in (Center(), Whiten()):
        found = corrected_space(sides, "x", old.fit(cloud(0)), None, 0)
        assert found.correction is not None
        assert found.correction.keep
        assert found.threshold.keep is not False
        # Chance alone does what the other cloud does: m was chosen so. It is one draw of it.
        kept, chance = found.correction.kept.value, found.correction.by_chance.value
        assert kept == pytest.approx(chance, abs=0.05)
    assert space_as_it_is(sides, None, 0).threshold.keep is not False


def test_after_a_shift_neither_is() -> None:
    sides = two(cloud(0), cloud(1, offset=2.0))
    found = corrected_space(sides, "center", Center().fit(cloud(0)), None, 0)
    assert found.correction is not None
    assert found.correction.neighbours_differ
    assert found.correction.cosines_differ
    assert not found.correction.keep
    assert not found.threshold.keep
    assert found.threshold.share_a.value == pytest.approx(0.01, abs=0.001)


def test_figures_are_those_of_the_two_corrections() -> None:
    a, b = cloud(0), cloud(1, offset=1.3)
    sides = two(a, b)
    found = corrected_space(sides, "center", Center().fit(a), 0.4, 0)
    assert found.correction is not None
    old, new = b - a.mean(axis=0), b - b.mean(axis=0)
    common = shared(nearest_rows(old, 10), nearest_rows(new, 10))
    assert found.correction.kept.value == pytest.approx(common.mean(), abs=1e-3)
    units = old / np.linalg.norm(old, axis=1, keepdims=True)
    cosines = (units @ units.T)[np.triu_indices(600, 1)]
    # Halves of the sample hold half of the pairs: twice the error of all of them.
    assert found.correction.old_cosine.value == pytest.approx(cosines.mean(), abs=0.01)
    assert found.threshold.share_b.value == pytest.approx((cosines > 0.4).mean(), abs=0.02)
    assert found.threshold.threshold == 0.4


def test_more_common_neighbours_than_by_chance_are_an_undefined_loss() -> None:
    a = cloud(0)
    found = corrected_space(two(a, a, paired=True), "whiten", Whiten().fit(a), None, 0).correction
    assert found is not None
    assert found.kept.value == 1
    assert (found.lost.value or 0) < -NEIGHBOURS_LIMIT
    assert found.beyond_chance.value is None
    assert found.beyond_chance.note.startswith("undefined: more neighbours are kept")
    assert found.keep  # fits of the same rows share chance
    # Of other rows, that shows a baseline that is none.
    assert replace(found, paired=False).keep is None


def test_corrections_that_need_their_rows_are_fitted_again() -> None:
    b = cloud(1)
    old = ClusterRemoval(n_clusters=2, random_state=0).fit(cloud(0))
    again = fitted_again(old, two(cloud(0), b).b, None, None)
    wanted = ClusterRemoval(n_clusters=2, random_state=0).fit(b)
    np.testing.assert_allclose(again.transform(b), wanted.transform(b), atol=1e-9)
    assert old.fitted_on_ != again.fitted_on_


def test_some_rows_are_a_random_part() -> None:
    rows = np.arange(20_000.0)[:, None] * np.ones(400)
    part = SomeRows(ArrayCloud(rows, "a"), 0.3)
    batches = [found["a"] for found in part.batches()]
    chosen = np.concatenate([batch.vectors[:, 0] for batch in batches])
    assert len(chosen) == pytest.approx(6_000, abs=250)
    assert batches[1].first_row == len(batches[0].vectors)
    assert chosen.mean() == pytest.approx(10_000, rel=0.03)


def test_shares_are_written_with_the_digits_that_tell() -> None:
    assert [rounded_share(value) for value in (0, 0.000123, 0.0123, 0.456, 0.9987, 0.99999, 1)] == [
        "0 %", "0.012 %", "1.2 %", "46 %", "99.9 %", "over 99.9 %", "100 %",
    ]  # fmt: skip


def test_a_threshold_that_all_pairs_pass_is_not_kept() -> None:
    """None of A's pairs and all of B's: no row has an influence, and there is no interval."""
    sides = two(cloud(0, offset=0.0), cloud(1, offset=30.0))
    found = space_as_it_is(sides, 0.95, 0).threshold
    assert (found.share_a.value, found.share_b.value) == (0, 1)
    assert not found.keep


def test_what_the_old_correction_was_fitted_on_decides_what_chance_does() -> None:
    many, few = cloud(0, rows=6_000), cloud(1)
    old = Whiten().fit(many)
    whole = corrected_space(two(many, few), "x", old, None, 0).correction
    part = corrected_space(two(many[:200], few), "x", old, None, 0).correction
    assert whole is not None
    assert part is not None
    assert whole.by_chance.value == part.by_chance.value


def test_a_correction_of_other_rows_needs_no_folds() -> None:
    a, b = cloud(0), cloud(1)
    sides = two(a, b)
    assert corrected_space(sides, "x", Whiten().fit(a), None, 0).threshold.folds == FOLDS
    elsewhere = corrected_space(sides, "x", Whiten().fit(cloud(2)), None, 0).threshold
    assert elsewhere.folds == 1
    assert elsewhere.keep is not False


def test_a_correction_that_cannot_be_fitted_without_a_fold_gives_no_threshold() -> None:
    a, b = cloud(0), cloud(1)
    clusters = ClusterRemoval(n_clusters=2, random_state=0)
    found = corrected_space(two(a, b), "x", clusters.fit(a), 0.5, 0).threshold
    assert (found.threshold, found.keep) == (0.5, None)
    assert "was fitted on A itself, and only other rows tell" in found.no_statement
    of_b = corrected_space(two(a, b), "x", Center().fit(b), 0.5, 0).threshold
    assert "was fitted on B itself" in of_b.no_statement


def test_few_pairs_give_no_threshold() -> None:
    found = space_as_it_is(two(cloud(0, rows=60), cloud(1, rows=60)), None, 0).threshold
    assert found.no_statement == "there are 900 random pairs, and at least 1,000 are needed"
    assert found.threshold is None


def test_an_answer_needs_an_interval_within_the_limit() -> None:
    def cut(b: float, reach: float) -> ThresholdReuse:
        a = Score(0.01, 0.009, 0.011, 100)
        change = Difference(b - 0.01, b - 0.01 - reach, b - 0.01 + reach, 100, "", 0.5)
        if reach < abs(b - 0.01):
            change = replace(change, p_value=0.01)
        return ThresholdReuse(0.5, a, Score(b, b - reach, b + reach, 100), change)

    assert cut(0.011, 0.002).keep is True
    assert cut(0.011, 0.006).keep is None
    assert cut(0.02, 0.02).keep is None
    assert cut(0.02, 0.005).keep is False
    assert cut(0.013, 0.001).keep is True  # significant, and less than a factor of 1.5
    assert replace(cut(0.02, 0.005), p_holm=0.06).keep is None


def test_p_values_of_all_spaces_are_adjusted_together() -> None:
    sides = two(cloud(0), cloud(1, offset=1.2))
    spaces = [
        space_as_it_is(sides, None, 0),
        corrected_space(sides, "center", Center().fit(cloud(0)), None, 0),
    ]
    plain = [one.threshold.change.p_value for one in spaces]
    assert [one.threshold.p_holm for one in adjusted(spaces)] == pytest.approx(holm(plain))
    assert adjusted(spaces)[0].correction is None
