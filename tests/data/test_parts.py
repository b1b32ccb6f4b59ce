from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from clouds_for_tests import shifted

import isoscope
from isoscope.data.combine import natural
from isoscope.errors import DataError, UsageError


def test_one_part_per_match_in_natural_order(tmp_path: Path) -> None:
    for layer in (0, 2, 10):
        np.save(tmp_path / f"layer_{layer}.npy", shifted(layer, 50 + layer, 3 + layer))
    result = isoscope.measure(str(tmp_path / "layer_{layer}.npy"))
    assert list(dict.fromkeys(row.part for row in result)) == ["layer 0", "layer 2", "layer 10"]
    for layer in (0, 2, 10):
        alone = isoscope.measure(tmp_path / f"layer_{layer}.npy")
        part = f"layer {layer}"
        for row in alone:
            value = result.value(row.measure, row.correction, part)
            assert (value is None) == (row.value is None)
            if value is not None:
                assert value == pytest.approx(row.value, rel=1e-9, abs=1e-12)
    assert len(result.verdicts) == 3
    assert "layer 10: 60 vectors" in repr(result)


def test_bad_rows_are_numbered_within_their_part(tmp_path: Path) -> None:
    bad = shifted(1, 50, 3)
    bad[7, 1] = np.nan
    np.save(tmp_path / "a_1.npy", shifted(0, 50, 3))
    np.save(tmp_path / "a_2.npy", bad)
    with pytest.raises(DataError, match="step 2: row 7 holds NaN"):
        isoscope.measure(str(tmp_path / "a_{step}.npy"))
    result = isoscope.measure(str(tmp_path / "a_{step}.npy"), drop_invalid=True)
    assert result.row("mean_cosine", part="step 2").n == 49


def test_patterns_without_a_match(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no file matches"):
        isoscope.open_cloud(str(tmp_path / "layer_{layer}.npy"))
    with pytest.raises(UsageError, match="a name of its own"):
        isoscope.open_cloud(str(tmp_path / "{a}_{a}.npy"))


def test_natural_order() -> None:
    assert sorted(["b10", "b9", "a"], key=natural) == ["a", "b9", "b10"]
