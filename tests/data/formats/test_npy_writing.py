from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from changes_for_tests import rewritten
from clouds_for_tests import joined

import isoscope

VECTORS = np.random.default_rng(0).standard_normal((5_000, 6))


@pytest.mark.parametrize("dtype", ["<f2", "<f4", "<f8", ">f4", ">f8"])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("new_width", [None, 4])
def test_every_type(tmp_path: Path, dtype: str, order: str, new_width: int | None) -> None:
    source, out = tmp_path / "v.npy", tmp_path / "w.npy"
    np.save(source, np.asarray(VECTORS, dtype, order=order))  # type: ignore[call-overload]
    rewritten(source, out, new_width)
    assert np.load(out).dtype == np.dtype(dtype)


def test_bfloat16_is_rounded_to_the_nearest(tmp_path: Path) -> None:
    source, out = tmp_path / "v.npy", tmp_path / "w.npy"
    bits = (VECTORS.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    np.save(source, bits.view("V2"))
    rewritten(source, out)
    torch = pytest.importorskip("torch", reason="torch rounds to bfloat16, to compare with")
    wide = torch.from_numpy(joined(isoscope.open_cloud(source)))
    expected = ((wide - 1) / 2).bfloat16().float().numpy()
    np.testing.assert_array_equal(joined(isoscope.open_cloud(out)), expected)
