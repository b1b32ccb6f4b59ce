"""The paper's settings by kind of model and task, and what is refused."""

from __future__ import annotations

import pytest

from isoscope.errors import UsageError
from isoscope.verbs.train.finetune.run import Settings, usual_settings


@pytest.mark.parametrize(
    ("kind", "task", "rate", "schedule", "batch", "epochs"),
    [
        ("bert", "rte", 2e-5, "constant", 32, 3),
        ("bert", "mrpc", 2e-5, "constant", 32, 5),
        ("distilbert", "wnli", 2e-5, "constant", 32, 5),
        ("roberta", "cola", 1e-5, "constant", 32, 3),
        ("xlm-roberta", "mrpc", 1e-5, "constant", 32, 5),
        ("bart", "summarize", 3e-5, "polynomial", 48, 5),
        ("mbart", "translate:de-en", 3e-5, "polynomial", 48, 5),
    ],
)
def test_the_papers_settings(
    kind: str, task: str, rate: float, schedule: str, batch: int, epochs: int
) -> None:
    found = usual_settings(kind, task)
    assert (found.learning_rate, found.schedule) == (rate, schedule)
    assert (found.batch_size, found.epochs) == (batch, epochs)


@pytest.mark.parametrize("name", ["batch_size", "epochs", "longest", "limit"])
def test_counts_are_at_least_one(name: str) -> None:
    assert getattr(Settings(**{name: 1}), name) == 1
    with pytest.raises(UsageError, match=f"{name} must be at least 1, got 0"):
        Settings(**{name: 0})


@pytest.mark.parametrize("rate", [0.0, -1e-5, float("nan")])
def test_a_rate_is_positive(rate: float) -> None:
    with pytest.raises(UsageError, match="learning rate must be above 0"):
        Settings(learning_rate=rate)
