"""How time and memory of ``isoscope.measure`` grow with rows and with dimensions.

    python benchmarks/scaling.py          measures, and writes docs/results/scaling.{json,md,svg}
    python benchmarks/scaling.py page     writes the page and the figure from the record again

The exponent of a law of powers is fitted by least squares on logarithms, over the larger half of
the sizes: what a call costs whatever its size hides it in the smaller ones.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from sides import others

RESULTS = Path(__file__).parents[1] / "docs" / "results"
RECORD, PAGE, FIGURE = (RESULTS / f"scaling.{kind}" for kind in ("json", "md", "svg"))
ROWS, DIMENSIONS = 20_000, 384
ROUNDS = 2
KEYS = "size", "seconds", "megabytes"
SIZES = {
    "rows": [(n, DIMENSIONS) for n in (2_500, 5_000, 10_000, 20_000, 40_000, 80_000)],
    "dimensions": [(ROWS, d) for d in (48, 96, 192, 384, 768, 1_536)],
}
# A process of its own for every size: memory at its highest is that of a process.
CODE = """
import re, sys, time
import numpy as np
import isoscope
rows, dimensions = map(int, sys.argv[1:])
random = np.random.default_rng(0)
spread = np.geomspace(1, 0.05, dimensions, dtype=np.float32)
x = random.standard_normal((rows, dimensions), dtype=np.float32) * spread + np.float32(0.1)
isoscope.measure(x[:300])
def resident(key):
    return int(re.search(key + r":\\s+(\\d+)", open("/proc/self/status").read())[1]) / 1024
before = resident("VmRSS")
start = time.perf_counter()
isoscope.measure(x)
print(time.perf_counter() - start, resident("VmHWM") - before)
"""
WHY = {
    "rows": "Every row is read twice and its sums are taken; nothing is kept of it. Below 10,000 "
    "rows the eigenvectors of two matrices and the cosines of 1,024 sampled rows take most of the "
    "time, whatever the number of rows. Memory is that of a few batches and of the matrices.",
    "dimensions": "The products XᵀX, X V and X W take n d² and the eigenvectors d³ operations, all "
    "else n d: the exponent lies between 1 and 2 while vectors are short, and goes to 2 and beyond "
    "with their dimension. Matrices of d × d take memory of d².",
}


def run(rows: int, dimensions: int) -> tuple[float, float]:
    """Return the best seconds and the highest megabytes beyond the vectors."""
    found = []
    for _ in range(ROUNDS):
        command = [sys.executable, "-c", CODE, str(rows), str(dimensions)]
        output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        found.append([float(word) for word in output.split()])
    return min(one[0] for one in found), max(one[1] for one in found)


def exponent(sizes: list[int], values: list[float]) -> float:
    """Fit value = c · size^e over the larger half of the sizes."""
    half = len(sizes) // 2
    return float(np.polyfit(np.log(sizes[half:]), np.log(values[half:]), 1)[0])


def write(record: dict[str, Any]) -> None:
    """Write the page and the figure of a record."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "isoscope"
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    parts = [
        "# How `isoscope measure` grows\n",
        f"Command: `python benchmarks/scaling.py`. {record['how']}.\n",
        "![Seconds and megabytes over rows and over dimensions](scaling.svg)\n",
    ]
    for axis, (what, points) in zip(axes, record["points"].items(), strict=True):
        sizes = [point["size"] for point in points]
        fixed = f"{DIMENSIONS} dimensions" if what == "rows" else f"{ROWS:,} rows"
        parts += [
            f"## Over {what}, at {fixed}\n",
            f"| {what} | seconds | MB beyond the vectors |\n| ---: | ---: | ---: |",
            *(f"| {p['size']:,} | {p['seconds']:.3f} | {p['megabytes']:.0f} |" for p in points),
        ]
        for key, marker in (("seconds", "o"), ("megabytes", "s")):
            values = [max(point[key], 1e-3) for point in points]
            axis.loglog(sizes, values, marker=marker, label=f"{key}: {exponent(sizes, values):.2f}")
        exponents = {
            key: exponent(sizes, [max(point[key], 1e-3) for point in points])
            for key in ("seconds", "megabytes")
        }
        fitted = f"{exponents['seconds']:.2f} for time, {exponents['megabytes']:.2f} for memory"
        parts.append(f"\nFitted exponents over the larger half: {fitted}. {WHY[what]}\n")
        axis.set(xlabel=what, title=f"{fixed}; exponents in the key")
        axis.legend()
    figure.savefig(FIGURE, metadata={"Date": None})
    PAGE.write_text("\n".join(parts), "utf-8")


def main() -> None:
    """Measure and write, or write again."""
    company = others()
    if sys.argv[1:] != ["page"]:
        points = {
            what: [
                dict(zip(KEYS, (size[what != "rows"], *run(*size)), strict=True)) for size in sizes
            ]
            for what, sizes in SIZES.items()
        }
        machine = f"{os.cpu_count()} cores, {platform.machine()}"
        how = f"{datetime.now(UTC):%Y-%m-%d}, {machine}, seed 0, best of {ROUNDS}, default measures"
        how += company
        RECORD.write_text(json.dumps({"how": how, "points": points}, indent=1) + "\n", "utf-8")
    write(json.loads(RECORD.read_text("utf-8")))
    print(PAGE.read_text("utf-8"))


if __name__ == "__main__":
    main()
