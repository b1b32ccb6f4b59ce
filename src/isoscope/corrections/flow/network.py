"""The invertible network of the flow: steps of actnorm, invertible linear, affine coupling.

Every step y = g(x) is a bijection of R^d whose log |det ∂y/∂x| costs no more than y itself, so
that the likelihood of a vector is exact: ln p(x) = ln N(f(x); 0, I) + ln |det ∂f/∂x|.

References
----------
Kingma & Dhariwal 2018, "Glow: Generative Flow with Invertible 1×1 Convolutions". A vector is an
image of one pixel here, so the 1×1 convolution is a matrix and there are no scales to split off.
"""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING

import torch
from torch import nn
from zuko.flows import GeneralCouplingTransform
from zuko.lazy import LazyComposedTransform, LazyTransform
from zuko.transforms import (
    AffineTransform,
    ComposedTransform,
    DependentTransform,
    LULinearTransform,
    MonotonicAffineTransform,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor
    from torch.distributions import Transform


# A coupling multiplies by a factor between this and its inverse, reached smoothly. Undoing eight
# of them in single precision then keeps four digits even of vectors unlike those that were learned
# from; with 0.1 the likelihood is hardly higher, and only three are kept.
SMALLEST_FACTOR = 0.3


class ActNorm(LazyTransform):  # type: ignore[misc]
    """y = (x − m) ∘ exp(−s): a shift and a positive factor per dimension, the data's at first."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.mean = nn.Parameter(torch.zeros(width))
        self.log_deviation = nn.Parameter(torch.zeros(width))

    def forward(self, c: Tensor | None = None) -> Transform:  # noqa: ARG002
        """Return the bijection for the present parameters."""
        factor = torch.exp(-self.log_deviation)
        shifted = AffineTransform(-self.mean * factor, factor)
        transform: Transform = DependentTransform(shifted, 1)
        return transform

    @torch.no_grad()
    def set_from(self, x: Tensor) -> None:
        """Make the mean of these rows 0 and their variance at most 1.

        Rows come whitened by a shrunk matrix. A variance below 1 is one that so many rows do not
        show for sure; to stretch it would undo the shrinkage, and without end where it is 0.
        """
        deviation, mean = torch.std_mean(x, dim=0, correction=0)
        self.mean.copy_(mean)
        self.log_deviation.copy_(deviation.clamp(min=1.0).log())


class PermutedLU(LULinearTransform):  # type: ignore[misc]
    """y = L U P x with a fixed permutation P; ln |det| = Σ ln |L_ii|."""

    def __init__(self, LU: Tensor, order: Tensor) -> None:
        super().__init__(LU)
        self.order = order

    def _call(self, x: Tensor) -> Tensor:
        # One after the other: the product of the matrices would cost d³ in every training step.
        y: Tensor = x[:, self.order] @ self.U.mT @ self.L.mT
        return y

    def _inverse(self, y: Tensor) -> Tensor:
        # Rows side by side as right-hand sides: solving row by row copies the matrix for each.
        half = torch.linalg.solve_triangular(self.L, y.mT, upper=False)
        whole = torch.linalg.solve_triangular(self.U, half, upper=True, unitriangular=True)
        x: Tensor = whole.mT[:, self.order.argsort()]
        return x


class InvertibleLinear(LazyTransform):  # type: ignore[misc]
    """A matrix L U P that starts as the random permutation P.

    Glow starts from a random rotation. Here the rows come whitened on their principal axes, which
    are less normal than mixtures of them: a rotation would hide what there is to learn.
    """

    order: Tensor

    def __init__(self, width: int) -> None:
        super().__init__()
        self.LU = nn.Parameter(torch.eye(width))
        self.register_buffer("order", torch.randperm(width))

    def forward(self, c: Tensor | None = None) -> Transform:  # noqa: ARG002
        """Return the bijection for the present parameters."""
        transform: Transform = PermutedLU(self.LU, self.order)
        return transform


def affine_coupling(width: int, hidden_features: Sequence[int], *, first: bool) -> LazyTransform:
    """One half of the dimensions stays, and says how to shift and stretch the other.

    y_a = x_a, y_b = x_b ∘ exp(s(x_a)) + t(x_a), with a perceptron for (s, t) whose last layer is
    zero at first: the coupling starts as the identity. The middle of an odd width is transformed
    whichever half stays.
    """
    positions = torch.arange(width)
    # The halves take turns from step to step, or one half would never be transformed.
    stays = positions < width // 2 if first else positions >= width - width // 2
    coupling = GeneralCouplingTransform(
        width,
        mask=stays,
        univariate=partial(MonotonicAffineTransform, slope=SMALLEST_FACTOR),
        hidden_features=tuple(hidden_features),
    )
    last = coupling.hyper[-1]
    nn.init.zeros_(last.weight)
    nn.init.zeros_(last.bias)
    return coupling


class Glow(nn.Module):
    """f: R^d → R^d, several steps of actnorm, invertible linear and affine coupling.

    Parameters
    ----------
    width : int
        Number of dimensions d. A single one has no other half to be coupled with: there are no
        steps then, and f is the identity.
    n_steps : int
        Number of steps.
    hidden_features : sequence of int
        Widths of the hidden layers of each coupling's perceptron.
    seed : int
        Seed of permutations and perceptrons; torch's own generator is left as it was.
    """

    def __init__(
        self, width: int, n_steps: int, hidden_features: Sequence[int], *, seed: int = 0
    ) -> None:
        super().__init__()
        self.width, self.n_steps = width, n_steps
        self.hidden_features = tuple(hidden_features)
        parts: list[LazyTransform] = []
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            for step in range(n_steps if width > 1 else 0):
                coupling = affine_coupling(width, hidden_features, first=step % 2 == 0)
                parts += [ActNorm(width), InvertibleLinear(width), coupling]
        self.steps = LazyComposedTransform(*parts)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Return z = f(x) and ln |det ∂z/∂x| of each row."""
        if not self.steps.transforms:
            return x, x.new_zeros(len(x))
        z, log_det = self._transform().call_and_ladj(x)
        return z, log_det

    def inverse(self, z: Tensor) -> Tensor:
        """Return x = f⁻¹(z)."""
        if not self.steps.transforms:
            return z
        x: Tensor = self._transform().inv(z)
        return x

    def log_likelihood(self, x: Tensor) -> Tensor:
        """Return ln N(f(x); 0, I) + ln |det ∂f/∂x| of each row."""
        z, log_det = self(x)
        normal = -0.5 * (z.square().sum(dim=-1) + self.width * math.log(2 * math.pi))
        total: Tensor = normal + log_det
        return total

    @torch.no_grad()
    def set_from(self, x: Tensor) -> None:
        """Initialise each actnorm from what these rows have become where it stands."""
        for part in self.steps.transforms:
            if isinstance(part, ActNorm):
                part.set_from(x)
            x = part()(x)

    def _transform(self) -> ComposedTransform:
        transform: ComposedTransform = self.steps()
        return transform
