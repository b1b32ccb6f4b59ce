"""How much of a run is spent inside guards: limits of memory, checks of files, locks, checksums.

Every function of ``GUARDS`` is replaced by one that adds up the processor time of its thread; a
guard inside a guard counts once. Runs are whole calls of the Python interface, in one process,
whose processor time is the total: time of the clock would count what other programs take. A command
loads numpy and isoscope first, which is counted beside; some of these calls take milliseconds.

    python benchmarks/guards_overhead.py

The record is the section ``guards`` of ``docs/results/robust.json``.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import platform
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from functools import wraps
from pathlib import Path
from typing import Any

import numpy as np

import isoscope

RECORD = Path(__file__).parents[1] / "docs" / "results" / "robust.json"

# Largest share of a run that guards may take, in percent.
BAR = 2.0
SEED = 0

# Where each guard is called from: names are bound in the modules that import them.
GUARDS = {
    "limits of memory": ("check_bytes", "check_size", "check_held", "check_matrices",
                         "memory_limit", "room", "check_ratio"),
    "places of outputs": ("check_place", "check_writable", "check_target", "special_file",
                          "written_path", "remove_leftovers"),
    "stored files": ("check_result", "checksum_of", "check_agreement", "check_finite",
                     "fingerprint_of", "checked_header", "check_same"),
}  # fmt: skip


class Clock:
    """Adds up the time inside guards, over all threads."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = dict.fromkeys(GUARDS, 0.0)
        self.calls = 0
        self._inside = threading.local()

    def watched(self, kind: str, guard: Callable[..., Any]) -> Callable[..., Any]:
        """Return the guard with its time taken."""

        @wraps(guard)
        def timed(*given: Any, **named: Any) -> Any:
            if getattr(self._inside, "any", False):
                return guard(*given, **named)
            self._inside.any, began = True, time.thread_time()
            try:
                return guard(*given, **named)
            finally:
                self._inside.any = False
                self.seconds[kind] += time.thread_time() - began
                self.calls += 1

        return timed

    def watch_all(self) -> int:
        """Put watched guards in the place of all that are loaded; return how many names that is."""
        count = 0
        for module in [one for name, one in sys.modules.items() if name.startswith("isoscope")]:
            for kind, names in GUARDS.items():
                for name in names:
                    guard = vars(module).get(name)
                    if callable(guard) and not hasattr(guard, "__wrapped__"):
                        setattr(module, name, self.watched(kind, guard))
                        count += 1
        return count


def runs(folder: Path) -> dict[str, Callable[[], object]]:
    """Return the calls that are measured, by what they are."""
    x, y = str(folder / "x.npy"), str(folder / "y.npy")
    random = np.random.default_rng(SEED)
    for path in (x, y):
        np.save(path, random.standard_normal((20_000, 128)).astype(np.float32) + 0.3)
    correction, result = folder / "c.safetensors", folder / "r.json"

    def measured() -> None:
        isoscope.measure(x, out=result)

    def fitted() -> None:
        isoscope.fit_correction(x, "whiten", str(correction))

    def applied() -> None:
        isoscope.apply_correction(isoscope.load_correction(correction), x, str(folder / "z.npy"))

    return {
        "measure, with a journal": measured,
        "correct fit": fitted,
        "correct apply": applied,
        "threshold": lambda: isoscope.threshold(x, at=[0.5]),
        "diff": lambda: isoscope.diff(x, y),
        "report of a result": lambda: isoscope.report([result]),
    }


def main() -> None:
    """Measure every run after one that warms up, and keep the record."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--record", type=Path, default=RECORD)
    given = parser.parse_args()
    # Modules with guards are loaded before the guards are replaced.
    for name in ("compute.journal", "data.output", "corrections.storage", "results.result"):
        importlib.import_module(f"isoscope.{name}")
    loading = time.process_time()
    found: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as temporary:
        calls = runs(Path(temporary))
        for call in calls.values():
            call()
        clock = Clock()
        clock.watch_all()
        for name, call in calls.items():
            clock.seconds, clock.calls = dict.fromkeys(GUARDS, 0.0), 0
            began = time.process_time()
            call()
            total = time.process_time() - began
            inside = sum(clock.seconds.values())
            found.append({
                "run": name, "processor seconds": round(total, 4), "in guards": round(inside, 6),
                "calls": clock.calls, "percent of the call": round(100 * inside / total, 3),
                "percent of a command": round(100 * inside / (total + loading), 3),
            })  # fmt: skip
            print(f"{name}: {100 * inside / total:.3f} % of {total:.3f} s, {clock.calls} calls")
    record = json.loads(given.record.read_text("utf-8")) if given.record.exists() else {}
    record["guards"] = {
        "command": "python benchmarks/guards_overhead.py",
        "date": datetime.now(UTC).date().isoformat(),
        "machine": f"{os.cpu_count()} cores, {platform.machine()}",
        "seed": SEED,
        "bar in percent": BAR,
        "data": "20,000 vectors of 128 dimensions, float32",
        "processor seconds of loading": round(loading, 3),
        "runs": found,
    }
    given.record.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", "utf-8")
    worst = max(found, key=lambda one: one["percent of a command"])
    if worst["percent of a command"] > BAR:
        sys.exit(f"{worst['run']}: {worst['percent of a command']} % is more than {BAR} %")


if __name__ == "__main__":
    main()
