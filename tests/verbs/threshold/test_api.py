"""What a score means, from sources to a result."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from isoscope.errors import DataError, UsageError
from isoscope.results.result import Result
from isoscope.verbs.threshold.api import threshold

RNG = np.random.default_rng(12)
TOPICS = RNG.normal(size=(200, 8))
FIRST = TOPICS + 0.5 * RNG.normal(size=TOPICS.shape) + 0.5
SECOND = TOPICS + 0.5 * RNG.normal(size=TOPICS.shape) + 0.5
LABELS = np.arange(200) % 2
PARTNERS = np.where(LABELS == 1, np.arange(200), (np.arange(200) + 9) % 200)


def unit(rows: np.ndarray) -> np.ndarray:
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    """Row k of the queries with row PARTNERS[k] of the documents."""
    path = tmp_path / "pairs.csv"
    lines = [f"{k},{PARTNERS[k]},{LABELS[k]}" for k in range(200)]
    path.write_text("\n".join(["row1,row2,score", *lines]) + "\n")
    return path


def test_random_pairs_of_all_rows() -> None:
    found = threshold(FIRST, corrections="none,center", at=[0.5]).result
    cosines = (unit(FIRST) @ unit(FIRST).T)[np.triu_indices(200, 1)]
    row = found.row("random-pairs/99%")
    assert row.value == pytest.approx(np.quantile(cosines, 0.99), abs=1e-6)
    assert row.n == len(cosines)
    assert row.extra["matches_per_query"] == pytest.approx(0.01 * 199)
    assert row.extra["cosine_distance"] == pytest.approx(1 - row.value)
    at = found.row("random-pairs/at-0.5")
    assert at.value == pytest.approx(100 * np.mean(cosines < 0.5))
    assert at.extra["matches_per_query"] == pytest.approx(199 * np.mean(cosines >= 0.5))
    one = found.row("random-pairs/1-per-query")
    assert np.mean(cosines >= one.value) * 199 == pytest.approx(1, abs=0.1)
    centred = FIRST - FIRST.mean(axis=0)
    cosines = (unit(centred) @ unit(centred).T)[np.triu_indices(200, 1)]
    after = found.value("random-pairs/99%", "center")
    assert after == pytest.approx(np.quantile(cosines, 0.99), abs=1e-6)


def test_a_larger_store_gives_more_chance_matches() -> None:
    found = threshold(FIRST, corrections="none", store_size=1_000_000).result
    assert found.row("random-pairs/99%").extra["matches_per_query"] == pytest.approx(10_000)
    assert found.value("random-pairs/1-per-query") is None


def test_queries_meet_documents() -> None:
    found = threshold(SECOND, queries=FIRST[:80], corrections="none,center").result
    cosines = unit(FIRST[:80]) @ unit(SECOND).T
    row = found.row("random-pairs/95%")
    assert row.value == pytest.approx(np.quantile(cosines, 0.95), abs=1e-6)
    assert row.extra["matches_per_query"] == pytest.approx(0.05 * 200)
    names = {row.correction for row in found}
    assert names == {"none", "center", "center (own centres)"}


def test_labelled_pairs_of_queries_and_documents(pairs: Path) -> None:
    found = threshold(SECOND, queries=FIRST, pairs=pairs, corrections="none", precision=0.8)
    cosines = np.einsum("ij,ij->i", unit(FIRST), unit(SECOND[PARTNERS]))
    result = found.result
    assert result.value("pairs:pairs/auc") == pytest.approx(roc_auc_score(LABELS, cosines))
    cut = result.row("pairs:pairs/precision-0.8/threshold")
    assert len(cut.extra["by_fold"]) == 5
    assert cut.value is not None
    accepted = cosines >= cut.value
    assert LABELS[accepted].mean() >= 0.8
    assert {one.kind for one in found.maps} == {"percentile", "probability"}
    remarks = " ".join(result.extra["remarks"])
    assert "Base rate of matches: 1 in 400 pairs (implied by 0.50 labelled matches" in remarks
    assert "by number" in result.rows[0].protocol


def test_a_correction_that_only_moves_the_threshold_is_not_called_better(tmp_path: Path) -> None:
    """A large common offset hides nothing from the ranking of pairs, but lifts every score."""
    path = tmp_path / "own.csv"
    lines = [f"{k},{200 + PARTNERS[k]},{LABELS[k]}" for k in range(200)]
    path.write_text("\n".join(["row1,row2,score", *lines]) + "\n")
    rows = np.concatenate([FIRST, SECOND]) + np.full(8, 2.0)
    found = threshold(rows, pairs=path, corrections="none,center").result
    before, after = (found.value("pairs:own/best-f1/threshold", c) for c in ("none", "center"))
    assert before > after + 0.1
    said = next(line for line in found.extra["remarks"] if line.startswith("center"))
    assert f"the threshold for the best F1 is {after:.3f} instead of {before:.3f}" in said
    assert "the AUC does not change significantly" in said


def test_texts_of_a_model(tiny_model: Callable[[str], Path], tmp_path: Path) -> None:
    from isoscope.tasks.protocol import SentenceProtocol

    nouns = ("cat", "dog", "bird", "tree", "river", "boat", "bank", "money")
    texts = [f"the {a} saw the {b}" for a in nouns for b in nouns]
    protocol = SentenceProtocol(cache=False)
    folder = str(tiny_model("bert"))
    found = threshold(folder, text=texts, corrections="none", sentences=protocol).result
    assert found.rows[0].n == 64 * 63 // 2
    path = tmp_path / "texts.tsv"
    lines = [f"{a}\t{b}\t{k % 5}" for k, (a, b) in enumerate(pairwise(texts))]
    path.write_text("\n".join(["text1\ttext2\tscore", *lines]) + "\n")
    labelled = threshold(
        folder, pairs=path, positive=">=3", corrections="none", sentences=protocol
    ).result
    assert labelled.row("pairs:texts/auc").n == 63
    with pytest.raises(UsageError, match="pairs of texts bring their own"):
        threshold(folder, pairs=path, positive=">=3", text=texts)


def test_rows_that_do_not_count_are_no_chance_matches() -> None:
    broken = FIRST.copy()
    broken[::2] = np.nan
    for corrections in ("none", "none,center"):
        found = threshold(broken, corrections=corrections, drop_invalid=True).result
        row = found.row("random-pairs/99%")
        assert row.extra["matches_per_query"] == pytest.approx(0.01 * 99)
        assert found.left_out == {"not finite": 100}


def test_a_correction_without_a_mean_has_one_centre(pairs: Path) -> None:
    found = threshold(SECOND, queries=FIRST, pairs=pairs, corrections="none,clip").result
    assert {row.correction for row in found} == {"none", "clip"}
    with pytest.raises(UsageError, match="none of clip subtracts a mean"):
        threshold(SECOND, queries=FIRST, pairs=pairs, corrections="none,clip", centres="own")


def test_a_space_without_directions_is_named() -> None:
    with pytest.raises(DataError, match="center: fewer than two vectors have a direction; leave"):
        threshold(np.ones((60, 3)), corrections="none,center")


def test_sentences_say_what_pairs_can_tell(pairs: Path, tmp_path: Path) -> None:
    few = tmp_path / "few.csv"
    few.write_text("\n".join(pairs.read_text().splitlines()[:41]) + "\n")
    found = threshold(SECOND, queries=FIRST + 0.3, pairs=few, corrections="none,whiten")
    said = next(line for line in found.result.extra["remarks"] if line.startswith("whiten "))
    row = found.result.row("pairs:few/auc/difference", "whiten")
    assert row.low is not None
    assert row.high is not None
    assert row.low < -0.01 or row.high > 0.01
    assert "is not ruled out" in said or "significantly" in said


PRECISION, SEARCH = (
    f"pairs:pairs/best-f1/precision-{name}" for name in ("reweighted", "in-search")
)


def test_precision_in_a_search_is_that_of_all_pairs_of_queries_and_documents(pairs: Path) -> None:
    result = threshold(SECOND, queries=FIRST, pairs=pairs, corrections="none").result
    cosines = unit(FIRST) @ unit(SECOND).T
    cut, recall = (result.value(f"pairs:pairs/best-f1/{name}") for name in ("threshold", "recall"))
    row = result.row(SEARCH)
    assert row.extra["base_rate_of_matches"] == 0.5 / 200  # half of the queries have a match
    assert row.extra["base_rate_origin"] == "implied"
    assert row.extra["share_above"] == pytest.approx(np.mean(cosines >= cut))
    assert row.value == pytest.approx(0.5 / 200 * recall / np.mean(cosines >= cut))
    assert row.low < row.value < row.high
    noes = np.einsum("ij,ij->i", unit(FIRST), unit(SECOND[PARTNERS]))[LABELS == 0]
    false = np.mean(noes >= cut)
    wanted = 0.0025 * recall / (0.0025 * recall + 0.9975 * false)
    assert result.value(PRECISION) == pytest.approx(wanted, rel=0.2)  # thresholds of folds differ


def test_near_misses_do_not_spoil_the_precision_of_a_search(tmp_path: Path) -> None:
    """Labelled noes are what scores highest, as where people label what a search found."""
    rng = np.random.default_rng(5)
    queries = rng.normal(size=(200, 12))
    store = queries + 0.45 * rng.normal(size=queries.shape)
    cosines = unit(queries) @ unit(store).T
    nearest = np.argmax(cosines - 9 * np.eye(200), axis=1)
    path = tmp_path / "pairs.csv"
    lines = [f"{k},{k},1\n{k},{nearest[k]},0" for k in range(200)]
    path.write_text("\n".join(["query_row,document_row,score", *lines]) + "\n")
    result = threshold(store, queries=queries, pairs=path, corrections="none").result
    above = cosines >= result.value("pairs:pairs/best-f1/threshold")
    truth = np.diagonal(above).sum() / above.sum()
    assert truth > 0.5
    search, labelled = result.row(SEARCH), result.row(PRECISION)
    assert search.low < truth < search.high
    assert labelled.high < 0.2  # right only where all noes were near misses


def test_a_base_rate_may_be_given(pairs: Path) -> None:
    call = {"queries": FIRST, "pairs": pairs, "corrections": "none"}
    found = [threshold(SECOND, base_rate=rate, **call).result for rate in (0.01, "1/100")]
    assert [one.row(SEARCH).extra["base_rate_of_matches"] for one in found] == [0.01, 0.01]
    assert found[0].value(SEARCH) == found[1].value(SEARCH)
    assert "1 in 100 pairs (as given)" in " ".join(found[0].extra["remarks"])
    rarer = threshold(SECOND, store_size=2_000, **call).result.row(SEARCH)
    assert rarer.extra["base_rate_of_matches"] == pytest.approx(0.5 / 2_000)


def test_without_a_store_there_is_no_precision_of_a_search(tmp_path: Path) -> None:
    path = tmp_path / "scores.tsv"
    path.write_text("\n".join(map(str, LABELS)) + "\n")
    found = threshold(FIRST, second=SECOND[PARTNERS], pairs=path, corrections="none").result
    row = found.row("pairs:scores/best-f1/precision-in-search")
    assert row.value is None
    assert row.note.startswith("undefined: two files of pairs are not a store")
    assert found.value("pairs:scores/best-f1/precision-reweighted") is not None
    assert "in a search over the store is undefined: two files" in " ".join(found.extra["remarks"])


def test_a_pair_of_identical_rows_does_not_stop_the_file(tmp_path: Path) -> None:
    path = tmp_path / "own.csv"
    lines = [f"{k},{200 + PARTNERS[k]},{LABELS[k]}" for k in range(200)]
    path.write_text("\n".join(["row1,row2,score", *lines, "7,7,1"]) + "\n")
    rows = np.concatenate([FIRST, SECOND])
    rows[200 + PARTNERS[4]] = rows[4]
    found = threshold(rows, pairs=path, corrections="none").result
    assert found.row("pairs:own/auc").n == 199
    assert "1 pair of a row with itself left out (line 202)" in found.rows[0].protocol
    assert found.extra["remarks"][0].startswith(
        "1 pair of a row with itself left out (line 202); "
        "1 pair of identical vectors left out (line 6): such a pair has a cosine of 1"
    )


def test_a_result_can_be_saved_and_shown(pairs: Path, tmp_path: Path) -> None:
    found = threshold(SECOND, queries=FIRST, pairs=pairs, at=[0.5], recall=0.9)
    found.result.save(tmp_path / "result.json")
    again = Result.load(tmp_path / "result.json")
    assert again.to_markdown() == found.result.to_markdown()
    shown = again.to_markdown()
    assert "threshold for a recall of 0.9" in shown
    assert "threshold for the best F1" in shown
    assert "random pairs" in shown


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"sample": 1}, "a sample must have 2 to 20,000"),
        ({"sample": 50_000}, "a sample must have 2 to 20,000"),
        ({"store_size": 100}, "--store-size 100: the source alone has 200 vectors"),
        ({"centres": "any"}, "centres must be shared, own or both, got 'any'"),
        ({"store_size": 1}, "a store must have at least two vectors"),
        ({"at": [1.5]}, "a cosine must lie between -1 and 1, got 1.5"),
        ({"positive": ">=4"}, "--positive is about labelled pairs"),
        ({"precision": 0.9}, "--precision is about labelled pairs"),
        ({"recall": 0.9}, "--recall is about labelled pairs"),
        ({"base_rate": 0.9}, "--base-rate is about labelled pairs"),
        ({"base_rate": 1.5}, "between 0 and 1, such as 0.001 or 1/1000, not 1.5"),
        ({"confidence": 0.9}, "--confidence is that of a --precision or --recall"),
        ({"corrections": "whitten"}, "whitten"),
        ({"queries": np.ones((30, 3))}, "documents have 8 dimensions and queries 3"),
    ],
)
def test_wrong_calls(wrong: dict, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        threshold(FIRST, **wrong)
