"""Profiles on any engine: the same numbers bit by bit, also where workers and drivers die."""

from __future__ import annotations

import gzip
import json
import multiprocessing
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pytest
from command_line import runner
from faults_for_tests import environment, fatal_texts, turns
from pyarrow import parquet

from isoscope.compute import processes
from isoscope.compute.pool import Tick
from isoscope.data.texts.shards import TextShard
from isoscope.errors import DataError
from isoscope.measures.reads.passes import SecondState
from isoscope.verbs.profile.api import profile
from isoscope.verbs.profile.layer_passes import FirstWork, LayerSums, SecondWork

RANDOM = np.random.default_rng(12)
WORDS = ("the", "a", "of", "in", "cat", "dog", "bird", "river", "bank", "money", "boat", "old")
TEXTS = [" ".join(RANDOM.choice(WORDS, RANDOM.integers(2, 14))) for _ in range(66)]
OPTIONS: dict[str, Any] = {"shard_texts": 8, "budget": 100, "device": "cpu"}

Found = dict[str, Any]


@pytest.fixture(scope="module")
def pattern(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Three files of three kinds."""
    folder = tmp_path_factory.mktemp("texts")
    (folder / "a.txt").write_text("\n".join(TEXTS[:28]) + "\n")
    with gzip.open(folder / "b.jsonl.gz", "wt") as file:
        file.writelines(json.dumps({"text": text}) + "\n" for text in TEXTS[28:52])
    parquet.write_table(pyarrow.table({"text": TEXTS[52:]}), folder / "c.parquet")
    return str(folder / "*")


@pytest.fixture(scope="module")
def model(tiny_model: Callable[[str], Path]) -> str:
    return str(tiny_model("gpt2"))


def found_by(model: str, texts: Any, **options: Any) -> Found:
    found = json.loads(profile(model, texts, **OPTIONS, **options).to_json())
    return {key: found[key] for key in ("rows", "tables", "verdicts", "left_out")}


@pytest.fixture(scope="module")
def by_one(model: str, pattern: str) -> Found:
    return found_by(model, pattern, workers=1)


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_this_process_finds_the_same_with_any_number_of_threads(
    model: str, pattern: str, by_one: Found, threads: int
) -> None:
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        assert found_by(model, pattern) == by_one
        assert torch.get_num_threads() == threads
    finally:
        torch.set_num_threads(before)


def test_two_processes_find_the_same(model: str, pattern: str, by_one: Found) -> None:
    assert found_by(model, pattern, workers=2) == by_one


@pytest.mark.parametrize(
    "moments", [{0}, {1}, {2}, {0, 1, 2, 3}], ids=["counting", "first", "second", "all"]
)
def test_killed_workers_of_this_machine_change_no_bit(
    model: str, pattern: str, by_one: Found, tmp_path: Path, moments: set[int]
) -> None:
    texts = fatal_texts(pattern, tmp_path, frozenset(moments))
    # Without a spool, the second read goes through the texts again.
    assert found_by(model, texts, workers=2, spool_limit=0) == by_one
    assert turns(tmp_path, "last line") == 3 + len(moments)  # counted, read twice


def test_workers_that_are_killed_again_and_again_change_no_bit(
    model: str, pattern: str, by_one: Found
) -> None:
    """From outside, after every fifth message about progress."""
    heard: list[str] = []

    def kill_one(stage: str, done: int, total: int | None) -> None:
        del done, total
        heard.append(stage)
        if len(heard) % 5 == 0:
            for worker in multiprocessing.active_children()[:1]:
                assert worker.pid is not None
                os.kill(worker.pid, signal.SIGKILL)

    assert found_by(model, pattern, workers=2, progress=kill_one) == by_one
    assert len(heard) > 15


@pytest.mark.parametrize("workers", [1, 2])
def test_ray_finds_the_same(
    ray_cluster: str, model: str, pattern: str, by_one: Found, workers: int
) -> None:
    del ray_cluster  # is used because this process has it
    assert found_by(model, pattern, engine="ray", workers=workers) == by_one


# The texts kill a worker of Ray in the first read; the driver goes in the second.
DRIVER = """
import json, sys
from pathlib import Path
from faults_for_tests import die, fatal_texts
from isoscope import profile

model, pattern, folder, journal, address, options = sys.argv[1:]

def report(stage, done, total):
    if stage == "second read" and done:
        die()

texts = fatal_texts(pattern, Path(folder), frozenset({1}))
profile(
    model, texts, engine=f"ray:{address}", workers=1, journal=journal, progress=report,
    **json.loads(options),
)
"""


def test_killed_three_times_is_as_if_it_never_was(
    ray_cluster: str,
    model: str,
    pattern: str,
    by_one: Found,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    journal = tmp_path / "journal"
    folders = [tmp_path / name for name in ("of ray", "of processes")]
    for folder in folders:
        folder.mkdir()
    driver = subprocess.run(
        [sys.executable, "-c", DRIVER, model, pattern, folders[0], journal, ray_cluster,
         json.dumps(OPTIONS)],
        check=False, capture_output=True, text=True,
        env=environment(),
    )  # fmt: skip
    assert driver.returncode == -signal.SIGKILL, driver.stderr
    assert turns(folders[0], "last line") >= 3  # counted; killed; read by who came instead
    kept = {path.name for path in journal.iterdir()}
    assert any("first read" in name for name in kept)
    assert any("second read" in name for name in kept)

    texts = fatal_texts(pattern, folders[1], frozenset({0}))
    monkeypatch.setattr(processes, "RETRIES", 0)
    with pytest.raises(DataError, match="a worker died 1 time while working on .* --resume"):
        found_by(model, texts, workers=1, journal=journal, resume=True)
    assert turns(folders[1], "last line") == 1  # in the second read: the first was over

    resumed = found_by(model, pattern, engine="ray", workers=1, journal=journal, resume=True)
    assert resumed == by_one
    assert not journal.exists()


def test_what_the_first_read_left_out_is_not_in_the_second(
    model: str, pattern: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Though it could be read by then."""
    first, second = FirstWork.__call__, SecondWork.__call__
    projected: list[int] = []

    def failing(self: FirstWork, shard: TextShard, tick: Tick) -> LayerSums:
        if shard.number == 1:
            raise DataError(f"{shard.name}: the disk was asleep")
        return first(self, shard, tick)

    def noting(self: SecondWork, shard: TextShard, tick: Tick) -> SecondState:
        projected.append(shard.number)
        return second(self, shard, tick)

    monkeypatch.setattr(FirstWork, "__call__", failing)
    monkeypatch.setattr(SecondWork, "__call__", noting)
    with pytest.warns(UserWarning, match="left out: .*a.txt, texts 9 to 16: the disk was asleep"):
        found = profile(model, pattern, on_error="skip", **OPTIONS)
    assert projected == [0, *range(2, 9)]
    assert found.left_out["shards that could not be read"] == 1
    (name,) = found.extra["skipped_shards"]
    assert name.endswith("a.txt, texts 9 to 16")


@pytest.fixture
def with_a_bad_file(pattern: str, tmp_path: Path) -> str:
    """The same three files, the second of which ends early."""
    folder = tmp_path / "texts"
    folder.mkdir()
    for path in Path(pattern).parent.iterdir():
        content = path.read_bytes()
        whole = path.name != "b.jsonl.gz"
        (folder / path.name).write_bytes(content if whole else content[: len(content) // 2])
    return str(folder / "*")


def bad_of(pattern: str) -> str:
    return str(Path(pattern).parent / "b.jsonl.gz")


def test_a_run_that_goes_on_remembers_its_bad_file(
    model: str, with_a_bad_file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is not counted again, and could be good by now."""
    options = {**OPTIONS, "on_error": "skip", "journal": tmp_path / "journal", "resume": True}

    def stopped(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(FirstWork, "__call__", stopped)
        with pytest.raises(KeyboardInterrupt):
            profile(model, with_a_bad_file, **options)
    monkeypatch.setattr("isoscope.verbs.profile.layer_reads.surveyed", stopped)
    with pytest.warns(UserWarning, match="left out: .*b.jsonl.gz"):
        found = profile(model, with_a_bad_file, **options)
    assert list(found.extra["skipped_shards"]) == [bad_of(with_a_bad_file)]


@pytest.mark.filterwarnings("default:left out")
def test_a_bad_file_is_named_and_counted(
    model: str,
    with_a_bad_file: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    isoscope = runner(monkeypatch, capsys)
    bad = bad_of(with_a_bad_file)
    call = ("profile", model, "--text", with_a_bad_file, "--shard", "8", "--device", "cpu")
    stopped = isoscope(*call, "--json")
    assert (stopped.code, stopped.out) == (1, "")
    assert stopped.error.count("\n") == 1
    assert bad in stopped.error

    left = isoscope(*call, "--json", "--on-error", "skip")
    assert left.code == 0
    found = json.loads(left.out)
    assert found["left_out"]["shards that could not be read"] == 1
    assert list(found["skipped_shards"]) == [bad]
    assert f"left out: {bad}" in left.error
    Path(bad).unlink()
    alone = json.loads(isoscope(*call, "--json").out)
    assert "skipped_shards" not in alone
    for mine, theirs in zip(found["rows"], alone["rows"], strict=True):
        assert (mine["measure"], mine["value"]) == (theirs["measure"], theirs["value"])
        assert mine["n"] == theirs["n"]
