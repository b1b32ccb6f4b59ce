"""What benchmarks share: clouds, several sides timed in turn, memory, the head of the output."""

from __future__ import annotations

import os
import platform
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date
from pathlib import Path

import numpy as np

import isoscope
from isoscope.compute.threads import cores

ROUNDS = 7
BLOCK = 50_000
"""Rows that large files repeat: making new ones would take longer than all the rest."""

PEAK = """
import re, sys, isoscope
isoscope.measure(sys.argv[1])
print(int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1]) // 1024)
"""


def cloud(rows: int, width: int) -> np.ndarray:
    """Return vectors with a falling spectrum and a common offset."""
    random = np.random.default_rng(0)
    spread = np.geomspace(1, 0.05, width, dtype=np.float32)
    return random.standard_normal((rows, width), dtype=np.float32) * spread + np.float32(0.1)


def best(sides: Mapping[str, Callable[[], object]], rounds: int = ROUNDS) -> dict[str, float]:
    """Time every side in turn, several times over; return the best of each."""
    times = dict.fromkeys(sides, float("inf"))
    for _ in range(rounds):
        for name, call in sides.items():
            start = time.perf_counter()
            call()
            times[name] = min(times[name], time.perf_counter() - start)
    return times


def others() -> str:
    """Say that other jobs run at the same time, where they do, as times are then rough.

    Asked before a benchmark begins, which is a load itself.
    """
    load = os.getloadavg()[0]
    if load < cores() / 2:
        return ""
    return f"; other jobs ran at the same time (load average {load:.0f}){ROUGH}"


class Company:
    """What other processes take of the processors from one moment to another."""

    def __init__(self) -> None:
        self._began = time.perf_counter(), self._of_others()

    @staticmethod
    def _of_others() -> float:
        """Return the seconds of all processors that went to others since the machine started."""
        line = Path("/proc/stat").read_text().partition("\n")[0]
        user, nice, system, _, _, irq, softirq, steal = map(int, line.split()[1:9])
        taken = (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")
        return taken - processor_time()

    def __str__(self) -> str:
        elapsed, others = (
            now - then
            for now, then in zip((time.perf_counter(), self._of_others()), self._began, strict=True)
        )
        share = max(others / elapsed, 0.0)
        return f"other processes took {share:.2f} of {cores()} cores{ROUGH if share > BUSY else ''}"


BUSY = 0.1
"""Processors that others may take before times say little."""
ROUGH = ", so that ratios are rough"


def processor_time() -> float:
    """Return the seconds that this process and those that it has waited for took of processors."""
    taken = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in taken)


def best_of_both(
    sides: Mapping[str, Callable[[], object]], rounds: int = ROUNDS
) -> dict[str, tuple[float, float]]:
    """Time every side in turn; return the least elapsed seconds, and those of processors.

    Where other jobs run at the same time, only the second can be relied on.
    """
    times = dict.fromkeys(sides, (float("inf"), float("inf")))
    for _ in range(rounds):
        for name, call in sides.items():
            elapsed, taken = time.perf_counter(), processor_time()
            call()
            now = time.perf_counter() - elapsed, processor_time() - taken
            times[name] = (min(times[name][0], now[0]), min(times[name][1], now[1]))
    return times


def blocks(rows: int, width: int) -> Iterator[np.ndarray]:
    """Yield this many rows in blocks."""
    block = cloud(min(rows, BLOCK), width)
    for first in range(0, rows, BLOCK):
        yield block[: rows - first]


def write_npy(path: Path, rows: int, width: int) -> None:
    """Write a ``.npy`` file larger than memory should hold."""
    with path.open("wb") as file:
        np.lib.format.write_array_header_1_0(
            file, {"descr": "<f4", "fortran_order": False, "shape": (rows, width)}
        )
        for block in blocks(rows, width):
            file.write(block.tobytes())


def peak_memory(source: str | Path) -> tuple[int, float]:
    """Measure a source in a process of its own: peak resident megabytes, and seconds."""
    start = time.perf_counter()
    peak = int(subprocess.check_output([sys.executable, "-c", PEAK, source]))
    return peak, time.perf_counter() - start


def run(parts: Mapping[str, Callable[[], None]], chosen: Sequence[str]) -> None:
    """Say on what and with what this runs, then run the chosen parts, or all."""
    print(f"{date.today()}, {cores()} cores, {platform.machine()}, seed 0{others()}")
    print(f"Python {platform.python_version()}, numpy {np.__version__}, isoscope", end=" ")
    print(isoscope.__version__)
    for part in chosen or parts:
        parts[part]()
