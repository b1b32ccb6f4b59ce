"""What a terminal shows of a measurement."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from command_line import Run, runner
from rich.console import Console
from screens_for_tests import too_wide

import isoscope
from isoscope.results.kinds import screen_of
from isoscope.results.screen.diagnoses import without_limits
from isoscope.results.screen.layout import lay_out
from isoscope.verbs.measure.cli import show_provisional

RANDOM = np.random.default_rng(5)
CORRECTIONS = (
    "none,center,center-scaled,standardize,clip,whiten:kind=zca,"
    "cluster-pc-removal:n_clusters=3:n_components=2"
)


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    return runner(monkeypatch, capsys)


@pytest.fixture
def offset(tmp_path: Path) -> Path:
    np.save(tmp_path / "offset.npy", RANDOM.normal(size=(600, 24)) + 2)
    return tmp_path / "offset.npy"


def lines_of(result: isoscope.Result, cells: int = 80, *, plain: bool = False) -> list[str]:
    screen = screen_of(result)
    assert screen is not None
    return [line.text for line in lay_out(screen, cells, plain=plain)]


def test_the_answer_comes_first(run: Run, offset: Path) -> None:
    done = run("measure", offset, COLUMNS="80")
    assert done.code == 0, done.error
    lines = done.out.splitlines()
    assert lines[0] == "offset · 600 vectors × 24 dimensions · float64"
    assert lines[2].startswith("  A strong common offset: ")
    assert any(line.split()[:5] == ["mean", "cosine", "of", "random", "pairs"] for line in lines)
    assert any(line.startswith("  cosines of random pairs") for line in lines)
    (step,) = [line for line in lines if line.startswith("  Next")]
    assert step.split()[1:3] == ["isoscope", "advise"]
    assert len(lines) <= 40
    assert too_wide(lines, 80) == []


def test_details_have_every_number(run: Run, offset: Path) -> None:
    done = run("measure", offset, "--details")
    for row in isoscope.measure(offset):
        assert row.measure in done.out
    assert "Verdict: A strong common offset" in done.out


def test_ascii_alone(run: Run, offset: Path) -> None:
    done = run("measure", offset, "--ascii")
    assert done.out.isascii()
    assert "random pairs" in done.out


def test_limits_are_left_to_the_details() -> None:
    assert (
        without_limits(
            "the mean cosine is 0.80 (0.79 to 0.81; mild from 0.1, strong from 0.4), and the rank "
            "is 31.9 of 32 (mild below 6.4, strong below 3.2)."
        )
        == "the mean cosine is 0.80 (0.79 to 0.81), and the rank is 31.9 of 32."
    )
    # An interval whose ends are the value says nothing.
    assert without_limits("is 0.80 (0.80 to 0.80; mild from 0.1).") == "is 0.80."
    assert without_limits("1 of 64 never varies (7).") == "1 of 64 never varies (7)."


def test_what_is_even_is_called_so() -> None:
    lines = lines_of(isoscope.measure(RANDOM.normal(size=(3000, 16))))
    assert lines[2].startswith("  Nothing stands out:")
    assert any("isoscope threshold" in line for line in lines)


@pytest.mark.parametrize("name", ["x" * 60, "向量文件中文名称", "ملف المتجهات"])
@pytest.mark.parametrize("cells", [60, 80, 132])
def test_any_name_and_many_corrections_fit(tmp_path: Path, name: str, cells: int) -> None:
    np.save(tmp_path / f"{name}.npy", RANDOM.normal(size=(300, 40)) + 1)
    lines = lines_of(isoscope.measure(tmp_path / f"{name}.npy", corrections=CORRECTIONS), cells)
    assert too_wide(lines, cells) == []
    assert len(lines) <= 40
    assert sum("0." in line for line in lines) >= 6


def test_many_dimensions_fit() -> None:
    lines = lines_of(isoscope.measure(RANDOM.normal(size=(200, 1536)).astype("f4")))
    assert too_wide(lines, 80) == []
    assert len(lines) <= 40
    assert "1,536 dimensions" in lines[0]
    assert any("(of 199)" in line for line in lines)  # rows allow no more directions


def test_several_clouds_have_a_line_each(tmp_path: Path) -> None:
    for layer in range(30):
        array = RANDOM.normal(size=(200, 12)) + (3 if layer == 7 else 0)
        np.save(tmp_path / f"layer_{layer}.npy", array)
    result = isoscope.measure(tmp_path / "layer_{layer}.npy", corrections="none")
    lines = lines_of(result)
    assert len(lines) <= 40
    assert too_wide(lines, 80) == []
    assert "in 1 of 30 clouds (layer 7)" in " ".join(" ".join(lines).split())
    (row,) = [line for line in lines if line.startswith("  layer 7 ")]
    assert "████████" in row
    assert row.endswith("strong common offset")
    plain = lines_of(result, plain=True)
    assert "".join(plain).isascii()
    assert any("########" in line for line in plain)


def test_excluded_rows_are_named(tmp_path: Path) -> None:
    array = RANDOM.normal(size=(300, 8))
    array[3, 2] = np.nan
    np.save(tmp_path / "some.npy", array)
    lines = lines_of(isoscope.measure(tmp_path / "some.npy", drop_invalid=True))
    assert any("1 row excluded: not finite." in line for line in lines)


def test_structured_measures_alone(offset: Path) -> None:
    text = "\n".join(lines_of(isoscope.measure(offset, measures="spectrum", corrections="none")))
    assert "spectrum (none): 24 rows" in text
    assert "singular" in text


def test_a_search_is_answered_about_the_search(offset: Path) -> None:
    lines = lines_of(isoscope.measure(offset, corrections="none,center", neighbours=True, k=3))
    assert len(lines) <= 40
    assert any(line.startswith("  neighbours kept") for line in lines)


def test_a_provisional_answer_is_the_diagnosis_alone() -> None:
    written = io.StringIO()
    screen = Console(file=written, width=80)
    show_provisional(screen, isoscope.measure(RANDOM.normal(size=(300, 8)) + 3))
    text = written.getvalue()
    assert text.startswith("Provisional, from a random sample")
    assert "A strong common offset" in text
    assert "Next" not in text
    assert len(text.splitlines()) <= 6


def test_a_search_with_queries_of_their_own(offset: Path) -> None:
    """Labels are whole beside the numbers, and the columns with two centres are explained."""
    asked = np.random.default_rng(2).normal(size=(60, np.load(offset).shape[1])) - 1
    result = isoscope.measure(
        offset, corrections="none,center", neighbours=True, k=3, queries=asked
    )
    lines = lines_of(result)
    assert len(lines) <= 40
    text = " ".join(" ".join(lines).split())
    assert "Queries have a centre of their own" in text
    assert any(line.startswith("  recall of binary ") for line in lines)
    assert any(line.startswith("  binary against none ") for line in lines)
    assert "against none: of those of the vectors as they are" in text
    assert not any("…" in line.replace("… rescored", "") for line in lines)
