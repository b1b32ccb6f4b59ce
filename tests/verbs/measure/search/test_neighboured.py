"""What a search would notice, as people read it."""

from __future__ import annotations

import numpy as np
import pytest
from clouds_for_tests import shifted

import isoscope
from isoscope.results.kinds import grids
from isoscope.results.merge import beside
from isoscope.verbs.measure.search.recall import neighbours
from isoscope.verbs.measure.search.reduction import reduce
from isoscope.verbs.measure.search.text import WORDS

pytest.importorskip("faiss")


@pytest.fixture(scope="module")
def together() -> isoscope.Result:
    cloud = shifted(0, 300, 8)
    cloud[7] = 0
    measured = isoscope.measure(cloud, corrections="none,center", command="measure it")
    return beside(measured, [neighbours(cloud, "none,center"), reduce(cloud, "2,4")])


def test_a_grid_each_for_measures_neighbours_and_shorter_vectors(
    together: isoscope.Result,
) -> None:
    measures, search, shorter = grids(together)
    assert measures.header == ["measure", "none", "center"]
    assert not any("neighbours" in row[0] for row in measures.rows)
    assert any(line.startswith("Verdict") for line in measures.verdict)
    assert not any("keeps" in line for line in measures.verdict)
    assert [row[0] for row in search.rows] == list(WORDS.values())
    assert search.rows[0][1] == "1.000"
    assert "±" in search.rows[0][2]
    assert search.verdict == together.extra["neighbours"]["remarks"]
    assert shorter.rows[0][:3] == ["as they are 8, float32", "32", shorter.rows[0][2]]
    assert len(shorter.rows) == 3 * (1 + 2 * 3)
    assert shorter.verdict == together.extra["reduce"]["remarks"]


def test_everything_survives_json(together: isoscope.Result) -> None:
    again = isoscope.Result.from_json(together.to_json())
    assert again.to_rows() == together.to_rows()
    assert [one.rows for one in grids(again)] == [one.rows for one in grids(together)]
    assert again.command == "measure it"
    assert "faiss" in again.versions
    assert "what a search would notice" in again.to_markdown()
    assert "shorter vectors" in again._repr_html_()


def test_results_alone_have_their_own_grid_only() -> None:
    alone = neighbours(shifted(0, 100, 4), "none")
    (only,) = grids(alone)
    assert only.header == ["figure", "none"]
    assert alone.extra["neighbours"]["remarks"] == []
    assert np.isfinite([row.value for row in alone if row.value is not None]).all()
