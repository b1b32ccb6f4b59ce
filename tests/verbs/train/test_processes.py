"""One process and two, which share the same batches: the same losses, the same weights."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")
pytest.importorskip("accelerate")
pytest.importorskip("zuko")

pytestmark = pytest.mark.slow
SCRIPT = Path(__file__).with_name("in_processes.py")
NAMES = ("none", "cosreg", "spectrum", "flow", "flow-vocabulary", "flow-hidden")
TWO = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Run all cases in one process, and in two that talk over the loopback address."""
    if not (torch.distributed.is_available() and torch.distributed.is_gloo_available()):
        pytest.skip("this torch has no gloo, which processes on a CPU talk through")
    one, two = (tmp_path_factory.mktemp(name) for name in ("one", "two"))
    source = str(Path(__file__).parents[3] / "src")
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"}
    environment["PYTHONPATH"] = os.pathsep.join([source, os.environ.get("PYTHONPATH", "")])
    for folder, launcher in ((one, []), (two, TWO)):
        command = [sys.executable, *launcher, str(SCRIPT), str(folder)]
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=300, check=False
        )
        if launcher and "Operation not permitted" in done.stderr:
            pytest.skip("processes may not talk to each other here")
        assert done.returncode == 0, done.stderr[-3000:]
    return one, two


@pytest.mark.parametrize("name", NAMES)
def test_two_processes_log_the_loss_of_one(name: str, folders: tuple[Path, Path]) -> None:
    """Means of four and four instead of eight items, in single precision."""
    one, two = (json.loads((folder / f"{name}.json").read_text()) for folder in folders)
    assert len(one) == 3
    for alone, shared in zip(one, two, strict=True):
        assert alone.keys() == shared.keys()
        assert ("calibration" in alone) == (name != "none")
        for part, value in alone.items():
            assert shared[part] == pytest.approx(value, rel=1e-4, abs=1e-5), part
        assert sum(alone.values()) == pytest.approx(2 * alone["loss"], rel=1e-4)


@pytest.mark.parametrize("name", NAMES)
def test_two_processes_learn_the_weights_of_one(name: str, folders: tuple[Path, Path]) -> None:
    """Three steps at a rate of 0.1: sums in another order are off by some 1e-7 of each."""
    one, two = (torch.load(folder / f"{name}.pt") for folder in folders)
    assert one.keys() == two.keys()
    for key, weight in one.items():
        torch.testing.assert_close(two[key], weight, atol=5e-6, rtol=1e-4, msg=key)
