"""Fifty random kills of workers and drivers, over real runs: the numbers stay the same.

python benchmarks/random_kills.py [kills] [--seed N]

Runs of ``isoscope profile`` and ``isoscope measure`` on Ray and on local workers are hit by
``kill -9`` at random moments. A killed worker of Ray is Ray's affair; after a killed driver, or a
worker of the local engine, the command is given again with ``--resume``. Every run must end
with the rows of a run that nobody disturbed, bit by bit, and leave no journal.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import psutil
from scale import sentences
from sides import cloud, run

if TYPE_CHECKING:
    from collections.abc import Sequence

KILLS = 50
LONGEST_PAUSE = 12.0
"""Seconds between the start of a command, or a kill, and the next kill, at most."""
GIVEN_UP = 900.0
"""Seconds after which a run hangs."""


@dataclass
class Target:
    """A command that is disturbed, and what it gives when it is not."""

    name: str
    command: Sequence[str]
    expected: Any = None
    kills: Counter[str] = field(default_factory=Counter)
    runs: int = 0


class Saboteur:
    """Kills workers and drivers."""

    def __init__(self, folder: Path, seed: int) -> None:
        self._folder, self._random = folder, np.random.default_rng(seed)
        self.kills = 0

    def undisturbed(self, target: Target) -> None:
        """Run a command to its end, for the numbers that all others must give."""
        out = self._folder / "undisturbed.json"
        subprocess.run([*target.command, "--out", str(out)], check=True, capture_output=True)
        target.expected = numbers(out)
        out.unlink()

    def disturb(self, target: Target, most: int) -> None:
        """Run a command to its end with up to so many kills on the way."""
        out = self._folder / f"disturbed-{self.kills}.json"
        resume: list[str] = []
        left, began = most, time.monotonic()
        while True:
            driver = subprocess.Popen(
                [*target.command, "--out", str(out), *resume],
                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
            )  # fmt: skip
            left = self._harass(driver, target, left)
            _, said = driver.communicate()
            if driver.returncode == 0:
                break
            if driver.returncode > 0 and b"--resume" not in said:
                raise SystemExit(f"{target.name} failed: {said.decode()[-2000:]}")
            if time.monotonic() - began > GIVEN_UP:
                raise SystemExit(f"{target.name} does not come to an end")
            resume = ["--resume"] if Path(f"{out}.journal").exists() else []
        target.runs += 1
        if numbers(out) != target.expected:
            raise SystemExit(f"{target.name}: other numbers after {most - left} kills: {out}")
        if Path(f"{out}.journal").exists():
            raise SystemExit(f"{target.name} left its journal")
        out.unlink()

    def _harass(self, driver: subprocess.Popen[bytes], target: Target, left: int) -> int:
        """Kill until the driver is gone, or no kills are left; returns how many are."""
        while left and driver.poll() is None:
            try:
                driver.wait(float(self._random.uniform(0.5, LONGEST_PAUSE)))
                return left
            except subprocess.TimeoutExpired:
                pass
            workers = workers_of(driver.pid)
            whom = "worker" if workers and self._random.random() < 0.6 else "driver"
            try:
                if whom == "worker":
                    workers[int(self._random.integers(len(workers)))].kill()
                else:
                    driver.kill()
            except psutil.Error:
                continue
            left -= 1
            self.kills += 1
            target.kills[whom] += 1
            print(f"  kill {self.kills}: {whom} of {target.name}", flush=True)
            if whom == "driver":
                driver.wait()
        return left


def workers_of(pid: int) -> list[psutil.Process]:
    """Return the workers of a driver that are at work."""
    try:
        children = psutil.Process(pid).children(recursive=True)
    except psutil.Error:
        return []
    found = []
    for child in children:
        try:
            named = " ".join(child.cmdline()[:4])
        except psutil.Error:
            continue
        if "ray::Actor" in named or "spawn_main" in named:
            found.append(child)
    return found


def numbers(path: Path) -> Any:
    """Return everything that was computed: rows, tables and verdicts."""
    result = json.loads(path.read_text())
    return [result[part] for part in ("rows", "tables", "verdicts")]


def faults() -> None:
    """Disturb every command in turn until there were enough kills."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for number in range(4):
            lines = (f"{text}\n" for text in sentences(250, seed=number))
            (folder / f"texts-{number}.txt").write_text("".join(lines))
            np.save(folder / f"vectors-{number}.npy", cloud(100_000, 512) + number)
        tool = [str(Path(sys.executable).with_name("isoscope"))]
        profile = [*tool, "profile", "package:minilm", "--text", f"{folder}/texts-*.txt"]
        profile += ["--shard", "25", "--workers", "2"]
        measure = [*tool, "measure", f"{folder}/vectors-*.npy", "--shard", "16384"]
        targets = [
            Target("profile on Ray", [*profile, "--engine", "ray"]),
            Target("profile on local workers", profile),
            Target("measure on Ray", [*measure, "--engine", "ray", "--workers", "2"]),
            Target("measure on threads", [*measure, "--workers", "2"]),
        ]
        saboteur = Saboteur(folder, SEED)
        print(f"\nfaults: {WANTED} kills, seed {SEED}")
        for target in targets:
            saboteur.undisturbed(target)
        turn = 0
        while saboteur.kills < WANTED:
            saboteur.disturb(targets[turn % len(targets)], min(5, WANTED - saboteur.kills))
            turn += 1
        for target in targets:
            whom = ", ".join(f"{count} × {who}" for who, count in sorted(target.kills.items()))
            print(f"  {target.name}: {target.runs} runs, killed {whom or 'nobody'}")
        same = targets[0].expected == targets[1].expected and (
            targets[2].expected == targets[3].expected
        )
        print(f"  every run ended with the same numbers; Ray and local alike: {same}")


WANTED, SEED = KILLS, 0

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kills", type=int, nargs="?", default=KILLS)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    WANTED, SEED = given.kills, given.seed
    run({"faults": faults}, [])
