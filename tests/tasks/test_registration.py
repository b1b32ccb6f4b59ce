"""Every task is registered with the package, whatever else was imported before."""

from __future__ import annotations

import subprocess
import sys

import pytest

CODE = """
from isoscope.tasks.registry import all_tasks
from isoscope.tasks.preparing import prepare
print(sorted({task.family for task in all_tasks()}))
print(sorted(kind.__name__ for kind in prepare.registry))
"""


@pytest.mark.parametrize("first", ["isoscope.tasks.registry", "isoscope.tasks.advising"])
def test_nothing_depends_on_an_accidental_import(first: str) -> None:
    said = subprocess.run(
        [sys.executable, "-c", f"import {first}\n{CODE}"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert "word-similarity" in said
    for kind in ("OwnPairTask", "TextClassification", "WordSense", "ClusteringTask"):
        assert kind in said
