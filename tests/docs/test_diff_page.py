"""The tables of the page about two clouds are what its record says."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "docs" / "results"


@pytest.fixture(scope="module")
def simulation() -> Any:
    sys.path.insert(0, str(ROOT / "benchmarks"))
    try:
        import diff_simulation as module
    finally:
        sys.path.remove(str(ROOT / "benchmarks"))
    return module


def test_the_tables_are_written_from_the_record(simulation: Any) -> None:
    kept = json.loads((RESULTS / "diff.json").read_text("utf-8"))
    page = (RESULTS / "diff.md").read_text("utf-8")
    shown = page.split(simulation.BEGIN)[1].split(simulation.END)[0]
    assert shown.strip() == simulation.tables(kept)


def test_every_design_is_in_the_record(simulation: Any) -> None:
    kept = json.loads((RESULTS / "diff.json").read_text("utf-8"))
    assert [row["design"] for row in kept["equal"]["designs"]] == list(simulation.SIZES)
    assert [row["design"] for row in kept["different"]["designs"]] == list(simulation.POWERS)
    assert set(kept) == set(simulation.PARTS)


def test_the_level_holds_in_the_record(simulation: Any) -> None:
    """A test at 5 % rejects in at most 5 % of runs, and three errors of a share of 500."""
    kept = json.loads((RESULTS / "diff.json").read_text("utf-8"))
    same = [row for row in kept["equal"]["designs"] if "differ" not in row["design"]]
    assert len(same) == 6
    for row in same:
        for name in (*simulation.NAMES, "any"):
            assert row[name] <= (0.05 + 3 * (0.05 * 0.95 / row["runs"]) ** 0.5) * row["runs"]
