"""What all tests share: settings, markers, groups, and fixtures that are expensive to start."""

from __future__ import annotations

import gc
import importlib.util
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import hypothesis
import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from postgres_for_tests import Server

SHARED = Path(__file__).parent
"""Where the modules are that tests share."""

# A test process has a core to itself: threads of torch that wait for each other on busy cores make
# a run several times slower. Read when torch is imported.
os.environ.setdefault("OMP_NUM_THREADS", "1")

DEADLINE = float(os.environ.get("ISOSCOPE_TEST_DEADLINE", "inf"))
"""Seconds since the epoch after which no test starts, so that ``make quick`` ends in time."""

SERVICES = {
    "ray": "Ray",
    "postgres": "a PostgreSQL server",
    "browser": "Chromium and its driver",
}
"""What is started once, and used by all tests with the marker of its name."""

SERVICES_BY_FIXTURE = {"ray": "ray_head", "postgres": "postgres", "browser": "chromium"}

# Else Ray keeps one in the home folder, which may not be writable.
os.environ.setdefault("RAY_AUTH_TOKEN", "0123456789abcdef" * 4)

hypothesis.settings.register_profile(
    "isoscope", deadline=None, derandomize=True, max_examples=40, print_blob=True
)
hypothesis.settings.load_profile("isoscope")


def pytest_runtest_setup(item: pytest.Item) -> None:
    if time.time() > DEADLINE:
        pytest.skip("the time of this run is over")
    for mark in item.iter_markers("needs_package"):
        module, distribution = mark.args
        if importlib.util.find_spec(module) is None:
            pytest.skip(f"the package {distribution} is not installed")


def pytest_configure(config: pytest.Config) -> None:
    for text in (
        "needs_package(module, distribution): skips where a package is missing",
        "slow: takes seconds, because it needs processes, large files or a training",
        "fuzz: tries ISOSCOPE_FUZZ_CASES files of each format",
        *(f"{name}: needs {what}" for name, what in SERVICES.items()),
    ):
        config.addinivalue_line("markers", text)


@pytest.hookimpl(tryfirst=True)  # pytest-xdist reads the groups in the same hook
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that need a service, and keep what should run in one process together.

    With ``--dist loadgroup`` a file is a group, so that its fixtures are made once. All files that
    need the same service are one group, so that the service starts once. The long groups come
    first: with one of them at the end, the other processes would have nothing left to do.
    """
    # A number each: the group becomes part of the name that is printed for a test.
    files = sorted({item.path for item in items})
    groups = {path: str(number) for number, path in enumerate(files)}
    slow: set[str] = set()
    for item in items:
        for service, fixture in SERVICES_BY_FIXTURE.items():
            if fixture in getattr(item, "fixturenames", ()):
                item.add_marker(service)
                groups[item.path] = service
    for item in items:
        group = groups[item.path]
        item.add_marker(pytest.mark.xdist_group(group))
        if item.get_closest_marker("slow") or group in SERVICES:
            slow.add(group)
    items.sort(key=lambda item: groups[item.path] not in slow)


def pytest_collection_finish() -> None:
    # Some million objects of test modules, torch and transformers live until the end. Without this
    # every full collection, and some studies ask for one per model, walks through all of them.
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The folder of a tiny model of an architecture, made when it is first asked for."""
    pytest.importorskip("torch")
    pytest.importorskip("transformers")
    from tiny_models import save_tiny_model

    made: dict[str, Path] = {}

    def folder(architecture: str) -> Path:
        if architecture not in made:
            path = tmp_path_factory.mktemp("models") / f"tiny-{architecture}"
            made[architecture] = save_tiny_model(architecture, path)
        return made[architecture]

    return folder


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    """A PostgreSQL server with pgvector, stopped when the last test is done."""
    from postgres_for_tests import running_server

    with running_server() as server:
        yield server


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    """A headless browser."""
    from browser_for_tests import running_browser

    with running_browser() as driver:
        yield driver


@pytest.fixture(scope="session")
def ray_head() -> Iterator[str]:
    """The address of a Ray of four cores, whose workers can import what tests share."""
    pytest.importorskip("ray")
    from ray.cluster_utils import Cluster

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(SHARED), prepend=os.pathsep)
        cluster = Cluster(
            initialize_head=True, head_node_args={"num_cpus": 4, "include_dashboard": False}
        )
    yield cluster.address
    cluster.shutdown()


@pytest.fixture(scope="module")
def ray_cluster(ray_head: str) -> Iterator[str]:
    """The address of that Ray, while this process is connected to it."""
    import ray

    ray.init(ray_head, log_to_driver=False, logging_level="ERROR")
    yield ray_head
    ray.shutdown()
