"""Every task is registered with the package, whatever else was imported before."""

from __future__ import annotations

import subprocess
import sys

import pytest

CODE = """
from isoscope.tasks.registry import Task, all_tasks
print(sorted({task.family for task in all_tasks()}))
def kinds(kind):
    return [kind, *(below for one in kind.__subclasses__() for below in kinds(one))]
print(sorted(kind.__name__ for kind in kinds(Task) if kind.plan is not Task.plan))
"""


@pytest.mark.parametrize("first", ["isoscope.tasks.registry", "isoscope.verbs.advise.api"])
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
