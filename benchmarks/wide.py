"""Six vectors of 20,000 dimensions: time and memory of the command, beside those of a small file.

    python benchmarks/wide.py

The record is the section ``wide`` of ``docs/results/robust.json``. Time is processor time, which
does not depend on what else the machine does; the small file shows what starting takes.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

RECORD = Path(__file__).parents[1] / "docs" / "results" / "robust.json"
ROWS, DIMENSIONS, SMALL = 6, 20_000, 20
REPEATS = 3
SEED = 0


def measured(path: Path) -> dict[str, float]:
    """Run the command in a process of its own; return its processor seconds and peak memory."""
    code = (
        "import resource, subprocess, sys\n"
        "subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)\n"
        "used = resource.getrusage(resource.RUSAGE_CHILDREN)\n"
        "print(used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)"
    )
    tool = Path(sys.executable).with_name("isoscope")
    done = subprocess.run(
        [sys.executable, "-c", code, tool, "measure", path],
        check=True, capture_output=True, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    seconds, megabytes = map(float, done.stdout.split())
    return {"seconds": seconds, "megabytes": megabytes}


def main() -> None:
    """Measure both files, the best of three each, and keep the record."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--record", type=Path, default=RECORD)
    given = parser.parse_args()
    random = np.random.default_rng(SEED)
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, width in (("wide", DIMENSIONS), ("small", SMALL)):
            path = Path(folder) / f"{name}.npy"
            np.save(path, random.standard_normal((ROWS, width)).astype(np.float32))
            runs = [measured(path) for _ in range(REPEATS)]
            found[name] = min(runs, key=lambda one: one["seconds"])
    ratio = found["wide"]["seconds"] / found["small"]["seconds"]
    record = json.loads(given.record.read_text("utf-8")) if given.record.exists() else {}
    record["wide"] = {
        "command": "python benchmarks/wide.py",
        "date": datetime.now(UTC).date().isoformat(),
        "machine": f"{os.cpu_count()} cores, {platform.machine()}",
        "seed": SEED,
        "rows": ROWS, "dimensions": DIMENSIONS, "small dimensions": SMALL,
        "processor seconds": round(found["wide"]["seconds"], 2),
        "megabytes": round(found["wide"]["megabytes"]),
        "ratio to the small file": round(ratio, 2),
        "megabytes of the small file": round(found["small"]["megabytes"]),
    }  # fmt: skip
    given.record.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", "utf-8")
    print(record["wide"])


if __name__ == "__main__":
    main()
