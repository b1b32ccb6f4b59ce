"""Is a checkout slower than another one? Ten representative jobs, side by side in one run.

    git worktree add ../before COMMIT
    python benchmarks/guard.py ../before            this checkout against another
    python benchmarks/guard.py ../before --jobs measure,version --rounds 7

Every job runs in a process of its own, on the sources of one checkout and the installed packages of
this environment, in turn for both; machines are noisy, so that the best round of each side counts,
and the spread is that of the ratios of all rounds. Exits with code 1 where a ratio is above 1.15.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from sides import others

HERE = Path(__file__).parents[1]
RECORDS, PAGE = (HERE / "docs" / "results" / f"speed.{kind}" for kind in ("json", "md"))
LIMIT = 1.15

HEADER = (
    "| job | ratio of the best | ratios of rounds | before, s | after, s |",
    "| --- | ---: | ---: | ---: | ---: |",
)
IDEAS = "| idea | effect |", "| --- | --- |"
INTRODUCTION = """# Speed from version to version

```sh
python benchmarks/guard.py BEFORE --record TITLE
```

Every job runs in a process of its own, in turn on the sources of both checkouts. The ratio is that
of the best times of all rounds, that after the change divided by that before it. The column
next to it has the lowest and the highest ratio of a round.

The tables of ideas have what was tried, and its effect. Ideas that are "not taken", "not built" or
"not possible", or that gave "no gain", are not in the code.
"""

# Lazy imports happen in a small call before the clock starts: what they cost is a job of its own.
TIMED = """
import sys, time, warnings
import numpy as np
import isoscope
warnings.simplefilter("ignore")
try:
    from isoscope.profiles import profile
except ImportError:
    profile = isoscope.profile
x = {data}
def job(x):
    {job}
job(x[:300])
start = time.perf_counter()
job(x)
print(time.perf_counter() - start)
"""
COMMAND = """
import contextlib, io, sys, time
start = time.perf_counter()
sys.argv = {arguments!r}
from isoscope.cli.app import main
silent = contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO())
with silent[0], silent[1], contextlib.suppress(SystemExit):
    main()
print(time.perf_counter() - start)
"""
LARGE, SMALL = (f"np.load(sys.argv[1] + '/{name}.npy')" for name in ("large", "small"))
TEXTS = "[f'The {k}th sentence is about item {k % 97}.' for k in range(600)]"

# Code that 0.1.0 and later releases understand.
JOBS = {
    "measure": (LARGE, "isoscope.measure(x)"),
    "measure-small": (SMALL, "isoscope.measure(x[:2000])"),
    "one-measure": (
        LARGE,
        "isoscope.measure(x, ['mean_cosine'], ['none'], intervals=False)",
    ),
    "neighbours": (
        SMALL,
        "isoscope.measure(x[:5000], ['hubness', 'intrinsic_dimension'], ['none'])",
    ),
    "whiten": (LARGE, "isoscope.make_correction('whiten').fit(x).transform(x)"),
    "clusters": (
        SMALL,
        "isoscope.make_correction('cluster-pc-removal:n_clusters=8').fit(x).transform(x)",
    ),
    "diff": (SMALL, "isoscope.diff(x[::2], x[1::2], same_rows=False)"),
    "threshold": (SMALL, "isoscope.threshold(x)"),
    "profile": (TEXTS, "profile('package:minilm', x)"),
}
COMMANDS = {
    "version": ["--version"],
    "help": ["measure", "--help"],
    "list": ["list", "measures"],
    "missing-file": ["measure", "nosuch.npy"],
}


def environment(checkout: Path) -> dict[str, str]:
    """Return the variables with which a process takes its sources from a checkout."""
    found = {**os.environ, "PYTHONPATH": str(checkout / "src"), "PYTHONWARNINGS": "ignore"}
    # Compiled as an installed package is, whatever this environment says.
    found.pop("PYTHONDONTWRITEBYTECODE", None)
    found["PYTHONPYCACHEPREFIX"] = str(Path(tempfile.gettempdir()) / "isoscope-guard")
    return found


def seconds_of(name: str, checkout: Path, folder: Path) -> float:
    """Run a job once."""
    if name in COMMANDS:
        code = COMMAND.format(arguments=["isoscope", *COMMANDS[name]])
    else:
        data, job = JOBS[name]
        code = TIMED.format(data=data, job=job)
    done = subprocess.run(
        [sys.executable, "-c", code, str(folder)],
        env=environment(checkout), capture_output=True, text=True, check=True,
    )  # fmt: skip
    return float(done.stdout.split()[-1])


def write_data(folder: Path) -> None:
    """Write clouds of 100,000 × 768 and of 20,000 × 384, with an offset and a falling spectrum."""
    for name, (rows, dimensions) in {"large": (100_000, 768), "small": (20_000, 384)}.items():
        random = np.random.default_rng(0)
        spectrum = np.arange(1, dimensions + 1, dtype=np.float32) ** -0.5
        cloud = random.standard_normal((rows, dimensions), dtype=np.float32) * spectrum + 0.1
        np.save(folder / f"{name}.npy", cloud)


def compare(before: Path, after: Path, jobs: Sequence[str], rounds: int) -> dict[str, list[float]]:
    """Return best ratio, lowest and highest ratio of a round, and best seconds of both, per job."""
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        write_data(Path(folder))
        for name in jobs:
            times: list[list[float]] = [[], []]
            for turn in range(rounds + 1):
                # Who begins changes, and the first round warms the caches and does not count.
                sides = [(0, before), (1, after)]
                for side, checkout in sides if turn % 2 else sides[::-1]:
                    seconds = seconds_of(name, checkout, Path(folder))
                    if turn:
                        times[side].append(seconds)
            ratios = [new / old for old, new in zip(*times, strict=True)]
            best = [min(times[0]), min(times[1])]
            found[name] = [best[1] / best[0], min(ratios), max(ratios), *best]
            print(line(name, found[name]), flush=True)
    return found


def line(name: str, figures: list[float]) -> str:
    """Return a row of the table."""
    ratio, low, high, old, new = figures
    return f"| {name} | {ratio:.2f} | {low:.2f} to {high:.2f} | {old:.3f} | {new:.3f} |"


def keep(title: str, how: str, found: dict[str, list[float]], ideas: Path | None) -> None:
    """Keep figures under a title, with what was tried, and write the page of all that is kept."""
    records = json.loads(RECORDS.read_text("utf-8")) if RECORDS.exists() else {}
    known = records.get(title, {}).get("ideas", {})  # which stay where jobs are timed again
    if ideas is not None:
        known = json.loads(ideas.read_text("utf-8"))
    records[title] = {"how": how, "figures": found, **({"ideas": known} if known else {})}
    RECORDS.write_text(json.dumps(records, indent=1, ensure_ascii=False) + "\n", "utf-8")
    write_page(records)


def write_page(records: dict[str, Any]) -> None:
    """Write the page of all records: a table each, and a table of the ideas behind it."""
    parts = [INTRODUCTION]
    for name, record in records.items():
        rows = [line(job, figures) for job, figures in record["figures"].items()]
        table = [*HEADER, *rows] if rows else []
        parts.append("\n".join([f"## {name}\n", record["how"] + ".\n", *table]) + "\n")
        tried = [f"| {idea} | {gain} |" for idea, gain in record.get("ideas", {}).items()]
        if tried:
            parts.append("\n".join([*IDEAS, *tried]) + "\n")
    PAGE.write_text("\n".join(parts), "utf-8")


def main() -> None:
    """Compare, print a table, and fail above the limit."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("before", type=Path, help="the checkout to compare with")
    parser.add_argument("--after", type=Path, default=HERE)
    parser.add_argument("--jobs", default=",".join([*JOBS, *COMMANDS]))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--record", metavar="TITLE", help="keep the figures in docs/results")
    parser.add_argument("--ideas", type=Path, metavar="FILE", help="with --record: ideas, as JSON")
    given = parser.parse_args()
    machine = f"{os.cpu_count()} cores, {platform.machine()}, {given.rounds} rounds{others()}"
    print(f"{datetime.now(UTC):%Y-%m-%d}, {machine}\n")
    print(*HEADER, sep="\n")
    found = compare(given.before, given.after, given.jobs.split(","), given.rounds)
    if given.record:
        how = f"{datetime.now(UTC):%Y-%m-%d}, {machine}"
        keep(given.record, how, found, given.ideas)
    slower = [name for name, figures in found.items() if figures[0] > LIMIT]
    if slower:
        sys.exit(f"more than {LIMIT:g} × as slow: {', '.join(slower)}")


if __name__ == "__main__":
    main()
