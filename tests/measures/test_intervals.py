from __future__ import annotations

import numpy as np
import pytest
from clouds_for_tests import shifted
from scipy.stats import t

from isoscope import measure
from isoscope.data.blocks import BLOCKS, Dealt, hashed
from isoscope.results.result import Row

SUMS = ("mean_cosine", "mean_offset", "mean_norm", "norm_of_mean")
SPECTRUM = ("top_variance_share", "effective_rank", "participation_ratio", "iso_score")


def rows(cloud: np.ndarray, measures: tuple[str, ...], **options: object) -> dict[str, Row]:
    result = measure(cloud, measures, "none", workers=1, **options)  # type: ignore[arg-type]
    return {row.measure: row for row in result.rows}


def by_position(count: int) -> np.ndarray:
    return Dealt.by_position(0, count).blocks


def brute_force(cloud: np.ndarray, name: str, blocks: np.ndarray) -> tuple[float, float]:
    """Measure the cloud anew without each block, and apply the jackknife's formula."""
    value = measure(cloud, name, "none").value(name)
    without = np.array(
        [measure(cloud[blocks != b], name, "none").value(name) for b in np.unique(blocks)]
    )
    count = len(without)
    error = np.sqrt((count - 1) / count * ((without - without.mean()) ** 2).sum())
    bias = (count - 1) * (without.mean() - value)
    reach = t.ppf(0.975, count - 1) * error
    return value - bias - reach, value - bias + reach


@pytest.mark.parametrize("name", SUMS)
@pytest.mark.parametrize("documents", [False, True])
def test_equals_measuring_without_each_block(name: str, documents: bool) -> None:
    cloud = shifted(1, 400, 5)
    names = np.array([f"text {k // 3}" for k in range(len(cloud))]) if documents else None
    blocks = hashed(names) % BLOCKS if names is not None else by_position(len(cloud))
    found = rows(cloud, (name,), documents=names)[name]
    assert (found.low, found.high) == pytest.approx(brute_force(cloud, name, blocks), rel=1e-6)


@pytest.mark.parametrize("name", SPECTRUM)
def test_spectra_without_a_block_are_right_to_first_order(name: str) -> None:
    """Widths agree with a full decomposition without each block; the centres differ by the bias
    of which the jackknife has its own estimate."""
    cloud = shifted(2, 4_000, 5)
    found = rows(cloud, (name,))[name]
    low, high = brute_force(cloud, name, by_position(len(cloud)))
    assert found.low is not None
    assert found.high is not None
    # Terms of second order are of the size d/n beside the first.
    assert found.high - found.low == pytest.approx(high - low, rel=0.01)
    assert found.low + found.high == pytest.approx(low + high, rel=0.01)


def test_a_sorted_file_has_the_interval_of_a_shuffled_one() -> None:
    rng = np.random.default_rng(0)
    lengths = np.sort(rng.gamma(2.0, 1.0, 6_000))[:, None]
    ordered = (rng.normal(size=(6_000, 6)) + 1) * lengths
    shuffled = rng.permutation(ordered)
    for name in (*SUMS, *SPECTRUM):
        one, other = rows(ordered, (name,))[name], rows(shuffled, (name,))[name]
        assert one.low is not None
        assert one.high is not None
        assert other.low is not None
        assert other.high is not None
        # Widths of 31 blocks vary by 13 % (1/√60) each; contiguous ones would be ten times wider.
        assert 0.6 < (one.high - one.low) / (other.high - other.low) < 1.7, name


def coverage(draws: int, documents: bool) -> dict[str, float]:
    """How often intervals of clouds around a known mean hold what a huge cloud gives."""
    mean, spread = np.array([1.0, 0.5, 0, 0, 0]), np.array([1.5, 1.2, 1.0, 0.8, 0.5])
    large = np.random.default_rng(99).normal(size=(400_000, 5)) * spread + mean
    truth = {row.measure: row.value for row in measure(large, SUMS + SPECTRUM, "none").rows}
    held = dict.fromkeys(truth, 0)
    names = np.repeat(np.arange(200), 5) if documents else None
    for seed in range(draws):
        rng = np.random.default_rng(seed)
        noise = rng.normal(size=(1_000, 5))
        if documents:
            noise = np.sqrt(0.5) * (noise + np.repeat(rng.normal(size=(200, 5)), 5, axis=0))
        found = rows(noise * spread + mean, SUMS + SPECTRUM, documents=names)
        for name, row in found.items():
            held[name] += row.low is not None and row.low <= truth[name] <= row.high
    return {name: count / draws for name, count in held.items()}


@pytest.mark.parametrize("documents", [False, True])
def test_intervals_hold_the_truth(documents: bool) -> None:
    """About 95 %: benchmarks/coverage.py measures it closely, this sees when it breaks."""
    for name, share in coverage(120, documents).items():
        # 95 % ± 3.5 errors of 2 %; one-sided, as wider ones are tested against brute force.
        assert share > 0.88, f"{name}: {share:.0%}"


def test_ignoring_documents_would_be_too_sure() -> None:
    rng = np.random.default_rng(3)
    cloud = np.repeat(rng.normal(size=(200, 5)), 10, axis=0) + rng.normal(size=(2_000, 5)) + 1
    names = np.repeat(np.arange(200), 10)
    alone, together = (
        rows(cloud, ("mean_norm",), documents=given)["mean_norm"] for given in (None, names)
    )
    assert together.high - together.low > 1.5 * (alone.high - alone.low)  # type: ignore[operator]


def test_reasons_are_given_where_there_is_no_interval() -> None:
    cloud = shifted(0, 500, 4)
    found = measure(cloud)
    for row in found.rows:
        assert (row.low is None) == (row.high is None)
        if row.value is not None:
            assert (row.low is None) == bool(row.extra.get("no_interval")), row
    by_name = {
        (row.measure, row.correction): row.extra.get("no_interval", "") for row in found.rows
    }
    assert "extreme" in by_name["i1", "none"]
    assert "fitted" in by_name["mean_cosine", "whiten"]
    assert not by_name["effective_rank", "center"]


def test_few_rows_and_few_documents_have_none() -> None:
    few = rows(shifted(0, 61, 4), ("mean_cosine",))["mean_cosine"]
    assert few.low is None
    assert "fewer than 62 rows" in few.extra["no_interval"]
    cloud = shifted(0, 500, 4)
    found = rows(cloud, ("mean_cosine",), documents=np.arange(500) % 8)["mean_cosine"]
    assert "documents" in found.extra["no_interval"]


def test_a_mean_that_could_be_zero_has_no_interval() -> None:
    """‖x̄‖ is never zero: at a true mean of zero its bias is larger than its error."""
    cloud = np.random.default_rng(0).normal(size=(1_000, 20))
    found = rows(cloud, ("norm_of_mean",))["norm_of_mean"]
    assert found.low is None
    assert found.extra["bias"] > 0


def test_a_population_has_none_but_a_sample_of_it_does() -> None:
    source = "package:minilm"
    whole = measure(source, "mean_cosine", "none").rows[0]
    assert whole.low is None
    assert "not a sample" in whole.extra["no_interval"]
    drawn = measure(source, "mean_cosine", "none", sample=2_000).rows[0]
    assert drawn.low is not None
    assert drawn.high is not None
    assert drawn.low < whole.value < drawn.high  # type: ignore[operator]


def test_intervals_can_be_asked_for_or_left_out() -> None:
    assert measure("package:minilm", "mean_cosine", "none", intervals=True).rows[0].low is not None
    row = measure(shifted(0, 500, 4), "mean_cosine", "none", intervals=False).rows[0]
    assert row.low is None
    assert "no_interval" not in row.extra


def test_threads_and_tensors_give_the_same_intervals() -> None:
    torch = pytest.importorskip("torch")
    cloud = shifted(5, 9_000, 6).astype(np.float32)
    names = np.arange(9_000) // 4
    for documents in (None, names):
        one = measure(cloud, corrections="none", workers=1, documents=documents)
        two = measure(cloud, corrections="none", workers=2, documents=documents)
        tensor = measure(torch.from_numpy(cloud), corrections="none", documents=documents)
        for a, b, c in zip(one.rows, two.rows, tensor.rows, strict=True):
            if a.low is not None:
                assert (b.low, b.high) == pytest.approx((a.low, a.high), rel=1e-5), a.measure
                assert (c.low, c.high) == pytest.approx((a.low, a.high), rel=1e-3), a.measure


def test_the_protocol_says_that_documents_were_counted_together() -> None:
    cloud = shifted(0, 500, 4)
    found = rows(cloud, ("mean_cosine",), documents=np.arange(500) // 5)["mean_cosine"]
    assert "rows of one document counted together" in found.protocol
    assert "counted together" not in rows(cloud, ("mean_cosine",))["mean_cosine"].protocol


def test_all_rows_are_no_sample() -> None:
    cloud = shifted(0, 500, 4)
    whole = rows(cloud, ("mean_cosine",), sample=500)["mean_cosine"]
    assert "sample" not in whole.protocol
    part = rows(cloud, ("mean_cosine",), sample=499)["mean_cosine"]
    assert "a random sample of 500 rows" in part.protocol
