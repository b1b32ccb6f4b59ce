from __future__ import annotations

from pathlib import Path

import pytest

from isoscope.results.charts.chart import file_name


@pytest.mark.parametrize(
    "word", ["../../etc/passwd", "/dev/null", "..", "a\x00b", "é" * 300, "日" * 5_000, "\ud800", ""]
)
def test_names_of_figures_are_names_of_files(word: str, tmp_path: Path) -> None:
    """Words come out of results, which may come from anybody."""
    path = tmp_path / f"{file_name('spectrum', word)}-2.svg"
    path.write_text("x")
    assert path.parent == tmp_path
    assert [one.name for one in tmp_path.iterdir()] == [path.name]
    assert len(path.name.encode()) < 200
