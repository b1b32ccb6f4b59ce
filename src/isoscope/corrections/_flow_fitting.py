"""From a cloud to a fitted flow: sample, split, solve the linear step, train the network."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import numpy as np
import torch
from sklearn.utils import check_random_state

from isoscope.corrections._flow_map import FlowMap, LinearStep, in_blocks
from isoscope.corrections._flow_rows import sampled_rows
from isoscope.corrections._glow import Glow
from isoscope.corrections._glow_training import Training, train
from isoscope.corrections._prewhitening import prewhiten
from isoscope.corrections.reading import read_summary
from isoscope.data.arrays import TensorCloud
from isoscope.errors import DataError
from isoscope.measures.reads.moments import MomentParts

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from torch import Tensor

    from isoscope.compute.stage import Progress
    from isoscope.corrections._prewhitening import Prewhitening
    from isoscope.corrections.flow import Flow
    from isoscope.data.base import CloudGroup


FEWEST_ROWS = 3
"""Two vectors to learn a scale from, and one to hold out."""


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
    settings = Training(
        max_iter=flow.max_iter,
        batch_size=flow.batch_size,
        learning_rate=flow.learning_rate,
        n_iter_no_change=flow.n_iter_no_change,
        seed=seeds[3],
    )

    def report(epoch: int, log_likelihood: float) -> None:
        if progress is not None:
            progress("train", epoch * len(learned), flow.max_iter * len(learned))
        if flow.verbose:
            found = log_likelihood + linear.log_det
            line = f"flow: epoch {epoch}, held-out log-likelihood {found:.4f} nats"
            print(line, file=sys.stderr, flush=True)

    step = LinearStep.at(rows.device, linear)
    whitened, unseen = (in_blocks(step.whiten, part).float() for part in (learned, held_out))
    history = train(network.to(rows.device), whitened, unseen, settings, report)
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
