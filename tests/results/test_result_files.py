from __future__ import annotations

from pathlib import Path

import pytest

from isoscope.errors import UsageError
from isoscope.results.result import check_writable


def test_what_cannot_be_written(tmp_path: Path) -> None:
    for path, message in (
        (tmp_path / "r.txt", "must end in .json or .md"),
        (tmp_path / "absent" / "r.json", "no folder"),
        (tmp_path / "r.json", None),
    ):
        if message is None:
            check_writable(path)
        else:
            with pytest.raises(UsageError, match=message):
                check_writable(path)
    (tmp_path / "d.json").mkdir()
    with pytest.raises(UsageError, match="is a folder"):
        check_writable(tmp_path / "d.json")
