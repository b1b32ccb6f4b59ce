"""How fast and how small is ``isoscope.measure``? Everything as ratios of times in one run.

    python benchmarks/measure.py              all of it, about five minutes
    python benchmarks/measure.py speed peers  some parts of it

Sides alternate and the best of several rounds counts: machines are noisy.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from datetime import date
from functools import partial
from pathlib import Path

import numpy as np
from sides import ROUNDS, best, best_of_both, cloud, peak_memory, run, write_npy

import isoscope
from isoscope.compute.threads import cores
from isoscope.data.base import rows_per_batch

PEERS = Path(__file__).parents[1] / "docs" / "results" / "peers.json"
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
    times = best_of_both(
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
        ratio = ""
        if most:
            ratios = [one / other for one, other in zip(times[key], times[reference], strict=True)]
            ratio = f"  {ratios[0]:.2f} × {reference} (≤ {most}), of processors {ratios[1]:.2f} ×"
        print(f"  {name:<42} {times[key][0]:7.3f} s {times[key][1]:7.3f} s{ratio}")

    print(f"\n{SIZE[0]:,} × {SIZE[1]} float32, best of {ROUNDS}: elapsed, processor time")
    line("arithmetic floor: XᵀX and two X·V", "floor")
    line("all measures, four corrections", "measure", "floor", 1.8)
    line("the same for vectors of unit length", "unit", "floor", 1.8)
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
    """Time other packages, each doing what it is for, on a cloud that they can handle.

    The times are stored; ``docs/make_readme.py`` puts them into the README.
    """
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
    record = {
        "date": date.today().isoformat(),
        "cores": cores(),
        "rows": PEER_SIZE[0],
        "dimensions": PEER_SIZE[1],
        "isoscope": isoscope.__version__,
        "seconds": {name: round(seconds, 3) for name, seconds in times.items()},
    }
    PEERS.write_text(json.dumps(record, indent=1) + "\n", "utf-8")


def top_share(x: np.ndarray) -> float:
    from sklearn.decomposition import PCA

    return float(PCA(svd_solver="covariance_eigh").fit(x).explained_variance_ratio_[0])


def rank(x: np.ndarray) -> float:
    from sklearn.decomposition import PCA

    shares = PCA(svd_solver="covariance_eigh").fit(x).explained_variance_ratio_
    shares = shares[shares > 0]
    return float(np.exp(-(shares * np.log(shares)).sum()))


def score(x: np.ndarray) -> float:
    from IsoScore.IsoScore import IsoScore

    return float(IsoScore(x))


def cosine(x: np.ndarray) -> float:
    units = x / np.linalg.norm(x, axis=1, keepdims=True)
    total = units.sum(axis=0)
    return float((total @ total - len(x)) / (len(x) * (len(x) - 1)))


def norm(x: np.ndarray) -> float:
    return float(np.linalg.norm(x, axis=1).mean())


def offset(x: np.ndarray) -> float:
    return float(np.linalg.norm(x.mean(axis=0)) / np.linalg.norm(x, axis=1).mean())


# What else computes a measure: a line of numpy, or the package that people use for it.
ELSEWHERE: dict[str, tuple[str, Callable[[np.ndarray], float]]] = {
    "mean_cosine": ("numpy", cosine),
    "mean_norm": ("numpy", norm),
    "mean_offset": ("numpy", offset),
    "iso_score": ("IsoScore 2.0.1", score),
    "effective_rank": ("scikit-learn PCA, covariance_eigh", rank),
    "top_variance_share": ("scikit-learn PCA, covariance_eigh", top_share),
}


def single() -> None:
    """Each measure by itself, without interval, beside whoever else computes it."""
    for size in (PEER_SIZE, SIZE):
        x = cloud(*size)
        print(f"\nSingle measures without interval, {size[0]:,} × {size[1]} float32")
        for name, (whose, other) in ELSEWHERE.items():
            ours = partial(isoscope.measure, x, [name], ["none"], intervals=False)
            value = ours().value(name)
            if value is None or abs(value / other(x) - 1) > 1e-3:
                raise ValueError(f"{name} is not what {whose} computes")
            times = best_of_both({"ours": ours, "theirs": partial(other, x)}, rounds=5)
            elapsed, taken = zip(times["ours"], times["theirs"], strict=True)
            seconds = f"{elapsed[0]:8.4f} s {elapsed[1]:8.4f} s"
            ratios = elapsed[0] / elapsed[1], taken[0] / taken[1]
            print(
                f"  {name:<20}{seconds}  {ratios[0]:5.2f} × {whose} (≤ 1.0), "
                f"of processors {ratios[1]:.2f} ×"
            )


# Calls that compute nothing: what there is, and what is refused.
CALLS = (
    "--version", "--help", "measur", "list", "list measures", "list corrections", "list tasks",
    "measure --help", "measure --nosuch a.npy", "measure nosuch.npy",
    "measure a.npy --measures nosuch", "measure a.npy --corrections nosuch", "diff a.npy b.npy",
    "correct fit nosuch.npy --correction center --out c.safetensors",
)  # fmt: skip


def startup() -> None:
    """Commands that compute nothing, beside the import of what they are written with."""
    run_command = "from isoscope.cli.app import main; main()"
    sides = {
        "import typer, rich.console": ["import typer, rich.console"],
        **{f"isoscope {call}": [run_command, *call.split()] for call in CALLS},
    }
    with tempfile.TemporaryDirectory() as folder:
        # Compiled as an installed package is, whatever this environment says.
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": folder}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        calls = {
            name: partial(
                subprocess.run, [sys.executable, "-c", *code],
                capture_output=True, env=environment, cwd=folder,
            )
            for name, code in sides.items()
        }  # fmt: skip
        times = best_of_both(calls, rounds=9)
    reference = next(iter(times.values()))
    print("\nStarting, best of 9: elapsed, processor time")
    for name, (elapsed, taken) in times.items():
        ratios = f"{elapsed / reference[0]:5.2f} ×, of processors {taken / reference[1]:4.2f} ×"
        print(f"  {name:<66}{elapsed:7.3f} s {taken:7.3f} s {ratios} (≤ 1.5)")


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
    "single": single,
    "startup": startup,
    "memory": memory,
}

if __name__ == "__main__":
    run(PARTS, sys.argv[1:])
