"""Cosine regularisation against the double sum over rows."""

from __future__ import annotations

import pytest

from isoscope.errors import DataError, UsageError

torch = pytest.importorskip("torch")

from isoscope.verbs.train.regularizers.cosreg import CosReg  # noqa: E402

MATRIX = torch.randn(9, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(0)) + 0.4


def naive(matrix: torch.Tensor, weight: float) -> torch.Tensor:
    units = matrix / matrix.norm(dim=1, keepdim=True)
    total = torch.zeros((), dtype=matrix.dtype)
    for i in range(len(units)):
        for j in range(len(units)):
            if i != j:
                total = total + units[i] @ units[j]
    return weight * total / len(units) ** 2


def gradient(function, matrix: torch.Tensor) -> torch.Tensor:
    leaf = matrix.clone().requires_grad_()
    function(leaf).backward()
    assert leaf.grad is not None
    return leaf.grad


def test_the_term_and_its_gradient_are_those_of_all_pairs() -> None:
    """Appendix A of Biś et al.: the sum over pairs is one vector's squared length."""
    assert CosReg(0.7)(MATRIX) == pytest.approx(naive(MATRIX, 0.7).item(), abs=1e-12)
    torch.testing.assert_close(
        gradient(CosReg(0.7), MATRIX), gradient(lambda m: naive(m, 0.7), MATRIX), atol=1e-10, rtol=0
    )


def test_minimising_it_is_minimising_the_mean_direction() -> None:
    """Appendix A of Biś et al.: ‖Σ ŵ_i‖² / n² is the term and a constant, with its gradient."""

    def mean_direction(matrix: torch.Tensor) -> torch.Tensor:
        return (matrix / matrix.norm(dim=1, keepdim=True)).mean(dim=0).square().sum()

    assert CosReg()(MATRIX) + 1 / 9 == pytest.approx(mean_direction(MATRIX).item(), abs=1e-12)
    torch.testing.assert_close(
        gradient(CosReg(), MATRIX), gradient(mean_direction, MATRIX), atol=1e-10, rtol=0
    )


def test_lengths_do_not_matter_and_alike_rows_cost_most() -> None:
    scaled = MATRIX * torch.rand(9, 1, dtype=torch.float64) * 3
    assert CosReg()(scaled) == pytest.approx(CosReg()(MATRIX).item(), abs=1e-12)
    assert CosReg()(torch.ones(9, 5)) == pytest.approx(8 / 9)


def test_zero_rows_add_nothing_and_learn_nothing() -> None:
    with_zero = torch.cat([MATRIX, torch.zeros(1, 5, dtype=torch.float64)])
    assert CosReg()(with_zero) == pytest.approx(CosReg()(MATRIX).item() * 81 / 100, abs=1e-12)
    found = gradient(CosReg(), with_zero)
    assert torch.isfinite(found).all()
    assert (found[-1] == 0).all()


def test_half_precision_is_computed_in_single() -> None:
    assert CosReg()(MATRIX.half()).dtype == torch.float32


def test_wrong_calls() -> None:
    with pytest.raises(UsageError, match="a weight must be at least 0, got -1"):
        CosReg(-1)
    with pytest.raises(DataError, match=r"calibrates a matrix, not a tensor of shape \(3,\)"):
        CosReg()(torch.ones(3))
    with pytest.raises(DataError, match="calibrates numbers"):
        CosReg()(torch.ones(3, 2, dtype=torch.int64))
