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
anything reads, and begins the way of Glow.

References
----------
Ding et al. (2022), On isotropy calibration of transformer models, section 3. Li et al. (2020), On
the sentence embeddings from pre-trained language models, EMNLP. Kingma & Dhariwal (2018), Glow.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from isoscope.corrections.estimators.flow import require_extra
from isoscope.errors import UsageError
from isoscope.training.contract import check_weight, checked_matrix, full_precision
from isoscope.training.targets import PART, Target, head_layer, output_layer, target_matrix

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Parameter

    from isoscope.training.flow_layer import FlowLayer


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
            raise UsageError(f"flow: a learning rate is above 0, not {self.learning_rate}")

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
        import torch

        from isoscope.training.flow_layer import FlowLayer
        from isoscope.training.flow_network import IdentityAtFirst

        hidden: Any = self.hidden_features
        network = IdentityAtFirst(like.shape[1], self.n_steps, tuple(hidden), seed=self.seed)
        precise = torch.float64 if like.dtype == torch.float64 else torch.float32
        network.to(like.device, precise)
        if begins_from is not None:
            with full_precision(begins_from):
                network.glow.set_from(begins_from.detach().to(precise))
        return FlowLayer(network, self.max_rows, self.seed)
