"""From a cloud to a fitted flow: sample, split, solve the linear step, train the network.

The network maximises the mean of ln p(x) = ln N(f(x); 0, I) + ln |det ∂f/∂x| over the training rows
(Li et al. 2020) by Adam (Kingma & Ba 2015), and is stopped by vectors that it does not see.
"""

from __future__ import annotations

import copy
import math
import sys
from typing import TYPE_CHECKING

import numpy as np
import torch
from sklearn.utils import check_random_state
from torch.nn.utils import clip_grad_norm_

from isoscope.corrections.fit import read_summary
from isoscope.corrections.flow.gaussian import prewhiten
from isoscope.corrections.flow.mapping import FlowMap, LinearStep, in_blocks, sampled_rows
from isoscope.corrections.flow.network import Glow
from isoscope.data.arrays import TensorCloud
from isoscope.errors import DataError
from isoscope.measures.reads.moments import MomentParts

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray
    from torch import Tensor

    from isoscope.corrections.estimators.flow import Flow
    from isoscope.corrections.flow.gaussian import Prewhitening
    from isoscope.data.base import CloudGroup
    from isoscope.progress import Progress


# Gradients of the loss per dimension are cut to this length: one odd batch must not undo many.
LONGEST_GRADIENT = 1.0

# Rows whose likelihood is taken at once.
EVALUATION_ROWS = 2_048


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
    flow: Flow,
    seed: int,
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
    flow : Flow
        Its parameters say how long and how fast.
    seed : int
        Decides the order of the rows.
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
    # After the first state was kept: epoch 0 stands for the linear step alone, with nothing of the
    # network.
    network.set_from(rows)
    optimizer = torch.optim.Adam(network.parameters(), lr=flow.learning_rate)
    generator = torch.Generator().manual_seed(seed)
    for epoch in range(1, flow.max_iter + 1):
        order = torch.randperm(len(rows), generator=generator).to(rows.device)
        for first in range(0, len(rows), flow.batch_size):
            batch = rows[order[first : first + flow.batch_size]]
            # Per dimension, so that one learning rate and one limit of the gradient serve all
            # widths.
            loss = -network.log_likelihood(batch).mean() / network.width
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            clip_grad_norm_(network.parameters(), LONGEST_GRADIENT)
            optimizer.step()
        history.append(mean_log_likelihood(network, held_out))
        report(epoch, history[-1])
        if history[-1] > history[best]:
            best, best_state = epoch, copy.deepcopy(network.state_dict())
        elif epoch - best >= flow.n_iter_no_change:
            break
        if not math.isfinite(history[-1]):
            break
    network.load_state_dict(best_state)
    return history


# Two vectors to learn a scale from, and one to hold out.
FEWEST_ROWS = 3


def fit_flow(
    flow: Flow, group: CloudGroup, progress: Progress | None
) -> tuple[FlowMap, NDArray[np.float64]]:
    """Learn from a group of one cloud, with the parameters of a flow.

    Returns
    -------
    FlowMap
        What was learned.
    array
        Mean log-likelihood of the held-out rows after each epoch, from 0 on.
    """
    seeds = check_random_state(flow.random_state).randint(2**31 - 1, size=4).tolist()
    rows = sampled_rows(group, flow.max_samples, seeds[0], progress)
    learned, held_out = split(rows, flow.validation_fraction, seeds[1])
    linear = solve_linear(learned, held_out, group.dtypes[0])
    network = Glow(linear.n_directions, flow.n_steps, flow.hidden_widths(), seed=seeds[2])

    def report(epoch: int, log_likelihood: float) -> None:
        if progress is not None:
            progress("train", epoch * len(learned), flow.max_iter * len(learned))
        if flow.verbose:
            found = log_likelihood + linear.log_det
            line = f"flow: epoch {epoch}, held-out log-likelihood {found:.4f} nats"
            print(line, file=sys.stderr, flush=True)

    step = LinearStep.at(rows.device, linear)
    whitened, unseen = (in_blocks(step.whiten, part).float() for part in (learned, held_out))
    history = train(network.to(rows.device), whitened, unseen, flow, seeds[3], report)
    return FlowMap(linear, network), np.array(history) + linear.log_det


def split(rows: Tensor, fraction: float, seed: int) -> tuple[Tensor, Tensor]:
    """Hold some random rows out: at least one, and at least two are left."""
    if len(rows) < FEWEST_ROWS:
        raise DataError(
            f"a flow needs at least {FEWEST_ROWS} vectors, to learn from and to hold out; "
            f"found n_samples={len(rows)}"
        )
    held_out = min(max(1, round(fraction * len(rows))), len(rows) - 2)
    order = torch.randperm(len(rows), generator=torch.Generator().manual_seed(seed))
    order = order.to(rows.device)
    return rows[order[held_out:]], rows[order[:held_out]]


def solve_linear(rows: Tensor, held_out: Tensor, stored: str) -> Prewhitening:
    """Find the Gaussian of some rows."""
    summary = read_summary(TensorCloud(rows, "the training rows"), MomentParts(dimensions=False))
    return prewhiten(summary.moments, stored, held_out.cpu().double().numpy())
