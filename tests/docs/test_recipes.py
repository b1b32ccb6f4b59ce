"""Every recipe of docs/architecture.md, applied as it stands to a copy of the package."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "architecture.md").read_text("utf-8")
SECTION = PAGE.partition("## How to add things\n")[2].partition("\n## ")[0]
RECIPES = dict(re.findall(r"^### ([^\n]+)\n(.*?)(?=^### |\Z)", SECTION, re.M | re.S))
BLOCK = re.compile(r"^([^\n]+):\n\n```(?:python|toml|text)\n(.*?)```$", re.M | re.S)
TORCH = ("A regularizer", "A model family")


def test_there_is_a_recipe_for_everything_that_can_be_added() -> None:
    assert list(RECIPES) == [
        *("A measure", "A correction", "A file format", "A data set", "A study", "A figure"),
        *("A regularizer", "A model family"),
    ]


def apply(place: str, code: str, copy: Path) -> None:
    """Do with a block of code what the line above it says."""
    if found := re.fullmatch(r"New file `([^`]+)`", place):
        path = file_of(copy, found[1])
        assert not path.exists()
        path.write_text(code, "utf-8")
    elif found := re.fullmatch(r"At the end of `([^`]+)`", place):
        path = file_of(copy, found[1])
        path.write_text(f"{path.read_text('utf-8')}\n\n{code}", "utf-8")
    else:
        found = re.fullmatch(r"In `(\w+)` of `([^`]+)`", place)
        assert found, place
        insert(file_of(copy, found[2]), found[1], code)


def file_of(copy: Path, name: str) -> Path:
    """Return a file of the copy; names are those below the package, or of tests."""
    return copy / name if name.startswith("tests/") else copy / "isoscope" / name


def insert(path: Path, name: str, code: str) -> None:
    """Add lines at the end of the table or tuple that is assigned to a name."""
    text = path.read_text("utf-8")
    for node in ast.parse(text).body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        if any(isinstance(target, ast.Name) and target.id == name for target in targets):
            lines = text.splitlines(keepends=True)
            assert node.end_lineno is not None
            lines.insert(node.end_lineno - 1, code)
            path.write_text("".join(lines), "utf-8")
            return
    raise AssertionError(f"{path} assigns nothing to {name}")


@pytest.mark.parametrize("title", RECIPES)
def test_a_recipe_works_as_it_stands(title: str, tmp_path: Path) -> None:
    if title in TORCH:
        pytest.importorskip("torch")
        pytest.importorskip("transformers")
    copy, work = tmp_path / "copy", tmp_path / "work"
    shutil.copytree(
        ROOT / "src" / "isoscope", copy / "isoscope", ignore=shutil.ignore_patterns("__pycache__")
    )
    (copy / "tests").mkdir()
    shutil.copy(ROOT / "tests" / "tiny_models.py", copy / "tests")
    work.mkdir()
    *blocks, (last, check) = BLOCK.findall(RECIPES[title])
    assert last == "Check"
    assert blocks
    for place, code in blocks:
        apply(place, code, copy)
    found = os.pathsep.join([str(copy), str(copy / "tests")])
    done = subprocess.run(
        [sys.executable, "-c", check], cwd=work, env={**os.environ, "PYTHONPATH": found},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert not list((ROOT / "src").rglob("float_rows.py"))  # the copy was changed, not the package
