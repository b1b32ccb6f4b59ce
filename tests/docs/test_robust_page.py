"""The page on robustness is what the record says, and its totals are sums of the tables."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from fuzz import command_targets, model_targets, server_target, stored_targets, vector_targets

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture
def maker(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(DOCS))
    return importlib.import_module("make_robust")


@pytest.fixture
def record(maker: ModuleType) -> Any:
    return json.loads(maker.RECORD.read_text("utf-8"))


def test_the_page_is_what_the_script_makes(maker: ModuleType, record: Any) -> None:
    stress = json.loads(maker.STRESS.read_text("utf-8"))
    made = "python docs/make_robust.py writes another page than the committed one"
    assert maker.page(record, stress) == (maker.RESULTS / "robust.md").read_text("utf-8"), made


def test_totals_are_sums_of_the_record(maker: ModuleType) -> None:
    one = {"faults": {"kill": 3, "EIO": 4}, "harmful": 1}
    cut = {"cuts": 5, "harm": ["x"]}
    said = maker.faults_summary({"faults": {"a": one, "b": one}, "postgres": {"c": cut}})[2]
    assert "**19 faults**, 3 of which did harm: 14 at calls that change files, and 5 cuts" in said


def test_what_must_be_shown_is_there(maker: ModuleType, record: Any) -> None:
    calls, harmed = maker.faults_of(record["faults"])
    cuts, broken = maker.cuts_of(record["postgres"])
    assert calls + cuts >= 2_000
    assert harmed == broken == 0
    assert record["soak"]["minutes"] >= 120
    targets = record["fuzz"]["targets"]
    assert sum(one["cases"] for one in targets.values()) >= 1_000_000
    assert all(one.get("fixed") for name in targets for one in targets[name].get("failures", []))
    assert all(one["fixed"] for one in record["defects"])


def test_operations_and_targets_of_the_record_are_those_that_are_run(
    record: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(DOCS.parent / "tools"))
    operations = importlib.import_module("fault_injection.operations")
    disturbed = (*operations.SMALL_OPERATIONS, *operations.NETWORK_OPERATIONS)
    assert set(record["faults"]) == {one.name for one in disturbed}
    groups = (vector_targets, stored_targets, command_targets, model_targets, server_target)
    targets = {one.name for group in groups for one in group.TARGETS}
    assert set(record["fuzz"]["targets"]) == targets


def test_all_calls_of_all_operations_are_disturbed(record: Any) -> None:
    for name, one in record["faults"].items():
        assert set(one["faults"].values()) == {sum(one["calls"].values())}, name
