"""Phrases that were replaced by plain English do not come back.

``tests/retired_phrases.txt`` has one per line. Line breaks do not matter: a phrase may be broken
over two lines, or over two strings of Python that are joined.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PHRASES = (ROOT / "tests" / "retired_phrases.txt").read_text("utf-8").splitlines()
JOINED = re.compile(r'"\s*\n\s*f?"')


def plain(path: Path) -> str:
    """Return a text in one line, with strings of Python joined."""
    return " ".join(JOINED.sub("", path.read_text("utf-8")).split())


TEXTS = {
    path.relative_to(ROOT).as_posix(): plain(path)
    for path in [*ROOT.glob("src/**/*.py"), *ROOT.glob("docs/**/*.md"), ROOT / "README.md"]
}


def test_there_are_enough() -> None:
    assert len(PHRASES) >= 60
    assert len(set(PHRASES)) == len(PHRASES)
    assert all(phrase == phrase.strip() and phrase for phrase in PHRASES)


@pytest.mark.parametrize("phrase", PHRASES)
def test_a_retired_phrase_does_not_occur(phrase: str) -> None:
    assert [name for name, text in TEXTS.items() if phrase in text] == []


def test_broken_lines_are_joined(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text('x = (\n    "Leave "\n    f"with 3"\n)\n')
    assert "Leave with 3" in plain(tmp_path / "a.py")
