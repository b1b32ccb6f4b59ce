"""``isoscope profile``: tables, files, and one line for whatever is wrong."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from command_line import Run, runner

TEXTS = [f"the {one} sat on a {other}" for one in ("cat", "dog", "bird", "old tree")
         for other in ("boat", "river bank", "red tree", "small money")]  # fmt: skip


@pytest.fixture
def isoscope(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    return runner(monkeypatch, capsys)


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "texts.txt"
    path.write_text("\n".join(TEXTS) + "\n")
    return path


@pytest.fixture
def bert(tiny_model: Callable[[str], Path]) -> Path:
    return tiny_model("bert")


def test_layers_are_down_and_measures_across(isoscope: Run, bert: Path, text: Path) -> None:
    done = isoscope("profile", bert, "--text", text, "--details")
    assert done.code == 0
    for said in ("embedding", "block 3", "intra_sim", "Verdict: The mean cosine is lowest"):
        assert said in done.out
    assert done.error == ""


def test_the_result_is_json_and_a_file(
    isoscope: Run, bert: Path, text: Path, tmp_path: Path
) -> None:
    out = tmp_path / "profile.json"
    done = isoscope("profile", bert, "--text", text, "--json", "--out", out)
    printed = json.loads(done.out)
    assert printed["kind"] == "profile"
    assert printed["models"]["tiny-bert"]["dtype"] == "float32"
    kept = json.loads(out.read_text())
    assert kept.pop("checksum")  # of the file, for isoscope verify
    assert printed == kept
    assert not Path(f"{out}.journal").exists()
    shown = isoscope(
        "report",
        out,
        "--format",
        "markdown",
        "--rows",
        "part",
        "--columns",
        "mean_cosine,intra_sim",
    )
    assert "block 2" in shown.out


def test_weights_alone(isoscope: Run, tiny_model: Callable[[str], Path]) -> None:
    done = isoscope("profile", tiny_model("gpt-neox"))
    assert done.code == 0
    for said in ("embedding matrix", "unembedding matrix", "final norm", "padding rows", "rotary"):
        assert said in done.out
    kept = isoscope("profile", tiny_model("gpt-neox"), "--padding-rows", "--json")
    left = isoscope("profile", tiny_model("gpt-neox"), "--json")
    rows = [json.loads(one.out)["rows"][0]["n"] for one in (kept, left)]
    assert rows[0] - rows[1] == 16


def test_two_models_are_laid_side_by_side(
    isoscope: Run, bert: Path, tiny_model: Callable[[str], Path], text: Path
) -> None:
    done = isoscope("profile", bert, tiny_model("gpt2"), "--text", text, "--details")
    assert "2 models over relative depth" in done.out


def test_texts_come_through_a_pipe(
    isoscope: Run, bert: Path, text: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with text.open() as stream:
        monkeypatch.setattr("sys.stdin", stream)
        done = isoscope("profile", bert, "--text", "-", "--measures", "mean_cosine")
    assert done.code == 0
    assert "16 texts" in done.out


@pytest.mark.parametrize(
    ("content", "message"),
    [("", "it is empty"), ("\n  \n\n", "blank")],
)
def test_a_text_without_text(
    isoscope: Run, bert: Path, tmp_path: Path, content: str, message: str
) -> None:
    path = tmp_path / "nothing.txt"
    path.write_text(content)
    done = isoscope("profile", bert, "--text", path)
    assert done.code == 1
    assert message in done.error
    assert len(done.error.splitlines()) == 1


def test_a_text_over_the_limit_is_cut_and_counted(isoscope: Run, bert: Path, text: Path) -> None:
    text.write_text(" ".join(["cat"] * 200) + "\n" + text.read_text())
    done = isoscope("profile", bert, "--text", text, "--measures", "mean_cosine")
    assert done.code == 0
    assert "tokens of 1 texts beyond the limit" in done.out


def test_a_model_without_a_tokenizer(isoscope: Run, bert: Path, text: Path, tmp_path: Path) -> None:
    folder = tmp_path / "bare"
    shutil.copytree(bert, folder)
    for path in [*folder.glob("tokenizer*"), *folder.glob("vocab*"), *folder.glob("special*")]:
        path.unlink()
    done = isoscope("profile", folder, "--text", text)
    assert done.code == 1
    assert "tokenizer" in done.error
    assert len(done.error.splitlines()) == 1


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--layers", "block 9"], 2, "block 9"),
        (["--measures", "mean_cosin"], 2, "mean_cosin"),
        (["--corrections", "cluster-pc-removal"], 2, "measures only none, center"),
        (["--column", "text"], 2, "--column"),
        (["--resume"], 2, "--out"),
        (["--max-norm-multiple", "0.5"], 2, "above 1"),
        (["--out", "profile.docx"], 2, "profile.docx"),
        (["--every", "10", "--keep", "2"], 2, "--revisions"),
    ],
)
def test_wrong_calls_are_one_line(
    isoscope: Run, bert: Path, text: Path, arguments: list[str], code: int, message: str
) -> None:
    done = isoscope("profile", bert, "--text", text, *arguments)
    assert done.code == code
    assert message in done.error
    assert len(done.error.splitlines()) == 1
    assert done.out == ""


def test_a_folder_that_is_no_model(isoscope: Run, tmp_path: Path, text: Path) -> None:
    (tmp_path / "folder").mkdir()
    done = isoscope("profile", tmp_path / "folder", "--text", text)
    assert done.code in (1, 2)
    assert len(done.error.splitlines()) == 1
    missing = isoscope("profile", tmp_path / "nowhere", "--text", text)
    assert missing.code in (1, 2)
    assert len(missing.error.splitlines()) == 1


def test_an_old_journal_is_not_overwritten(
    isoscope: Run, bert: Path, text: Path, tmp_path: Path
) -> None:
    journal = tmp_path / "profile.json.journal"
    journal.mkdir()
    (journal / "configuration.json").write_text('{"models": []}')
    done = isoscope("profile", bert, "--text", text, "--out", tmp_path / "profile.json")
    assert done.code == 2
    assert "--resume" in done.error


@pytest.mark.parametrize(
    "arguments",
    [["--layers", "block 1"], ["--skip-first", "2"], ["--measures", "intra_sim"],
     ["--column", "text"], ["--sample", "5"]],
)  # fmt: skip
def test_what_is_about_a_text_needs_one(isoscope: Run, bert: Path, arguments: list[str]) -> None:
    done = isoscope("profile", bert, *arguments)
    assert done.code == 2
    assert "add --text" in done.error
    assert len(done.error.splitlines()) == 1
