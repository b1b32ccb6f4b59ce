"""The locks are whole, agree with each other and with pyproject.toml, and are what is installed."""

from __future__ import annotations

import re
import sys
import tomllib
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
LOCKS = sorted((ROOT / "requirements").glob("*.txt"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))


def locked(path: Path, *, here: bool = True) -> dict[str, list[Requirement]]:
    """Return what a lock names, by name: for this machine, or for all."""
    lines = re.findall(r"^(?![ #-])([^\\\n]+)", path.read_text("utf-8"), re.M)
    found: dict[str, list[Requirement]] = {}
    for requirement in map(Requirement, lines):
        if not here or requirement.marker is None or requirement.marker.evaluate():
            found.setdefault(canonicalize_name(requirement.name), []).append(requirement)
    return found


def version(requirements: list[Requirement]) -> str:
    (requirement,) = requirements
    return str(requirement.specifier).removeprefix("==")


@pytest.mark.parametrize("path", LOCKS, ids=lambda path: path.stem)
def test_every_package_has_one_version_and_hashes(path: Path) -> None:
    blocks = re.split(r"\n(?=\S)", path.read_text("utf-8").strip())
    assert blocks
    for block in blocks:
        first, *hashes = block.splitlines()
        assert re.fullmatch(r"[a-z0-9.-]+==[^ ]+( ; [^\\]+)? \\", first)
        assert hashes
        assert all(re.fullmatch(r"    --hash=sha256:[0-9a-f]{64}( \\)?", line) for line in hashes)


@pytest.mark.parametrize("path", LOCKS, ids=lambda path: path.stem)
def test_nothing_of_cuda_is_locked(path: Path) -> None:
    refused = ("torch", "nvidia-", "cuda-", "triton")
    names = {name for name in locked(path, here=False) if name != "torchmetrics"}
    assert not [name for name in names if name.startswith(refused)]


@pytest.mark.parametrize("name", ["benchmark", "build", "demo", "docs"])
def test_locks_agree(name: str) -> None:
    """Installing one after the other changes nothing."""
    mine, test = locked(ROOT / f"requirements/{name}.txt"), locked(ROOT / "requirements/test.txt")
    for package in mine.keys() & test.keys():
        assert version(mine[package]) == version(test[package]), package


def wanted(entries: list[Any]) -> list[Requirement]:
    """Return the requirements of a group or an extra that have to be locked."""
    found = [Requirement(entry) for entry in entries if isinstance(entry, str)]
    return [one for one in found if one.name not in ("isoscope", "torch")]


@pytest.mark.parametrize("name", ["test", "lowest"])
def test_the_lock_satisfies_the_project(name: str) -> None:
    """Fails where pyproject.toml has changed without ``make lock``."""
    extras = PROJECT["project"]["optional-dependencies"].values()
    groups = PROJECT["dependency-groups"]
    lock = locked(ROOT / f"requirements/{name}.txt")
    for entries in [PROJECT["project"]["dependencies"], *extras, groups["test"], groups["torch"]]:
        for one in wanted(entries):
            if one.marker is None or one.marker.evaluate():
                assert one.specifier.contains(version(lock[canonicalize_name(one.name)])), one


@pytest.mark.skipif(Path(sys.prefix).name != ".venv", reason="this environment ignores the lock")
def test_what_is_installed_is_what_is_locked() -> None:
    installed = {canonicalize_name(one.metadata["Name"]): one.version for one in distributions()}
    lock = locked(ROOT / "requirements/test.txt")
    assert {name: version(one) for name, one in lock.items()} == {
        name: installed.get(name, "missing") for name in lock
    }
    if "torch" not in installed:
        pytest.skip("torch is not installed; all else is what is locked")
    torch = re.search(r"^torch==(.+)$", (ROOT / "constraints.txt").read_text(), re.M)
    assert torch
    assert installed["torch"].partition("+")[0] == torch[1]
