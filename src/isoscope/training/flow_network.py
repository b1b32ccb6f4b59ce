"""The network of a calibration by flow: Glow that begins as the identity.

Glow's steps begin as permutations of the dimensions. A head that has learned to read h would read
the wrong dimensions; so their product is undone at the end. A permutation changes neither the
volume nor the density of N(0, I), and the likelihood is Glow's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import nn

from isoscope.corrections.flow.network import Glow, InvertibleLinear

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor


class IdentityAtFirst(nn.Module):
    """f: R^d → R^d with f(h) = h before anything is learned.

    Parameters
    ----------
    width, n_steps, hidden_features, seed
        As ``Glow`` takes them.
    """

    back: Tensor

    def __init__(
        self, width: int, n_steps: int, hidden_features: Sequence[int], *, seed: int = 0
    ) -> None:
        super().__init__()
        self.glow = Glow(width, n_steps, hidden_features, seed=seed)
        order = torch.arange(width)
        for part in self.glow.steps.transforms:
            if isinstance(part, InvertibleLinear):
                order = order[part.order]
        self.register_buffer("back", order.argsort())

    @property
    def width(self) -> int:
        """Number of dimensions d."""
        return self.glow.width

    def forward(self, h: Tensor) -> Tensor:
        """Return z = f(h) of rows."""
        z, _ = self.glow(h)
        mapped: Tensor = z[:, self.back]
        return mapped

    def inverse(self, z: Tensor) -> Tensor:
        """Return h = f⁻¹(z) of rows."""
        return self.glow.inverse(z[:, self.back.argsort()])

    def cost(self, h: Tensor) -> Tensor:
        """Return the mean of −ln p(h) / d over rows."""
        return -self.glow.log_likelihood(h).mean() / self.width
