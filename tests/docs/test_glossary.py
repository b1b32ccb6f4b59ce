"""The glossary is what its script makes, and has every measure."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import ModuleType

import pytest

from isoscope.measures.context.definitions import CONTEXTUAL_MEASURES
from isoscope.measures.registry import all_measures

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture
def maker(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(DOCS))
    return importlib.import_module("make_glossary")


def test_the_page_is_what_the_script_makes(maker: ModuleType) -> None:
    made = "python docs/make_glossary.py writes another page than the committed one"
    assert maker.page() == maker.PAGE.read_text("utf-8"), made


def test_every_measure_has_a_title_and_says_when_to_look_at_it() -> None:
    described = [*all_measures(), *CONTEXTUAL_MEASURES]
    for item in described:
        assert item.title, item.name
        assert "_" not in item.title
        assert 10 < len(item.when) < 80, item.name
    titles = [item.title for item in described]
    assert len(set(titles)) == len(titles)


def test_words_are_in_order(maker: ModuleType) -> None:
    assert list(maker.TERMS) == sorted(maker.TERMS)
