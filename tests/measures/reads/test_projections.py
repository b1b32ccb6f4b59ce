from __future__ import annotations

import numpy as np
from clouds_for_tests import shifted

from isoscope.measures.kernels.numpy_kernel import NumpyProjector
from isoscope.measures.reads.projections import Exponents, ProjectionPlan, Projections
from isoscope.measures.views import ViewShape


def plan(width: int) -> ProjectionPlan:
    basis = np.linalg.qr(np.random.default_rng(0).standard_normal((width, width)))[0]
    return ProjectionPlan(
        mean=np.full(width, 0.7),
        raw_basis=basis,
        basis=basis.T.copy(),
        exponents=(
            Exponents("raw", np.ones(width)),
            Exponents("centred", np.full(width, 400.0)),
            Exponents("centred", np.full(width, 0.1)),
        ),
        views=(ViewShape(np.ones(width), np.zeros(width), on_components=False),),
        dimensions=True,
        double=False,
    )


def test_partition_sums_by_definition() -> None:
    cloud, made = shifted(0, 300, 5), plan(5)
    found = NumpyProjector(made)(cloud)
    assert made.raw_basis is not None
    assert made.basis is not None
    coordinates = {"raw": cloud @ made.raw_basis, "centred": (cloud - 0.7) @ made.basis}
    for row, family in enumerate(made.exponents):
        exponents = coordinates[family.source] * family.gains
        for sign in (0, 1):
            signed = exponents * (-1) ** sign
            truth = np.logaddexp.reduce(signed, axis=0)
            np.testing.assert_allclose(found.log_partition[row, sign], truth, rtol=1e-12)


def test_merging_parts_equals_the_whole_and_empty_changes_nothing() -> None:
    cloud, projector = shifted(1, 300, 5), NumpyProjector(plan(5))
    whole = projector(cloud)
    parts = [projector(part) for part in np.split(cloud, [40, 41, 200])]
    total = Projections.empty(5, 3, 1)
    for part in reversed(parts):
        total = total.merge(part)
    for name, array in whole.to_arrays().items():
        np.testing.assert_allclose(total.to_arrays()[name], array, rtol=1e-12)
    again = Projections.from_arrays(whole.to_arrays()).merge(Projections.empty(5, 3, 1))
    for name, array in whole.to_arrays().items():
        np.testing.assert_array_equal(again.to_arrays()[name], array)
