"""Which workers a run has, from what the user says."""

from __future__ import annotations

import socket
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from faults_for_tests import Nested, Reading, environment, numbered

from isoscope.compute.execution import Execution, open_pool, ray_address
from isoscope.compute.map_reduce import KeptShards, Run, read
from isoscope.compute.pool import Here, no_tick
from isoscope.compute.processes import Processes
from isoscope.compute.ray import RayActors
from isoscope.corrections import Center
from isoscope.corrections.apply import CorrectedCloud
from isoscope.data.arrays import ArrayCloud
from isoscope.data.base import Cloud, CloudGroup, shards_of
from isoscope.data.combine import (
    FileParts,
    JoinedCloud,
    LabelledCloud,
    SingleCloud,
    WordedGroup,
)
from isoscope.data.selection import RowSelection, WatchedCloud
from isoscope.errors import UsageError
from isoscope.measures.reads.moments import MomentParts
from isoscope.measures.reads.passes import FirstWork


@pytest.mark.parametrize(
    ("engine", "address"),
    [
        ("local", None),
        ("ray", ""),
        ("ray:auto", "auto"),
        ("ray:10.0.0.1:6379", "10.0.0.1:6379"),
        ("ray:ray://head:10001", "ray://head:10001"),
    ],
)
def test_addresses(engine: str, address: str | None) -> None:
    assert ray_address(engine) == address


@pytest.mark.parametrize("engine", ["", "spark", "local:2", "local:", "ray:", "rayauto", "Ray"])
def test_anything_else_is_refused(engine: str) -> None:
    with pytest.raises(UsageError, match="--engine must be local, ray or ray:ADDRESS, got"):
        ray_address(engine)
    with pytest.raises(UsageError, match="--engine must be local"):
        open_pool(engine)


def test_without_a_number_this_process_works() -> None:
    assert isinstance(open_pool(), Here)
    with open_pool("local", 3) as pool:
        assert isinstance(pool, Processes)
        assert pool.workers == 3


@pytest.mark.parametrize("engine", ["local", "ray", "ray:auto"])
@pytest.mark.parametrize("workers", [0, -1])
def test_too_few_workers_are_refused_before_anything_starts(engine: str, workers: int) -> None:
    with pytest.raises(UsageError, match=f"workers must be at least 1, got {workers}"):
        open_pool(engine, workers)


def test_without_ray_the_message_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(UsageError, match=r"pip install 'isoscope\[scale\]'"):
        open_pool("ray", 1)


def test_a_ray_of_its_own_ends_with_the_pool(monkeypatch: pytest.MonkeyPatch) -> None:
    ray = pytest.importorskip("ray")
    monkeypatch.setenv("RAY_ADDRESS", "192.0.2.1:6379")  # of a cluster that was not asked for
    monkeypatch.setenv("PYTHONPATH", environment()["PYTHONPATH"])
    with open_pool("ray", 1) as pool:
        assert isinstance(pool, RayActors)
        assert pool.workers == 1
        assert ray.is_initialized()
        assert ray.cluster_resources()["CPU"] == 1
        found = dict(pool.run(Reading(), numbered(2), no_tick))
    assert found == {0: Nested(0), 1: Nested(1)}
    assert not ray.is_initialized()


def test_a_ray_that_does_not_start_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*_: object, **__: object) -> None:
        raise FileNotFoundError(2, "No such file or directory", "/nowhere/.ray")

    ray = pytest.importorskip("ray")
    monkeypatch.setattr(ray, "init", failing)
    with pytest.raises(UsageError, match=r"^--engine ray: Ray does not start \(.*set RAY_AUTH"):
        open_pool("ray", 1)


@pytest.fixture
def silent() -> Iterator[int]:
    """A port that nobody else gets, and at which nobody listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield taken.getsockname()[1]


def refused(address: str) -> str:
    with pytest.raises(UsageError) as caught:
        open_pool(f"ray:{address}", 1)
    message = str(caught.value)
    assert message.startswith(f"--engine ray:{address}: no Ray answers (")
    assert "\n" not in message
    return message


@pytest.mark.parametrize("address", ["127.0.0.1:{}", "localhost:{}", "ray://127.0.0.1:{}"])
def test_an_address_at_which_nobody_listens(
    silent: int, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def asked(*_: object, **__: object) -> None:
        raise AssertionError("Ray would ask there for minutes")

    ray = pytest.importorskip("ray")
    monkeypatch.setattr(ray, "init", asked)
    assert "refused" in refused(address.format(silent))


@pytest.mark.parametrize("address", ["nonsense", "localhost:port", "127.0.0.1:99999"])
def test_an_address_that_is_none(address: str) -> None:
    ray = pytest.importorskip("ray")
    assert not ray.is_initialized()
    refused(address)
    assert not ray.is_initialized()


VECTORS = np.random.default_rng(0).standard_normal((30, 3))


class HereOnly(ArrayCloud):
    """A cloud that only this process can read, as a table seen through its connection is."""

    portable = False


class NoPool:
    """Workers that must not be asked."""

    def run(self, *asked: Any) -> Iterator[Any]:
        raise AssertionError(asked)


@pytest.mark.parametrize(
    "wrapped",
    [
        lambda cloud: cloud,
        RowSelection,
        lambda cloud: RowSelection(RowSelection(cloud)),
        lambda cloud: KeptShards(cloud, shards_of(cloud)),
        lambda cloud: WatchedCloud(cloud, 4),
        lambda cloud: LabelledCloud(cloud, "document", np.arange(30)),
        lambda cloud: WordedGroup(cloud, np.array(["a"] * 30), "words.txt"),
        lambda cloud: JoinedCloud([ArrayCloud(VECTORS), cloud], "joined"),
        lambda cloud: FileParts({"a": ArrayCloud(VECTORS), "b": cloud}),
        lambda cloud: SingleCloud(cloud, "array"),
        lambda cloud: CorrectedCloud(cloud, Center().fit(VECTORS)),
    ],
)
def test_what_only_this_process_can_read_is_read_by_it_whatever_is_around_it(
    wrapped: Callable[[Cloud], CloudGroup],
) -> None:
    group = wrapped(HereOnly(VECTORS))
    with Execution("ray:nowhere:1").open(group, {}) as run:
        assert run.pool is None
    # Nor do workers get it that were opened for another source.
    widths = dict(zip(group.names, group.widths, strict=True))
    work = FirstWork(MomentParts(), widths, 4, 0, deals=True, label=None)
    here, there = (read(group, work, "read", run).state for run in (Run(), Run(pool=NoPool())))
    for name, moments in here.moments.items():
        np.testing.assert_array_equal(moments.mean, there.moments[name].mean)
