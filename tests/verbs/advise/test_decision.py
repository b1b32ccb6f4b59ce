"""What is tried by default, and what is asked for by name."""

from __future__ import annotations

import pytest

from isoscope.corrections.registry import all_corrections
from isoscope.errors import UsageError
from isoscope.tasks.cross_fitting import SETTINGS
from isoscope.verbs.advise.decision import candidates


def test_every_correction_is_tried_but_the_flow() -> None:
    assert set(SETTINGS) == set(all_corrections())
    assert {one.name for one in candidates(None, 384)} == set(SETTINGS) - {"flow"}
    assert {one.name for one in candidates(None, 384, flow=True)} == set(SETTINGS)


def test_settings_fit_the_width() -> None:
    (whiten,) = candidates(["whiten"], 100)
    assert [one.name for one in whiten.settings] == [
        "whiten", "whiten:n_components=64", "whiten:n_components=32",
    ]  # fmt: skip
    (narrow,) = candidates(["all-but-the-top"], 1)
    assert len(narrow.settings) == 1


def test_a_correction_with_options_is_tried_as_it_stands() -> None:
    found = candidates(["none", "whiten:n_components=8", "center", "center"], 16)
    assert [one.name for one in found] == ["whiten:n_components=8", "center"]
    assert [len(one.settings) for one in found] == [1, 1]
    assert found[0].rank > found[1].rank
    with pytest.raises(UsageError, match="at least one correction"):
        candidates(["none"], 16)
    with pytest.raises(UsageError, match="whitem"):
        candidates(["whitem"], 16)
