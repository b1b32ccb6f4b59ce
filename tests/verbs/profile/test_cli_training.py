"""``isoscope profile`` of trainings as a user has it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from command_line import Run, runner

import isoscope

if TYPE_CHECKING:
    from collections.abc import Callable

hub = pytest.importorskip("huggingface_hub")
pytest.importorskip("transformers")

NOISES = {"step0": 0.0, "step1": 0.0, "step20": 0.2, "step100": 0.4}
FEW = ("--measures", "mean_cosine,mean_norm", "--corrections", "none", "--no-intervals")
SHOWN = pytest.mark.filterwarnings("always:.*has the same weights:UserWarning")


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    return runner(monkeypatch, capsys)


@pytest.fixture(scope="session")
def training(tmp_path_factory: pytest.TempPathFactory, tiny_model: Callable[[str], Path]) -> Path:
    from trainings_for_tests import save_training

    folder = tmp_path_factory.mktemp("trainings") / "run"
    return save_training(tiny_model("gpt2"), folder, NOISES)


@SHOWN
def test_a_folder_of_checkpoints(run: Run, training: Path) -> None:
    process = run("profile", training, *FEW, "--details")
    assert process.code == 0
    assert process.error == (
        "isoscope: warning: run@step1 has the same weights as run@step0; it gets no numbers of its "
        "own\n"
    )
    lines = process.out.split("\n")
    assert lines[0].startswith("run, embedding matrix: ")
    cells = [line.split("│")[1].strip() for line in lines if line.startswith("│")]
    assert cells == ["0", "20", "100"] * 2
    assert "4 of 4 checkpoints: steps 0, 1, 20, 100" in process.out
    assert "step1 has the weights of step0: no numbers of its own" in process.out
    assert "mean_cosine goes from" in process.out


@SHOWN
def test_layers_of_some_revisions_of_the_hub(
    run: Run, training: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from trainings_for_tests import FakeHub

    served = FakeHub(training).serve(monkeypatch)
    (tmp_path / "texts.txt").write_text("the cat sat on the bank.\na dog ran in the river.\n")
    out, cache = tmp_path / "training.json", tmp_path / "cache"
    process = run(
        "profile", "somebody/tiny", "--revisions", "step*", "--every", "2", "--keep", "2",
        "--cache", cache, "--text", tmp_path / "texts.txt", "--out", out, "--layers",
        "embedding,final norm", *FEW, "--details",
    )  # fmt: skip
    assert (process.code, process.error) == (0, "")
    assert process.out.startswith("somebody/tiny, final norm: ")
    assert "3 of 4 checkpoints, one in 2: steps 0, 20, 100" in process.out
    assert served.fetched == ["step0", "step20", "step100"]
    assert served.most_at_a_time == 2
    assert len(list(cache.glob("*/*/config.json"))) == 2
    assert not Path(f"{out}.journal").exists()
    result = isoscope.Result.load(out)
    assert {(row.part, row.extra["step"]) for row in result.rows} == {
        (part, step) for part in ("embedding", "final norm") for step in (0, 20, 100)
    }
    report = run(
        "report", out, "--format", "markdown", "--rows", "model,part", "--columns", "mean_cosine"
    )
    assert "| somebody/tiny@step20 | final norm | " in report.out


@SHOWN
def test_going_on_without_fetching_again(
    run: Run, training: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from trainings_for_tests import FakeHub

    served = FakeHub(training).serve(monkeypatch)
    plain = served.snapshot_download

    def fails(*arguments: Any, **options: Any) -> str:
        if len(served.fetched) == 2:
            raise ConnectionError("reset by peer")
        return plain(*arguments, **options)

    monkeypatch.setattr(hub, "snapshot_download", fails)
    out = tmp_path / "training.json"
    call = ("profile", "somebody/tiny", "--revisions", "step*", "--out", out, *FEW)
    process = run(*call)
    assert process.code == 2
    assert "(reset by peer)" in process.error
    monkeypatch.setattr(hub, "snapshot_download", plain)
    again = run(*call)
    assert again.code == 2
    assert "--resume continues it" in again.error
    process = run(*call, "--resume", "--json")
    assert process.code == 0
    assert served.fetched == ["step0", "step1", "step20", "step100"]
    steps = [row.get("step") for row in json.loads(process.out)["rows"]]
    assert list(dict.fromkeys(steps)) == [0, 1, 20, 100]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--every", "ten"], "--every must be log or a number of at least 1, got ten"),
        (["--revisions", "epoch*"], "fits 'epoch*'; there are step0, step1, step20, step100;"),
        (["--cache", "somewhere"], "add --revisions"),
        (["--revision", "step0", "--revisions", "step*"], "give only one"),
    ],
)
def test_wrong_calls_are_one_line(
    run: Run, training: Path, options: list[str], message: str
) -> None:
    process = run("profile", training, *options)
    assert process.code == 2
    assert process.out == ""
    assert message in process.error
    assert process.error.count("\n") == 1
