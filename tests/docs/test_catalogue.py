"""The catalogue is what its script makes, and has all that is registered."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import ModuleType

import pytest

from isoscope.measures.registry import all_measures
from isoscope.verbs.study.registry import all_studies

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture
def maker(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(DOCS))
    return importlib.import_module("make_catalogue")


def test_the_page_is_what_the_script_makes(maker: ModuleType) -> None:
    made = "python docs/make_catalogue.py writes another page than the committed one"
    assert maker.page() == maker.PAGE.read_text("utf-8"), made


def test_the_stored_contents_are_what_the_registries_say(maker: ModuleType) -> None:
    made = "python docs/make_catalogue.py writes other contents than the committed ones"
    assert maker.contents() == maker.FILE.read_text("utf-8"), made


def test_everything_is_in_it(maker: ModuleType) -> None:
    lines = maker.page().splitlines()
    for name in [f"`{item.name}`" for item in all_measures()]:
        assert any(line.startswith(f"| {name}") for line in lines)
    assert sum(line.startswith("| ") for line in lines) > len(all_measures()) + len(all_studies())
    tables = [line.count(" | ") for line in lines if line.startswith("| ")]
    assert set(tables) <= {1, 2, 3, 5}
