"""Student's test against scipy's, and the stars of Ding et al. from their own figures."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import t as student
from scipy.stats import ttest_ind

from isoscope.compute.stats.significance import MeanDifference, Sample, difference, sample_of
from isoscope.verbs.study.reference import printed_table

RUNS = 3
"""The paper ran everything three times."""

Cell = tuple[str, str, str]


@pytest.mark.parametrize(("first", "second"), [(3, 3), (5, 3), (2, 9), (1, 4), (4, 1)])
def test_the_test_is_scipys(first: int, second: int) -> None:
    rng = np.random.default_rng(first * 10 + second)
    ours, theirs = rng.normal(0.6, 0.1, first), rng.normal(0.5, 0.2, second)
    found = difference(sample_of(ours.tolist()), sample_of(theirs.tolist()))
    if 1 in (first, second):
        # scipy has no variance of one run; its weight in the pooled one is 0
        several = ours if second == 1 else theirs
        free = len(several) - 1
        error = several.std(ddof=1) * math.sqrt(1 / first + 1 / second)
        expected = 2 * student.sf(abs(ours.mean() - theirs.mean()) / error, free)
        assert found.p == pytest.approx(expected)
        return
    test = ttest_ind(ours, theirs, equal_var=True)
    interval = test.confidence_interval(0.95)
    assert found.value == pytest.approx(ours.mean() - theirs.mean())
    assert found.p == pytest.approx(test.pvalue)
    assert (found.low, found.high) == pytest.approx((interval.low, interval.high))


def test_a_star_and_an_interval_without_zero_are_the_same() -> None:
    rng = np.random.default_rng(0)
    for _ in range(200):
        found = difference(sample_of(rng.normal(0, 1, 3)), sample_of(rng.normal(1.5, 1, 3)))
        assert found.low is not None
        assert found.high is not None
        assert found.is_significant == (found.low > 0 or found.high < 0)


def test_single_runs_have_a_difference_and_no_test() -> None:
    assert difference(sample_of([0.7]), sample_of([0.5])) == MeanDifference(
        pytest.approx(0.2), None, None, None
    )


def test_runs_that_never_differ() -> None:
    same = difference(Sample(0.5, 0, 3), Sample(0.5, 0, 3))
    other = difference(Sample(0.6, 0, 3), Sample(0.5, 0, 3))
    assert (same.p, same.is_significant) == (1, False)
    assert (other.p, other.is_significant) == (0, True)


def test_runs_that_are_all_alike_have_no_deviation() -> None:
    """Three times 0.4 have a mean that is not 0.4 in floating point."""
    assert sample_of([0.4] * 3) == Sample(0.4, 0.0, 3)
    assert difference(sample_of([0.4] * 3), sample_of([0.4] * 7)).p == 1


def printed_cells() -> dict[Cell, Sample]:
    """The paper's table 1; a mean without a deviation is that of runs which are all alike."""
    return {
        (row["model"], row["method"], row["task"]): Sample(
            float(row["mean"]), float(row["std"] or 0), RUNS
        )
        for row in printed_table("ding2022_table1_glue")
    }


def compared_cells() -> dict[Cell, MeanDifference]:
    cells = printed_cells()
    return {
        (model, method, task): difference(sample, cells[model, "none", task])
        for (model, method, task), sample in cells.items()
        if method != "none" and not math.isnan(sample.mean)
    }


def test_the_stars_are_those_that_the_papers_text_names() -> None:
    better = {
        cell for cell, found in compared_cells().items() if found.is_significant and found.value > 0
    }
    assert better == {("RoBERTa", "spectrum-exp", "WNLI"), ("RoBERTa", "cosreg", "MNLI-mm")}


def test_the_star_in_the_papers_table_is_misplaced() -> None:
    """Table 1 has it at spectrum-pol, whose difference is not significant."""
    found = compared_cells()["RoBERTa", "spectrum-pol", "WNLI"]
    assert found.p == pytest.approx(0.0543, abs=5e-5)
    assert not found.is_significant


def test_26_of_100_cells_are_worse_or_undefined() -> None:
    compared = compared_cells()
    worse = [cell for cell, found in compared.items() if found.is_significant and found.value < 0]
    undefined = [
        cell for cell, sample in printed_cells().items()
        if cell[1] != "none" and math.isnan(sample.mean)
    ]  # fmt: skip
    assert len(compared) + len(undefined) == 100
    assert (len(worse), len(undefined)) == (20, 6)
    assert {task for _, _, task in undefined} == {"STS-B"}
