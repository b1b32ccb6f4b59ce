"""What must be known of a source reaches every result about it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import isoscope
from isoscope.verbs.measure.queries import measure_queries
from isoscope.verbs.measure.search.recall import neighbours
from isoscope.verbs.measure.search.reduction import reduce

faiss = pytest.importorskip("faiss")

ROWS = np.random.default_rng(0).normal(size=(200, 8)).astype(np.float32)


@pytest.fixture
def lossy(tmp_path: Path) -> str:
    index = faiss.index_factory(8, "SQ8")
    index.train(ROWS)
    index.add(ROWS)
    faiss.write_index(index, str(tmp_path / "codes.faiss"))
    return str(tmp_path / "codes.faiss")


def test_lossy_codes_are_named_everywhere(lossy: str) -> None:
    results = {
        "threshold": isoscope.threshold(lossy, corrections="none").result,
        "queries": measure_queries(lossy, ROWS[:50], "none"),
        "neighbours": neighbours(lossy, ["none"]),
        "reduce": reduce(lossy, [4]),
        "diff": isoscope.diff(lossy, ROWS + 0.1),
    }
    for name, result in results.items():
        assert "lossy codes: SQ8" in json.dumps(result.to_dict()), name
