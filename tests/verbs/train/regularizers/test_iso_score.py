"""IsoScore* as a loss, against its definition by eigenvalues and against the measure."""

from __future__ import annotations

import math

import pytest

import isoscope
from isoscope.errors import DataError, UsageError

torch = pytest.importorskip("torch")

from isoscope.verbs.train.regularizers.iso_score import IStar  # noqa: E402

MATRIX = torch.randn(40, 6, dtype=torch.float64, generator=torch.Generator().manual_seed(2))
MATRIX = MATRIX * torch.tensor([3.0, 2.0, 1.0, 1.0, 0.5, 0.2]) + 1


def naive(matrix: torch.Tensor) -> torch.Tensor:
    """1 − IsoScore*, step by step as its authors write it."""
    d = matrix.shape[1]
    centred = matrix - matrix.mean(dim=0)
    values = torch.linalg.eigvalsh(centred.T @ centred / (len(matrix) - 1))
    scaled = math.sqrt(d) * values / values.norm()
    defect = (scaled - 1).norm() / math.sqrt(2 * (d - math.sqrt(d)))
    share = (d - defect**2 * (d - math.sqrt(d))) ** 2 / d**2
    return 1 - (d * share - 1) / (d - 1)


def gradient(function, matrix: torch.Tensor) -> torch.Tensor:
    leaf = matrix.clone().requires_grad_()
    function(leaf).backward()
    assert leaf.grad is not None
    return leaf.grad


def test_the_term_and_its_gradient_are_those_of_the_definition() -> None:
    assert IStar(0.3)(MATRIX) == pytest.approx(0.3 * naive(MATRIX).item(), abs=1e-12)
    torch.testing.assert_close(
        gradient(IStar(), MATRIX), gradient(naive, MATRIX), atol=1e-9, rtol=0
    )


def test_the_measure_says_the_same() -> None:
    found = isoscope.measure(MATRIX.numpy(), ["iso_score"], ["none"], intervals=False)
    assert 1 - IStar()(MATRIX).item() == pytest.approx(found.value("iso_score"), abs=1e-9)


def test_an_even_cloud_costs_nothing_and_a_line_costs_all() -> None:
    even = torch.cat([torch.eye(4), -torch.eye(4)]).double()
    assert IStar()(even) == pytest.approx(0, abs=1e-12)
    assert torch.isfinite(gradient(IStar(), even)).all()
    line = torch.outer(torch.arange(5.0), torch.ones(4)).double()
    assert IStar()(line) == pytest.approx(1, abs=1e-12)
    same = torch.ones(5, 4, dtype=torch.float64)
    assert IStar()(same) == 1
    assert (gradient(IStar(), same) == 0).all()


def test_a_larger_sample_steadies_a_small_batch() -> None:
    reference = torch.cov(MATRIX.T)
    few = MATRIX[:4]
    whole = IStar(shrinkage=1.0, reference=reference)(few)
    assert whole == pytest.approx(IStar()(MATRIX).item(), abs=1e-12)
    half = IStar(shrinkage=0.5, reference=reference)(few)
    assert whole < half < IStar()(few)


def test_wrong_calls() -> None:
    with pytest.raises(UsageError, match="shrinkage must lie between 0 and 1"):
        IStar(shrinkage=2)
    with pytest.raises(UsageError, match="needs the covariance of a larger sample"):
        IStar(shrinkage=0.5)
    with pytest.raises(DataError, match="two rows and two dimensions"):
        IStar()(torch.ones(1, 5))
