"""Terms of half-precision matrices, and under autocast: all products are single or double."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("zuko")

from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402

from isoscope.verbs.train.regularizers.cosreg import CosReg  # noqa: E402
from isoscope.verbs.train.regularizers.flow import FlowCalibration  # noqa: E402
from isoscope.verbs.train.regularizers.iso_score import IStar  # noqa: E402
from isoscope.verbs.train.regularizers.spectrum import SpectrumControl  # noqa: E402

HALVES = (torch.float16, torch.bfloat16)
CALIBRATIONS = {
    "cosreg": lambda: CosReg(0.7),
    "spectrum-pol": lambda: SpectrumControl(weight=0.7),
    "spectrum-exp": lambda: SpectrumControl("exponential", 0.7, c2=0.3),
    "i-star": lambda: IStar(0.7),
    "flow": lambda: FlowCalibration(0.7),
}
MATRIX = torch.randn(12, 6, generator=torch.Generator().manual_seed(0)) + 0.3


class NoHalfProducts(TorchDispatchMode):
    """Refuses a product of half-precision matrices before it is computed.

    Modes see operations below autocast: what it would cast has been cast. Not every processor can
    compute such a product.
    """

    products = ("mm", "addmm", "bmm", "mv", "dot", "baddbmm")

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func.overloadpacket.__name__ in self.products:
            kinds = {one.dtype for one in args if isinstance(one, torch.Tensor)}
            assert not kinds & set(HALVES), f"{func} of {kinds}"
        return func(*args, **(kwargs or {}))


def value_and_gradient(calibration: Any, matrix: Any) -> tuple[Any, Any]:
    leaf = matrix.clone().requires_grad_()
    term = calibration(leaf)
    term.backward()
    assert leaf.grad is not None
    return term.detach(), leaf.grad


@pytest.mark.parametrize("half", HALVES, ids=str)
@pytest.mark.parametrize("name", CALIBRATIONS)
def test_half_precision_is_single_precision_of_the_rounded_numbers(name: str, half: Any) -> None:
    rounded = MATRIX.to(half)
    with NoHalfProducts():
        term, gradient = value_and_gradient(CALIBRATIONS[name](), rounded)
    wanted, wanted_gradient = value_and_gradient(CALIBRATIONS[name](), rounded.float())
    assert term.dtype == torch.float32
    assert torch.equal(term, wanted)
    assert gradient.dtype == half
    # The gradient is handed back in the matrix's own precision, rounded once.
    assert torch.equal(gradient, wanted_gradient.to(half))


@pytest.mark.parametrize("half", HALVES, ids=str)
@pytest.mark.parametrize("name", CALIBRATIONS)
def test_autocast_changes_no_term(name: str, half: Any) -> None:
    wanted, wanted_gradient = value_and_gradient(CALIBRATIONS[name](), MATRIX)
    leaf = MATRIX.clone().requires_grad_()
    calibration = CALIBRATIONS[name]()
    with NoHalfProducts():
        with torch.autocast("cpu", dtype=half):
            term = calibration(leaf)
        term.backward()
    assert term.dtype == torch.float32
    assert torch.equal(term, wanted)
    assert torch.equal(leaf.grad, wanted_gradient)


@pytest.mark.parametrize("name", ["cosreg", "spectrum-pol"])
def test_a_gradient_by_hand_is_left_alone_by_autocast_too(name: str) -> None:
    wanted = value_and_gradient(CALIBRATIONS[name](), MATRIX)[1]
    with NoHalfProducts(), torch.autocast("cpu", dtype=torch.bfloat16):
        found = value_and_gradient(CALIBRATIONS[name](), MATRIX)[1]
    assert torch.equal(found, wanted)


def test_the_check_itself_can_fail() -> None:
    with (
        pytest.raises(AssertionError, match="mm"),
        NoHalfProducts(),
        torch.autocast("cpu", dtype=torch.bfloat16),
    ):
        MATRIX.T @ MATRIX


@pytest.mark.parametrize("half", HALVES, ids=str)
def test_what_a_flow_maps_is_mapped_in_single_precision(half: Any) -> None:
    """A head reads half-precision states: they are mapped as single, and given back as half."""
    from torch import nn

    from isoscope.verbs.train.regularizers.flow import FlowLayer, IdentityAtFirst

    network = IdentityAtFirst(6, 2, (8,))
    with torch.no_grad():
        for parameter in network.parameters():
            parameter += 0.1
    layer = FlowLayer(network, 100, 0)
    states = MATRIX.to(half).requires_grad_()
    with NoHalfProducts():
        with torch.autocast("cpu", dtype=half):
            (mapped,) = layer._map(nn.Identity().train(), (states,))
        assert layer.kept is not None
        (mapped.float().sum() + layer.kept).backward()
    assert mapped.dtype == half
    assert torch.equal(mapped, network(states.detach().float()).to(half))
    assert torch.equal(layer.kept, network.cost(states.detach().float()))
