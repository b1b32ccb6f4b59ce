"""The page on wrong verdicts is what the stored counts say, and the goals are reached."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def simulation() -> Any:
    spec = importlib.util.spec_from_file_location("claims", ROOT / "benchmarks" / "claims.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Dataclasses look their module up by name.
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "claims", module)
        spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def stored(simulation: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(simulation.STORED.read_text("utf-8"))
    return found


def test_the_page_is_written_from_the_counts(simulation: Any, stored: dict[str, Any]) -> None:
    assert simulation.PAGE.read_text("utf-8") == simulation.page(stored)


def test_every_scenario_was_run_with_enough_draws(simulation: Any, stored: dict[str, Any]) -> None:
    assert list(stored) == [f"{one.kind}: {one.name}" for one in simulation.SCENARIOS]
    assert min(one["draws"] for one in stored.values()) >= 2_000


def test_wrong_verdicts_are_rare_and_clear_effects_are_found(
    simulation: Any, stored: dict[str, Any]
) -> None:
    assert [name for name, one in stored.items() if not simulation.is_reached(one)] == []


def test_the_fast_i1_is_that_of_the_library(simulation: Any) -> None:
    simulation.check_i1()


def test_a_scenario_can_be_run(simulation: Any) -> None:
    first, second = simulation.SCENARIOS[:2]
    assert simulation.run(first, 3)["draws"] == 3
    assert simulation.run(second, 3)["counts"] == {"holds": 3}
