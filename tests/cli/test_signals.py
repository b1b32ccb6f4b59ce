"""Signals end a run as Ctrl-C does: one line, an exit code, and nothing is left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from clouds_for_tests import shifted

# Waits after the first shard, when there is a journal with a step.
SLOW = """
import time
from isoscope.cli.app import main
from isoscope.compute.stage import Stage

def wait(self, within):
    print("ready", flush=True)
    time.sleep(60)

Stage.tick = wait
main()
"""

# Waits when standard input has been copied to a temporary file.
PIPED = """
import time
from isoscope.cli import app
from isoscope.data.texts.readers import StandardInput

def wait(**options):
    texts = StandardInput()
    print("ready", flush=True)
    time.sleep(60)

app.app = wait
app.main()
"""


def heed_signals() -> None:
    """Heed signals that tests ignore under nohup or in the background: children inherit that."""
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def started(code: str, *arguments: str, **options: object) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **{"preexec_fn": heed_signals, **options},  # type: ignore[call-overload]
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


@pytest.mark.parametrize(
    ("number", "code", "words"),
    [
        (signal.SIGINT, 130, "interrupted"),
        (signal.SIGTERM, 143, "ended by SIGTERM"),
        (signal.SIGHUP, 129, "ended by SIGHUP"),
    ],
)
def test_a_run_with_a_journal(tmp_path: Path, number: int, code: int, words: str) -> None:
    np.save(tmp_path / "x.npy", shifted(0, 20_000, 8))
    out = str(tmp_path / "r.json")
    process = started(
        SLOW, "measure", str(tmp_path / "x.npy"), "--out", out, "--shard", "4096", "--quiet"
    )
    assert Path(f"{out}.journal").is_dir()
    process.send_signal(number)
    _, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (code, f"isoscope: {words}\n")
    assert [path.name for path in tmp_path.iterdir()] == ["x.npy"]


def test_temporary_files_of_standard_input(tmp_path: Path) -> None:
    process = started(PIPED, env={**os.environ, "TMPDIR": str(tmp_path)})
    assert list(tmp_path.iterdir()) != []
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)
    assert process.returncode == 143
    assert list(tmp_path.iterdir()) == []


def test_a_hang_up_that_is_ignored(tmp_path: Path) -> None:
    def as_nohup_does() -> None:
        signal.signal(signal.SIGHUP, signal.SIG_IGN)

    process = started(PIPED, env={**os.environ, "TMPDIR": str(tmp_path)}, preexec_fn=as_nohup_does)
    process.send_signal(signal.SIGHUP)
    assert process.poll() is None
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)
    assert process.returncode == 143
