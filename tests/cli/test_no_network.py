"""No command opens a connection unless it is given an address or the id of a model on the hub."""

from __future__ import annotations

import socket
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from clouds_for_tests import shifted
from command_line import Run, runner


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Run:
    """Commands in a folder with vectors and texts, where every connection is an error."""

    def refuse(*_: object) -> None:
        raise AssertionError("a connection was opened")

    monkeypatch.chdir(tmp_path)
    np.save("x.npy", shifted(0, 300, 8))
    Path("texts.txt").write_text("".join(f"the cat sat on boat {k}\n" for k in range(20)))
    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    return runner(monkeypatch, capsys)


def test_files_and_folders_are_read_without_a_network(
    run: Run, tiny_model: Callable[[str], Path]
) -> None:
    model = str(tiny_model("bert"))
    for call in (
        "measure x.npy --out r.json --html page.html",
        "report r.json",
        "threshold x.npy --at 0.5",
        "correct fit x.npy --correction whiten --out w.safetensors",
        "correct apply w.safetensors x.npy --out y.npy",
        "diff x.npy y.npy",
        "verify w.safetensors",
        "doctor",
        "list measures",
        f"profile {model} --text texts.txt --measures mean_cosine --corrections none",
        f"explain {model} --topic layernorm",
    ):
        done = run(*call.split())
        assert done.code == 0, (call, done.error)


def test_a_connection_is_noticed(run: Run) -> None:
    del run
    with pytest.raises(AssertionError, match="a connection was opened"):
        socket.create_connection(("127.0.0.1", 9))
