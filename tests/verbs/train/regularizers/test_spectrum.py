"""Spectrum control against autograd through a singular value decomposition."""

from __future__ import annotations

import pytest

from isoscope.errors import UsageError

torch = pytest.importorskip("torch")

from isoscope.verbs.train.regularizers.spectrum import SpectrumControl  # noqa: E402

CHANCE = torch.Generator().manual_seed(1)
TALL = torch.randn(12, 5, dtype=torch.float64, generator=CHANCE)
CONTROLS = [
    SpectrumControl("polynomial", 0.5, c1=3.0, gamma=-0.8),
    SpectrumControl("exponential", 0.5, c1=3.0, c2=0.4, gamma=1.2),
]


def naive(control: SpectrumControl, matrix: torch.Tensor) -> torch.Tensor:
    values = torch.linalg.svdvals(matrix)
    places = torch.arange(1, len(values) + 1, dtype=matrix.dtype)
    target = control.c1 * places**control.power
    if control.kind == "exponential":
        target = control.c1 * torch.exp(-control.c2 * places**control.power)
    return control.weight * ((values - target) ** 2).sum()


def gradient(function, matrix: torch.Tensor) -> torch.Tensor:
    leaf = matrix.clone().requires_grad_()
    function(leaf).backward()
    assert leaf.grad is not None
    return leaf.grad


@pytest.mark.parametrize("matrix", [TALL, TALL.T.contiguous()], ids=["tall", "wide"])
@pytest.mark.parametrize("control", CONTROLS, ids=lambda one: one.name)
def test_the_term_and_its_gradient_are_those_of_the_decomposition(control, matrix) -> None:
    assert control(matrix) == pytest.approx(naive(control, matrix).item(), abs=1e-10)
    torch.testing.assert_close(
        gradient(control, matrix), gradient(lambda m: naive(control, m), matrix), atol=1e-9, rtol=0
    )


def test_repeated_and_empty_singular_values_have_a_finite_gradient() -> None:
    control = SpectrumControl()
    equal = gradient(control, torch.eye(6, 4, dtype=torch.float64))
    assert torch.isfinite(equal).all()
    # With all values equal the decay still pulls: the gradient is 2 (1 − t_k) in some basis.
    wanted = sum((2 * (1 - 1 / k)) ** 2 for k in range(1, 5))
    assert (equal**2).sum() == pytest.approx(wanted)
    low_rank = torch.outer(torch.arange(1.0, 7), torch.ones(4)).double()
    assert torch.isfinite(gradient(control, low_rank)).all()
    assert (gradient(control, torch.zeros(3, 2, dtype=torch.float64)) == 0).all()


def test_descent_brings_singular_values_to_the_decay() -> None:
    for control in CONTROLS:
        matrix = TALL.clone().requires_grad_()
        optimiser = torch.optim.SGD([matrix], lr=0.2)
        for _ in range(200):
            optimiser.zero_grad()
            control(matrix).backward()
            optimiser.step()
        torch.testing.assert_close(
            torch.linalg.svdvals(matrix.detach()), control.prescribed(5), atol=1e-6, rtol=0
        )


def test_single_precision_is_close() -> None:
    control = CONTROLS[0]
    single, double = gradient(control, TALL.float()), gradient(control, TALL)
    # Products of a Gram matrix in single precision: some 1e-6 of its entries of size 10.
    torch.testing.assert_close(single.double(), double, atol=1e-4, rtol=0)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"kind": "linear"}, "polynomial or exponential, got 'linear'"),
        ({"gamma": 1.0}, "gamma of a polynomial decay lies below 0"),
        ({"kind": "exponential", "gamma": -1.0}, "gamma of an exponential decay lies above 0"),
        ({"c1": 0.0}, "c1 and c2 must be above 0"),
        ({"weight": float("nan")}, "a weight must be at least 0"),
    ],
)
def test_wrong_calls(wrong, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        SpectrumControl(**wrong)
