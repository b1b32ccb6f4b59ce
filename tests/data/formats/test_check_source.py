"""What a name says of a file of vectors, before anything is opened."""

from __future__ import annotations

from pathlib import Path

import pytest

from isoscope.data.formats.registry import check_source
from isoscope.data.open import open_cloud
from isoscope.errors import UsageError


@pytest.mark.parametrize(
    "name", ["package:glove", "s3://bucket/a.npy", "postgresql://host/database", "part-*.npy",
             "layer_{layer}.npy", ""]
)  # fmt: skip
def test_what_may_be_no_file_is_left_to_whoever_opens_it(name: str) -> None:
    check_source(name)


def test_a_file_that_cannot_be_opened_is_refused_as_open_cloud_refuses_it(tmp_path: Path) -> None:
    (tmp_path / "a.txt.gz").touch()
    (tmp_path / "a.csv").touch()
    (tmp_path / "a.npy.gz").touch()
    for name in ("a.npy", "a.csv", "a.npy.gz", ""):
        path = str(tmp_path / name)
        with pytest.raises(UsageError) as ours:
            check_source(path)
        with pytest.raises(UsageError) as theirs:
            open_cloud(path)
        assert str(ours.value) == str(theirs.value)
    check_source(str(tmp_path / "a.txt.gz"))
