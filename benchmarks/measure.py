"""How fast and how small is ``isoscope.measure``? Everything as ratios of times in one run.

    python benchmarks/measure.py              all of it, about five minutes
    python benchmarks/measure.py speed peers  some parts of it

Sides alternate and the best of several rounds counts: machines are noisy.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from sides import ROUNDS, best, cloud, peak_memory, run, write_npy

import isoscope
from isoscope.data.base import rows_per_batch

SIZE = (100_000, 768)
PEER_SIZE = (20_000, 384)
LARGE_FILE = 6 * 10**9
IMPORT = """
import sys, time
start = time.perf_counter()
import isoscope
print(time.perf_counter() - start, "torch" in sys.modules)
"""


def floor(x: np.ndarray) -> None:
    """One XᵀX and two X·V over the same batches with the same BLAS: what cannot be saved."""
    step = rows_per_batch(x.shape[1])
    basis = np.eye(x.shape[1], dtype=x.dtype)
    for first in range(0, len(x), step):
        batch = x[first : first + step]
        _ = batch.T @ batch
    for first in range(0, len(x), step):
        batch = x[first : first + step]
        _ = batch @ basis
        _ = batch @ basis


def speed() -> None:
    x = cloud(*SIZE)
    unit = x / np.linalg.norm(x, axis=1, keepdims=True)
    times = best(
        {
            "floor": lambda: floor(x),
            "measure": lambda: isoscope.measure(x),
            "unit": lambda: isoscope.measure(unit),
            "read": lambda: x.sum(),
            "cosine": lambda: isoscope.measure(x, ["mean_cosine"], ["none"], intervals=False),
            "interval": lambda: isoscope.measure(x, ["mean_cosine"], ["none"]),
        }
    )

    def line(name: str, key: str, reference: str = "", most: float = 0.0) -> None:
        ratio = f"  {times[key] / times[reference]:.2f} × {reference} (≤ {most})" if most else ""
        print(f"  {name:<42} {times[key]:7.3f} s{ratio}")

    print(f"\n{SIZE[0]:,} × {SIZE[1]} float32, best of {ROUNDS}")
    line("arithmetic floor: XᵀX and two X·V", "floor")
    line("all measures, four corrections", "measure", "floor", 2.0)
    line("the same for vectors of unit length", "unit", "floor", 2.0)
    line("one read of the array: x.sum()", "read")
    line("mean_cosine alone, no interval", "cosine", "read", 3.0)
    line("mean_cosine alone, with its interval", "interval")


def scaling() -> None:
    print(f"\nTime over n, width {SIZE[1]}")
    x = cloud(200_000, SIZE[1])
    counts = (25_000, 50_000, 100_000, 200_000)
    sides = {str(n): partial(isoscope.measure, x[:n]) for n in counts}
    times = best(sides, rounds=3)
    for n in counts:
        seconds = times[str(n)]
        print(f"  {n:>7,} rows  {seconds:7.3f} s  {1e6 * seconds / n:6.2f} µs a row")


def peers() -> None:
    """Other packages, each doing what it is for, on a cloud that they can handle."""
    from IsoScore.IsoScore import IsoScore
    from sklearn.decomposition import PCA
    from spectralyte import Spectralyte
    from vecscope import audit

    x = cloud(*PEER_SIZE)
    sides: dict[str, Callable[[], object]] = {
        "isoscope, all measures, four corrections": lambda: isoscope.measure(x),
        "isoscope, mean_cosine": lambda: isoscope.measure(x, ["mean_cosine"], ["none"]),
        "isoscope, iso_score": lambda: isoscope.measure(x, ["iso_score"], ["none"]),
        "scikit-learn PCA (covariance_eigh)": lambda: PCA(svd_solver="covariance_eigh").fit(x),
        "scikit-learn PCA (full)": lambda: PCA(svd_solver="full").fit(x),
        "IsoScore 2.0.1": lambda: IsoScore(x),
    }
    slow: dict[str, Callable[[], object]] = {
        "spectralyte 0.4.0, audit": lambda: Spectralyte(x).run(verbose=False),
        "vecscope 0.2.0, audit": lambda: audit(x),
    }
    print(f"\nBeside other packages, {PEER_SIZE[0]:,} × {PEER_SIZE[1]} float32")
    times = best(sides, rounds=3) | best(slow, rounds=1)
    reference = next(iter(times.values()))
    for name, seconds in times.items():
        print(f"  {name:<42} {seconds:8.3f} s  {seconds / reference:7.2f} ×")


def memory() -> None:
    """Peak resident memory over a file, in a process of its own."""
    width = SIZE[1]
    rows = LARGE_FILE // (4 * width)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "large.npy"
        write_npy(path, rows, width)
        peak, seconds = peak_memory(path)
        size = path.stat().st_size
    print(f"\nA file of {size / 1e9:.1f} GB ({rows:,} × {width}), all measures, four corrections")
    print(f"  peak resident memory {peak:,} MB (≤ 700), {seconds:.0f} s")


def importing() -> None:
    times = []
    for _ in range(ROUNDS):
        output = subprocess.check_output([sys.executable, "-c", IMPORT], text=True).split()
        times.append(float(output[0]))
    print(f"\nimport isoscope: {min(times):.2f} s (≤ 0.5), torch imported: {output[1]}")


PARTS = {
    "import": importing,
    "speed": speed,
    "scaling": scaling,
    "peers": peers,
    "memory": memory,
}

if __name__ == "__main__":
    run(PARTS, sys.argv[1:])
