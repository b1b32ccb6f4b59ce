"""``isoscope advise`` as a user has it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from command_line import Run, runner

import isoscope


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    return runner(monkeypatch, capsys)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Pairs whose cosines are what people score, and the same with an outlier dimension."""
    random = np.random.default_rng(0)
    first = random.standard_normal((150, 64))
    share = random.uniform(0, 1, (150, 1))
    second = share * first + np.sqrt(1 - share**2) * random.standard_normal((150, 64))
    vectors = np.concatenate([first, second]).astype(np.float32)
    np.save(tmp_path / "good.npy", vectors)
    vectors[:, 7] = 12 * random.standard_normal(300)
    np.save(tmp_path / "bad.npy", vectors)
    lines = [f"{k}\t{150 + k}\t{share[k, 0]:.4f}" for k in range(150)]
    (tmp_path / "pairs.tsv").write_text("\n".join(["row1\trow2\tscore", *lines]) + "\n")
    return tmp_path


TRIED = ("--corrections", "clip,center,whiten")


def test_a_correction_is_written_and_can_be_applied(run: Run, folder: Path) -> None:
    out = folder / "correction.safetensors"
    process = run(
        "advise", folder / "bad.npy", "--pairs", folder / "pairs.tsv", *TRIED, "--out", out
    )
    assert process.code == 0, process.error
    words = " ".join(process.out.split())
    assert "Use clip, which sets dimension 7 to zero" in words
    assert "isoscope correct apply" in words
    vectors = np.load(folder / "bad.npy")
    corrected = isoscope.load_correction(out).transform(vectors)
    assert (corrected[:, 7] == 0).all()
    applied = run("correct", "apply", out, folder / "bad.npy", "--out", folder / "fixed.npy")
    assert applied.code == 0, applied.error
    np.testing.assert_array_equal(np.load(folder / "fixed.npy"), corrected)


def test_leave_it_alone_writes_nothing(run: Run, folder: Path) -> None:
    out = folder / "correction.safetensors"
    process = run(
        "advise", folder / "good.npy", "--pairs", folder / "pairs.tsv", *TRIED, "--out", out,
        "--json", "--out", folder / "advice.md",
    )  # fmt: skip
    assert process.code == 0, process.error
    found = json.loads(process.out)
    assert found["recommendation"]["sentence"].startswith("Leave it alone")
    assert found["recommendation"]["correction"] is None
    assert "written" not in found["recommendation"]
    assert not out.exists()
    assert "Leave it alone" in (folder / "advice.md").read_text()


@pytest.mark.filterwarnings("always:--save is deprecated")
def test_the_old_name_of_the_ranking_still_works(run: Run, folder: Path) -> None:
    call = ("advise", folder / "good.npy", "--pairs", folder / "pairs.tsv", *TRIED)
    process = run(*call, "--save", folder / "old.json")
    assert process.code == 0
    assert "warning: --save is deprecated; name the same file with --out" in process.error
    new = run(*call, "--out", folder / "new.json")
    assert "deprecated" not in new.error
    old, new_rows = (
        json.loads((folder / name).read_text())["rows"] for name in ("old.json", "new.json")
    )
    assert old == new_rows


def test_two_files_of_one_kind_are_refused(run: Run, folder: Path) -> None:
    process = run("advise", folder / "good.npy", "--out", "a.json", "--out", "b.md")
    assert process.code == 2
    assert "--out names a.json and b.md; name one file for the correction" in process.error


def test_without_labels_the_corrections_that_are_asked_for_are_looked_at() -> None:
    cloud = np.random.default_rng(0).normal(1, 1, (300, 6))
    for asked in ("center,standardize", ["none", "center", "standardize"]):
        found = isoscope.advise(cloud, corrections=asked).result
        assert {row.correction for row in found} == {"none", "center", "standardize"}
    usual = isoscope.advise(cloud).result
    assert {row.correction for row in usual} == {"none", "center", "all-but-the-top", "whiten"}


def test_without_labels_it_says_what_cannot_be_known(run: Run, folder: Path) -> None:
    process = run("advise", folder / "good.npy")
    assert process.code == 0, process.error
    words = " ".join(process.out.split())
    for part in ("mean cosine", "Without labels, only this can be known", "cannot be known"):
        assert part in words


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--pairs", "absent.tsv"), "there is no file absent.tsv"),
        (("--retrieval", "absent"), "there is no folder absent"),
        (("--pairs", "pairs.tsv", "--task", "sts-b"), "no more than one"),
        (("--pairs", "pairs.tsv", "--out", "a.bin"), "a .safetensors file"),
        (("--pairs", "pairs.tsv", "--out", "no/a.safetensors"), "there is no folder no"),
        (("--out", "a.safetensors"), "without labels nothing can be recommended"),
        (("--pairs", "pairs.tsv", "--corrections", "wihten"), "wihten"),
        (("--task", "sts-c"), "sts-c"),
        (("--pairs", "pairs.tsv", "--folds", "400"), "--folds"),
        (("--pairs", "pairs.tsv", "--fit-on", "absent.txt"), "--fit-on names texts"),
        (("--pairs", "pairs.tsv", "--layer", "block 2"), "vectors have no layer"),
    ],
)
def test_wrong_calls_get_one_line(
    run: Run,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
    message: str,
) -> None:
    monkeypatch.chdir(folder)
    process = run("advise", "good.npy", *arguments)
    assert process.code == 2, process.out
    assert message in process.error
    assert len(process.error.strip().splitlines()) == 1


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["0\t150\t1", "1\t151\t0"], "pairs:few has 2 pairs; advice needs at least 20"),
        (["0\t400\t1"] * 30, "few.tsv: line 2: there is no row 400; the source has 300, from 0"),
        (["0\tno\t1"] * 30, "few.tsv: line 2: a row should be a number from 0, not 'no'"),
    ],
)
def test_bad_pairs_get_one_line(run: Run, folder: Path, lines: list[str], message: str) -> None:
    (folder / "few.tsv").write_text("\n".join(["row1\trow2\tscore", *lines]) + "\n")
    process = run("advise", folder / "good.npy", "--pairs", folder / "few.tsv")
    assert process.code == 1, process.out
    assert message in process.error
    assert len(process.error.strip().splitlines()) == 1


def test_help_shows_examples(run: Run) -> None:
    process = run("advise", "--help")
    assert process.code == 0
    said = " ".join(process.out.split())
    assert "Examples isoscope advise package:glove isoscope advise package:minilm" in said
