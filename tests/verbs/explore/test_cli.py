"""``isoscope explore`` up to the point where it serves."""

from __future__ import annotations

import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer

from isoscope.errors import UsageError
from isoscope.verbs.explore import server as running
from isoscope.verbs.explore.cli import EXAMPLES, explore_command
from isoscope.verbs.explore.session import Spaces

Served = list[tuple[Spaces, int, bool]]


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> Served:
    """What would have been served: spaces, port, whether a browser opens."""
    found: Served = []

    def serve(spaces: Spaces, sock: socket.socket, *, browser: bool, tell: Any) -> None:
        found.append((spaces, sock.getsockname()[1], browser))
        tell("http://127.0.0.1:1/token/")

    monkeypatch.setattr(running, "serve", serve)
    return found


def run(*arguments: str | Path) -> None:
    app = typer.Typer(pretty_exceptions_enable=False)
    app.command(epilog=EXAMPLES)(explore_command)
    app(list(map(str, arguments)), standalone_mode=False)


def test_vectors(served: Served, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.save(tmp_path / "x.npy", np.random.default_rng(0).normal(size=(50, 4)))
    run(tmp_path / "x.npy", "--sample", "20", "--seed", "3", "--open")
    ((spaces, port, browser),) = served
    assert (len(spaces.explored), len(spaces.shown), spaces.seed) == (50, 20, 3)
    assert port > 0
    assert browser
    shown = capsys.readouterr()
    assert shown.out == "http://127.0.0.1:1/token/\n"
    assert shown.err.count("\n") == 1


def test_a_model_that_reads(
    served: Served, tmp_path: Path, tiny_model: Callable[[str], Path]
) -> None:
    (tmp_path / "texts.txt").write_text("the cat sat\na dog ran\n")
    run(tiny_model("bert"), "--text", tmp_path / "texts.txt", "--layers", "block 2", "--tokens", 5)
    ((spaces, _, browser),) = served
    assert list(spaces.explored.layers) == ["block 2"]
    assert len(spaces.explored) <= 5
    assert not browser


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["x.npy", "--layers", "block 1"], "--layers and --tokens are of a model"),
        (["x.npy", "--tokens", "5"], "--layers and --tokens are of a model"),
        (["x", "--text", "t.txt", "--words", "w"], "--words and --drop-invalid are of a source"),
        (["nowhere.npy"], "nowhere.npy"),
    ],
)
def test_calls_that_make_no_sense(
    served: Served,
    arguments: list[str],
    words: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    np.save("x.npy", np.ones((3, 2)))
    with pytest.raises(UsageError, match=words):
        run(*arguments)
    assert not served


def test_a_port_that_is_taken_is_told_before_anything_is_read(
    served: Served, tmp_path: Path
) -> None:
    (tmp_path / "broken.npy").write_bytes(b"")
    with running.listen() as sock, pytest.raises(UsageError, match="leave --port out"):
        run(tmp_path / "broken.npy", "--port", str(sock.getsockname()[1]))
    assert not served


def test_the_help_has_examples(capsys: pytest.CaptureFixture[str]) -> None:
    run("--help")
    assert "isoscope explore package:glove" in capsys.readouterr().out
