"""What a terminal shows of thresholds."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from screens_for_tests import screen_lines, words_of

import isoscope

RANDOM = np.random.default_rng(3)


@pytest.fixture(scope="module")
def offset() -> np.ndarray:
    return RANDOM.normal(size=(800, 16)) + 1.5


def test_a_score_that_was_asked_about(offset: np.ndarray) -> None:
    result = isoscope.threshold(offset, at=[0.8, 0.999]).result
    row = result.row("random-pairs/at-0.8")
    lines = screen_lines(result)
    share = 100 * row.extra["share_above"]
    assert f"0.8 is common: {share:.0f} % of random pairs" in words_of(lines)
    assert "0.999 is rare" in words_of(lines)
    assert any(line.strip() == "^ 0.8" for line in lines)
    assert any(line.startswith("  1 chance match per query") for line in lines)


def test_without_a_score(offset: np.ndarray) -> None:
    lines = screen_lines(isoscope.threshold(offset).result, plain=True)
    assert "is the 99th percentile of random pairs" in words_of(lines)
    assert "".join(lines).isascii()


def test_labelled_pairs(tmp_path: Path, offset: np.ndarray) -> None:
    vectors = np.concatenate([offset[:150], offset[:150] + 0.5 * RANDOM.normal(size=(150, 16))])
    pairs = tmp_path / "pairs.tsv"
    rows = [f"{i}\t{150 + i}\t1\n{i}\t{150 + (i + 7) % 150}\t0\n" for i in range(150)]
    pairs.write_text("row1\trow2\tscore\n" + "".join(rows))
    result = isoscope.threshold(vectors, pairs=pairs, precision=0.8).result
    cut = next(row for row in result.rows if row.measure.endswith("precision-0.8/threshold"))
    text = words_of(screen_lines(result))
    assert f"For a precision of 0.8, accept a cosine of at least {cut.value:.3f}" in text
    assert "At this base rate" in text
    warning = "Cosines do not tell yes from no significantly."
    warned = replace(result, extra={**result.extra, "remarks": [warning]})
    assert warning in words_of(screen_lines(warned))


def test_the_density_has_every_pair(offset: np.ndarray) -> None:
    table = isoscope.threshold(offset).result.table("cosine_density")
    assert sum(row["count"] for row in table.rows) == 800 * 799 // 2
    assert sum(row["share"] for row in table.rows) == pytest.approx(1)


@pytest.mark.parametrize("rows", [2, 3, 12])
def test_a_few_rows(rows: int) -> None:
    lines = screen_lines(isoscope.threshold(RANDOM.normal(size=(rows, 4)), at=[0.5]).result)
    assert "0.5 is" in words_of(lines)
