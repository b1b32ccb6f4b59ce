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
    # A file of before, whose sentences have no roles.
    old = {name: value for name, value in result.extra.items() if name != "sentences"}
    told = words_of(screen_lines(replace(result, extra=old)))
    assert all(line in told for line in result.extra["remarks"])
    assert "precision recall in a search AUC" in text
    two = isoscope.threshold(
        vectors, pairs=pairs, precision=0.8, corrections=["none", "center"]
    ).result
    after = two.row(cut.measure, "center").value
    said = f"For a precision of 0.8 after center, accept a cosine of at least {after:.3f}"
    assert said in words_of(screen_lines(two))


def pairs_of_halves(path: Path, labels: list[int]) -> Path:
    """Write a file of pairs: every row of the first half with one of the second."""
    rows = [f"{i}\t{len(labels) + i}\t{label}\n" for i, label in enumerate(labels)]
    path.write_text("row1\trow2\tscore\n" + "".join(rows))
    return path


def test_which_corrections_rank_pairs_better(tmp_path: Path) -> None:
    """An AUC stands beside another only with the test of their difference."""
    random = np.random.default_rng(0)
    labels = [k % 2 for k in range(400)]
    first = random.normal(size=(400, 16))
    same = np.where(np.array(labels)[:, None] == 1, first, random.normal(size=(400, 16)))
    vectors = np.concatenate([first, same + 0.8 * random.normal(size=(400, 16))])
    vectors[:, 0] = random.normal(0, 30, 800)
    pairs = pairs_of_halves(tmp_path / "pairs.tsv", labels)
    result = isoscope.threshold(
        vectors, pairs=pairs, corrections=["none", "center", "standardize"]
    ).result
    text = words_of(screen_lines(result))
    assert "standardize: the AUC is significantly higher: +" in text
    assert "center: the AUC does not change significantly: " in text


def test_pairs_that_are_left_out_are_told(tmp_path: Path, offset: np.ndarray) -> None:
    pairs = pairs_of_halves(tmp_path / "pairs.tsv", [1, 0] * 200)
    pairs.write_text(pairs.read_text() + "7\t7\t1\n")
    result = isoscope.threshold(offset, pairs=pairs, corrections="none").result
    text = words_of(screen_lines(result))
    assert "1 pair of a row with itself left out (" in text


def test_no_map_is_proposed_of_labels_that_cosines_do_not_tell(tmp_path: Path) -> None:
    random = np.random.default_rng(1)
    vectors = random.normal(size=(600, 8))
    pairs = pairs_of_halves(tmp_path / "pairs.tsv", random.integers(0, 2, 300).tolist())
    found = isoscope.threshold(vectors, pairs=pairs, corrections="none", precision=0.9).result
    command = f"isoscope threshold v.npy --pairs {pairs} --precision 0.9"
    text = words_of(screen_lines(replace(found, command=command)))
    assert "Cosines do not tell yes from no significantly" in text
    assert "--map" not in text
    assert "isoscope advise v.npy --pairs" in text
    said = "No threshold of the vectors as they are reaches a precision of 0.9: the highest"
    assert said in text


def test_the_density_has_every_pair(offset: np.ndarray) -> None:
    table = isoscope.threshold(offset).result.table("cosine_density")
    assert sum(row["count"] for row in table.rows) == 800 * 799 // 2
    assert sum(row["share"] for row in table.rows) == pytest.approx(1)


@pytest.mark.parametrize("rows", [2, 3, 12])
def test_a_few_rows(rows: int) -> None:
    lines = screen_lines(isoscope.threshold(RANDOM.normal(size=(rows, 4)), at=[0.5]).result)
    assert "0.5 is" in words_of(lines)
