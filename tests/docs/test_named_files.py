"""Every path that a page names is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "isoscope"
PAGES = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")] + sorted(
    (ROOT / "docs").glob("*.md")
)
BLOCK = re.compile(r"^```.*?^```", re.M | re.S)
CODE = re.compile(r"`([^`\n]+)`")
NAME = re.compile(r"[\w.-]+(/[\w.-]+)+/?")
MADE = {
    ".venv/bin",
    "origin/main",
    "studies/L-LN.json",
    "studies/parts/L-LN/minilm.json",
    "corrections/estimators/scale.py",
    "data/formats/float_rows.py",
    "verbs/train/regularizers/norm_spread.py",
}
"""What a reader makes, or git."""


def named(text: str) -> set[str]:
    """Return the paths that a page names outside of blocks of code."""
    words = {word for code in CODE.findall(BLOCK.sub("", text)) for word in code.split()}
    return {word.rstrip("/") for word in words if NAME.fullmatch(word)} - MADE


def is_there(name: str, page: Path) -> bool:
    """Whether a path is that of a file or module of the repository, the package or the page."""
    module = name.rpartition(".")[0] if "." in name.rpartition("/")[2] else name
    places = [folder / name for folder in (ROOT, PACKAGE, page.parent)]
    return any(place.exists() for place in places) or any(
        (PACKAGE / f"{one}.py").exists() for one in (name, module)
    )


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_path_exists(page: Path) -> None:
    text = page.read_text("utf-8")
    assert [name for name in sorted(named(text)) if not is_there(name, page)] == []


def test_a_path_that_is_gone_is_seen() -> None:
    page = ROOT / "docs" / "architecture.md"
    text = "See `docs/tour.md`, `models/sentences`, `results/kinds.SCREENS` and `models/gone`."
    assert len(named(text)) == 4
    assert [name for name in named(text) if not is_there(name, page)] == ["models/gone"]
