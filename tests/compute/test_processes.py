"""Workers that are processes: what they return, what they are told once, and how they die."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from faults_for_tests import (
    Counted,
    Fatal,
    Nested,
    Numbered,
    Opening,
    Reading,
    Slow,
    Threads,
    UnsendableError,
    are_gone,
    balanced,
    environment,
    numbered,
    turns,
)

from isoscope.compute.journal import Journal
from isoscope.compute.pool import BadShard, no_tick
from isoscope.compute.processes import RETRIES, Processes
from isoscope.compute.stage import Stage
from isoscope.errors import DataError, UsageError

needs_proc = pytest.mark.skipif(
    not Path("/proc/self/stat").exists(), reason="looks at processes in /proc"
)


@pytest.fixture(scope="module")
def pool() -> Iterator[Processes]:
    with Processes(2) as pool:
        yield pool


def done(pool: Processes, work: Any, count: int) -> dict[int, Any]:
    found = list(pool.run(work, numbered(count), no_tick))
    assert len(found) == count
    return dict(found)


def test_every_shard_comes_back_under_its_number(pool: Processes) -> None:
    assert done(pool, Reading(), 9) == {number: Nested(number) for number in range(9)}
    some = [(number, Numbered(number)) for number in (7, 2)]
    assert dict(pool.run(Reading(), some, no_tick)) == {2: Nested(2), 7: Nested(7)}
    assert list(pool.run(Reading(), [], no_tick)) == []


def test_bad_shards_come_back_with_a_reason(pool: Processes, tmp_path: Path) -> None:
    found = done(pool, Reading({1: "row 3 holds NaN"}), 3)
    assert found == {0: Nested(0), 1: BadShard("row 3 holds NaN"), 2: Nested(2)}
    (gone,) = done(pool, Opening(str(tmp_path / "gone")), 1).values()
    assert isinstance(gone, BadShard)
    assert str(tmp_path / "gone") in gone.message


def test_a_wrong_call_is_raised_as_what_it_is(pool: Processes) -> None:
    with pytest.raises(UsageError, match=r"^there is no column of shard 0; has: text$"):
        done(pool, Reading(wrong=frozenset({0})), 1)
    assert done(pool, Reading(), 2) == {0: Nested(0), 1: Nested(1)}  # they are still there


def test_what_cannot_be_sent_is_one_clear_line(pool: Processes) -> None:
    with pytest.raises(UsageError, match="exist in this process only, and workers are other"):
        done(pool, lambda shard, _: shard, 1)
    with pytest.raises(UsageError, match="exist in this process only"):
        list(pool.run(Reading(), [(0, threading.Lock())], no_tick))
    assert done(pool, Reading(), 2) == {0: Nested(0), 1: Nested(1)}


def test_a_worker_has_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """From its first shard on, whatever it would take if nobody told it otherwise."""
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        monkeypatch.setenv(name, "2")
    with Processes(1) as pool:
        pools = done(pool, Threads(), 1)[0]
        assert pools  # BLAS, at least
        assert set(pools.values()) == {1}
        pytest.importorskip("torch")
        assert done(pool, Threads(), 2)[1] == {"torch": 1}


def test_a_work_is_sent_once_to_each_worker(pool: Processes, tmp_path: Path) -> None:
    assert done(pool, Counted(tmp_path), 20) == {number: number for number in range(20)}
    assert turns(tmp_path, "taken apart") == 1
    assert turns(tmp_path, "put together by *") <= 2
    assert len(list(tmp_path.glob("put together by *-1"))) == 0  # by nobody twice
    done(pool, Counted(tmp_path), 3)
    assert turns(tmp_path, "taken apart") == 2


def test_states_are_merged_in_order_whoever_was_first(pool: Processes) -> None:
    shards = [Numbered(number) for number in range(21)]
    stage: Stage[Numbered, Nested] = Stage("read", shards, [1] * 21, Nested)
    assert stage.run(pool, Reading()).state.tree == balanced(list(range(21)))


@pytest.mark.parametrize("workers", [1, 2, 3])
@pytest.mark.parametrize("shard", [0, 3, 6])
def test_a_worker_that_is_killed_lives_again_and_its_shard_counts_once(
    tmp_path: Path, workers: int, shard: int
) -> None:
    shards = [Numbered(number) for number in range(7)]
    stage: Stage[Numbered, Nested] = Stage("read", shards, [1] * 7, Nested)
    with Processes(workers) as pool:
        found = stage.run(pool, Fatal(str(tmp_path), shard, times=2))
    assert found.state == Nested(balanced(list(range(7))), 7.0)
    assert turns(tmp_path, f"shard {shard}") == 3
    # Nobody else's work is lost: only the worker that died began again.
    assert all(turns(tmp_path, f"shard {number}") == 1 for number in range(7) if number != shard)


def test_a_shard_that_waited_beside_a_killed_one_is_not_lost(tmp_path: Path) -> None:
    with Processes(2) as pool:
        found = dict(pool.run(Fatal(str(tmp_path), 1), numbered(30), no_tick))
    assert found == {number: Nested(number) for number in range(30)}


def test_a_shard_that_kills_every_worker_is_one_clear_line(tmp_path: Path) -> None:
    shards = [Numbered(number) for number in range(4)]
    fatal = Fatal(str(tmp_path), 2, times=RETRIES + 1)
    with Journal.open(tmp_path / "j", {}) as journal:
        stage: Stage[Numbered, Nested] = Stage("read", shards, [1] * 4, Nested, journal)
        with pytest.raises(DataError) as caught, Processes(1) as pool:
            stage.run(pool, fatal)
    assert "\n" not in str(caught.value)
    assert f"a worker died {RETRIES + 1} times while working on shard 2, " in str(caught.value)
    assert "--resume" in str(caught.value)
    with Journal.open(tmp_path / "j", {}, resume=True) as journal, Processes(1) as pool:
        again: Stage[Numbered, Nested] = Stage("read", shards, [1] * 4, Nested, journal)
        assert again.done
        assert again.run(pool, fatal).state == Nested(balanced([0, 1, 2, 3]), 4.0)
    assert turns(tmp_path, "shard 0") == 1  # finished before the kill, and kept


@needs_proc
def test_a_worker_that_dies_between_two_reads_is_replaced(tmp_path: Path) -> None:
    slow = Slow(str(tmp_path))
    with Processes(1) as pool:
        assert done(pool, slow, 1) == {0: None}
        (worker,) = slow.processes()
        os.kill(worker, signal.SIGKILL)
        assert are_gone({worker})
        assert done(pool, Reading(), 3) == {number: Nested(number) for number in range(3)}


UNGUARDED = """
from faults_for_tests import Reading, numbered
from isoscope.compute.pool import no_tick
from isoscope.compute.processes import Processes

with Processes(2) as pool:
    list(pool.run(Reading(), numbered(2), no_tick))
"""


def test_a_script_that_starts_itself_again_is_told_what_to_do(tmp_path: Path) -> None:
    script = tmp_path / "unguarded.py"
    script.write_text(UNGUARDED)
    ended = subprocess.run(
        [sys.executable, script], check=False, capture_output=True, text=True, env=environment()
    )
    assert ended.returncode == 1
    assert 'must do so inside: if __name__ == "__main__"' in ended.stderr.splitlines()[-1]


def test_errors_that_cannot_be_sent_arrive_as_text(pool: Processes) -> None:
    with pytest.raises(RuntimeError, match=r"^UnsendableError: shard 0$"):
        done(pool, UnsendableError.raised, 1)


@needs_proc
def test_after_an_error_nobody_waits_for_what_workers_are_at(tmp_path: Path) -> None:
    slow = Slow(str(tmp_path))

    def fail_meanwhile(pool: Processes) -> None:
        for number, _ in pool.run(slow, numbered(2), no_tick):
            assert number == 0
            while not list(tmp_path.glob("1 in *")):
                time.sleep(0.01)
            raise DataError("stop here")

    with pytest.raises(DataError, match="stop here"), Processes(2) as pool:
        fail_meanwhile(pool)
    assert slow.processes()
    assert are_gone(slow.processes())


DRIVER = """
import sys, time
from pathlib import Path
from faults_for_tests import Slow, die, numbered
from isoscope.compute.processes import Processes
from isoscope.compute.pool import no_tick

if __name__ == "__main__":
    with Processes(2) as pool:
        for _ in pool.run(Slow(sys.argv[1]), numbered(2), no_tick):
            while not list(Path(sys.argv[1]).glob("1 in *")):
                time.sleep(0.01)
            die()
"""


@needs_proc
def test_workers_do_not_outlive_who_started_them(tmp_path: Path) -> None:
    killed = subprocess.run(
        [sys.executable, "-c", DRIVER, tmp_path], check=False, env=environment()
    )
    assert killed.returncode == -signal.SIGKILL
    workers = Slow(str(tmp_path)).processes()
    assert workers
    assert are_gone(workers)


def test_what_workers_were_sent_is_cleaned_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with Processes(1) as pool:
        assert done(pool, Reading(), 2)
        (folder,) = tmp_path.glob("isoscope-*")
        assert len(list(folder.iterdir())) == 1
    assert not folder.exists()
