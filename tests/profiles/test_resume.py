"""A run that was killed goes on where it was, and ends with the same numbers."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from isoscope.errors import UsageError
from isoscope.profiles import profile

SCRIPT = """
import json, os, signal, sys
from isoscope.engines import checkpoints
from isoscope.profiles import first_pass, profile, second_pass

model, texts, journal, where, count = sys.argv[1:6]
# Every batch is kept, and the process dies by kill -9 in the middle of one.
start = checkpoints.Checkpoints.__init__
start.__defaults__ = (0.0, *start.__defaults__[1:])
checkpoints.SHARE = 1
left = int(count)

def deadly(method):
    def add(self, *arguments):
        global left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return method(self, *arguments)
    return add

if where == "first":
    first_pass.FirstPass.add = deadly(first_pass.FirstPass.add)
if where == "second":
    second_pass.SecondPass.add = deadly(second_pass.SecondPass.add)
found = profile(
    model, texts, journal=journal, resume=True, budget=60, spool_limit=0, corrections="none,center"
)
print(json.dumps([row.to_dict() for row in found.rows]))
"""


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("texts") / "texts.txt"
    lines = [f"the {word} sat on a {other}" for word in ("cat", "dog", "bird") for other in
             ("tree", "boat", "river bank", "red money", "small old dog")]  # fmt: skip
    path.write_text("\n".join(lines * 3) + "\n")
    return path


def run(model: Path, texts: Path, journal: Path, where: str, count: int) -> tuple[int, str]:
    call = [sys.executable, "-c", SCRIPT, str(model), str(texts), str(journal), where, str(count)]
    done = subprocess.run(call, capture_output=True, text=True, check=False)
    if done.returncode > 0:
        raise AssertionError(done.stderr)
    return done.returncode, done.stdout


def test_killed_three_times_is_as_if_it_never_was(
    tiny_model: Callable[[str], Path], texts: Path, tmp_path: Path
) -> None:
    model = tiny_model("gpt2")
    _, unbroken = run(model, texts, tmp_path / "whole", "never", 0)
    journal = tmp_path / "journal"
    for where, count in (("first", 3), ("first", 5), ("second", 4)):
        code, _ = run(model, texts, journal, where, count)
        assert code == -9
        assert any(journal.iterdir())
    code, resumed = run(model, texts, journal, "never", 0)
    assert code == 0
    assert json.loads(resumed) == json.loads(unbroken)
    assert not journal.exists()


def test_another_option_or_text_is_refused(
    tiny_model: Callable[[str], Path], texts: Path, tmp_path: Path
) -> None:
    model, journal = tiny_model("gpt2"), tmp_path / "journal"
    run(model, texts, journal, "first", 3)
    options = {"budget": 60, "spool_limit": 0, "corrections": "none,center"}
    with pytest.raises(UsageError, match="--resume continues it"):
        profile(str(model), texts, journal=journal, **options)
    with pytest.raises(UsageError, match="skip_first"):
        profile(str(model), texts, journal=journal, resume=True, skip_first=1, **options)
    other = tmp_path / "texts.txt"
    other.write_text(texts.read_text() + "one more\n")
    with pytest.raises(UsageError, match="sha256"):
        profile(str(model), other, journal=journal, resume=True, **options)
    assert profile(str(model), texts, journal=journal, resume=True, **options).rows
