"""Every number against a 50-digit oracle that shares no code with the library.

Tolerances: in double |Δ ln I1| ≤ 1e-10 · max(1, |ln I1|) and in single 1e-4 (the contract); other
measures 1e-10 in double, 1e-5 in single, a hundred roundings of a float32 sum.
"""

from __future__ import annotations

import numpy as np
import oracle
import pytest
from clouds_for_tests import shifted
from mpmath import mp
from oracle_values_for_tests import LN10, ORACLE_NAMES, expected, measured

import isoscope

CLOUDS = {
    "off-centre": shifted(1, 40, 5),
    "centred": shifted(2, 40, 5, offset=0.0),
    "far off-centre": shifted(3, 30, 4, offset=6.0),
    "long vectors": shifted(4, 30, 4) * 60,
    "fewer rows than dimensions": shifted(5, 4, 7),
    "a zero row": np.concatenate((shifted(6, 25, 3), np.zeros((1, 3)))),
}


@pytest.mark.parametrize("correction", ORACLE_NAMES)
@pytest.mark.parametrize("name", CLOUDS)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_every_number(name: str, correction: str, dtype: str) -> None:
    cloud = CLOUDS[name].astype(dtype)
    found = measured(isoscope.measure(cloud, corrections=[correction]), correction)
    tolerance = {"float64": (1e-10, 1e-10), "float32": (1e-4, 1e-5)}[dtype]
    for measure, value in expected(cloud.astype(np.float64), correction).items():
        limit = tolerance[0] if measure.startswith("ln ") else tolerance[1]
        scale = max(1.0, abs(value))
        assert abs(found[measure] - value) <= limit * scale, (measure, found[measure], value)


@pytest.mark.parametrize("log10", [-1_000, -20_000])
def test_values_far_below_the_smallest_double(log10: int) -> None:
    """An outlier neuron of this length takes log10 I1 to where it was aimed."""
    cloud = shifted(7, 30, 4)
    cloud[:, 0] += -log10 * LN10
    row = isoscope.measure(cloud, ["i1"], ["none"]).row("i1")
    truth = oracle.log_i1(oracle.log_partitions(cloud)) / mp.log(10)
    assert row.value == 0.0
    assert row.log10 is not None
    assert abs(row.log10 - float(truth)) <= 1e-10 * abs(float(truth))
    assert float(truth) == pytest.approx(log10, rel=0.01)
    single = isoscope.measure(cloud.astype(np.float32), ["i1"], ["none"]).row("i1").log10
    assert single == pytest.approx(float(truth), rel=1e-4)


def test_mean_cosine_by_dimension() -> None:
    cloud = shifted(8, 30, 5)
    table = isoscope.measure(cloud, corrections=["none", "center"])
    for correction in ("none", "center"):
        truth = oracle.mean_cosine_by_dimension(oracle.corrected(cloud, correction))
        for row in table.table("outlier_dimensions", correction).rows:
            assert row["mean_cosine_part"] == pytest.approx(
                float(truth[row["dimension"]]), abs=1e-12
            )
