from __future__ import annotations

import numpy as np
import pytest
from clouds_for_tests import shifted

import isoscope
from isoscope.clouds.contract import Batch
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
        isoscope.measure(Counting(), measures, corrections)
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
    assert "5 zero vectors" in row.note


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
