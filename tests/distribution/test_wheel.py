"""What is shipped: it is complete, stays small, and works without the checkout."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import tarfile
import zipfile
from importlib.metadata import Distribution
from pathlib import Path

import pytest
from distribution.linked_environment import linked_environment
from installed import dependencies
from wheel import CHECKS, WITH_TORCH, build, checks_for, extras, prepare, project, run_check

import isoscope

pytest.importorskip("build", reason="the package build is not installed")
pytestmark = pytest.mark.slow

SOURCE = Path(isoscope.__file__).parent
CORE_DEPENDENCIES = 9
"""To add one, give the reason in docs/architecture.md and raise this number."""
LARGEST_WHEEL = 1_500_000
"""Bytes."""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return build(tmp_path_factory.mktemp("built") / "dist")


@pytest.fixture(scope="module")
def wheel(built: tuple[Path, Path]) -> Path:
    return built[0]


def shipped_files() -> set[str]:
    """Return everything in the package but what Python itself leaves there."""
    return {
        f"isoscope/{path.relative_to(SOURCE)}"
        for path in SOURCE.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def test_the_wheel_has_every_file_of_the_package(wheel: Path) -> None:
    names = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    assert names == shipped_files()


def test_the_source_distribution_has_every_file_of_the_package(built: tuple[Path, Path]) -> None:
    with tarfile.open(built[1]) as archive:
        names = {name.partition("/")[2].removeprefix("src/") for name in archive.getnames()}
    assert shipped_files() <= names
    assert {"LICENSE", "README.md", "pyproject.toml"} <= names


def test_the_number_of_core_dependencies() -> None:
    assert len(project()["dependencies"]) == CORE_DEPENDENCIES


def test_the_size_of_the_wheel(wheel: Path) -> None:
    assert wheel.stat().st_size < LARGEST_WHEEL


@pytest.fixture(scope="module")
def core(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the wheel and what it needs without extras."""
    folder = tmp_path_factory.mktemp("core") / "environment"
    linked_environment(folder, needed_by(()))
    subprocess.run(
        [sys.executable, "-m", "pip", "--python", folder / "bin" / "python", "install", "--quiet",
         "--no-deps", "--no-index", wheel],
        check=True,
    )  # fmt: skip
    return folder


def needed_by(installed: tuple[str, ...]) -> list[Distribution]:
    """Return what isoscope needs with some extras, without itself."""
    found = dependencies("isoscope" + (f"[{','.join(installed)}]" if installed else ""))
    return [one for name, one in found.items() if name != "isoscope"]


def check_all(command: list[Path], folder: Path, installed: tuple[str, ...]) -> None:
    """Run the checks in an environment with some extras, and fail with all that is wrong."""
    folder.mkdir()
    prepare(folder)
    found = [run_check(check, command, folder, installed) for check in checks_for(installed)]
    assert not any(found), "\n".join(text for text in found if text)


def test_without_extras(core: Path, tmp_path: Path) -> None:
    assert "torch" not in dependencies("isoscope")  # so nothing could import it
    check_all([core / "bin" / "isoscope"], tmp_path / "work", ())


@pytest.mark.parametrize("extra", extras())
def test_with_one_extra(core: Path, tmp_path: Path, extra: str) -> None:
    if extra in WITH_TORCH and importlib.util.find_spec("torch") is None:
        pytest.skip("the package torch is not installed")
    site = linked_environment(tmp_path / "environment", needed_by((extra,)))
    (wheel_site,) = core.glob("lib/python*/site-packages")
    for path in wheel_site.glob("isoscope*"):
        (site / path.name).symlink_to(path)
    python = tmp_path / "environment" / "bin" / "python"
    check_all([python, core / "bin" / "isoscope"], tmp_path / "work", (extra,))


def test_every_extra_is_tried() -> None:
    assert {check.extra for check in CHECKS} == {"", *extras()}
