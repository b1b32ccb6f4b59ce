"""Workers of any kind: what becomes of a shard, and of the threads of a process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from faults_for_tests import Nested, Numbered, Opening, Reading, numbered

from isoscope.compute.pool import BadShard, Here, attempt, no_tick
from isoscope.errors import UsageError


def test_this_process_works_in_order_and_tells_how_far_it_is() -> None:
    told: list[int] = []
    with Here() as pool:
        found = list(pool.run(Reading({1: "ends early"}), numbered(3), told.append))
    assert found == [(0, Nested(0)), (1, BadShard("ends early")), (2, Nested(2))]
    assert told == [1, 1, 1]


def test_shards_are_worked_through_when_they_are_asked_for() -> None:
    found = Here().run(Reading(wrong=frozenset({1})), numbered(2), no_tick)
    assert next(found) == (0, Nested(0))
    with pytest.raises(UsageError, match="no column of shard 1"):
        next(found)


def test_only_faults_of_the_data_make_a_bad_shard(tmp_path: Path) -> None:
    missing = str(tmp_path / "missing")
    found = attempt(Opening(missing), Numbered(0), no_tick)
    assert isinstance(found, BadShard)
    assert missing in found.message
    with pytest.raises(UsageError):
        attempt(Reading(wrong=frozenset({0})), Numbered(0), no_tick)

    def faulty(shard: Numbered, tick: object) -> None:
        raise ZeroDivisionError(f"{shard} {tick}")

    with pytest.raises(ZeroDivisionError):
        attempt(faulty, Numbered(0), no_tick)


HELD = """
import os
import numpy
from threadpoolctl import threadpool_info
from isoscope.compute.pool import SingleThread

threads = SingleThread()
threads.hold()
print(max((pool["num_threads"] for pool in threadpool_info()), default=1))
print(os.environ["OMP_NUM_THREADS"], os.environ["TOKENIZERS_PARALLELISM"])
os.environ["OMP_NUM_THREADS"] = "3"  # as if torch were loaded by somebody else
import torch
torch.set_num_threads(3)
print(torch.get_num_threads())
threads.hold()
print(torch.get_num_threads())
print(max(pool["num_threads"] for pool in threadpool_info()))
"""


@pytest.mark.needs_package("torch", "torch")
def test_one_thread_also_where_torch_comes_later() -> None:
    several = {**os.environ, "OMP_NUM_THREADS": "2", "OPENBLAS_NUM_THREADS": "2"}
    done = subprocess.run(
        [sys.executable, "-c", HELD], capture_output=True, text=True, check=True, env=several
    )
    assert done.stdout.split() == ["1", "1", "false", "3", "1", "1"]
