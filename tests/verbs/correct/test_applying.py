from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas
import pytest
from clouds_for_tests import joined, shifted

import isoscope
from isoscope.corrections import Center, Whiten
from isoscope.errors import DataError
from isoscope.verbs.correct.files import apply_to_files

VECTORS = shifted(0, 6_000, 5)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("renormalize", [False, True])
def test_a_file_gets_what_transform_gives(tmp_path: Path, dtype: str, renormalize: bool) -> None:
    correction = Whiten(n_components=3, renormalize=renormalize).fit(VECTORS)
    np.save(tmp_path / "v.npy", VECTORS.astype(dtype))
    apply_to_files(correction, str(tmp_path / "v.npy"), str(tmp_path / "w.npy"))
    found = joined(isoscope.open_cloud(tmp_path / "w.npy"))
    # Products of a part of the rows may round differently than those of all.
    step = 2 * np.finfo(dtype).eps
    expected = correction.transform(VECTORS.astype(dtype))
    np.testing.assert_allclose(found, expected, rtol=step, atol=20 * step)


def test_names_of_features_are_no_hindrance(tmp_path: Path) -> None:
    correction = Center().fit(pandas.DataFrame(VECTORS, columns=list("abcde")))
    np.save(tmp_path / "v.npy", VECTORS)
    apply_to_files(correction, str(tmp_path / "v.npy"), str(tmp_path / "w.npy"))
    np.testing.assert_allclose(np.load(tmp_path / "w.npy"), VECTORS - VECTORS.mean(axis=0))


def test_another_width(tmp_path: Path) -> None:
    np.save(tmp_path / "v.npy", VECTORS[:, :4])
    with pytest.raises(DataError, match="has 4 dimensions; this correction .center. was fitted on"):
        apply_to_files(Center().fit(VECTORS), str(tmp_path / "v.npy"), str(tmp_path / "w.npy"))
    assert not (tmp_path / "w.npy").exists()
