"""A flow as a part of a model: what a layer reads is mapped before it, z = f(h).

The likelihood that the flow learns from is that of h as data: no gradient of it reaches h. A model
could raise it without evening anything out, by making all of its states shorter. The gradient of
the task reaches h through f, and the parameters of f as those of any layer.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from isoscope.training.contract import full_precision

if TYPE_CHECKING:
    from torch import Tensor

    from isoscope.training.flow_network import IdentityAtFirst

NO_LABEL = -100


class FlowLayer(nn.Module):
    """A flow and, where it maps, what is kept of one forward pass for the loss.

    Hooks are its methods, so that a copy of the model has its own.

    Parameters
    ----------
    network : IdentityAtFirst
        The flow.
    max_rows : int
        Vectors whose likelihood is taken in a step; all are mapped.
    seed : int
        Of the choice among more of them.
    """

    def __init__(self, network: IdentityAtFirst, max_rows: int, seed: int) -> None:
        super().__init__()
        self.network, self.max_rows, self.seed = network, max_rows, seed
        self.made: object = None
        self.draws = 0
        self.kept: Tensor | None = None
        self._counts: Tensor | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what belongs to a step: it is part of a graph, which cannot be copied."""
        return {**self.__dict__, "kept": None, "_counts": None}

    def cost(self, rows: Tensor) -> Tensor:
        """Return the mean of −ln p / d over rows, or over so many of them at random."""
        if len(rows) > self.max_rows:
            chance = torch.Generator().manual_seed(self.seed + self.draws)
            self.draws += 1
            rows = rows[
                torch.randperm(len(rows), generator=chance)[: self.max_rows].to(rows.device)
            ]
        return self.network.cost(rows)

    def hook(self, model: Any, layer: nn.Module) -> None:
        """Map what a layer of a model reads from now on."""
        model.register_forward_pre_hook(self._note_padding, with_kwargs=True)
        layer.register_forward_pre_hook(self._map)

    def _note_padding(self, model: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if not model.training:
            return
        # The class's own: accelerate puts a wrapper without names in the place of a model's.
        forward = inspect.signature(type(model).forward)
        given = forward.bind_partial(model, *args, **kwargs).arguments
        self._counts = counting(given, decodes=bool(model.config.is_encoder_decoder))

    def _map(self, layer: nn.Module, args: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        h, *rest = args
        own = next(self.network.parameters(), h)
        # Half precision would undo what makes the flow exact; its products are few beside the
        # model's. Autocast, where it is on, is switched off for the same reason.
        with full_precision(h):
            rows = h.reshape(-1, h.shape[-1]).to(own.dtype)
            z = self.network(rows).to(h.dtype).view_as(h)
            if layer.training and torch.is_grad_enabled():
                self.kept = self.cost(self._counted(h, rows.detach()))
        return (z, *rest)

    def _counted(self, h: Tensor, rows: Tensor) -> Tensor:
        counts, self._counts = self._counts, None
        if counts is None or counts.shape != h.shape[:-1] or not bool(counts.any()):
            return rows
        return rows[counts.reshape(-1)]


def counting(given: dict[str, Any], *, decodes: bool) -> Tensor | None:
    """Return which positions are no padding, where a call of a model tells.

    A mask tells; for a decoder that reads an encoder it is the decoder's own. Where there is none,
    positions without a label are taken for padding. None: nothing tells, or nothing is padded.
    """
    mask = given.get("decoder_attention_mask" if decodes else "attention_mask")
    if isinstance(mask, torch.Tensor):
        return mask.bool()
    labels = given.get("labels")
    return labels != NO_LABEL if isinstance(labels, torch.Tensor) else None
