"""Figures with their values without each block of the data."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from isoscope.compute.stats.jackknife import BLOCKS, jackknife_error
from isoscope.results.result import Row
from isoscope.verbs.study.judgement.replicates import replicated, with_error, with_replicates

VALUES = np.random.default_rng(0).standard_normal(100) + 2


def mean_row(kept: NDArray[np.bool_]) -> list[Row]:
    return [Row("A", "", "none", "mean", float(VALUES[kept].mean()), extra={"unit": "rows"})]


def test_a_figure_gets_its_values_without_each_block_and_an_interval() -> None:
    (row,) = replicated(mean_row, len(VALUES), 0, "rows")
    assert row.value == pytest.approx(VALUES.mean())
    replicates = row.extra["replicates"]
    assert len(replicates) == BLOCKS
    assert np.mean(replicates) == pytest.approx(VALUES.mean())  # blocks of the same size
    reach = jackknife_error(replicates) * stats.t.ppf(0.975, BLOCKS - 1)
    assert (row.low, row.high) == pytest.approx((row.value - reach, row.value + reach))
    assert row.extra["unit"] == "rows"
    assert row.extra["blocks"] == "10 blocks of 100 rows, seed 0"


def test_rows_of_a_document_are_left_out_together() -> None:
    documents = np.arange(len(VALUES)) // 4 * 7 + 3
    seen = []

    def find(kept: NDArray[np.bool_]) -> list[Row]:
        seen.append(kept)
        return mean_row(kept)

    (row,) = replicated(find, documents, 0, "documents")
    assert row.extra["blocks"] == "10 blocks of 25 documents, seed 0"
    assert len(seen) == BLOCKS + 1
    assert seen[0].all()
    for kept in seen[1:]:
        assert not set(documents[kept]) & set(documents[~kept])
    left_out = np.sum([~kept for kept in seen[1:]], axis=0)
    assert (left_out == 1).all()


def test_too_few_documents_have_no_blocks() -> None:
    documents = np.arange(len(VALUES)) % (2 * BLOCKS - 1)
    (row,) = replicated(mean_row, documents, 0, "documents")
    assert "replicates" not in row.extra
    assert row.low is None


def test_tiny_figures_are_kept_as_logarithms() -> None:
    whole = Row("A", "", "none", "i1", 0.0, log10=-400.0)
    without = [replace(whole, log10=-400.0 + k) for k in range(10)]
    found = with_error(whole, without, "b")
    assert found.extra["replicates"] == [-400.0 + k for k in range(10)]
    assert (found.low, found.value) == (0.0, 0.0)
    plain = with_error(replace(whole, value=1e-2, log10=-2.0),
                       [replace(whole, log10=-2.0 + k / 100) for k in range(10)], "b")  # fmt: skip
    reach = jackknife_error(plain.extra["replicates"]) * stats.t.ppf(0.975, 9)
    assert (plain.low, plain.high) == pytest.approx((10 ** (-2 - reach), 10 ** (-2 + reach)))


def test_an_interval_that_a_figure_has_is_kept() -> None:
    whole = Row("A", "", "none", "x", 1.0, low=0.5, high=1.5)
    found = with_error(whole, [replace(whole, value=k / 10) for k in range(10)], "b")
    assert (found.low, found.high) == (0.5, 1.5)
    assert len(found.extra["replicates"]) == 10


@pytest.mark.parametrize("missing", [None, float("nan")])
def test_a_figure_that_is_undefined_without_a_block_has_no_error(missing: float | None) -> None:
    whole = Row("A", "", "none", "x", 1.0)
    without = [replace(whole, value=k / 10) for k in range(9)]
    assert with_error(whole, [*without, replace(whole, value=missing)], "b") == whole
    assert with_error(whole, [*without, None], "b") == whole


def test_why_there_is_no_interval_is_dropped_where_there_is_one() -> None:
    whole = Row("A", "", "none", "x", 1.0, extra={"no_interval": "an extreme"})
    (found,) = with_replicates([whole], [[replace(whole, value=k / 10)] for k in range(10)], "b")
    assert "no_interval" not in found.extra
    assert found.low is not None
