"""Figures whose blocks are measured alone, and figures made out of others."""

from __future__ import annotations

import numpy as np
import pytest

from isoscope.compute.stats.jackknife import jackknife_error
from isoscope.results.result import Row
from isoscope.verbs.study.judgement.replicates import combined, with_blocks_alone


def row(value: float | None, measure: str = "mean_cosine", **extra: object) -> Row:
    return Row("m", "layer 1", "none", measure, value, extra=dict(extra))


def test_blocks_alone_give_the_error_of_their_mean() -> None:
    values = np.random.default_rng(0).normal(0.3, 0.1, 10)
    (found,) = with_blocks_alone([row(0.35)], [[row(float(v))] for v in values], "of a test")
    error = values.std(ddof=1) / 10**0.5
    assert jackknife_error(found.extra["replicates"]) == pytest.approx(error)
    assert np.mean(found.extra["replicates"]) == pytest.approx(0.35)
    assert found.low == pytest.approx(0.35 - 2.262 * error, rel=1e-3)
    assert found.extra["blocks"] == "of a test"


def test_for_a_mean_they_are_the_values_without_a_block() -> None:
    numbers = np.random.default_rng(1).normal(size=(10, 20))
    alone = [[row(float(block.mean()))] for block in numbers]
    (found,) = with_blocks_alone([row(float(numbers.mean()))], alone, "of a test")
    left = [float(np.delete(numbers, k, axis=0).mean()) for k in range(10)]
    assert found.extra["replicates"] == pytest.approx(left)


def test_a_figure_that_a_block_lacks_has_no_error() -> None:
    alone = [[row(0.1)], [row(None)], [row(0.3)]]
    assert with_blocks_alone([row(0.2)], alone, "b")[0].extra == {}
    assert with_blocks_alone([row(None)], [[row(0.1)], [row(0.2)]], "b")[0].value is None
    assert with_blocks_alone([row(0.2)], [[], []], "b")[0].low is None


def test_what_is_made_of_figures_of_the_same_blocks_is_compared_pair_by_pair() -> None:
    one = row(0.5, replicates=[0.4, 0.5, 0.6], blocks="b")
    other = row(0.2, replicates=[0.1, 0.2, 0.3], blocks="b")
    made = combined((one, other), row(None, "change"), lambda values: values[0] - values[1])
    assert made.value == pytest.approx(0.3)
    assert made.extra["replicates"] == pytest.approx([0.3, 0.3, 0.3])
    apart = row(0.2, replicates=[0.1, 0.2, 0.3], blocks="other")
    lone = combined((one, apart), row(None, "change"), lambda values: values[0] - values[1])
    assert (lone.value, lone.extra) == (pytest.approx(0.3), {})


def test_logarithms_are_taken_back() -> None:
    tiny = Row("m", "", "none", "i1", 0.1, log10=-1.0,
               extra={"replicates": [-1.0, -2.0], "blocks": "b"})  # fmt: skip
    made = combined((tiny, tiny), row(None, "sum"), sum)
    assert made.extra["replicates"] == pytest.approx([0.2, 0.02])
    assert made.log10 is None


def test_what_is_made_of_exact_figures_is_exact() -> None:
    made = combined((row(2.0, exact=True), row(1.0, exact=True)), row(None, "change"), max)
    assert (made.value, made.extra["exact"]) == (2.0, True)
