from __future__ import annotations

import numpy as np
import pytest
from clouds_for_tests import cross_polytope, shifted

import isoscope
from isoscope.data.base import Batch
from isoscope.errors import DataError, UsageError


class TwoLayers:
    """Two clouds that are read together."""

    names, widths, dtypes, rows = ("block 1", "block 2"), (4, 6), ("float64", "float64"), 90
    first, second = shifted(0, 90, 4), shifted(1, 90, 6)

    def batches(self):  # type: ignore[no-untyped-def]
        for start in range(0, 90, 40):
            rows = slice(start, start + 40)
            yield {
                "block 1": Batch(self.first[rows], start, {}),
                "block 2": Batch(self.second[rows], start, {}),
            }


def test_a_group_gives_what_its_clouds_give_alone() -> None:
    together = isoscope.measure(TwoLayers(), workers=2)
    for part, array in (("block 1", TwoLayers.first), ("block 2", TwoLayers.second)):
        alone = isoscope.measure(array)
        for row in alone.rows:
            value = together.value(row.measure, row.correction, part)
            assert (value is None) == (row.value is None)
            if row.value is not None:
                assert value == pytest.approx(row.value, rel=1e-9, abs=1e-9)
    assert [verdict["part"] for verdict in together.verdicts] == ["block 1", "block 2"]


def test_only_what_is_asked_for_is_read() -> None:
    class Counting(TwoLayers):
        reads = 0

        def batches(self):  # type: ignore[no-untyped-def]
            type(self).reads += 1
            yield from super().batches()

    for measures, corrections, reads in (
        (["mean_cosine"], ["none"], 1),
        (["iso_score", "outlier_dimensions"], ["none"], 1),
        (["mean_cosine"], ["center"], 2),
        (["i1"], ["none"], 2),
        (None, None, 2),
    ):
        Counting.reads = 0
        isoscope.measure(Counting(), measures, corrections, intervals=False)
        assert Counting.reads == reads, (measures, corrections)


def test_names_in_any_form() -> None:
    cloud = shifted(0, 50, 4)
    rows = isoscope.measure(cloud, "inter_sim, I1", "none,center").rows
    assert [(row.measure, row.correction) for row in rows] == [
        ("mean_cosine", "none"),
        ("i1", "none"),
        ("mean_cosine", "center"),
        ("i1", "center"),
    ]
    with pytest.raises(UsageError, match="did you mean mean_cosine"):
        isoscope.measure(cloud, ["mean_cosin"])
    with pytest.raises(UsageError, match="at least one measure"):
        isoscope.measure(cloud, [])
    with pytest.raises(UsageError, match="data or double"):
        isoscope.measure(cloud, precision="half")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="at least 1"):
        isoscope.measure(cloud, workers=0)


def test_zero_vectors_are_left_out_of_cosines_and_counted() -> None:
    cloud = shifted(0, 50, 4)
    padded = np.concatenate((cloud, np.zeros((5, 4))))
    row = isoscope.measure(padded, ["mean_cosine"], ["none"]).rows[0]
    assert row.value == pytest.approx(isoscope.measure(cloud).value("mean_cosine"), rel=1e-12)
    assert row.n == 50
    assert "5 zero vectors left out" in row.note


def test_a_vector_that_equals_the_mean_is_a_zero_vector_once_centred() -> None:
    cloud = shifted(0, 1_000, 4).astype(np.float32)
    cloud = np.concatenate((cloud, cloud.mean(axis=0, dtype=np.float64, keepdims=True)))
    for dtype in (np.float64, np.float32):
        stored = cloud.astype(dtype)
        stored[-1] = stored[:-1].mean(axis=0, dtype=np.float64)
        assert isoscope.measure(stored).row("mean_cosine", "center").n == 1_000


def test_a_constant_cloud_has_no_nan() -> None:
    result = isoscope.measure(np.full((40, 5), 0.3, np.float32))
    assert result.value("mean_cosine") == pytest.approx(1.0)
    assert result.value("mean_cosine", "center") is None
    assert result.value("iso_score") is None
    assert result.value("i1", "whiten") == 1.0
    assert "NaN" not in result.to_json()


def test_all_zero_and_two_rows() -> None:
    zero = isoscope.measure(np.zeros((3, 2)))
    assert zero.value("mean_cosine") is None
    assert zero.value("mean_offset") is None
    assert zero.value("i1") == 1.0
    assert isoscope.measure(np.array([[1.0, 0.0], [0.0, 1.0]])).value("mean_cosine") == 0.0


def test_values_too_large_to_square() -> None:
    with pytest.raises(DataError, match="overflow"):
        isoscope.measure(np.full((5, 3), 1e200))


def test_values_too_small_to_square() -> None:
    with pytest.raises(DataError, match="underflow"):
        isoscope.measure(shifted(0, 30, 3) * 1e-150)


def test_a_far_offset_in_single_precision_keeps_its_rows() -> None:
    """What was stored is coarse, but centring it is nearly exact."""
    cloud = (shifted(1, 400, 5, 0.0) + 1e6).astype(np.float32)
    single, double = isoscope.measure(cloud), isoscope.measure(cloud.astype(np.float64))
    for correction in ("center", "whiten"):
        for measure in ("mean_norm", "mean_cosine", "i1"):
            expected = double.value(measure, correction)
            assert single.value(measure, correction) == pytest.approx(expected, rel=5e-3, abs=1e-3)


def test_half_precision_loses_no_direction_beside_a_large_dimension() -> None:
    torch = pytest.importorskip("torch")
    random = np.random.default_rng(0)
    cloud = random.standard_normal((2_000, 64)) * 0.5
    cloud[:, 7] = random.normal(-1_000, 30, 2_000)
    stored = torch.from_numpy(cloud).to(torch.bfloat16)
    half, single = isoscope.measure(stored), isoscope.measure(stored.float())
    assert half.table("dead_dimensions").rows == []
    for row in single.rows:
        if row.value is not None and row.measure != "mean_alignment":
            value = half.value(row.measure, row.correction)
            assert value == pytest.approx(row.value, rel=1e-6), row


def test_a_dead_dimension_is_found_in_double_however_many_rows() -> None:
    cloud = np.random.default_rng(0).standard_normal((20_000, 8))
    cloud[:, 3] = 0.7
    rows = isoscope.measure(cloud).table("dead_dimensions").rows
    assert [row["dimension"] for row in rows] == [3]


def test_a_cloud_centred_in_double_has_no_mean_to_align() -> None:
    cloud = shifted(1, 300, 5)
    cloud -= cloud.mean(axis=0)
    original = "all-but-the-top:project=original"
    result = isoscope.measure(cloud, corrections=["none", original])
    assert result.value("mean_alignment") is None
    assert result.value("mean_alignment", original) is None


def test_few_rows_left_after_dropping_many() -> None:
    cloud = np.full((60_000, 3), np.nan, np.float32)
    cloud[:300] = shifted(0, 300, 3)
    result = isoscope.measure(cloud, drop_invalid=True)
    assert result.left_out == {"not finite": 59_700}
    assert "300 sampled rows" in result.row("i1", "whiten").note


def test_removing_more_components_than_the_cloud_has_is_settled() -> None:
    cloud, correction = shifted(5, 4, 7), "all-but-the-top:n_components=5:project=original"
    values = {
        round(isoscope.measure(cloud[order], ["i1"], [correction]).rows[0].value or 0, 9)
        for order in ([0, 1, 2, 3], [3, 1, 0, 2], [2, 3, 1, 0])
    }
    assert len(values) == 1


def test_a_cut_through_equal_components_is_noted() -> None:
    cloud = cross_polytope(4) * np.array([2.0, 2.0, 1.0, 0.5])
    result = isoscope.measure(cloud, ["i1"], ["center", "all-but-the-top"])
    assert "equal top components" in result.row("i1", "all-but-the-top").note
    assert "equal top components" not in result.row("i1", "center").note


@pytest.mark.parametrize("scale", [1e-50, 1e50])
def test_the_range_over_bases_at_any_scale(scale: float) -> None:
    result = isoscope.measure(cross_polytope(4) * scale)
    assert "nan" not in result.to_json().lower()
    row = result.row("i1_scaled")
    assert 0 < row.extra["basis_low"] <= row.extra["basis_high"] <= 1


def test_a_column_or_a_mask_that_would_be_ignored() -> None:
    with pytest.raises(UsageError, match="leave --column out"):
        isoscope.measure(TwoLayers(), column="x")
    with pytest.raises(DataError, match="masked"):
        isoscope.measure(np.ma.masked_less(np.eye(4), 0.5))
    with pytest.raises(UsageError, match="seed"):
        isoscope.measure(np.eye(4), seed=-1)


def test_a_source_that_changes_between_the_reads() -> None:
    class Shrinking(TwoLayers):
        calls = 0

        def batches(self):  # type: ignore[no-untyped-def]
            self.calls += 1
            yield from list(super().batches())[: 4 - self.calls]

    with pytest.raises(DataError, match="changed while it was read"):
        isoscope.measure(Shrinking())


def test_progress_counts_the_rows_of_both_reads() -> None:
    seen: list[tuple[str, int, int | None]] = []
    isoscope.measure(TwoLayers(), progress=lambda *args: seen.append(args))
    assert seen == [
        (stage, done, 90) for stage in ("first read", "second read") for done in (40, 80, 90)
    ]


def test_double_precision_of_single_data() -> None:
    cloud = shifted(0, 500, 8).astype(np.float32)
    double = isoscope.measure(cloud, precision="double")
    wide = isoscope.measure(cloud.astype(np.float64))
    assert "projections in float64" in double.rows[0].protocol
    for row in wide.rows:
        if row.measure != "mean_alignment":
            assert double.value(row.measure, row.correction) == pytest.approx(row.value, rel=1e-12)


def test_a_zero_vector_stays_one_under_every_correction() -> None:
    """As ``correct apply`` leaves it: measuring corrected vectors gives the same cosines."""
    padded = np.concatenate((shifted(0, 50, 4), np.zeros((5, 4))))
    wanted = ["mean_cosine", "cosine_quantiles", "mean_norm"]
    result = isoscope.measure(padded, wanted, ["none", "center", "standardize"])
    for name in ("center", "standardize"):
        corrected = isoscope.make_correction(name).fit(padded).transform(padded)
        assert not corrected[50:].any()
        by_hand = isoscope.measure(corrected, wanted, ["none"])
        for measure in ("mean_cosine", "cosine_quantiles/50%", "mean_norm"):
            found = result.row(measure, name)
            assert found.value == pytest.approx(by_hand.value(measure), rel=1e-9)
            assert found.n == by_hand.row(measure).n
        assert "5 zero vectors left out" in result.row("mean_cosine", name).note
    stated = "5 zero vectors left at zero by corrections and out of cosines"
    assert stated in result.row("mean_cosine", "center").protocol
    assert "zero" not in isoscope.measure(padded, wanted, ["none"]).rows[0].protocol
