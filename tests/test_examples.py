"""Examples in the docstrings of all modules run, and print what they say."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path

import pytest

import isoscope

SOURCE = Path(isoscope.__file__).parent

WITH_EXAMPLES = sorted(
    path.relative_to(SOURCE).with_suffix("").as_posix().replace("/", ".")
    for path in SOURCE.rglob("*.py")
    if ">>> " in path.read_text("utf-8")
)


@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_examples_in_docstrings(name: str) -> None:
    if name.startswith(("training", "verbs.train")):
        pytest.importorskip("torch")
        pytest.importorskip("transformers")
    found = doctest.testmod(importlib.import_module(f"isoscope.{name}"))
    assert found.failed == 0


def test_there_are_examples() -> None:
    assert {"data.open", "data.texts.open", "verbs.measure.api"} <= set(WITH_EXAMPLES)
