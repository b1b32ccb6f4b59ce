"""The walks of docs/architecture.md lead past code that is there, and from left to right."""

from __future__ import annotations

import importlib
import re
from itertools import groupby
from operator import attrgetter
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[2] / "docs" / "architecture.md").read_text("utf-8")
SECTION = PAGE.partition("## Six walks\n")[2].partition("\n## ")[0]
WALKS = {
    title: re.findall(r"^\d+\. `([\w.]+):([\w.]+)`", body, re.M)
    for title, body in re.findall(r"^### ([^\n]+)\n(.*?)(?=^### |\Z)", SECTION, re.M | re.S)
}
LAYERS = ("data", "compute", "measures", "corrections", "models", "results", "tasks")
MOST_HOPS = 15


def test_there_are_six_walks() -> None:
    assert [title.split()[1] for title in WALKS] == [
        *("measure", "profile", "advise", "evaluate", "correct", "study"),
    ]


@pytest.mark.parametrize("title", WALKS)
def test_every_stop_exists(title: str) -> None:
    for module, name in WALKS[title]:
        if module.startswith("models."):
            pytest.importorskip("torch")
        assert attrgetter(name)(importlib.import_module(f"isoscope.{module}")), f"{module}:{name}"


@pytest.mark.parametrize("title", WALKS)
def test_a_walk_is_short_and_goes_from_left_to_right(title: str) -> None:
    stops = WALKS[title]
    lines = re.findall(
        r"^\d+\. ", SECTION.partition(f"### {title}\n")[2].partition("### ")[0], re.M
    )
    assert len(stops) == len(lines) <= MOST_HOPS
    packages = [package for package, _ in groupby(module.split(".")[0] for module, _ in stops)]
    assert packages[:2] == ["cli", "verbs"]
    between = packages[2:-2] if packages[-1] == "cli" else packages[2:-1]
    assert between == sorted(between, key=LAYERS.index)
    assert len(set(between)) == len(between)
