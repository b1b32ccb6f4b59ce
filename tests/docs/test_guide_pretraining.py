"""The guide to small models from scratch: its code runs, its commands are commands."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

GUIDE = Path(__file__).parents[2] / "docs" / "guide-pretraining.md"
TEXT = GUIDE.read_text("utf-8")


def test_the_example_runs(capsys: pytest.CaptureFixture[str]) -> None:
    (block,) = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    exec(compile(block, str(GUIDE), "exec"), {})
    perplexity = float(capsys.readouterr().out.strip().splitlines()[-1])
    assert 1 < perplexity < 280  # below that of guessing among the vocabulary


def test_options_of_the_commands_exist() -> None:
    from isoscope.verbs.train.cli import train_app
    from isoscope.verbs.train.pretrain.plan import parse_grid

    commands = re.findall(r"^isoscope train (.+)$", TEXT, re.MULTILINE)
    assert len(commands) == 3
    known = {command.callback.__name__.removesuffix("_command") for command in
             train_app.registered_commands if command.callback}  # fmt: skip
    for command in commands:
        name, *options = shlex.split(command)
        assert name in known
        if "--grid" in options:
            parse_grid(options[options.index("--grid") + 1])
