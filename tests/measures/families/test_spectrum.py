from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from clouds_for_tests import shifted
from hypothesis import given
from hypothesis import strategies as st

import isoscope

STORED = json.loads(
    (Path(__file__).parents[2] / "other_packages" / "isoscore_2_0_1.json").read_text()
)


@pytest.mark.parametrize("cloud", STORED["clouds"], ids=lambda c: f"{c['rows']}x{c['width']}")
def test_iso_score_equals_the_published_package(cloud: dict[str, float]) -> None:
    vectors = shifted(cloud["seed"], cloud["rows"], cloud["width"])
    assert isoscope.measure(vectors, ["iso_score"], ["none"]).value("iso_score") == pytest.approx(
        cloud["iso_score"], abs=1e-6
    )


@given(spectrum=st.lists(st.floats(1e-6, 1e6), min_size=2, max_size=40))
def test_iso_score_is_the_participation_ratio_in_disguise(spectrum: list[float]) -> None:
    """Algorithm 1 of Rudman et al. (2022), step by step, against (PR − 1) / (d − 1)."""
    d, variances = len(spectrum), np.array(spectrum)
    normalised = variances * np.sqrt(d) / np.linalg.norm(variances)
    defect = np.linalg.norm(normalised - 1) / np.sqrt(2 * (d - np.sqrt(d)))
    share = (d - defect**2 * (d - np.sqrt(d))) ** 2 / d**2
    score = (d * share - 1) / (d - 1)
    ratio = variances.sum() ** 2 / (variances**2).sum()
    assert score == pytest.approx((ratio - 1) / (d - 1), abs=1e-9)


def test_few_rows_are_noted() -> None:
    result = isoscope.measure(shifted(0, 10, 40), ["effective_rank"], ["none"])
    assert "only 10 vectors in 40 dimensions" in result.rows[0].note
    value = result.rows[0].value
    assert value is not None
    assert value <= 9


def test_one_dimension() -> None:
    result = isoscope.measure(shifted(0, 10, 1))
    assert result.value("iso_score") is None
    assert result.value("i1") == 1.0
    assert result.value("participation_ratio") == pytest.approx(1.0)
