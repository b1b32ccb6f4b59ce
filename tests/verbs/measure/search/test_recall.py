"""What corrections do to a search, against brute force."""

from __future__ import annotations

import gzip
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from clouds_for_tests import shifted
from scipy import stats
from searched_by_hand import cosines, hamming, overlap, rescored, top, units

import isoscope
from isoscope.corrections.named import named
from isoscope.data.arrays import BatchesCloud
from isoscope.verbs.measure.search.indexes import Int8
from isoscope.verbs.measure.search.names import measure_name
from isoscope.verbs.measure.search.recall import neighbours
from isoscope.verbs.measure.search.text import WORDS

pytest.importorskip("faiss")

K = 10


class Rotation:
    """A turn of the space: no neighbour changes."""

    def __init__(self, width: int = 12) -> None:
        self.width = width

    def fit(self, X: Any, y: Any = None) -> Rotation:
        del X, y
        random = np.random.default_rng(5)
        self.turn_ = np.linalg.qr(random.standard_normal((self.width, self.width)))[0]
        return self

    def transform(self, X: Any) -> Any:
        return X @ self.turn_

    def __str__(self) -> str:
        return "rotation"


def values(result: isoscope.Result, correction: str = "none") -> dict[str, float | None]:
    return {figure: result.value(measure_name(figure), correction) for figure in WORDS}


def test_every_figure_is_its_definition() -> None:
    cloud = shifted(0, 500, 12)
    result = neighbours(cloud, ["none", "center"], k=K)
    original = cosines(cloud)
    true = top(original, K)
    for name, space in (("none", cloud), ("center", cloud - cloud.mean(axis=0))):
        scores = cosines(space)
        here = top(scores, K)
        found = values(result, name)
        assert found["kept"] == pytest.approx(overlap(here, true).mean(), abs=1e-9)
        counts = np.bincount(here.reshape(-1), minlength=500)
        assert found["hubness"] == pytest.approx(stats.skew(counts), rel=1e-9)
        single = units(space).astype(np.float32)
        coded = single.astype(np.float64) @ Int8(single).rounded(single).T
        np.fill_diagonal(coded, -np.inf)
        candidates = top(coded, 4 * K)
        by_int8 = [
            ("int8", overlap(candidates[:, :K], here)),
            ("int8_rescored", overlap(rescored(candidates, scores, K), here)),
            ("int8/original", overlap(candidates[:, :K], true)),
            ("int8_rescored/original", overlap(rescored(candidates, original, K), true)),
        ]
        for figure, expected in by_int8:
            assert found[figure] == pytest.approx(expected.mean(), abs=1e-3), figure
        # Ties are broken in the random order of the sample, here by their chance.
        apart = hamming(space, space).astype(float)
        np.fill_diagonal(apart, np.inf)
        right = np.zeros(apart.shape)
        np.put_along_axis(right, here, 1.0, 1)
        right_originally = np.zeros(apart.shape)
        np.put_along_axis(right_originally, true, 1.0, 1)
        assert found["binary"] == pytest.approx(expected_hits(apart, right, K), abs=0.01)
        assert found["binary_rescored"] == pytest.approx(
            expected_hits(apart, right, 4 * K), abs=0.01
        )
        assert found["binary/original"] == pytest.approx(
            expected_hits(apart, right_originally, K), abs=0.01
        )
        for figure in ("hnsw", "ivf"):
            share = found[figure]
            assert share is not None
            assert 0.5 < share <= 1


def expected_hits(apart: np.ndarray, right: np.ndarray, most: int) -> float:
    """Share of the neighbours among the first by distance, ties in any order alike."""
    hits = []
    for row, good in zip(apart, right, strict=True):
        last = np.sort(row)[most - 1]
        nearer, tied = row < last, row == last
        chance = (most - nearer.sum()) / tied.sum()
        hits.append(good[nearer].sum() + chance * good[tied].sum())
    return float(np.mean(hits)) / K


def test_hubness_is_that_of_the_measure() -> None:
    cloud = shifted(3, 1500, 20)
    measured = isoscope.measure(cloud, ["hubness"], ["none", "center", "whiten"])
    result = neighbours(cloud, ["none", "center", "whiten"])
    for name in ("none", "center", "whiten"):
        expected = measured.value("hubness", name)
        assert result.value("neighbours/hubness", name) == pytest.approx(expected, rel=1e-3)


def test_a_rotation_keeps_all_neighbours_even_where_rows_are_equal() -> None:
    cloud = np.concatenate([shifted(0, 200, 12), np.repeat(shifted(1, 5, 12), 40, axis=0)])
    result = neighbours(cloud, ["none", Rotation()], k=K)
    assert result.value("neighbours/kept", "rotation") == 1
    assert result.value("neighbours/hnsw", "rotation") == pytest.approx(
        result.value("neighbours/hnsw"), abs=0.02
    )
    assert "and keeps the neighbours" in result.extra["neighbours"]["remarks"][0]


def test_centring_a_centred_cloud_changes_nothing() -> None:
    cloud = shifted(0, 800, 12, offset=0.0)
    result = neighbours(cloud - cloud.mean(axis=0), "none,center")
    assert result.value("neighbours/kept", "center") == pytest.approx(1, abs=1e-9)
    (line, _) = result.extra["neighbours"]["remarks"]
    assert line == (
        "center changes no recall by 0.01 or more, and keeps the neighbours: for this search "
        "nothing changes."
    )


def test_another_build_is_no_change() -> None:
    """Centring an even cloud around zero changes no recall; one in five was said to change."""
    said = []
    for seed in range(10):
        cloud = np.random.default_rng(seed).standard_normal((500, 24))
        found = neighbours(cloud, "none,center", seed=seed)
        said.append(found.extra["neighbours"]["remarks"][0])
        rows = [row for row in found.rows if "p_holm" in row.extra]
        assert {row.correction for row in rows} == {"center"}
        assert len(rows) >= 4
    assert sum("raises" in line or "lowers" in line for line in said) <= 2


def test_an_offset_hides_what_binary_codes_could_tell() -> None:
    cloud = shifted(0, 3000, 32, offset=3.0)
    result = neighbours(cloud, ["center"])
    before, after = (result.value("neighbours/binary", name) for name in ("none", "center"))
    apart = result.row("neighbours/binary/difference", "center")
    assert before is not None
    assert after is not None
    assert after > before + 0.1
    assert apart.value == pytest.approx(after - before)
    assert apart.low is not None
    assert apart.low > 0
    first = result.extra["neighbours"]["remarks"][0]
    assert f"binary codes from {before:.2f} to {after:.2f}" in first
    assert first.startswith("center raises the recall of rescored binary codes from")
    assert "No labels were used" in result.extra["neighbours"]["remarks"][-1]


def test_intervals_are_those_of_means_over_queries() -> None:
    cloud = shifted(0, 600, 12)
    result = neighbours(cloud, ["none", "whiten"], k=K)
    before, after = (
        overlap(top(cosines(space), K), top(cosines(cloud), K))
        for space in (cloud, isoscope.make_correction("whiten").fit_transform(cloud))
    )
    kept = result.row("neighbours/kept", "whiten")
    assert kept.n == 600
    assert kept.value == pytest.approx(after.mean())
    reach = stats.t.ppf(0.975, 598) * after.std(ddof=1) / np.sqrt(600)
    assert kept.high is not None
    assert kept.low is not None
    assert kept.high - kept.low == pytest.approx(2 * reach, rel=0.05)
    assert result.row("neighbours/kept").low is None
    assert before.mean() == 1


def test_fitted_on_all_rows_and_searched_in_a_sample() -> None:
    cloud = shifted(0, 3000, 12)
    cloud[:1500] += 4.0  # two halves: means of samples differ
    result = neighbours(cloud, ["none", "center"], sample=400, seed=3)
    drawn = isoscope.data.sampling.draw(isoscope.open_cloud(cloud), 400, 3)
    rows = np.concatenate([b.vectors for batch in drawn.batches() for b in batch.values()])
    kept = overlap(
        top(cosines(rows - cloud.mean(axis=0)), K), top(cosines(rows.astype(float)), K)
    ).mean()
    assert result.value("neighbours/kept", "center") == pytest.approx(kept, abs=1e-6)
    assert "400 of 3,000 rows, seed 3" in result.rows[0].protocol


def test_the_same_every_time_from_any_source_in_batches_of_any_size(tmp_path: Path) -> None:
    cloud = shifted(0, 1200, 10).astype(np.float32)
    asked: dict[str, Any] = {"corrections": ["none", "whiten"], "sample": 500, "seed": 4}
    first = neighbours(cloud, **asked).to_rows()
    assert neighbours(cloud, **asked).to_rows() == first
    with gzip.open(tmp_path / "array.vec.gz", "wt") as file:  # which can only be read through
        file.writelines(
            f"w{k} " + " ".join(repr(float(v)) for v in row) + "\n" for k, row in enumerate(cloud)
        )
    again = neighbours(tmp_path / "array.vec.gz", **asked).to_rows()
    assert without_names(again) == without_names(first)
    for size in (7, 1200):
        pieces = [cloud[k : k + size] for k in range(0, 1200, size)]
        batches = isoscope.open_cloud(BatchesCloud(lambda pieces=pieces: iter(pieces)))
        for row, other in zip(neighbours(batches, **asked).to_rows(), first, strict=True):
            assert row["value"] == pytest.approx(other["value"], abs=1e-3)
    assert neighbours(cloud, **{**asked, "seed": 5}).to_rows() != first


def without_names(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{k: v for k, v in row.items() if k not in ("subject", "protocol")} for row in rows]


def test_queries_of_their_own_are_corrected_as_the_vectors_are() -> None:
    cloud, asked = shifted(0, 700, 12), shifted(1, 90, 12) + 0.2
    result = neighbours(cloud, ["none", "center"], queries=asked)
    mean = cloud.mean(axis=0)
    true = top(cosines(cloud, asked), K)
    expected = overlap(top(cosines(cloud - mean, asked - mean), K), true).mean()
    row = result.row("neighbours/kept", "center")
    assert row.value == pytest.approx(expected)
    assert row.n == 90
    assert "90 queries of their own" in row.protocol
    counts = np.bincount(true.reshape(-1), minlength=700)
    assert result.value("neighbours/hubness") == pytest.approx(stats.skew(counts))


def test_vectors_without_a_direction_are_counted_and_left_out() -> None:
    cloud = shifted(0, 300, 6)
    cloud[10] = 0
    mean = np.delete(cloud, 20, axis=0).mean(axis=0)
    cloud[20] = mean  # zero after centring
    result = neighbours(cloud, ["none", "center"])
    assert result.row("neighbours/kept").n == 298
    assert "2 vectors left out, without a direction in some space" in result.rows[0].protocol
    alone = neighbours(np.delete(cloud, [10, 20], axis=0), ["none"])
    assert alone.value("neighbours/int8") == pytest.approx(
        result.value("neighbours/int8"), abs=0.01
    )


def test_a_cloud_of_one_direction_can_be_searched() -> None:
    cloud = np.linspace(1, 2, 60)[:, None] * np.ones(4)
    result = neighbours(cloud, ["none"])
    assert values(result)["kept"] == 1
    assert values(result)["binary"] == 1  # every row is as near as any other


def test_fewer_queries_for_indexes_than_for_exact_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("isoscope.verbs.measure.search.names.SEARCHES", 100)
    result = neighbours(shifted(0, 400, 8), ["none"])
    counts = {row.measure: row.n for row in result.rows}
    assert counts["neighbours/kept"] == counts["neighbours/hubness"] == 400
    assert counts["neighbours/hnsw"] == counts["neighbours/binary_rescored/original"] == 100


def test_progress_counts_rows() -> None:
    told: list[tuple[str, int, int | None]] = []
    neighbours(shifted(0, 200, 6), ["none", "center"], progress=lambda *entry: told.append(entry))
    searched = [entry for entry in told if entry[0] == "search"]
    assert sorted(done for _, done, _ in searched) == [40 * k for k in range(1, 11)]
    assert {total for _, _, total in searched} == {400}
    assert any(stage == "fit" for stage, _, _ in told)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"k": 0}, "k must be at least 1"),
        ({"sample": 15}, "too small for 10 neighbours"),
        ({"seed": -1}, "seed must be at least 0"),
        ({"k": 60}, "100 rows with a direction; 60 neighbours each take at least 120"),
        ({"corrections": "centre"}, "did you mean center"),
        ({"queries": np.ones((5, 3))}, "queries have 3 dimensions"),
    ],
)
def test_wrong_calls(options: dict[str, Any], words: str) -> None:
    with pytest.raises(isoscope.IsoscopeError, match=words):
        neighbours(shifted(0, 100, 6), **options)


def test_rows_that_are_not_finite() -> None:
    cloud = shifted(0, 300, 6)
    cloud[17, 2] = np.nan
    for corrections in ("none", "none,center"):
        with pytest.raises(isoscope.DataError, match="17"):
            neighbours(cloud, corrections)
    result = neighbours(cloud, "none,center", drop_invalid=True)
    assert result.left_out == {"not finite": 1}
    assert result.row("neighbours/kept").n == 299


def test_without_faiss(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "faiss", None)
    with pytest.raises(isoscope.UsageError, match=r"pip install 'isoscope\[search\]'"):
        neighbours(shifted(0, 100, 6))


def test_fitted_copies_leave_the_callers_correction_alone() -> None:
    mine = Rotation(6)
    neighbours(shifted(0, 100, 6), ["none", mine])
    assert not hasattr(mine, "turn_")
    assert named([mine])[0].transformer is mine


def test_ties_are_not_found_in_the_order_of_the_file() -> None:
    random = np.random.default_rng(0)
    cloud = np.abs(random.standard_normal((400, 64))) + 0.1  # all signs alike, so all codes tied
    cloud[:10] = cloud.mean(axis=0) + 0.01 * random.standard_normal((10, 64))  # near to all others
    result = neighbours(cloud, "none")
    share = result.value("neighbours/binary")
    assert share is not None
    assert share < 0.1


def test_queries_may_have_a_centre_of_their_own() -> None:
    rng = np.random.default_rng(4)
    documents = rng.normal(size=(300, 8)) + 1
    queries = documents[:100] - 5
    found = neighbours(documents, ["none", "center"], queries=queries, k=5)
    names = {row.correction for row in found}
    assert names == {"none", "center", "center (own centres)"}
    # What the queries find then is what they would find without their offset.
    moved = documents[:100] - documents[:100].mean(axis=0)
    centred = documents - documents.mean(axis=0)
    units = [rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in (moved, centred)]
    lists = np.argsort(-(units[0] @ units[1].T), axis=1)[:, :5]
    counts = np.bincount(lists.ravel(), minlength=300)
    apart = counts - counts.mean()
    skewness = np.mean(apart**3) / np.mean(apart**2) ** 1.5
    assert found.value("neighbours/hubness", "center (own centres)") == pytest.approx(skewness)
    own = neighbours(documents, ["center"], queries=queries, k=5, centres="own")
    assert {row.correction for row in own} == {"none", "center (own centres)"}
    shared = neighbours(documents, ["center"], queries=queries, k=5, centres="shared")
    assert {row.correction for row in shared} == {"none", "center"}
