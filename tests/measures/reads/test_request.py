"""Each call takes only the sums, decompositions and reads that its measures need."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import isoscope
from isoscope.measures.kernels import numpy_kernel
from isoscope.measures.reads import geometry, passes, request

CLOUD = np.random.default_rng(3).standard_normal((400, 6)) * [3, 2, 1, 1, 0.5, 0.2] + 1


@pytest.fixture
def done(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Record the dearer steps of a call."""
    steps: list[str] = []

    def record(place: Any, name: str) -> None:
        original = getattr(place, name)

        def recorded(*arguments: Any, **options: Any) -> Any:
            steps.append(name)
            return original(*arguments, **options)

        monkeypatch.setattr(place, name, recorded)

    record(numpy_kernel.NumpyMoments, "_add_scatter")
    record(geometry, "eigen_system")
    record(geometry, "eigenvalues_alone")
    record(request, "second_read")
    assert passes.second_read is not request.second_read
    return steps


@pytest.mark.parametrize(
    ("measure", "steps"),
    [
        ("mean_cosine", []),
        ("mean_norm", []),
        ("mean_offset", []),
        ("outlier_dimensions", []),
        ("dead_dimensions", []),
        ("iso_score", ["_add_scatter", "eigenvalues_alone"]),
        ("effective_rank", ["_add_scatter", "eigenvalues_alone"]),
        ("mean_alignment", ["_add_scatter", "eigen_system"]),
        ("i1", ["_add_scatter", "eigen_system", "second_read"]),
    ],
)
def test_a_measure_without_interval_costs_its_own_sums(
    measure: str, steps: list[str], done: list[str]
) -> None:
    alone = isoscope.measure(CLOUD, [measure], ["none"], intervals=False)
    assert sorted(done) == sorted(steps)
    everything = isoscope.measure(CLOUD, intervals=False)
    if alone.rows:
        assert alone.value(measure) == pytest.approx(everything.value(measure), rel=1e-12)
    else:
        (table,) = (t for t in everything.tables if (t.measure, t.correction) == (measure, "none"))
        for found, expected in zip(alone.tables[0].rows, table.rows, strict=True):
            assert found == pytest.approx(expected, rel=1e-9)


def test_an_interval_of_a_spectrum_needs_one_basis_only(done: list[str]) -> None:
    row = isoscope.measure(CLOUD, ["iso_score"], ["none"]).row("iso_score")
    assert row.low is not None
    assert sorted(done) == sorted(["_add_scatter", "eigen_system", "second_read"])
