"""Commands that train or explain say in one line what to install where torch is missing."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

CALL = """
import sys
class Missing:
    def find_spec(self, name, *_):
        if name.partition(".")[0] == "torch":
            raise ModuleNotFoundError(name=name)
sys.meta_path.insert(0, Missing())
from isoscope.cli.app import main
sys.argv = ["isoscope", *sys.argv[1:]]
main()
"""


@pytest.mark.parametrize(
    "arguments",
    [
        ["train", "finetune", "package:minilm", "--task", "rte"],
        ["train", "pretrain", "--text", "t.txt", "--out", "folder"],
        ["train", "ablate", "--text", "t.txt"],
        ["explain", "package:minilm", "--topic", "structure"],
        ["study", "run", "P-F7"],
    ],
)
def test_one_line_says_what_to_install(arguments: list[str]) -> None:
    finished = subprocess.run(
        [sys.executable, "-c", CALL, *arguments], capture_output=True, text=True, check=False
    )
    assert finished.returncode == 2
    said = r"isoscope: models need (torch|transformers); pip install 'isoscope\[models\]'\n"
    assert re.fullmatch(said, finished.stderr)
