"""Maximum likelihood for the network, stopped by vectors that it does not see."""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch.nn.utils import clip_grad_norm_

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor

    from isoscope.corrections._glow import Glow

LONGEST_GRADIENT = 1.0
"""Gradients of the loss per dimension are cut to this length: one odd batch must not undo many."""

EVALUATION_ROWS = 2_048
"""Rows whose likelihood is taken at once."""


@dataclass(frozen=True)
class Training:
    """How long and how fast the network learns."""

    max_iter: int
    batch_size: int
    learning_rate: float
    n_iter_no_change: int
    seed: int


def mean_log_likelihood(network: Glow, rows: Tensor) -> float:
    """Return the mean log-likelihood of rows, in nats, summed in float64."""
    with torch.no_grad():
        sums = [
            float(network.log_likelihood(rows[first : first + EVALUATION_ROWS]).double().sum())
            for first in range(0, len(rows), EVALUATION_ROWS)
        ]
    return math.fsum(sums) / len(rows)


def train(
    network: Glow,
    rows: Tensor,
    held_out: Tensor,
    settings: Training,
    report: Callable[[int, float], None],
) -> list[float]:
    """Train in place and leave the network as it was in its best epoch.

    The best epoch is the one with the highest mean log-likelihood of the held-out rows. Epoch 0 is
    the network before training; it stays where nothing beats it.

    Parameters
    ----------
    network : Glow
        The network, in its first state.
    rows, held_out : tensor
        What to learn from, and what tells when to stop.
    settings : Training
        How long and how fast.
    report : callable
        Called after each epoch with its number and the held-out log-likelihood.

    Returns
    -------
    list of float
        Held-out mean log-likelihood of each epoch from 0 on.
    """
    history = [mean_log_likelihood(network, held_out)]
    if not list(network.parameters()):
        return history
    best, best_state = 0, copy.deepcopy(network.state_dict())
    network.set_from(rows)
    optimizer = torch.optim.Adam(network.parameters(), lr=settings.learning_rate)
    generator = torch.Generator().manual_seed(settings.seed)
    for epoch in range(1, settings.max_iter + 1):
        order = torch.randperm(len(rows), generator=generator).to(rows.device)
        for first in range(0, len(rows), settings.batch_size):
            batch = rows[order[first : first + settings.batch_size]]
            loss = -network.log_likelihood(batch).mean() / network.width
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            clip_grad_norm_(network.parameters(), LONGEST_GRADIENT)
            optimizer.step()
        history.append(mean_log_likelihood(network, held_out))
        report(epoch, history[-1])
        if history[-1] > history[best]:
            best, best_state = epoch, copy.deepcopy(network.state_dict())
        elif epoch - best >= settings.n_iter_no_change:
            break
        if not math.isfinite(history[-1]):
            break
    network.load_state_dict(best_state)
    return history
