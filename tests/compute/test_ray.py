"""Workers that are actors of Ray: what they return, and how they die and live again."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from clouds_for_tests import shifted
from faults_for_tests import (
    Counted,
    Fatal,
    Nested,
    Numbered,
    Opening,
    Reading,
    Slow,
    Threads,
    are_gone,
    balanced,
    environment,
    is_alive,
    numbered,
    turns,
)

import isoscope
from isoscope.compute import ray as ray_actors
from isoscope.compute.pool import BadShard, no_tick, packed
from isoscope.compute.ray import Actor, Caller, RayActors, connect
from isoscope.compute.stage import Stage
from isoscope.data.base import rows_per_batch
from isoscope.errors import DataError, UsageError
from isoscope.version import __version__

ray = pytest.importorskip("ray")


@pytest.fixture(scope="module")
def pool(ray_cluster: str) -> Iterator[RayActors]:
    del ray_cluster  # is used because this process has it
    with RayActors("", 2) as pool:
        yield pool


def done(pool: RayActors, work: Any, count: int) -> dict[int, Any]:
    found = list(pool.run(work, numbered(count), no_tick))
    assert len(found) == count
    return dict(found)


def test_every_shard_comes_back_under_its_number(pool: RayActors) -> None:
    assert done(pool, Reading(), 9) == {number: Nested(number) for number in range(9)}
    some = [(number, Numbered(number)) for number in (7, 2)]
    assert dict(pool.run(Reading(), some, no_tick)) == {2: Nested(2), 7: Nested(7)}
    assert list(pool.run(Reading(), [], no_tick)) == []


def test_bad_shards_come_back_with_a_reason(pool: RayActors, tmp_path: Path) -> None:
    found = done(pool, Reading({1: "row 3 holds NaN"}), 3)
    assert found == {0: Nested(0), 1: BadShard("row 3 holds NaN"), 2: Nested(2)}
    (gone,) = done(pool, Opening(str(tmp_path / "gone")), 1).values()
    assert isinstance(gone, BadShard)
    assert str(tmp_path / "gone") in gone.message


def test_a_wrong_call_is_raised_as_what_it_is(pool: RayActors) -> None:
    with pytest.raises(UsageError, match=r"^there is no column of shard 0; has: text$") as caught:
        done(pool, Reading(wrong=frozenset({0})), 1)
    assert type(caught.value) is UsageError
    assert done(pool, Reading(), 2) == {0: Nested(0), 1: Nested(1)}  # they are still there


def test_what_cannot_be_sent_is_one_clear_line(pool: RayActors) -> None:
    with pytest.raises(UsageError, match="exist in this process only, and workers are other"):
        done(pool, lambda shard, _: shard, 1)
    with pytest.raises(UsageError, match="exist in this process only"):
        list(pool.run(Reading(), [(0, threading.Lock())], no_tick))
    assert done(pool, Reading(), 2) == {0: Nested(0), 1: Nested(1)}


def test_a_worker_has_one_thread(pool: RayActors) -> None:
    pools = done(pool, Threads(), 1)[0]
    assert pools  # BLAS, at least
    assert set(pools.values()) == {1}


def test_a_work_is_sent_once_to_each_worker(pool: RayActors, tmp_path: Path) -> None:
    assert done(pool, Counted(tmp_path), 20) == {number: number for number in range(20)}
    assert turns(tmp_path, "taken apart") == 1
    assert 1 <= turns(tmp_path, "put together by *") <= 2
    assert not list(tmp_path.glob("put together by *-1"))  # by nobody twice


def test_a_new_work_takes_the_place_of_the_old(pool: RayActors) -> None:
    done(pool, Reading({0: "is bad"}), 4)
    assert done(pool, Reading(), 4) == {number: Nested(number) for number in range(4)}


def test_relative_paths_are_meant_from_where_the_caller_is(
    pool: RayActors, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("here", "there"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "text").write_text(f"from {name}")
    for name in ("here", "there"):
        monkeypatch.chdir(tmp_path / name)
        assert done(pool, Opening("text"), 3) == dict.fromkeys(range(3), f"from {name}")


def test_a_worker_that_is_killed_lives_again_and_its_shard_counts_once(
    pool: RayActors, tmp_path: Path
) -> None:
    shards = [Numbered(number) for number in range(6)]
    stage: Stage[Numbered, Nested] = Stage("read", shards, [1] * 6, Nested)
    found = stage.run(pool, Fatal(str(tmp_path), 2, times=2))
    assert found.state == Nested(balanced(list(range(6))), 6.0)
    assert turns(tmp_path, "shard 2") == 3
    # A shard that waited beside the one that died may be done again; the state has it once.
    assert all(turns(tmp_path, f"shard {number}") in (1, 2, 3) for number in (0, 1, 3, 4, 5))


def test_a_shard_that_kills_every_worker_is_named(
    ray_cluster: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    del ray_cluster
    monkeypatch.setattr(ray_actors, "RETRIES", 1)
    with pytest.raises(DataError) as caught, RayActors("", 1) as dying:
        list(dying.run(Fatal(str(tmp_path), 1, times=99), numbered(2), no_tick))
    assert "a worker died 2 times on the same shard, one of: " in str(caught.value)
    assert "shard 1;" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert turns(tmp_path, "shard 1") == 2


def test_workers_end_with_the_pool_and_ray_stays(ray_cluster: str, tmp_path: Path) -> None:
    slow = Slow(str(tmp_path))
    with RayActors(ray_cluster, 1) as pool:
        assert done(pool, slow, 1) == {0: None}
        assert all(map(is_alive, slow.processes()))
    assert slow.processes()
    assert are_gone(slow.processes())
    assert ray.is_initialized()


JOINED = """
import sys
import ray
from faults_for_tests import Fatal, numbered
from isoscope.compute.execution import open_pool
from isoscope.compute.pool import no_tick

with open_pool(f"ray:{sys.argv[1]}", 1) as pool:
    found = dict(pool.run(Fatal(sys.argv[2], 1), numbered(3), no_tick))
print(sorted(found), ray.is_initialized())
"""


def test_a_cluster_is_joined_and_deaths_leave_no_trace_in_the_output(
    ray_cluster: str, tmp_path: Path
) -> None:
    """Standard output is for --json."""
    joined = subprocess.run(
        [sys.executable, "-c", JOINED, ray_cluster, tmp_path],
        capture_output=True,
        text=True,
        check=True,
        env=environment(),
    )
    assert joined.stdout == "[0, 1, 2] False\n"
    assert turns(tmp_path, "shard 1") == 2


AGENT_KILLED = """
import sys
import psutil
from faults_for_tests import Numbered, Slow
from isoscope.compute.execution import open_pool
from isoscope.compute.pool import no_tick
from isoscope.errors import DataError

with open_pool("ray", 1) as pool:
    found = pool.run(Slow(sys.argv[1]), [(0, Numbered(0)), (1, Numbered(1))], no_tick)
    print(next(found))
    for process in psutil.Process().children(recursive=True):
        if process.name() == "raylet":
            process.kill()
    try:
        next(found)
    except DataError as error:
        print(error)
"""


@pytest.mark.ray
@pytest.mark.slow
def test_an_agent_that_is_killed_is_one_line(tmp_path: Path) -> None:
    """Ray itself would end the process of the driver, without a word and with its files open."""
    ended = subprocess.run(
        [sys.executable, "-c", AGENT_KILLED, tmp_path],
        capture_output=True,
        text=True,
        check=True,
        env=environment(),
    )
    assert ended.stdout.splitlines() == [
        "(0, None)",
        "Ray's own process on this machine, the raylet, was killed, and all workers with it; there "
        "may be too little memory",
    ]


def test_more_workers_than_the_cluster_has_cores(ray_cluster: str) -> None:
    del ray_cluster
    with pytest.raises(UsageError, match="--workers 5 needs as many cores, but this Ray has 4; "):
        RayActors("", 5)
    with pytest.raises(UsageError, match="needs as many accelerators, but this Ray has 0; "):
        RayActors("", None, accelerators=True)
    assert ray.is_initialized()


def test_another_version_on_a_node_is_refused(
    pool: RayActors, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ray_actors, "__version__", "99.1")
    with pytest.raises(UsageError) as caught:
        done(pool, Reading(), 1)
    assert str(caught.value) == (
        f"this machine has isoscope 99.1 and a worker has {__version__}; install the same "
        "version on every node"
    )


def test_a_folder_that_a_node_does_not_have_is_no_fault(pool: RayActors, tmp_path: Path) -> None:
    del pool  # Ray is there
    before = Path.cwd()
    held, caller = [ray.put(packed(Reading()))], Caller(__version__, str(tmp_path / "gone"))
    found = Actor().work_on(0, held, caller, 3, packed(Numbered(3)))
    assert found == (3, Nested(3))
    assert Path.cwd() == before


def measured(source: str, **options: Any) -> Any:
    found = isoscope.measure(source, shard_rows=5 * rows_per_batch(4), **options)
    whole = json.loads(found.to_json())
    return {key: whole[key] for key in ("rows", "tables", "verdicts", "left_out")}


def test_measures_are_those_of_threads_bit_by_bit(ray_cluster: str, tmp_path: Path) -> None:
    del ray_cluster
    for number in range(3):
        np.save(tmp_path / f"{number}.npy", shifted(number, 30_000, 4).astype(np.float32))
    source = str(tmp_path / "*.npy")
    local = measured(source, workers=1)
    assert measured(source, workers=2) == local
    assert measured(source, engine="ray", workers=1) == local
    assert measured(source, engine="ray", workers=2) == local


def test_a_ray_that_does_not_start_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    import ray

    def fail(*_: object, **__: object) -> None:
        raise AssertionError("the raylet ended\nlog: ...")

    monkeypatch.setattr(ray, "init", fail)
    with pytest.raises(UsageError, match=r"--engine ray: Ray does not start \(the raylet ended\)"):
        connect(ray, "", 1)
    with pytest.raises(UsageError, match=r"--engine ray:auto: no Ray answers \(the raylet ended\)"):
        connect(ray, "auto", 1)
