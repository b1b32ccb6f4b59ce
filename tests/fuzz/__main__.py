"""Fuzz all targets, round by round, and keep counts in docs/results/robust.json.

    make fuzz                               100,000 cases per target
    FUZZ_CASES=5000 make fuzz               fewer
    python tests/fuzz --cases 5000 --targets 'vectors .npy' --fresh

A round is 50,000 cases of one target, in a process of its own that is killed if it exceeds the
limits. Rounds go on where the last run stopped. With ``--fresh``, counts of the chosen targets
begin again, which shows their state after repairs: of what failed, only what is fixed is
remembered. What failed is kept in the folder of the state, and its kind and place in the record.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import platform
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

TESTS = Path(__file__).parents[1]
sys.path.insert(0, str(TESTS))
RECORD = TESTS.parent / "docs" / "results" / "robust.json"
ROUND = 50_000
SILENT = 600.0
"""Seconds without a word and without work after which a child hangs."""


def all_targets() -> dict[str, Any]:
    """Return all targets whose packages are installed."""
    from fuzz import command_targets, model_targets, server_target, stored_targets, vector_targets

    groups = (vector_targets, stored_targets, command_targets, model_targets, server_target)
    return {
        target.name: target
        for group in groups
        for target in group.TARGETS
        if all(importlib.util.find_spec(name) for name in target.needs)
    }


def in_child(arguments: list[str], state: Path, tell: Callable[[Any], bool]) -> str:
    """Run a round; pass on what it says until told to stop, and return why it ended early."""
    process = subprocess.Popen(
        [sys.executable, Path(__file__).parent, *arguments],
        stdout=subprocess.PIPE, stderr=(state / "stderr.txt").open("ab"),
    )  # fmt: skip
    assert process.stdout is not None
    ended = ""
    used, quiet = 0.0, time.monotonic()
    while True:
        ready, _, _ = select.select([process.stdout], [], [], 1.0)
        if ready:
            line = process.stdout.readline()
            if not line:
                break
            if not tell(json.loads(line)):
                process.kill()
                process.wait()
                return ""
            quiet, used = time.monotonic(), seconds_of(process.pid)
        elif seconds_of(process.pid) - used > 100:
            ended = "hangs in native code"  # which the timer of Python cannot interrupt
        elif memory_of(process.pid) > 2_000:
            ended = "too much memory"
        elif time.monotonic() - quiet > SILENT and seconds_of(process.pid) - used < 1:
            ended = "waits for ever"
        if ended:
            process.kill()
            break
    code = process.wait()
    if not ended and code:
        ended = f"crashed (exit code {code})"
    return ended


def seconds_of(pid: int) -> float:
    """Return the processor time of a process."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def memory_of(pid: int) -> float:
    """Return the resident megabytes of a process."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except (OSError, IndexError):
        return 0.0
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def add_batch(entry: dict[str, Any], one: dict[str, Any]) -> None:
    """Add what a batch came to to the counts of a target."""
    if "base" in one:
        entry["megabytes_at_start"] = one["base"]
        return
    for key in ("cases", "read", "refused", "seconds"):
        entry[key] = round(entry.get(key, 0) + one.get(key, 0), 3)
    for key in ("outcomes", "lines"):
        entry[key] = max(entry.get(key, 0), one.get(key, 0))
    if not one.get("heavy"):  # of those, what each case takes is told later
        entry["peak_megabytes"] = max(entry.get("peak_megabytes", 0), one["peak"])
    for failure in one["failures"]:
        add_failure(entry, failure)


def add_end(entry: dict[str, Any], ended: str, state: Path) -> None:
    """Add a failure for a round that ended early, with the files of the case that ended it."""
    kept = state / "found" / f"ended-{int(time.time())}"
    if (state / "case").exists():
        shutil.copytree(state / "case", kept, dirs_exist_ok=True)
    add_failure(entry, {"kind": ended, "place": "", "detail": "", "files": str(kept)})


def add_failure(entry: dict[str, Any], failure: dict[str, str]) -> None:
    """Count a failure; the files of the first of its kind and place are kept.

    What was fixed and fails again is a failure of its own.
    """
    failures = entry.setdefault("failures", [])
    for known in open_failures(entry):
        if (known["kind"], known["place"]) == (failure["kind"], failure["place"]):
            known["times"] += 1
            return
    failure["detail"] = failure["detail"][:300]
    failures.append({**failure, "times": 1, "found": date.today().isoformat()})


def open_failures(entry: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the failures of a target that are not fixed."""
    return [one for one in entry.get("failures", []) if "fixed" not in one]


def begun_again(entry: dict[str, Any]) -> dict[str, Any]:
    """Return a target without its counts; rounds go on, so that their cases are new."""
    fixed = [one for one in entry.get("failures", []) if "fixed" in one]
    return {"rounds": entry["rounds"], "cases": 0, **({"failures": fixed} if fixed else {})}


def save(path: Path, fuzz: dict[str, Any]) -> None:
    """Write the counts into the record, beside what others wrote there meanwhile."""
    record = json.loads(path.read_text()) if path.exists() else {}
    record["fuzz"] = fuzz
    written = path.with_suffix(".partial")
    written.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n")
    written.replace(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=100_000, help="per target")
    parser.add_argument("--targets", nargs="*", help="names; all by default")
    parser.add_argument("--seed", default="0")
    parser.add_argument("--record", type=Path, default=RECORD)
    parser.add_argument("--state", type=Path, default=Path("/dev/shm/isoscope-fuzz"))
    parser.add_argument("--minutes", type=float, default=float("inf"), help="then stop")
    parser.add_argument("--fresh", action="store_true", help="count from nothing")
    parser.add_argument("--child", nargs=4, help=argparse.SUPPRESS)
    parser.add_argument("--weigh", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    targets = all_targets()
    from fuzz.engine import HEAVY, load_corpus, run_round, weigh_round

    if given.child:
        name, state, seed, number = given.child
        run_round(targets[name], Path(state), load_corpus(Path(state)), seed, int(number))
        return
    if given.weigh:
        weigh_round(targets[given.weigh[0]], Path(given.weigh[1]))
        return
    end = time.monotonic() + given.minutes * 60
    found = json.loads(given.record.read_text()) if given.record.exists() else {}
    fuzz = found.get("fuzz", {})
    known = fuzz.setdefault("targets", {})
    fuzz["about"] = {
        "command": "make fuzz", "seed": given.seed, "machine": f"2 cores, {platform.machine()}",
        "python": platform.python_version(),
    }  # fmt: skip
    wanted = [name for name in (given.targets or targets) if name in targets]
    if given.fresh:
        known.update({name: begun_again(known[name]) for name in wanted if name in known})
    while True:
        left = [n for n in wanted if fuzz["targets"].get(n, {}).get("cases", 0) < given.cases]
        if not left:
            break
        for name in left:
            entry = fuzz["targets"].setdefault(name, {"rounds": 0, "cases": 0})
            state = given.state / name.replace(" ", "-").replace("/", "-")
            state.mkdir(parents=True, exist_ok=True)
            seed = f"{given.seed} {name} {entry['rounds']}"
            last = [time.monotonic()]

            def tell(one: Any, entry: Any = entry, last: list[float] = last) -> bool:
                add_batch(entry, one)
                if time.monotonic() - last[0] > 10:
                    last[0] = time.monotonic()
                    save(given.record, fuzz)
                return time.monotonic() < end

            entry["rounds"] += 1
            entry["date"] = date.today().isoformat()
            number = min(ROUND, given.cases - entry["cases"])
            ended = in_child(["--child", name, str(state), seed, str(number)], state, tell)
            if not ended and (state / HEAVY).exists():
                ended = in_child(["--weigh", name, str(state)], state, tell)
            if ended:
                add_end(entry, ended, state)
            save(given.record, fuzz)
            failed = len(open_failures(entry))
            if time.monotonic() >= end:
                print(f"{given.minutes:g} minutes are over; the same again goes on", flush=True)
                return
            print(f"{name}: {entry['cases']:,} cases, {failed} kinds of failures", flush=True)
    failures = sum(len(open_failures(entry)) for entry in fuzz["targets"].values())
    cases = sum(entry["cases"] for entry in fuzz["targets"].values())
    print(f"{cases:,} cases, {failures} kinds of failures")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
