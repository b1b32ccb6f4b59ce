"""``isoscope train finetune`` as a user has it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from class_sets_for_tests import write_cola, write_rte
from command_line import Run, runner

from isoscope.results.result import Result

pytest.importorskip("torch")
pytest.importorskip("transformers")
pytest.importorskip("accelerate")

pytestmark = pytest.mark.filterwarnings("ignore:.*in the release")

SMALL = ("--epochs", "1", "--batch-size", "16", "--longest", "32")


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    return runner(monkeypatch, capsys)


@pytest.fixture
def bert(tiny_model: Callable[[str], Path]) -> Path:
    return tiny_model("bert")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return write_rte(tmp_path)


def test_a_table_a_file_and_a_report_of_it(run: Run, bert: Path, data: Path) -> None:
    out = data / "found.json"
    command = (
        "train", "finetune", bert, "--task", "rte", "--calibration", "none,cosreg", "--seeds", "2",
        "--data", data, "--out", out, *SMALL,
    )  # fmt: skip
    process = run(*command, "--details")
    assert process.code == 0, process.error
    words = " ".join(process.out.split())
    assert "mean ± deviation of 2 runs, × 100" in words
    assert "cosreg" in words
    assert "evenness after training" in words
    result = Result.load(out)
    assert result.row("rte/accuracy", "cosreg").n == 2
    assert result.command.startswith("isoscope train finetune")
    assert not Path(f"{out}.journal").exists()
    assert not Path(f"{out}.checkpoints").exists()
    again = run(
        "report",
        out,
        "--format",
        "markdown",
        "--columns",
        "rte/accuracy",
        "--correction",
        "none,cosreg",
    )
    assert again.code == 0, again.error
    assert "rte/accuracy" in again.out


def test_json(run: Run, bert: Path, data: Path) -> None:
    process = run(
        "train", "finetune", bert, "--task", "rte", "--calibration", "none", "--seeds", "1",
        "--data", data, "--limit", "8", "--json", *SMALL,
    )  # fmt: skip
    assert process.code == 0, process.error
    found = json.loads(process.out)
    assert found["kind"] == "fine-tuning"
    assert found["settings"]["rte"]["limit"] == 8


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("--task", "rtee"), 2, "rtee"),
        (("--task", "rte", "--calibration", "cosine"), 2, "cosine"),
        (("--task", "rte", "--calibration", "cosreg:wait=1"), 2, "wait"),
        (("--task", "rte", "--calibration", "cosreg:weight=much"), 2, "weight"),
        (("--task", "cola"), 2, "there is no CoLA/train.tsv in"),
        (("--task", "rte", "--target", "vocabulary"), 2, "no output matrix of a vocabulary"),
        (("--task", "rte", "--resume"), 2, "--resume continues from the journal beside --out"),
        (("--task", "translate:de-en"), 2, "has no encoder and decoder"),
    ],
)
def test_wrong_calls_get_one_line(
    arguments: tuple[str, ...], code: int, message: str, run: Run, bert: Path, data: Path
) -> None:
    for side in ("de", "en"):
        (data / f"train.{side}").write_text("a cat\n" * 4)
        (data / f"test.{side}").write_text("a dog\n" * 2)
    process = run("train", "finetune", bert, "--data", data, *SMALL, *arguments)
    assert (process.code, process.out) == (code, ""), process.error
    assert message in process.error
    assert len(process.error.strip().splitlines()) == 1


def test_a_model_that_is_not_there(run: Run, data: Path) -> None:
    process = run("train", "finetune", "no/such-model", "--task", "rte", "--data", data)
    assert process.code in (1, 2)
    assert len(process.error.strip().splitlines()) == 1


def test_a_damaged_set_names_its_line(run: Run, bert: Path, tmp_path: Path) -> None:
    folder = write_cola(tmp_path)
    path = folder / "glue" / "CoLA" / "train.tsv"
    path.write_text(path.read_text() + "x\t7\t\tthe cat\n")
    process = run("train", "finetune", bert, "--task", "cola", "--data", folder, *SMALL)
    assert process.code == 1
    assert "line 41" in process.error


def test_help_shows_an_example(run: Run) -> None:
    process = run("train", "finetune", "--help")
    assert process.code == 0
    assert "isoscope train finetune package:minilm --task rte" in " ".join(process.out.split())
    assert "finetune" in run("train").out
