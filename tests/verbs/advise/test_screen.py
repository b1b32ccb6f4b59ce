"""What a terminal shows of an advice."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from screens_for_tests import screen_lines, words_of

import isoscope

RANDOM = np.random.default_rng(4)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("advise")
    first = RANDOM.normal(size=(200, 64))
    second = first + RANDOM.normal(size=(200, 64)) * np.linspace(0.1, 3, 200)[:, None]
    vectors = np.concatenate([first, second])
    np.save(made / "sound.npy", vectors)
    vectors[:, 7] += 30 * RANDOM.normal(size=400)
    np.save(made / "spoiled.npy", vectors)
    rows = "".join(f"{i}\t{200 + i}\t{200 - i}\n" for i in range(200))
    (made / "pairs.tsv").write_text("row1\trow2\tscore\n" + rows)
    return made


def test_what_to_do_comes_first(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "fix.safetensors"
    advice = isoscope.advise(
        folder / "spoiled.npy", pairs=folder / "pairs.tsv", corrections="clip,center", out=out,
        command=f"isoscope advise spoiled.npy --pairs pairs.tsv --out {out}",
    )  # fmt: skip
    lines = screen_lines(advice.result)
    assert lines[0].startswith("spoiled · pairs:pairs")
    assert lines[2].startswith("  Use clip, which sets dimension 7 to zero")
    (chosen,) = [line for line in lines if line.startswith("  clip ")]
    assert "●" in chosen
    assert chosen.endswith("recommended")
    assert words_of(lines).count("isoscope correct apply") == 1
    assert "spoiled.npy --out OUT" in words_of(lines)


def test_nothing_to_do(folder: Path) -> None:
    advice = isoscope.advise(
        folder / "sound.npy", pairs=folder / "pairs.tsv", corrections="center", worthwhile=0.05
    )
    lines = screen_lines(advice.result, plain=True)
    assert advice.correction is None
    assert any("not significant" in line for line in lines)
    assert "recommended" not in "\n".join(lines[4:])


@pytest.mark.parametrize("graded", [True, False])
def test_the_next_command_has_the_pairs(folder: Path, tmp_path: Path, graded: bool) -> None:
    pairs = folder / "pairs.tsv"
    if not graded:
        rows = "".join(f"{i}\t{200 + i}\t{'yes' if i < 100 else 'no'}\n" for i in range(200))
        pairs = tmp_path / "pairs.tsv"
        pairs.write_text("row1\trow2\tlabel\n" + rows)
    advice = isoscope.advise(
        folder / "sound.npy", pairs=pairs, corrections="center", worthwhile=0.05,
        command="isoscope advise sound.npy --pairs pairs.tsv",
    )  # fmt: skip
    wanted = "isoscope threshold sound.npy --pairs pairs.tsv" + " --positive '>=4'" * graded
    (line,) = [one for one in screen_lines(advice.result) if one.startswith("  Next")]
    assert line.removeprefix("  Next").split("  which")[0].strip() == wanted


def test_pairs_that_are_left_out_are_told(folder: Path, tmp_path: Path) -> None:
    pairs = tmp_path / "pairs.tsv"
    pairs.write_text((folder / "pairs.tsv").read_text() + "7\t7\t3\n")
    vectors = str(folder / "sound.npy")
    advice = isoscope.advise(vectors, pairs=pairs, corrections=["none", "center", "clip"])
    text = words_of(screen_lines(advice.result))
    assert "1 pair of a row with itself left out (line 202): such a pair" in text
    assert "Mean cosine" in text
