"""Prompts by name or as text."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from isoscope.errors import DataError, UsageError
from isoscope.models.sentences.prompts import Prompts, prompts_of

PROMPTS = Prompts("e5", {"query": "query: ", "passage": "passage: ", "s2p query": "find "}, "query")


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("query", "query: "),
        ("s2p query", "find "),
        ("query: ", "query: "),
        ("Represent this sentence:", "Represent this sentence:"),
        ("", ""),
        ("cat ", "cat "),
    ],
)
def test_names_come_before_texts(given: str, expected: str) -> None:
    assert PROMPTS.find(given) == expected


@pytest.mark.parametrize(
    ("prompts", "given", "message"),
    [
        (PROMPTS, "pasage", "no prompt of e5 is called 'pasage'; did you mean passage? known: "
                            "passage, query, s2p query; a prompt of your own must contain a space "
                            "or a colon, as in 'pasage: '"),
        (Prompts("bert", {}), "query", "no prompt of bert is called 'query'; there are none; a "
                                       "prompt of your own must contain a space or a colon, as in "
                                       "'query: '"),
    ],
)  # fmt: skip
def test_a_name_that_the_model_does_not_have(prompts: Prompts, given: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        prompts.find(given)
    assert str(caught.value) == message


def test_what_texts_get_unless_told_otherwise() -> None:
    assert [PROMPTS.usual(role) for role in ("text", "document", "query")] == [
        "query: ", "", "query: ",
    ]  # fmt: skip
    assert Prompts("bert", {"query": "query: "}).usual("text") == ""


def with_settings(folder: Path, target: Path, settings: Any) -> Any:
    """Copy a model, and make a sentence-transformers folder of it as far as prompts go."""
    from isoscope.models.model import open_model

    shutil.copytree(folder, target)
    (target / "modules.json").write_text("[]")
    (target / "config_sentence_transformers.json").write_text(json.dumps(settings))
    return open_model(target)


def test_prompts_are_read_although_the_pipeline_is_not(
    tiny_model: Callable[[str], Path], tmp_path: Path
) -> None:
    settings = {"prompts": {"query": "q: ", "document": None}, "default_prompt_name": "query"}
    model = with_settings(tiny_model("bert"), tmp_path / "model", settings)
    found = prompts_of(model)
    assert (found.known, found.default) == ({"query": "q: ", "document": ""}, "query")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"prompts": ["query: "]}, "prompts should map names to texts"),
        ({"prompts": {"query": 1}}, "prompts should map names to texts"),
        ({"prompts": {}, "default_prompt_name": "query"}, "there is no prompt query, its default"),
        ([], "should hold a JSON object"),
    ],
)
def test_prompts_that_are_none(
    tiny_model: Callable[[str], Path], tmp_path: Path, settings: Any, message: str
) -> None:
    model = with_settings(tiny_model("bert"), tmp_path / "model", settings)
    with pytest.raises(DataError, match=message):
        prompts_of(model)
