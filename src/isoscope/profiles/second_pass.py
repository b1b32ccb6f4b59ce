"""The second read of all layers, from what was spooled or from a second run of the model."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    import torch

    from isoscope.data.blocks import Dealt
    from isoscope.measures.reads.projections import ProjectionPlan, Projections
    from isoscope.profiles.massive import MassiveRule


EVERYTHING, ORDINARY = "all", "ordinary"

Key = tuple[str, str]
"""A layer, and which of its tokens."""


class SecondPass:
    """Projects the layers of a model, batch by batch."""

    def __init__(
        self, plans: Mapping[Key, ProjectionPlan], rule: MassiveRule, *, deal: bool
    ) -> None:
        from isoscope.measures.kernels.torch_kernel import TorchProjector

        self._rule, self._deal = rule, deal
        self._projectors: dict[Key, TorchProjector] = {
            key: TorchProjector(plan) for key, plan in plans.items()
        }
        self.found: dict[Key, Projections] = {}

    def add(self, layers: Mapping[str, torch.Tensor], dealt: Dealt | None) -> None:
        """Take one batch of every layer."""
        import torch

        if not self._deal:
            dealt = None
        for name, x in layers.items():
            if (name, EVERYTHING) in self._projectors:
                self._project((name, EVERYTHING), x, dealt)
            if (name, ORDINARY) in self._projectors:
                ordinary = self._rule.ordinary(name, torch.linalg.vector_norm(x, dim=1))
                if ordinary is None:
                    self._project((name, ORDINARY), x, dealt)
                elif ordinary.any():
                    rows = np.flatnonzero(ordinary)
                    self._project(
                        (name, ORDINARY),
                        x[torch.from_numpy(rows).to(x.device)],
                        None if dealt is None else dealt.part(rows),
                    )

    def _project(self, key: Key, x: torch.Tensor, dealt: Dealt | None) -> None:
        found = self._projectors[key](x, dealt)
        known = self.found.get(key)
        self.found[key] = found if known is None else known.merge(found)
