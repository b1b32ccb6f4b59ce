"""``--timeout`` ends a run in one line, leaves nothing behind, and keeps the journal."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from clouds_for_tests import shifted
from command_line import Run, runner

from isoscope.cli.app import COMMANDS, loaded
from isoscope.cli.deadline import TIMED_OUT, deadline, passed

# The time is over as soon as two shards are done and kept; what is read then never ends.
SLOW = """
import threading, time
from isoscope.cli import deadline as clock
from isoscope.cli.app import main
from isoscope.compute import journal, stage
from isoscope.verbs.measure import api

stage.SHARE = 0
api.WORTH_KEEPING = 0.0
ready = threading.Event()
watch, tick = clock.watch, stage.Stage.tick

class Over:
    def wait(self, seconds):
        return not ready.wait(60)

def wait(self, within):
    tick(self, within)
    if self.done == 8192:
        ready.set()
        time.sleep(100)

clock.watch = lambda one, over: watch(one, Over())
stage.Stage.tick = wait
main()
"""

# Does not answer signals: they go to another thread, and the main thread waits in a system call.
DEAF = """
import signal, sys, threading, time
from isoscope.cli import deadline as clock
from isoscope.data.output import atomic_file
from pathlib import Path

clock.GRACE = 0.2
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
with clock.deadline(0.2), atomic_file(Path(sys.argv[1])) as file:
    file.write(b"half")
    time.sleep(100)
"""


def run(code: str, *arguments: object, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        check=False,
        capture_output=True,
        text=True,
        env={**os.environ, **variables},
        timeout=90,
    )


MAIN = "from isoscope.cli.app import main; main()"


def test_every_command_that_may_run_long_has_it() -> None:
    short = {"list", "doctor", "completion", "report", "verify"}
    for name in set(COMMANDS) - short:
        command = loaded(name)
        commands = getattr(command, "commands", None) or {name: command}
        for sub, one in commands.items():
            if (name, sub) in {("study", "show"), ("study", "list"), ("study", "compare")}:
                continue
            options = {option.name: option for option in one.params}
            assert "timeout" in options, (name, sub)
            assert "max_memory" in options, (name, sub)
            assert options["timeout"].envvar == "ISOSCOPE_TIMEOUT"


def test_no_time_is_a_wrong_call(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    call: Run = runner(monkeypatch, capsys)
    assert call("measure", "x.npy", "--timeout", "0").code == 2
    monkeypatch.setenv("ISOSCOPE_TIMEOUT", "soon")
    done = call("measure", "x.npy")
    assert done.code == 2
    assert "--timeout" in done.error or "ISOSCOPE_TIMEOUT" in done.error


def test_a_run_within_its_time_is_as_without(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", shifted(0, 200, 8))
    done = run(MAIN, "measure", tmp_path / "x.npy", "--timeout", "1000", "--quiet", "--json")
    assert done.returncode == 0
    assert json.loads(done.stdout)["rows"]
    with deadline(1_000):
        pass
    assert passed() is None


def test_of_two_deadlines_the_outer_one_counts() -> None:
    with deadline(1_000) as outer, deadline(0.001) as inner:
        assert inner is outer
        time.sleep(0.01)
    assert passed() is None


def test_a_run_that_takes_longer_keeps_its_journal_and_goes_on(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", shifted(0, 20_000, 8))
    out = tmp_path / "r.json"
    call = ["measure", tmp_path / "x.npy", "--out", out, "--shard", "4096", "--quiet"]
    done = run(SLOW, *call, "--timeout", "1000")
    assert done.returncode == TIMED_OUT
    assert re.fullmatch(
        r"isoscope: stopped by --timeout 1000 \(ISOSCOPE_TIMEOUT\) at [\d,]+ of 20,000 of "
        rf"'first read'; --resume continues from {re.escape(str(out))}\.journal\n",
        done.stderr,
    )
    assert sorted(path.name for path in tmp_path.iterdir()) == ["r.json.journal", "x.npy"]
    assert run(MAIN, *call, "--resume").returncode == 0
    resumed = json.loads(out.read_text())
    assert run(MAIN, *call).returncode == 0
    whole = json.loads(out.read_text())
    assert resumed["rows"] == whole["rows"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["r.json", "x.npy"]


def test_nothing_is_left_behind_where_nothing_is_to_be_resumed(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", shifted(0, 20_000, 8))
    done = run(SLOW, "measure", tmp_path / "x.npy", "--shard", "4096", ISOSCOPE_TIMEOUT="1000")
    assert done.returncode == TIMED_OUT
    assert re.fullmatch(r"isoscope: stopped by --timeout 1000 .* 'first read'\n", done.stderr)
    assert [path.name for path in tmp_path.iterdir()] == ["x.npy"]


def test_a_library_that_does_not_answer_ends_as_well(tmp_path: Path) -> None:
    done = run(DEAF, tmp_path / "out")
    assert done.returncode == TIMED_OUT
    assert done.stderr.startswith("isoscope: stopped by --timeout 0.2 (ISOSCOPE_TIMEOUT) before")
    assert list(tmp_path.iterdir()) == []
