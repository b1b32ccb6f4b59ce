"""Settings of models that write."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from isoscope.errors import UsageError
from isoscope.verbs.train.finetune.experiment import FineTuningRuns as Bench
from isoscope.verbs.train.finetune.run import Settings, usual_settings


def test_encoder_decoders_are_tuned_as_ding_et_al_do() -> None:
    for kind in ("bart", "mbart"):
        found = usual_settings(kind, "translate:en-ro")
        assert (found.learning_rate, found.schedule) == (3e-5, "polynomial")
        assert (found.batch_size, found.epochs, found.warm_up, found.beams) == (48, 5, 0.0, 1)
    assert usual_settings("bart", "summarize").longest == 1_024


def test_a_made_model_learns_faster() -> None:
    for task in ("translate:de-en", "summarize"):
        found = usual_settings("made:bart", task)
        assert found.learning_rate > 30 * usual_settings("bart", task).learning_rate
        assert found.warm_up > 0


@pytest.mark.parametrize("wrong", [{"warm_up": 1.0}, {"beams": 0}, {"longest_target": 0}])
def test_settings_that_cannot_be(wrong: dict[str, float]) -> None:
    with pytest.raises(UsageError, match=next(iter(wrong))):
        Settings(**wrong)  # type: ignore[arg-type]


def test_a_made_model_is_told_from_others_of_its_kind() -> None:
    rates = []
    for name in ("made:bart", "bart-base"):
        model: Any = SimpleNamespace(name=name, config=SimpleNamespace(model_type="bart"))
        bench = Bench(model, None, {"epochs": 7}, None, Path(), None, None)
        found = bench.describe("translate:de-en", "none", 0).settings
        rates.append(found.learning_rate)
        assert found.epochs == 7
    assert rates == [2e-3, 3e-5]
