"""The network against what autograd, linear algebra and analysis say of it."""

from __future__ import annotations

import math

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the extra flow is not installed")
pytest.importorskip("zuko", reason="the extra flow is not installed")

from isoscope.corrections.flow.network import (  # noqa: E402
    SMALLEST_FACTOR,
    ActNorm,
    Glow,
    InvertibleLinear,
    affine_coupling,
)


def disturbed(module: torch.nn.Module, size: float = 0.2, seed: int = 1) -> torch.nn.Module:
    """Move all parameters away from where they start, in double precision."""
    generator = torch.Generator().manual_seed(seed)
    module.double()
    with torch.no_grad():
        for parameter in module.parameters():
            noise = torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
            parameter += size * noise
    return module


def rows(count: int, width: int, seed: int = 0) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(seed).normal(size=(count, width)))


@pytest.mark.parametrize("width", [2, 3, 5, 8])
def test_log_determinant_is_that_of_the_jacobian(width: int) -> None:
    """Both are float64 and well conditioned, so 1e-8 leaves a factor of 1e7 above rounding."""
    network = disturbed(Glow(width, n_steps=3, hidden_features=(7, 6)))
    x = rows(6, width)
    log_det = network(x)[1].detach()
    for row, found in zip(x, log_det, strict=True):
        jacobian = torch.autograd.functional.jacobian(lambda r: network(r[None])[0][0], row)
        assert float(found) == pytest.approx(float(torch.linalg.slogdet(jacobian)[1]), abs=1e-8)


@pytest.mark.parametrize("make", [ActNorm, InvertibleLinear], ids=lambda make: make.__name__)
def test_each_linear_part_against_its_matrix(make: type) -> None:
    part = disturbed(make(4))()
    x = rows(5, 4)
    y, log_det = part.call_and_ladj(x)
    zero = torch.zeros(1, 4, dtype=torch.float64)
    matrix = part(torch.eye(4, dtype=torch.float64)) - part(zero)
    torch.testing.assert_close(y, x @ matrix + part(zero), atol=1e-12, rtol=0)
    expected = torch.linalg.slogdet(matrix)[1].expand(5)
    torch.testing.assert_close(log_det, expected, atol=1e-12, rtol=0)
    torch.testing.assert_close(part.inv(y), x, atol=1e-12, rtol=0)


def test_the_linear_part_starts_as_a_permutation() -> None:
    x = rows(3, 20)
    y = InvertibleLinear(20).double()()(x)
    assert torch.equal(y.sort(dim=1).values, x.sort(dim=1).values)
    assert not torch.equal(y, x)


@pytest.mark.parametrize("width", [2, 5, 6])
@pytest.mark.parametrize("first", [True, False])
def test_a_coupling_keeps_one_half_and_starts_as_the_identity(width: int, first: bool) -> None:
    coupling = affine_coupling(width, (8,), first=first).double()
    x = rows(4, width)
    torch.testing.assert_close(coupling()(x), x, atol=0, rtol=0)
    y = disturbed(coupling)()(x)
    half = width // 2
    stays = slice(0, half) if first else slice(width - half, width)
    assert ((y == x).all(dim=0).nonzero().flatten().tolist()) == list(range(width))[stays]


def test_a_coupling_stretches_within_bounds() -> None:
    coupling = disturbed(affine_coupling(4, (8,), first=True), size=100.0)
    _, log_det = coupling().call_and_ladj(rows(50, 4))
    bound = -2 * math.log(SMALLEST_FACTOR)
    assert log_det.abs().max() < bound
    assert log_det.abs().max() > bound / 2


def test_actnorm_starts_with_the_mean_and_the_deviation_of_the_data() -> None:
    network = disturbed(Glow(3, n_steps=2, hidden_features=(4,)))
    x = rows(500, 3) * torch.tensor([1.5, 5.0, 0.1]) + torch.tensor([0.0, 3.0, -2.0])
    network.set_from(x)
    for part in network.steps.transforms:
        before, x = x.std(dim=0, correction=0), part()(x)
        if isinstance(part, ActNorm):
            torch.testing.assert_close(x.mean(dim=0), torch.zeros_like(x[0]), atol=1e-10, rtol=0)
            deviation = x.std(dim=0, correction=0)
            torch.testing.assert_close(deviation, before.clamp(max=1.0), atol=1e-10, rtol=0)


def test_a_dimension_without_variance_is_not_stretched() -> None:
    norm = ActNorm(2)
    norm.set_from(torch.tensor([[1.0, 2.0], [1.0, 6.0]]))
    torch.testing.assert_close(norm()(torch.tensor([[1.5, 4.0]])), torch.tensor([[0.5, 0.0]]))


def test_the_inverse_undoes_the_network() -> None:
    network = disturbed(Glow(5, n_steps=4, hidden_features=(8,)))
    x = rows(20, 5)
    with torch.no_grad():
        torch.testing.assert_close(network.inverse(network(x)[0]), x, atol=1e-10, rtol=0)


def test_likelihood_of_the_untrained_network_is_that_of_the_normal_distribution() -> None:
    from scipy.stats import multivariate_normal

    x = rows(10, 4)
    found = Glow(4, n_steps=3, hidden_features=(5,)).double().log_likelihood(x)
    expected = multivariate_normal(np.zeros(4)).logpdf(x.numpy())
    np.testing.assert_allclose(found.detach().numpy(), expected, rtol=1e-12)


def test_density_integrates_to_one() -> None:
    """Smooth densities would be summed exactly; the kinks of the rectifiers cost some digits."""
    network = disturbed(Glow(2, n_steps=2, hidden_features=(6,)))
    axis = torch.linspace(-20, 20, 801, dtype=torch.float64)
    grid = torch.cartesian_prod(axis, axis)
    with torch.no_grad():
        density = network.log_likelihood(grid).exp()
    cell = float(axis[1] - axis[0]) ** 2
    assert float(density.sum()) * cell == pytest.approx(1.0, abs=1e-4)


def test_a_single_dimension_has_no_steps() -> None:
    network = Glow(1, n_steps=3, hidden_features=(4,))
    x = torch.tensor([[2.0], [0.0]])
    z, log_det = network(x)
    assert torch.equal(z, x)
    assert torch.equal(log_det, torch.zeros(2))
    assert torch.equal(network.inverse(z), x)
    assert not list(network.parameters())


def test_seeds_decide_and_leave_the_global_generator_alone() -> None:
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    states = [Glow(3, 2, (4,), seed=seed).state_dict() for seed in (0, 0, 1)]
    assert torch.equal(torch.rand(3), expected)
    same = [torch.equal(states[0][key], states[1][key]) for key in states[0]]
    assert all(same)
    assert not all(torch.equal(states[0][key], states[2][key]) for key in states[0])
