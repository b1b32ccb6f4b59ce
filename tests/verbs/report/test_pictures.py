"""Pictures as files, without a browser."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import isoscope
from isoscope.errors import UsageError
from isoscope.results.result import Result

pytest.importorskip("vl_convert")

from isoscope.results.charts.registry import figures_of
from isoscope.verbs.report.pictures import save_figures, save_page

BEGINNINGS = {"png": b"\x89PNG", "svg": b"<svg", "pdf": b"%PDF"}


@pytest.fixture(scope="module")
def result() -> Result:
    cloud = np.random.default_rng(0).normal(0.5, 1, (300, 8))
    return isoscope.measure(cloud, ["spectrum", "mean_cosine"], "none,center")


def test_every_figure_in_every_format(result: Result, tmp_path: Path) -> None:
    made = save_figures([result], tmp_path / "a" / "b")
    assert len(made) == 3 * len(figures_of(result)) > 0
    for path in made:
        assert path.read_bytes().startswith(BEGINNINGS[path.suffix[1:]])
    again = save_figures([result], tmp_path / "c", ["svg"])
    assert again[0].read_bytes() == (tmp_path / "a" / "b" / again[0].name).read_bytes()


def test_names_are_told_apart(result: Result, tmp_path: Path) -> None:
    names = [figure.name for figure in figures_of(result, result, result)]
    assert len(set(names)) == len(names) == 3 * len(figures_of(result))
    assert len(set(save_figures([result, result], tmp_path, ["svg"]))) == len(names) * 2 // 3


def test_a_page_in_a_file(result: Result, tmp_path: Path) -> None:
    save_page([result], tmp_path / "page.html", "A title")
    assert "<title>A title</title>" in (tmp_path / "page.html").read_text("utf-8")


def test_a_folder_that_cannot_be_made(result: Result, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(UsageError, match="cannot be written"):
        save_figures([result], tmp_path / "file" / "figures")
