"""A toy language, and plans that are small enough to learn it in no time."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

if TYPE_CHECKING:
    from isoscope.verbs.train.pretrain.learner import Corpus
    from isoscope.verbs.train.pretrain.plan import Plan

SMALL = {
    "layers": 1, "width": 16, "heads": 2, "feed_forward": 32, "vocabulary": 280, "context": 12,
    "batch_size": 4, "learning_rate": 1e-2,
}  # fmt: skip
WORDS = "cat dog bird tree river bank money boat sat ran flew saw big small old new red"


@pytest.fixture(scope="session")
def small_plan() -> Callable[..., Plan]:
    """Makes a plan of a small size, of six steps with two checkpoints unless others are named."""
    from isoscope.verbs.train.pretrain.plan import Plan

    def make(
        objective: Any = "clm", *, changed: dict[str, Any] | None = None, **given: Any
    ) -> Plan:
        fields = {"steps": 6, "checkpoints": 2, **given}
        return Plan(objective, changed={**SMALL, **(changed or {})}, **fields)

    return make


@pytest.fixture(scope="session")
def toy_texts() -> list[str]:
    """Walks through a circle of words: after each comes the next one, or the one after that."""
    rng, words = np.random.default_rng(0), WORDS.split()
    walks = rng.integers(len(words), size=(120, 1)) + rng.integers(1, 3, (120, 8)).cumsum(axis=1)
    return [" ".join(words[k % len(words)] for k in walk) for walk in walks]


@pytest.fixture(scope="session")
def toy_corpus(toy_texts: list[str], small_plan: Callable[..., Plan]) -> Corpus:
    pytest.importorskip("transformers")
    from isoscope.verbs.train.pretrain.learner import make_corpus

    return make_corpus(toy_texts, small_plan().shape)
