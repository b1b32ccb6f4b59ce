"""The page about Python has all that the package offers."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

import isoscope

PAGE = (Path(__file__).parents[2] / "docs" / "api.md").read_text("utf-8")
ENTRIES = re.findall(r"^::: ([\w.]+)", PAGE, re.M)
MEMBERS = {
    name: re.split(r",\s*", members)
    for name, members in re.findall(
        r"^::: ([\w.]+)\n    options:\n      members: \[(.*)\]", PAGE, re.M
    )
}


@pytest.mark.parametrize("name", sorted(set(isoscope.__all__) - {"__version__"}))
def test_every_public_name_is_there(name: str) -> None:
    assert f"isoscope.{name}" in ENTRIES


@pytest.mark.parametrize("package", ["isoscope.corrections", "isoscope.training"])
def test_members_are_public(package: str) -> None:
    public = set(importlib.import_module(package).__all__)
    assert set(MEMBERS[package]) <= public
    elsewhere = set(isoscope.__all__) | {"CorrectedCloud", "all_corrections", "refreshed"}
    assert public - set(MEMBERS[package]) <= elsewhere


def test_no_entry_is_there_twice() -> None:
    assert len(set(ENTRIES)) == len(ENTRIES) > 30
