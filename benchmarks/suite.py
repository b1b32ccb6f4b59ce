"""How long setup, `make quick` and `make test` take, and whether a day's new releases change them.

Two fresh clones, pip without a cache. The second one meets an index that offers newer versions of
ruff, mypy, numpy and transformers: the same versions have to be installed. A record of every run is
kept in docs/results/suite.json, from which docs/results/suite.md is written.

    python benchmarks/suite.py                  run everything, then write the page
    python benchmarks/suite.py --page           write the page from the records
    python benchmarks/suite.py --add NAME LOG   keep the times of a run whose output is in a file
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
RECORDS = ROOT / "docs" / "results" / "suite.json"
PAGE = ROOT / "docs" / "results" / "suite.md"
NEWER = ("ruff", "mypy", "numpy", "transformers")
BEFORE = "version 0.1.0"

Record = dict[str, Any]


def timed(folder: Path, command: str, **variables: str) -> Record:
    """Run a command; return its seconds, its exit code and what pytest said at its end."""
    began = time.time()
    done = subprocess.run(
        command.split(),
        cwd=folder,
        env={**os.environ, "PIP_NO_CACHE_DIR": "1", **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    found = {"command": command, "seconds": round(time.time() - began), "code": done.returncode}
    print(f"{command}: {found['seconds']} s, exit code {done.returncode}", flush=True)
    if done.returncode:
        print(done.stdout[-5000:])
    return {**found, **what_pytest_said(done.stdout)}


def what_pytest_said(output: str) -> Record:
    """Return the last line and the slowest tests of a run of pytest, if there was one."""
    summary = re.findall(r"^=*\s*(\d+ (?:passed|failed).* in [\d.]+s.*?)\s*=*$", output, re.M)
    slowest = re.findall(r"^([\d.]+)s (call|setup|teardown) +(\S+)$", output, re.M)
    found: Record = {"summary": summary[-1]} if summary else {}
    if slowest:
        found["slowest"] = [
            [float(seconds), phase, name.partition("@")[0]] for seconds, phase, name in slowest[:20]
        ]
    return found


def newer_wheels(folder: Path) -> None:
    """Write empty wheels of version 9999 for the packages that change most often."""
    for name in NEWER:
        with zipfile.ZipFile(folder / f"{name}-9999.0-py3-none-any.whl", "w") as wheel:
            info = f"{name}-9999.0.dist-info"
            wheel.writestr(
                f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 9999.0\n"
            )
            wheel.writestr(
                f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
            )
            wheel.writestr(f"{info}/RECORD", "")


def offered(python: Path, name: str, links: str) -> str:
    """Return the version that pip would install today without a lock."""
    said = subprocess.run(
        [python, "-m", "pip", "install", "--dry-run", "--no-deps", "--ignore-installed", name],
        env={**os.environ, "PIP_FIND_LINKS": links},
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    return str(re.findall(rf"{name}-([\w.]+)", said)[-1])


def run_all() -> dict[str, Record]:
    """Make both clones, and run the commands in them."""
    found: dict[str, Record] = {}
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        for name in ("first", "second"):
            subprocess.run(["git", "clone", "--quiet", "--local", ROOT, folder / name], check=True)
        wheels = folder / "wheels"
        wheels.mkdir()
        newer_wheels(wheels)
        links = f"{wheels} {os.environ.get('PIP_FIND_LINKS', '')}".strip()
        first, second = folder / "first", folder / "second"
        found["make demo, cold"] = timed(first, "make demo")
        found["make test, cold"] = timed(first, "make test")
        found["make test, warm"] = timed(first, "make test")
        found["make quick, nothing changed"] = timed(first, "make quick")
        for path in ("src/isoscope/measures/space.py", "src/isoscope/data/formats/npy.py"):
            with (first / path).open("a") as file:
                file.write("\n\n# changed\n")
        found["make quick, two modules changed"] = timed(first, "make quick")
        newer = {"PIP_FIND_LINKS": links}
        found["make demo, newer releases offered"] = timed(second, "make demo", **newer)
        found["make test, newer releases offered"] = timed(second, "make test", **newer)
        installed = [
            subprocess.run(
                [clone / ".venv" / "bin" / "python", "-m", "pip", "freeze", "--exclude-editable"],
                capture_output=True, text=True, check=True,
            ).stdout
            for clone in (first, second)
        ]  # fmt: skip
        last = found["make test, newer releases offered"]
        last["same versions"] = installed[0] == installed[1]
        last["offered"] = {
            name: offered(second / ".venv/bin/python", name, links) for name in NEWER
        }
    return found


def minutes(seconds: int) -> str:
    return f"{seconds // 60}:{seconds % 60:02}"


def slowest_table(record: Record) -> list[str]:
    lines = ["| seconds | phase | test |", "| ---: | --- | --- |"]
    return [*lines, *(f"| {s:.1f} | {phase} | `{name}` |" for s, phase, name in record["slowest"])]


def page(records: dict[str, Record]) -> str:
    """Return the page of results."""
    dates = sorted({record["date"] for record in records.values()})
    newer = records["make test, newer releases offered"]
    offers = ", ".join(f"{name} {version}" for name, version in newer["offered"].items())
    same = "the same versions" if newer["same versions"] else "OTHER VERSIONS"
    lines = [
        "# How long the tests take",
        "",
        "```sh",
        "python benchmarks/suite.py",
        "```",
        "",
        f"Machine: two cores, 24 GiB, no accelerator, little else running; {', '.join(dates)}. "
        "Fresh clones, pip without a cache; a cold run includes the setup. Seeds are those of the "
        "tests.",
        "",
        "| what | minutes | exit code | tests |",
        "| --- | ---: | ---: | --- |",
    ]
    for name, record in records.items():
        if "seconds" in record:
            lines.append(
                f"| {name} | {minutes(record['seconds'])} | {record['code']} | "
                f"{record.get('summary', '')} |"
            )
    lines += [
        "",
        f"**On another day.** The second clone met an index that offered {offers}: {same} were "
        "installed in both clones, as `pip freeze` shows.",
        "",
    ]
    for name, record in records.items():
        if "seconds" not in record:
            text = f" {record['note']}" if record.get("note") else ""
            lines.append(f"**{name}.** {record['summary']}.{text}\n")
    for title, name in (("before", BEFORE), ("after", "make test, warm")):
        lines += [f"## The twenty slowest tests {title}", ""]
        lines += [f"{name}: {records[name]['summary']}", "", *slowest_table(records[name]), ""]
    return "\n".join(lines).rstrip() + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--page", action="store_true")
    parser.add_argument("--add", nargs=2, metavar=("NAME", "LOG"))
    parser.add_argument("--note", default="")
    options = parser.parse_args()
    records: dict[str, Record] = json.loads(RECORDS.read_text()) if RECORDS.exists() else {}
    today = {"date": datetime.date.today().isoformat()}
    if options.add:
        name, log = options.add
        records[name] = what_pytest_said(Path(log).read_text()) | today | {"note": options.note}
    elif not options.page:
        for name, record in run_all().items():
            records[name] = record | today
    RECORDS.write_text(json.dumps(records, indent=1) + "\n")
    if "make test, newer releases offered" in records:
        PAGE.write_text(page(records))
        print(f"wrote {PAGE.relative_to(ROOT)}", file=sys.stderr)


if __name__ == "__main__":
    main()
