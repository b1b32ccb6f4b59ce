"""Numbers under stress: scales, ranks, duplicates and offsets, against the oracle of 50 digits.

Exceptions are listed in one table, ``stress.json``, with the error that was measured in each
region; anything above the tolerance and outside of it fails.
"""

from __future__ import annotations

import json
import math

from hypothesis import given, settings
from hypothesis import strategies as st
from stress_for_tests import (
    DTYPES,
    STRUCTURES,
    TABLE,
    TOLERANCE,
    Stress,
    errors_of,
    limit_of,
)

from isoscope.measures.registry import all_measures

EXCEPTIONS = json.loads(TABLE.read_text())["exceptions"]


@st.composite
def stresses(draw: st.DrawFn) -> Stress:
    dtype = draw(st.sampled_from(DTYPES))
    half = dtype == "float16"
    return Stress(
        dtype,
        draw(st.sampled_from(STRUCTURES)),
        10 ** draw(st.floats(-1, 2 if half else 6)),
        1.0 if half else 10 ** draw(st.floats(-30, 30)),
        draw(st.integers(0, 1_000)),
    )


@given(stresses())
@settings(max_examples=20)
def test_numbers_are_those_of_the_oracle(stress: Stress) -> None:
    for correction, measure, error in errors_of(stress):
        limit = limit_of(stress, measure, EXCEPTIONS)
        assert error <= limit, (correction, measure, error, limit)


WITHOUT_DIGITS = {
    "random_pair_cosine": "a mean over pairs that are drawn; cosine_quantiles has all of them",
    "cosine_density": "counts in bins of cosines that cosine_quantiles has",
    "norm_density": "counts in bins of lengths, of which mean_norm is the mean",
    "dead_dimensions": "dimensions below a limit, of variances that outlier_dimensions has",
}
"""Measures that are not compared, each with the reason."""


def test_all_measures_are_compared() -> None:
    stress = Stress("float64", "full rank", 1.0, 1.0)
    names = {measure.removeprefix("ln ").split("/")[0] for _, measure, _ in errors_of(stress)}
    compared = {name.split(":")[0] for name in names}
    tables = {"spectrum": "spectrum", "dimension": "outlier_dimensions"}
    compared |= {tables[name.split()[0]] for name in names if name.split()[0] in tables}
    assert {one.name for one in all_measures()} - compared == set(WITHOUT_DIGITS)


def test_every_exception_is_one() -> None:
    for row in EXCEPTIONS:
        assert max(TOLERANCE[row["dtype"]]) < row["error"] < math.inf


def test_a_wrong_number_is_noticed() -> None:
    stress = Stress("float64", "full rank", 1.0, 1.0)
    assert limit_of(stress, "mean_cosine", EXCEPTIONS) == 1e-10
    assert max(error for _, _, error in errors_of(stress)) < 1e-10
