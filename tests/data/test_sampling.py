from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
from clouds_for_tests import shifted

import isoscope
from isoscope.data import sampling as sample_module
from isoscope.data.arrays import ArrayCloud
from isoscope.data.base import Batch
from isoscope.data.sampling import SampleTaker, draw, lowest, row_keys
from isoscope.errors import DataError, UsageError

CLOUD = np.arange(20_000, dtype=np.float64).reshape(10_000, 2)


def take(cuts: list[int], workers: int = 1, seed: int = 3, rows: int | None = None) -> np.ndarray:
    takers = [SampleTaker(2, 100, seed, rows) for _ in range(workers)]
    edges = [0, *cuts, len(CLOUD)]
    for position, (a, b) in enumerate(itertools.pairwise(edges)):
        takers[position % workers].add(Batch(CLOUD[a:b], a, {}))
    return lowest([taker.result() for taker in takers], 100).vectors


def test_the_sample_does_not_depend_on_how_rows_arrive() -> None:
    reference = take([])
    assert reference.shape == (100, 2)
    for cuts in ([5_000], [17, 18, 9_000], list(range(100, 10_000, 100))):
        for workers in (1, 2, 3):
            for rows in (None, 10_000):
                np.testing.assert_array_equal(take(cuts, workers, rows=rows), reference)


def test_another_seed_is_another_sample_over_the_whole_file() -> None:
    one, other = take([]), take([], seed=4)
    assert not np.array_equal(one, other)
    assert one[:, 0].max() > 15_000
    assert one[:, 0].min() < 5_000


def test_fewer_rows_than_wanted_are_all_taken() -> None:
    taker = SampleTaker(2, 100, 0)
    taker.add(Batch(CLOUD[:7], 0, {}))
    np.testing.assert_array_equal(taker.result().vectors, CLOUD[:7])


def test_a_drawn_sample_is_measured_like_its_rows(tmp_path: Path) -> None:
    """From a file that is sorted: its head would give another answer."""
    cloud = shifted(0, 20_000, 6)
    cloud = cloud[np.argsort(cloud[:, 0])].astype(np.float32)
    np.save(tmp_path / "sorted.npy", cloud)
    drawn = isoscope.measure(tmp_path / "sorted.npy", sample=2_000, seed=5)
    assert drawn.row("mean_cosine").n == 2_000
    assert "a random sample of 20,000 rows, seed 5" in drawn.rows[0].protocol
    whole = isoscope.measure(cloud)
    assert drawn.value("mean_cosine") == pytest.approx(whole.value("mean_cosine"), abs=0.03)
    kept = draw(isoscope.open_cloud(cloud), 2_000, 5)
    (batch,) = next(iter(kept.batches())).values()
    indices = batch.labels["row of the source"]
    np.testing.assert_array_equal(batch.vectors, cloud[indices])
    assert len(set(indices)) == 2_000
    again = isoscope.measure(tmp_path / "sorted.npy", sample=2_000, seed=5)
    assert again.to_rows() == drawn.to_rows()


def test_a_sample_as_large_as_the_cloud_is_the_cloud() -> None:
    cloud = shifted(1, 300, 4)
    all_rows, sampled = isoscope.measure(cloud), isoscope.measure(cloud, sample=1_000)
    assert [row.value for row in sampled] == [row.value for row in all_rows]
    with pytest.raises(UsageError, match="at least 2"):
        isoscope.measure(cloud, sample=1)


def test_a_bad_row_is_named_by_its_place_in_the_source() -> None:
    cloud = shifted(2, 300, 4)
    cloud[123, 1] = np.nan
    with pytest.raises(DataError, match=r"row of the source (np.int64\()?123"):
        isoscope.measure(cloud, sample=299, seed=1)


def test_keys_are_spread_evenly() -> None:
    keys = row_keys(np.arange(100_000), seed=0) / 2.0**64
    counts = np.histogram(keys, bins=10, range=(0, 1))[0]
    # Ten bins of 10,000 expected with a standard deviation of 95: six of them.
    assert np.abs(counts - 10_000).max() < 570


def test_tensors_arrive_on_the_host() -> None:
    torch = pytest.importorskip("torch")
    taker = SampleTaker(2, 5, 0)
    taker.add(Batch(torch.ones(8, 2, dtype=torch.bfloat16), 0, {}))
    assert taker.result().vectors.dtype == np.float64


@pytest.mark.parametrize("rows", [50, 1_000, 9_999])
def test_rows_read_alone_are_those_that_a_full_read_would_keep(
    rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sample_module, "KEYS_AT_ONCE", 700)
    cloud = np.arange(2.0 * rows).reshape(rows, 2)
    drawn = draw(ArrayCloud(cloud), 100, 3)
    (batch,) = drawn.batches()
    found = batch["array"].labels["row of the source"]
    np.testing.assert_array_equal(sample_module.lowest_indices(rows, 100, 3), found)
