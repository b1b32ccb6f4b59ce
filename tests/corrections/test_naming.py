"""Corrections from strings."""

from __future__ import annotations

import doctest
from typing import Any

import numpy as np
import pytest

from isoscope.corrections import Clip, Correction, Whiten, all_corrections, make_correction
from isoscope.corrections import registry as naming
from isoscope.corrections.estimators import center
from isoscope.corrections.registry import text_of
from isoscope.errors import UsageError


@pytest.mark.parametrize(
    ("text", "name", "parameters"),
    [
        ("center", "Center", {"renormalize": False}),
        (" center-scaled ", "ScaledCenter", {}),
        ("all-but-the-top", "AllButTheTop", {"n_components": None, "project": "centered"}),
        ("all-but-the-top:n_components=8:project=original", "AllButTheTop",
         {"n_components": 8, "project": "original"}),
        ("whiten:kind=zca:renormalize=true", "Whiten", {"kind": "zca", "renormalize": True}),
        ("whiten:n_components=none", "Whiten", {"n_components": None}),
        ("clip:dimensions=127+223+319", "Clip", {"dimensions": [127, 223, 319]}),
        ("clip:threshold=0.2", "Clip", {"dimensions": "auto", "threshold": 0.2}),
        ("cluster-pc-removal:n_clusters=10:n_components=30", "ClusterRemoval",
         {"n_clusters": 10, "n_components": 30}),
        ("standardize", "Standardize", {}),
    ],
)  # fmt: skip
def test_names_and_options(text: str, name: str, parameters: dict[str, Any]) -> None:
    correction = make_correction(text)
    assert type(correction).__name__ == name
    assert correction.get_params().items() >= parameters.items()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("whitten", "did you mean whiten"),
        ("none", "no correction is called 'none'"),
        ("whiten:components=3", "option of whiten"),
        ("whiten:n_components", "write n_components=VALUE"),
        ("whiten:n_components=", "write n_components=VALUE"),
        ("whiten:n_components=many", "whole number"),
        ("all-but-the-top:n_components=1.5", "whole number"),
        ("cluster-pc-removal:n_clusters=0", "of at least 1"),
        ("clip:dimensions=1+two", "dimensions must be auto or a list"),
        ("center:renormalize=yes", "renormalize must be true or false"),
        ("clip:renormalize=1", "renormalize must be true or false"),
        ("", "no correction is called ''"),
    ],
)
def test_wrong_strings_say_what_is_wrong(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        make_correction(text)


def test_every_correction_is_listed_under_its_name() -> None:
    listed = all_corrections()
    assert {"center", "center-scaled", "all-but-the-top", "cluster-pc-removal", "whiten", "clip",
            "standardize"} <= set(listed)  # fmt: skip
    for name, kind in listed.items():
        assert kind.name == name
        assert isinstance(make_correction(name), kind)
        assert issubclass(kind, Correction)
        assert "renormalize" in kind().get_params()


@pytest.mark.parametrize("module", [center, naming], ids=lambda module: module.__name__)
def test_examples_in_docstrings(module: Any) -> None:
    found = doctest.testmod(module)
    assert found.attempted > 0
    assert found.failed == 0


TEXTS = [
    *all_corrections(),
    "whiten:kind=zca:n_components=3",
    "clip:dimensions=1+4:threshold=0.2",
    "all-but-the-top:project=original:renormalize=true",
    "cluster-pc-removal:n_clusters=3:random_state=none",
]


@pytest.mark.parametrize("text", TEXTS)
def test_text_and_correction_are_one(text: str) -> None:
    assert text_of(make_correction(text)) == text


def test_lists_of_any_kind() -> None:
    for dimensions in ([1, 4], (1, 4), np.array([1, 4])):
        assert text_of(Clip(dimensions=dimensions)) == "clip:dimensions=1+4"
    assert text_of(Whiten(n_components=None)) == "whiten"
