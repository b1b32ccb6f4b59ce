"""Vectors to search in."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from isoscope.errors import UsageError
from isoscope.models.encode import Encoder
from isoscope.models.model import open_model
from isoscope.tasks.encoding import open_source
from isoscope.tasks.protocol import SentenceProtocol


def test_vectors_are_opened_as_everywhere() -> None:
    assert open_source(np.eye(3)).rows == 3


def test_several_clouds_are_refused(tmp_path: Path) -> None:
    for layer in range(2):
        np.save(tmp_path / f"layer_{layer}.npy", np.eye(3))
    with pytest.raises(UsageError, match="one"):
        open_source(str(tmp_path / "layer_{layer}.npy"))


def test_texts_need_no_column() -> None:
    with pytest.raises(UsageError, match="read by a model"):
        open_source("package:minilm", text=["a"], column="x")


@pytest.mark.filterwarnings("ignore:.*in the release of.*")
def test_texts_become_the_vectors_that_the_encoder_gives(
    tiny_model: Callable[[str], Path],
) -> None:
    texts = ["the cat sat", "a dog ran"]
    folder = tiny_model("bert")
    found = open_source(
        str(folder), text=texts, layer="block 1", sentences=SentenceProtocol(cache=False)
    )
    (batch,) = (batches[found.names[0]] for batches in found.batches())
    wanted = Encoder(open_model(str(folder)), cache=False).encode(texts, ["block 1"])
    np.testing.assert_array_equal(batch.vectors, wanted["block 1"])
    assert "block 1, mean pooling" in found.names[0]
    with pytest.raises(UsageError, match="one layer, not"):
        open_source(str(folder), text=texts, layer="all", sentences=SentenceProtocol(cache=False))
