"""Calibration by a flow: vectors are mapped to where they are N(0, I).

    λ · mean over rows of −ln p(h) / d,  ln p(h) = ln N(f(h); 0, I) + ln |det ∂f/∂h|

with an invertible network f that learns while the model does. What f gives, z = f(h), is what the
head reads (``maps``), as Ding et al. do it; the head's own matrix is left alone. Without ``maps``
the cost is a term on any matrix, whose gradient reaches that matrix: rows are drawn to where the
flow expects them.

Where it maps, f begins as the identity. Glow's way, to begin with mean 0 and variance 1 in every
dimension of a first batch, would hand a head that has learned to read h other numbers at once;
and every process would begin from a batch of its own. The likelihood moves the means and the
variances within some steps, and the head moves along. A term on a matrix changes no number that
anything reads, and begins the way of Glow. Glow's steps begin as permutations of the dimensions,
which a head would read wrongly as well; so their product is undone at the end. A permutation
changes neither the volume nor the density of N(0, I), and the likelihood is Glow's.

Where it maps, the likelihood that the flow learns from is that of h as data: no gradient of it
reaches h. A model could raise it without evening anything out, by making all of its states
shorter. The gradient of the task reaches h through f, and the parameters of f as those of any
layer.

References
----------
Ding et al. (2022), On isotropy calibration of transformer models, section 3. Li et al. (2020), On
the sentence embeddings from pre-trained language models, EMNLP. Kingma & Dhariwal (2018), Glow.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import Parameter

from isoscope.corrections.estimators.flow import require_extra
from isoscope.corrections.flow.network import Glow, InvertibleLinear
from isoscope.errors import UsageError
from isoscope.verbs.train.regularizers.base import (
    PART,
    Target,
    check_weight,
    checked_matrix,
    full_precision,
    head_layer,
    output_layer,
    target_matrix,
)


@dataclass(eq=False)
class FlowCalibration:
    """Calibration by a flow.

    A head of few rows has no density: its likelihood can be raised without end, and a term on it
    (``maps=False``) is there for comparisons only.

    Attributes
    ----------
    weight : float
        λ.
    n_steps : int
        Steps of the network, each an actnorm, an invertible matrix and a coupling.
    hidden_features : int or sequence of int
        Widths of the hidden layers of each coupling's perceptron.
    learning_rate : float
        Of the flow's own parameters, which ``CalibratedTrainer`` gives a group of their own.
    seed : int
        Of the network, and of rows that are drawn.
    maps : bool
        Whether what the head, or the vocabulary's output layer, reads is mapped.
    max_rows : int
        Rows whose likelihood is taken in a step, at random where there are more.

    Examples
    --------
    >>> CalibratedTrainer(model, args, calibration=FlowCalibration()).train()  # doctest: +SKIP
    """

    weight: float = 1.0
    n_steps: int = 2
    hidden_features: int | Sequence[int] = (128,)
    learning_rate: float = 1e-3
    seed: int = 0
    maps: bool = True
    max_rows: int = 4096
    name: str = "flow"
    layer: FlowLayer | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        check_weight(self.weight)
        if isinstance(self.hidden_features, int):
            self.hidden_features = (self.hidden_features,)
        counts = {
            "n_steps": [self.n_steps],
            "max_rows": [self.max_rows],
            "hidden_features": self.hidden_features,
        }
        for name, given in counts.items():
            if not all(isinstance(count, int) and count >= 1 for count in given):
                raise UsageError(f"flow: {name}: whole numbers from 1 on, not {[*given]}")
        if not (math.isfinite(self.learning_rate) and self.learning_rate > 0):
            raise UsageError(f"flow: a learning rate must be above 0, got {self.learning_rate}")

    def attach(self, model: Any, target: Target = "head") -> None:
        """Make the flow a part of a model: its optimiser, its state and its copies have it.

        A model that is loaded anew is given the flow's numbers back by the same call and
        ``load_state_dict``.

        Parameters
        ----------
        model : PreTrainedModel
            What is trained; it must not have a flow yet, unless it was made with these options.
        target : {"head", "vocabulary", "hidden"}
            What reads the mapped vectors, or, without ``maps``, the matrix of the term.
        """
        require_extra()
        if self.maps and target == "hidden":
            raise UsageError(
                "a flow maps what a head reads (targets head, vocabulary); hidden states take it "
                "as a term (maps=False)"
            )
        made = repr(self), target
        if hasattr(model, PART):
            self.layer = getattr(model, PART)
            if self.layer.made != made:
                raise UsageError(f"{type(model).__name__} has a flow with other options already")
            return
        if self.maps:
            reads = head_layer(model) if target == "head" else output_layer(model)
            self.layer = self._layer(reads.weight, begins_from=None)
            self.layer.hook(model, reads)
        elif target == "hidden":
            # Every process would see other first rows than the next: this begins as the identity.
            states = next(model.parameters()).new_empty(0, model.config.hidden_size)
            self.layer = self._layer(states, begins_from=None)
        else:
            matrix = target_matrix(model, target)
            self.layer = self._layer(matrix, begins_from=matrix)
        self.layer.made = made
        model.add_module(PART, self.layer)

    def parameters(self) -> list[Parameter]:
        """Return what the flow learns; nothing before it is attached or called."""
        return [] if self.layer is None else list(self.layer.parameters())

    def kept_term(self) -> Tensor | None:
        """Return the term of what was mapped in the last forward pass, once."""
        if self.layer is None or self.layer.kept is None:
            return None
        kept, self.layer.kept = self.layer.kept, None
        return self.weight * kept

    def __call__(self, matrix: Tensor) -> Tensor:
        """Return the term of the rows of a matrix, differentiable in it and in the flow."""
        rows = checked_matrix(matrix, self.name)
        if self.layer is None:
            require_extra()
            self.layer = self._layer(rows, begins_from=rows)
        if rows.shape[1] != self.layer.network.width:
            raise UsageError(
                f"this flow is one of {self.layer.network.width} dimensions, not of "
                f"{rows.shape[1]}; make another for another matrix"
            )
        with full_precision(rows):
            return self.weight * self.layer.cost(rows)

    def _layer(self, like: Tensor, begins_from: Tensor | None) -> FlowLayer:
        hidden: Any = self.hidden_features
        network = IdentityAtFirst(like.shape[1], self.n_steps, tuple(hidden), seed=self.seed)
        precise = torch.float64 if like.dtype == torch.float64 else torch.float32
        network.to(like.device, precise)
        if begins_from is not None:
            with full_precision(begins_from):
                network.glow.set_from(begins_from.detach().to(precise))
        return FlowLayer(network, self.max_rows, self.seed)


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
