"""``isoscope explain`` as a user has it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from command_line import Run, runner

from isoscope.results.result import Result

TEXTS = [
    f"{first} {second} sat on the {third} of it, and the {second} saw {first} {third}."
    for first in ("the", "a", "that")
    for second in ("cat", "dog", "bird", "boat")
    for third in ("bank", "river", "tree", "money")
]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    return runner(monkeypatch, capsys)


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    (tmp_path / "texts.txt").write_text("\n".join(TEXTS))
    return tmp_path / "texts.txt"


def test_an_explanation_for_a_person(
    run: Run, tiny_model: Callable[[str], Path], texts: Path, tmp_path: Path
) -> None:
    out = tmp_path / "why.md"
    finished = run(
        "explain", tiny_model("bert"), "--text", texts, "--topic", "outliers,layernorm",
        "--out", out,
    )  # fmt: skip
    assert finished.code == 0, finished.error
    assert finished.out.startswith("tiny-bert · explain · 2 topics")
    assert (
        out.read_text("utf-8").count("Verdict") == 3
    )  # of both topics, and on what contributes most


def test_an_explanation_as_json(run: Run, tiny_model: Callable[[str], Path], texts: Path) -> None:
    finished = run("explain", tiny_model("gpt2"), "--text", texts, "--topic", "frequency", "--json")
    result = Result.from_json(finished.out)
    assert {row.extra["topic"] for row in result.rows} == {"frequency"}
    assert json.loads(finished.out)["verdicts"][0]["found"] in (True, False)
    assert result.command.startswith("isoscope explain")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--topic", "weather"], "no topic is called 'weather'"),
        (["--topic", "position"], "position: needs a text: --text FILE"),
        (["--topic", "drift"], "drift: needs checkpoints"),
        (["--topic", "senses"], "senses: "),
        (["--text", "nowhere.txt"], "nowhere.txt"),
        (["--out", "why.xml"], "must end in"),
        (["--tokens", "0"], "tokens"),
    ],
)
def test_errors_are_one_line(
    run: Run, tiny_model: Callable[[str], Path], arguments: list[str], words: str
) -> None:
    finished = run("explain", tiny_model("bert"), *arguments)
    assert finished.code == 2
    assert finished.out == ""
    assert finished.error.count("\n") == 1
    assert words in finished.error


def test_every_topic_is_in_the_help(run: Run) -> None:
    from isoscope.verbs.explain.api import TOPICS

    shown = run("explain", "--help").out
    for name in TOPICS:
        assert name in shown


def test_a_few_tokens_tell_nothing(
    run: Run, tiny_model: Callable[[str], Path], tmp_path: Path
) -> None:
    (tmp_path / "t.txt").write_text("the cat sat")
    finished = run(
        "explain", tiny_model("bert"), "--text", tmp_path / "t.txt", "--topic", "outliers"
    )
    assert finished.code == 1
    assert "outliers take at least 50 tokens, and the text has 3" in finished.error
