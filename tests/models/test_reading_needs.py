"""What reading texts with a model will need."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from isoscope.models.model import open_model
from isoscope.models.reading_needs import announce_reading

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def test_time_and_memory_of_a_long_run(
    tiny_model: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    model = open_model(str(tiny_model("bert")))
    parameters = sum(one.numel() for one in model.network.parameters())
    words = model.embedding_cloud("input")
    multiplied = parameters - (words.rows or 0) * words.widths[0]
    # 1,000 tokens a second at two thirds of the speed, and 250 at a sixth.
    monkeypatch.setattr(
        "isoscope.models.reading_needs.speed_of", lambda _: 2.0 * multiplied * 1_500
    )
    said: list[str] = []
    announce_reading(model, 500, 400_000, said.append, remark="More.")
    assert said == [
        "tiny-bert reads 500 texts: roughly 2 to 7 min on this machine, and about 0.5 GiB of "
        "memory. More."
    ]
    announce_reading(model, 5, 20_000, said.append)  # 20 seconds at the slowest
    announce_reading(model, 0, 0, said.append)
    announce_reading(model, 500, 400_000, None)
    assert len(said) == 1
