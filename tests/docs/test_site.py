"""The site has every page, and no page that is not there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
yaml = pytest.importorskip("yaml")


def pages(entry: Any) -> Iterator[str]:
    """Give out every page of a menu."""
    if isinstance(entry, str):
        yield entry
    else:
        for inner in entry.values() if isinstance(entry, dict) else entry:
            yield from pages(inner)


def test_the_menu_has_every_page() -> None:
    menu = yaml.safe_load((ROOT / "mkdocs.yml").read_text("utf-8"))["nav"]
    named = sorted(pages(menu))
    every = [path.relative_to(ROOT / "docs") for path in ROOT.glob("docs/**/*.md")]
    assert named == sorted(str(path) for path in every if path.name != "template.md")


FENCED = re.compile(r"^```.*?^```", re.M | re.S)
SHALLOW = re.compile(r"^ {1,3}[-*] ", re.M)
"""A list within a list, as Python-Markdown does not see it: it wants four blanks."""
ADJOINING = re.compile(r"^(?!\||\n)[^\n]+\n\| ", re.M)
"""A table right below a line of text, which Python-Markdown shows as text."""


@pytest.mark.parametrize("path", sorted(ROOT.glob("docs/**/*.md")), ids=lambda path: path.name)
def test_lists_and_tables_are_seen_as_such(path: Path) -> None:
    text = FENCED.sub("", path.read_text("utf-8"))
    assert SHALLOW.findall(text) == []
    assert ADJOINING.findall(text) == []


def test_shallow_lists_and_adjoining_tables_are_found() -> None:
    assert SHALLOW.search("- a\n  - b\n")
    assert ADJOINING.search("Some words\n| a | b |\n")
    assert not ADJOINING.search("Some words\n\n| a | b |\n| --- | --- |\n")
