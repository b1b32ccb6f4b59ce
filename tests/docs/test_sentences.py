"""The page of error rates is what its record says, and the record knows every scenario."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "docs" / "results"


@pytest.fixture(scope="module")
def sentences() -> Any:
    sys.path.insert(0, str(ROOT / "benchmarks"))
    try:
        import sentences as module
    finally:
        sys.path.remove(str(ROOT / "benchmarks"))
    return module


@pytest.fixture
def kept() -> dict[str, Any]:
    return dict(json.loads((RESULTS / "sentences.json").read_text("utf-8")))


def test_the_page_is_written_from_the_record(sentences: Any, kept: dict[str, Any]) -> None:
    assert (RESULTS / "sentences.md").read_text("utf-8") == sentences.page(kept)


def test_every_scenario_is_in_the_record(sentences: Any, kept: dict[str, Any]) -> None:
    assert list(kept) == [one.key for one in sentences.ORDERED]
    for one in sentences.ORDERED:
        assert kept[one.key]["wrong"] == one.wrong


def test_no_rate_is_above_what_is_allowed(sentences: Any, kept: dict[str, Any]) -> None:
    assert "None is above what is allowed." in sentences.page(kept)


def test_draws_go_on_where_they_stopped(sentences: Any) -> None:
    """In two runs as in one; shares add up."""
    one = next(one for one in sentences.ORDERED if one.key.startswith("threshold: map"))
    first = sentences.count(one, None, 2)
    assert sentences.count(one, first, 4) == sentences.count(one, None, 4)


def test_a_rate_that_is_too_high_is_marked(sentences: Any) -> None:
    one = {"verb": "diff", "name": "halves", "truth": "equal", "draws": 500,
           "wrong": {"keep": 0.05, "new": 0.05}, "counts": {"keep": 45, "new": 30}}  # fmt: skip
    page = sentences.page({"diff: halves": one})
    assert "| keep | halves | 45 of 500 | 9.0 % (6.8 % to 11.8 %) **!** | 5 % |" in page
    assert "| new | halves | 30 of 500 | 6.0 % (4.2 % to 8.4 %) | 5 % |" in page
    assert "These are above what is allowed:\n\n- diff, halves: keep\n" in page
