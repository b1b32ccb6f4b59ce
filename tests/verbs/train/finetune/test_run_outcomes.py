"""What a run came to survives the journal."""

from __future__ import annotations

import json

import pytest

from isoscope.verbs.train.finetune.run import Outcome

WHOLE = Outcome(
    "rte", "cosreg:weight=2", 1, {"accuracy": 0.5, "f1": None},
    {"head": {"i1": 0.9, "i2": None}}, (1.5, 1.25), {"epochs": 2, "options": {"weight": "2"}},
    ("every prediction is 1",), True, ({"seconds": 1.5, "head_i1": 0.9},), 17,
)  # fmt: skip


@pytest.mark.parametrize("outcome", [WHOLE, Outcome("rte", "none", 0, {"accuracy": 0.5})])
def test_there_and_back_through_json(outcome: Outcome) -> None:
    again = Outcome.from_facts(json.loads(json.dumps(outcome.to_facts())))
    assert again == outcome
    assert isinstance(again.seconds, tuple)
    assert isinstance(again.history, tuple)
