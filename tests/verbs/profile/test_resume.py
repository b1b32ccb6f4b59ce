"""A run that was killed goes on where it was, and ends with the same numbers."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from faults_for_tests import environment

from isoscope.data.texts.shards import TextShard
from isoscope.errors import UsageError
from isoscope.verbs.profile.api import profile
from isoscope.verbs.profile.layer_passes import FirstWork, Pilot, SecondWork

pytestmark = pytest.mark.slow
OPTIONS: dict[str, Any] = {"shard_texts": 9, "budget": 60, "spool_limit": 0}

# Every finished shard is kept, and the process dies by kill -9 in the second batch of one.
SCRIPT = """
import json, sys
from faults_for_tests import die
from isoscope.compute import stage as shard_journal
from isoscope import profile
from isoscope.data.blocks import Dealer
from isoscope.verbs.profile import layer_passes as works

model, texts, journal, where, fatal, options = sys.argv[1:]
shard_journal.SHARE = 0
# The second read deals every batch once.
work, taker, method = {
    "first": (works.FirstWork, works.FirstPass, "add"),
    "second": (works.SecondWork, Dealer, "deal"),
}[where]
read, take = work.__call__, getattr(taker, method)
shard = batches = -1

def noting(self, one, tick):
    global shard, batches
    shard, batches = one.number, 0
    return read(self, one, tick)

def deadly(self, *arguments):
    global batches
    batches += 1
    if shard == int(fatal) and batches == 2:
        die()
    return take(self, *arguments)

work.__call__ = noting
setattr(taker, method, deadly)
profile(model, texts, journal=journal, resume=True, **json.loads(options))
"""


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("texts") / "texts.txt"
    lines = [f"the {word} sat on a {other}" for word in ("cat", "dog", "bird") for other in
             ("tree", "boat", "river bank", "red money", "small old dog")]  # fmt: skip
    path.write_text("\n".join(lines * 3) + "\n")
    return path


@pytest.fixture(scope="module")
def model(tiny_model: Callable[[str], Path]) -> str:
    return str(tiny_model("gpt2"))


def kill(model: str, texts: Path, journal: Path, where: str, shard: int) -> None:
    call = [sys.executable, "-c", SCRIPT, model, texts, journal, where, str(shard)]
    done = subprocess.run(
        [*call, json.dumps(OPTIONS)],
        capture_output=True,
        text=True,
        check=False,
        env=environment(),
    )
    assert done.returncode == -signal.SIGKILL, done.stderr


def kept(journal: Path) -> set[str]:
    """Which nodes of a read are in the journal."""
    names = (path.stem.removeprefix("step tiny-gpt2 ") for path in journal.glob("step *"))
    return {name for name in names if "read" in name}


@pytest.fixture(scope="module")
def killed(model: str, texts: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The journal of a run of five shards that was killed twice in the first read, once behind."""
    journal = tmp_path_factory.mktemp("runs") / "journal"
    kill(model, texts, journal, "first", 1)
    assert kept(journal) == {"first read 0-0"}
    kill(model, texts, journal, "first", 4)
    assert kept(journal) == {"first read 2-0"}
    kill(model, texts, journal, "second", 2)
    assert kept(journal) == {"first read 2-0", "first read 0-4", "second read 1-0"}
    return journal


@pytest.fixture
def journal(killed: Path, tmp_path: Path) -> Path:
    """The same, for a test to go on with."""
    return Path(shutil.copytree(killed, tmp_path / "journal"))


def found_by(model: str, texts: Path, **options: Any) -> dict[str, Any]:
    found = json.loads(profile(model, texts, **OPTIONS, **options).to_json())
    return {key: found[key] for key in ("rows", "tables", "verdicts", "left_out")}


def test_killed_three_times_is_as_if_it_never_was(
    model: str, texts: Path, journal: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unbroken = found_by(model, texts)
    worked: list[tuple[str, int]] = []
    for kind in (Pilot, FirstWork, SecondWork):
        monkeypatch.setattr(kind, "__call__", noted(worked, kind))
    # Nor are texts counted again, which would fail.
    monkeypatch.setattr("isoscope.verbs.profile.layer_reads.surveyed", None)
    told: list[tuple[str, int, int | None]] = []
    resumed = found_by(
        model, texts, journal=journal, resume=True, progress=lambda *report: told.append(report)
    )
    assert resumed == unbroken
    assert worked == [("SecondWork", number) for number in (2, 3, 4)]
    assert told[0][0] == "second read"
    assert 18 < told[0][1] <= 27
    assert told[-1] == ("second read", 45, 45)
    assert not journal.exists()


def noted(worked: list[tuple[str, int]], kind: Any) -> Callable[..., Any]:
    method = kind.__call__

    def called(self: Any, shard: TextShard, tick: Any) -> Any:
        worked.append((kind.__name__, getattr(shard, "number", -1)))
        return method(self, shard, tick)

    return called


def test_another_option_or_text_is_refused(
    model: str, texts: Path, journal: Path, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match="--resume continues it"):
        profile(model, texts, journal=journal, **OPTIONS)
    with pytest.raises(UsageError, match="skip_first 0, and this run has 1"):
        profile(model, texts, journal=journal, resume=True, skip_first=1, **OPTIONS)
    with pytest.raises(UsageError, match="shard_texts 9, and this run has 10"):
        profile(model, texts, journal=journal, resume=True, **{**OPTIONS, "shard_texts": 10})
    other = tmp_path / "texts.txt"
    other.write_text(texts.read_text() + "one more\n")
    with pytest.raises(UsageError, match="text.files"):
        profile(model, other, journal=journal, resume=True, **OPTIONS)
    assert kept(journal)


def test_finished_models_are_not_read_again(
    model: str, texts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of two models, the first is done when the second fails."""
    again = tmp_path / "tiny-other"
    shutil.copytree(model, again)
    options = {**OPTIONS, "measures": "mean_cosine", "journal": tmp_path / "journal"}
    worked: list[tuple[str, int]] = []
    left = 7

    def fails(self: FirstWork, shard: TextShard, tick: Any) -> Any:
        nonlocal left
        left -= 1
        if not left:
            raise KeyboardInterrupt
        return plain(self, shard, tick)

    plain = FirstWork.__call__
    with monkeypatch.context() as patch:
        patch.setattr(FirstWork, "__call__", fails)
        with pytest.raises(KeyboardInterrupt):
            profile([model, str(again)], texts, **options)
    names = {path.stem for path in (tmp_path / "journal").glob("step *")}
    assert "step tiny-gpt2 result" in names
    assert not any("tiny-gpt2" in name and "read" in name for name in names)
    monkeypatch.setattr(FirstWork, "__call__", noted(worked, FirstWork))
    found = profile([model, str(again)], texts, resume=True, **options)
    assert {row.subject for row in found.rows} == {"tiny-gpt2", "tiny-other"}
    assert 0 < len(worked) <= 5
