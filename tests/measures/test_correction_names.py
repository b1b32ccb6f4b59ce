from __future__ import annotations

import numpy as np
import pytest
from clouds_for_tests import shifted

import isoscope
from isoscope.errors import UsageError
from isoscope.measures.views import parse_correction


def test_names_and_options() -> None:
    parsed = parse_correction("all-but-the-top:n_components=8:project=original")
    assert parsed.options == {"n_components": "8", "project": "original"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("whitten", "did you mean whiten"),
        ("center:n_components=2", "no option of center"),
        ("all-but-the-top:components=2", "did you mean n_components"),
        ("all-but-the-top:n_components", "write n_components=VALUE"),
        ("all-but-the-top:n_components=-1", "is a whole number"),
        ("all-but-the-top:n_components=5", "whole number from 0 to 4"),
        ("all-but-the-top:project=sideways", "centered or original"),
    ],
)
def test_mistakes(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        isoscope.measure(shifted(0, 50, 4), corrections=[text])


def test_no_correction_at_all() -> None:
    with pytest.raises(UsageError, match="at least one correction"):
        isoscope.measure(np.eye(3), corrections=[])


def test_removing_nothing_is_centring_and_removing_all_leaves_nothing() -> None:
    cloud = shifted(1, 80, 4)
    nothing = "all-but-the-top:n_components=0"
    everything = "all-but-the-top:n_components=4"
    result = isoscope.measure(cloud, corrections=["center", nothing, everything])
    for row in result.rows:
        if row.correction == nothing:
            assert row.value == result.value(row.measure, "center")
    assert result.value("i1", everything) == 1.0
    assert result.value("mean_cosine", everything) is None
    assert result.value("mean_norm", everything) == 0.0
    assert "80 zero vectors left out" in result.row("mean_cosine", everything).note
