"""What all tests share: hypothesis settings and a way to skip what a machine does not have."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path
from typing import TYPE_CHECKING

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

hypothesis.settings.register_profile(
    "isoscope", deadline=None, derandomize=True, max_examples=40, print_blob=True
)
hypothesis.settings.load_profile("isoscope")


def pytest_runtest_setup(item: pytest.Item) -> None:
    for mark in item.iter_markers("needs_package"):
        module, distribution = mark.args
        if importlib.util.find_spec(module) is None:
            pytest.skip(f"the package {distribution} is not installed")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "needs_package(module, distribution): skips where a package is missing"
    )


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The folder of a tiny model of an architecture, made when it is first asked for."""
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


@pytest.fixture(scope="module")
def ray_cluster() -> Iterator[str]:
    """The address of a Ray of four workers, which can import what tests share.

    For one file of tests at a time: others start and end a Ray of their own.
    """
    ray = pytest.importorskip("ray")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(SHARED), prepend=os.pathsep)
        ray.init(
            "local", num_cpus=4, include_dashboard=False, log_to_driver=False, logging_level="ERROR"
        )
    yield ray.get_runtime_context().gcs_address
    ray.shutdown()
