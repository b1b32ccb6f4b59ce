"""What surrounds the code: every command that it names exists."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import isoscope

yaml = pytest.importorskip("yaml")

ROOT = Path(__file__).parents[2]
MAKEFILE = (ROOT / "Makefile").read_text("utf-8")
TARGETS = set(re.findall(r"^([a-z-]+):", MAKEFILE, re.M))
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def runs(entry: Any) -> Iterator[str]:
    """Give out every command of a workflow."""
    if isinstance(entry, dict):
        if "run" in entry:
            yield entry["run"]
        entry = list(entry.values())
    if isinstance(entry, list):
        for inner in entry:
            yield from runs(inner)


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_workflows_run_make_targets_only(path: Path) -> None:
    commands = list(runs(yaml.safe_load(path.read_text("utf-8"))))
    assert commands
    for command in commands:
        name = re.fullmatch(r"make ([a-z-]+)", command)
        assert name, command
        assert name[1] in TARGETS


def test_all_workflows_are_there() -> None:
    assert [path.stem for path in WORKFLOWS] == ["docs", "lowest", "newest", "tests", "wheel"]


def test_continuous_integration_does_what_a_newcomer_does() -> None:
    lines = (ROOT / ".ci" / "run").read_text("utf-8").splitlines()
    assert lines[-1] == "make test"
    assert not any("install" in line for line in lines)


def test_targets_that_are_described_exist() -> None:
    for name in ("CONTRIBUTING.md", "README.md"):
        described = re.findall(r"`?make ([a-z-]+)\b(?=`|\s+#)", (ROOT / name).read_text("utf-8"))
        assert described
        assert set(described) <= TARGETS


def test_every_phony_target_has_a_rule() -> None:
    (phony,) = re.findall(r"^\.PHONY: (.*)$", MAKEFILE, re.M)
    assert set(phony.split()) <= TARGETS


def test_hooks_use_the_locked_tools() -> None:
    config = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text("utf-8"))
    hooks = [hook for repo in config["repos"] for hook in repo["hooks"]]
    assert {repo["repo"] for repo in config["repos"]} == {"local"}
    assert all(hook["entry"].startswith(".venv/bin/") for hook in hooks)


def test_only_the_lock_chooses_versions() -> None:
    """A plain ``pip install NAME`` would take the newest release of the day."""
    recipes = re.sub(r"\\\n\s*", "", MAKEFILE)
    newest = re.search(r"^test-newest:\n((?:\t.*\n)+)", recipes, re.M)
    assert newest
    for line in re.findall(r"^\t(.*install.*)$", recipes.replace(newest[1], ""), re.M):
        if "apt-get" in line:
            continue  # Chromium, which tests of pages take in any version
        for call in re.split(r"\|\||&&", line):
            assert re.search(r"LOCKED|--require-hashes|--editable \.$|torch==\$\(TORCH\)", call), (
                call
            )


def test_the_citation_names_this_version() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    assert citation["version"] == isoscope.__version__
    assert citation["license"] == "Apache-2.0"
