"""The site has every page, and no page that is not there."""

from __future__ import annotations

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
