"""What a terminal shows of thresholds."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from screens_for_tests import screen_lines, words_of

import isoscope
from isoscope.results.result import Row
from isoscope.verbs.threshold.screen import about_score, ends_of_share

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


def asked_about(share: float, low: float | None, high: float | None, pairs: int = 10**6) -> Row:
    """A score that this share of random pairs lies above."""
    ends = [None if end is None else 100 * (1 - end) for end in (high, low)]
    extra = {"score": 0.8, "share_above": share, "matches_per_query": 1_000 * share}
    return Row("d", "", "none", "random-pairs/at-0.8", 100 * (1 - share), low=ends[0],
               high=ends[1], n=pairs, extra=extra)  # fmt: skip


@pytest.mark.parametrize(
    ("row", "wanted"),
    [
        (asked_about(0.003, 0.002, 0.004), "0.8 is common: 0.3 % of random pairs lie above it. A "
         "query against 1,000 vectors returns about 3 (2 to 4) of them by chance."),
        (asked_about(0.0012, 0.0008, 0.002), "0.8 may be uncommon or common: "),
        (asked_about(0.0005, 0.0002, 0.0009), "0.8 is uncommon: "),
        (asked_about(0.00005, 0.00002, 0.00009), "0.8 is rare: "),
        (asked_about(0.0, None, None), "0.8 is rare: none of 1,000,000 random pairs lies above"),
        # Of few pairs, none tells little about a store.
        (asked_about(0.0, None, None, 1_000), "0.8 may be rare or common: none of 1,000 "
         "random pairs lies above it, and a query against 1,000 vectors returns at most 3.7 of "
         "them by chance."),
        (asked_about(0.005, None, None, 1_000), "0.8 is common: 0.5 % of random pairs lie above "
         "it. A query against 1,000 vectors returns about 5 (1.6 to 12) of them by chance."),
    ],
)  # fmt: skip
def test_words_for_a_score_agree_with_its_interval(row: Row, wanted: str) -> None:
    assert about_score(row, 1_000).startswith(wanted)


@given(st.floats(0, 0.01), st.floats(0, 1), st.floats(1, 3))
def test_no_word_for_a_score_that_its_interval_excludes(
    share: float, below: float, above: float
) -> None:
    low, high = share * below, min(share * above, 1.0)
    row = asked_about(share, low, high)
    low, high = ends_of_share(row, 0.95)  # to the rounding of a percentage
    assert (low, high) == pytest.approx((share * below, min(share * above, 1.0)), abs=1e-14)
    said = about_score(row, 1_000)
    words = re.sub("0.8 (?:is|may be) ", "", said).partition(":")[0].split(" or ")
    limits = {"rare": (0, 0.1), "uncommon": (0.1, 1), "common": (1, math.inf)}
    possible = [
        word
        for word, (first, last) in limits.items()
        if 1_000 * low < last and 1_000 * high >= first
    ]
    assert words == list(dict.fromkeys([possible[0], possible[-1]]))


def test_a_score_above_all_pairs_of_a_sample_is_not_rare_in_a_large_store() -> None:
    cloud = np.random.default_rng(5).normal(size=(200, 16))
    text = words_of(screen_lines(isoscope.threshold(cloud, at=[0.99], store_size=10**8).result))
    assert "0.99 may be rare or common: none of 19,900 random pairs" in text


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
    assert "Cosines do not separate yes from no significantly" in text
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
    assert re.search("0.5 (is|may be)", words_of(lines))
