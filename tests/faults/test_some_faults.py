"""Some of the faults that benchmarks/faults.py injects at every call, in seconds."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        shutil.which("gcc") is None or sys.platform != "linux",
        reason="the shim that injects faults needs gcc and Linux",
    ),
]


def injected(folder: Path, one_in: int, *operations: str) -> tuple[int, dict[str, Any]]:
    """Inject faults; return the exit code and the record."""
    record = folder / "record.json"
    command = [sys.executable, ROOT / "benchmarks" / "faults.py", "every", *operations]
    done = subprocess.run(
        [*command, "--record", record, "--one-in", str(one_in)],
        env={**os.environ, "PYTHONWARNINGS": "ignore"}, capture_output=True, check=False,
    )  # fmt: skip
    assert record.exists(), done.stderr.decode()
    return done.returncode, json.loads(record.read_text())["faults"]


def test_old_or_new_and_resumed(tmp_path: Path) -> None:
    operations = ("measure --out .json", "correct apply .npz", "journal", "score map")
    code, found = injected(tmp_path, 7, *operations)
    assert [found[name]["harm"] for name in operations] == [[]] * len(operations)
    assert code == 0
    assert sum(sum(found[name]["faults"].values()) for name in operations) > 30


def test_harm_is_noticed(tmp_path: Path) -> None:
    code, found = injected(tmp_path, 1, "careless")
    assert code == 1
    wrong = {one["wrong"] for one in found["careless"]["harm"]}
    assert "out.txt is neither old nor new" in wrong
