"""The first read of all layers: moments, a sample, and what depends on the context of tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isoscope.data.sampling import SampleTaker
from isoscope.errors import DataError
from isoscope.profiles.layer_sums import MASSIVE, ORDINARY, LayerSums

if TYPE_CHECKING:
    from collections.abc import Mapping

    import torch

    from isoscope.data.base import Batch
    from isoscope.data.blocks import Dealer, Dealt
    from isoscope.measures.context.sums import ContextualTaker
    from isoscope.measures.kernels.torch_kernel import TorchMoments
    from isoscope.measures.reads.moments import MomentParts, Moments
    from isoscope.models.layers import ReadSoFar
    from isoscope.profiles.massive import MassiveRule


class FirstPass:
    """Sums over the layers of a model, batch by batch."""

    def __init__(
        self,
        widths: Mapping[str, int],
        parts: MomentParts,
        rule: MassiveRule,
        *,
        dealer: Dealer | None,
        contextual: ContextualTaker | None,
        sample_size: int,
        seed: int,
        double: bool,
    ) -> None:
        self._parts, self._rule, self._dealer, self._double = parts, rule, dealer, double
        self.contextual = contextual
        self._kernels: dict[tuple[str, str], TorchMoments] = {}
        self._size = sample_size
        self._samples = {
            name: SampleTaker(width, sample_size, seed) for name, width in widths.items()
        }

    def add(self, batches: Mapping[str, Batch]) -> Dealt | None:
        """Take one batch of every layer; returns how its rows were dealt to blocks."""
        import torch

        dealt = None
        for name, batch in batches.items():
            x = batch.vectors
            norms = torch.linalg.vector_norm(x, dim=1)
            if not bool(norms.isfinite().all()):
                raise DataError(not_finite(name, batch, norms))
            dealt = None if self._dealer is None else self._dealer.deal(batch)
            ordinary = self._rule.ordinary(name, norms)
            if ordinary is None:
                self._kernel(name, ORDINARY).add(x, dealt=dealt)
            else:
                for which, mask in ((ORDINARY, ordinary), (MASSIVE, ~ordinary)):
                    rows = np.flatnonzero(mask)
                    if len(rows):
                        self._kernel(name, which).add(
                            x[torch.from_numpy(rows).to(x.device)],
                            dealt=None if dealt is None else dealt.part(rows),
                        )
            self._samples[name].add(batch, dealt)
        if self.contextual is not None:
            self.contextual.add(batches)
        return dealt

    def sums(self, met: ReadSoFar) -> LayerSums:
        """Return what was found, over the texts that were met."""
        found: dict[str, dict[str, Moments]] = {ORDINARY: {}, MASSIVE: {}}
        for (name, which), kernel in self._kernels.items():
            moments = kernel.result()
            if moments is not None:
                found[which][name] = moments
        samples = {name: taker.result() for name, taker in self._samples.items()}
        return LayerSums(found[ORDINARY], found[MASSIVE], samples, self._size, self.contextual, met)

    def _kernel(self, name: str, which: str) -> TorchMoments:
        from isoscope.measures.kernels.torch_kernel import TorchMoments

        if (name, which) not in self._kernels:
            self._kernels[name, which] = TorchMoments(self._parts, double=self._double)
        return self._kernels[name, which]


def not_finite(name: str, batch: Batch, norms: torch.Tensor) -> str:
    """Name the first token whose vector is not finite."""
    row = int((~norms.isfinite()).nonzero()[0])
    token, text = batch.labels["token"][row], batch.labels["sentence"][row]
    return (
        f"{name}: the vector of token {token!r} of text {text} holds NaN or an infinity; "
        "half precision may be too narrow for this model: --dtype float32"
    )
