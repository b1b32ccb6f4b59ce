"""When training stops, and what it leaves behind."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the extra flow is not installed")
pytest.importorskip("zuko", reason="the extra flow is not installed")

from isoscope.corrections.estimators.flow import Flow  # noqa: E402
from isoscope.corrections.flow.likelihood import mean_log_likelihood, train  # noqa: E402
from isoscope.corrections.flow.network import Glow  # noqa: E402


def settings(**changes: object) -> Flow:
    flow = Flow(max_iter=40, batch_size=16, learning_rate=1e-2, n_iter_no_change=3)
    flow.set_params(**changes)
    return flow


def ring(rows: int, seed: int) -> torch.Tensor:
    generator = np.random.default_rng(seed)
    angle = generator.uniform(0, 2 * np.pi, rows)
    radius = 1.4 + 0.1 * generator.normal(size=rows)
    points = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
    return torch.tensor(points, dtype=torch.float32)


def nothing(epoch: int, log_likelihood: float) -> None:
    del epoch, log_likelihood


def test_the_best_epoch_is_restored() -> None:
    """Few rows and long steps: the network soon learns them by heart."""
    network = Glow(2, n_steps=3, hidden_features=(16,))
    held_out = ring(40, 2)
    history = train(network, ring(40, 1), held_out, settings(), 0, nothing)
    best = int(np.argmax(history))
    assert 0 < best == len(history) - 1 - 3
    assert mean_log_likelihood(network, held_out) == history[best]


def test_the_first_state_is_restored_where_nothing_beats_it() -> None:
    network = Glow(2, n_steps=2, hidden_features=(8,))
    before = {key: value.clone() for key, value in network.state_dict().items()}
    held_out = torch.zeros(5, 2)
    history = train(network, 3 + ring(20, 1), held_out, settings(), 0, nothing)
    assert len(history) == 1 + 3
    assert all(torch.equal(before[key], value) for key, value in network.state_dict().items())


def test_training_ends_with_a_likelihood_that_is_not_finite() -> None:
    network = Glow(2, n_steps=2, hidden_features=(8,))
    rows = ring(40, 1)
    rows[3] = torch.inf
    held_out = ring(40, 2)
    history = train(network, rows, held_out, settings(), 0, nothing)
    assert len(history) == 2
    assert mean_log_likelihood(network, held_out) == history[0]


def test_max_iter_bounds_the_epochs_and_each_is_reported() -> None:
    reports: list[tuple[int, float]] = []
    network = Glow(2, n_steps=1, hidden_features=(8,))
    limits = settings(max_iter=2, learning_rate=1e-4)
    history = train(
        network,
        ring(50, 1),
        ring(20, 2),
        limits,
        0,
        lambda epoch, found: reports.append((epoch, found)),
    )
    assert reports == list(enumerate(history))[1:]
    assert len(reports) == 2


def test_mean_log_likelihood_takes_all_rows() -> None:
    """More rows than are taken at once; the sum of parts has single-precision terms."""
    network = Glow(2, n_steps=1, hidden_features=(8,))
    rows = ring(5_000, 1)
    with torch.no_grad():
        expected = float(network.log_likelihood(rows).double().mean())
    assert mean_log_likelihood(network, rows) == pytest.approx(expected, rel=1e-6)
