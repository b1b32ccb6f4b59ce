"""The limits that isoscope's speed is held to, each as a ratio of times in one run.

    python benchmarks/bars.py                    all of them
    python benchmarks/bars.py measure version    some of them; others stay as stored
    python benchmarks/bars.py --resume           those that this commit has not measured yet, or
                                                 only while other processes took much time
    python benchmarks/bars.py --page             writes the page from the record again

Sides alternate, and the best of several rounds counts: machines are noisy. What is measured goes to
``docs/results/bars.json``, and the page beside it is made from that alone.
"""

from __future__ import annotations

import json
import platform
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import bars_of_measures
import bars_of_models
import numpy as np
from bar import Bar, Figure
from sides import ROUGH, Company

from isoscope.compute.threads import cores

RESULTS = Path(__file__).parents[1] / "docs" / "results"
RECORD, PAGE = (RESULTS / f"bars.{kind}" for kind in ("json", "md"))

# Files that compare other parts of the package add theirs.
BARS: Mapping[str, Bar] = {**bars_of_measures.BARS, **bars_of_models.BARS}

INTRODUCTION = """\
# Speed compared with the arithmetic and with other packages

```sh
python benchmarks/bars.py
```

Every ratio compares two times of one run, in which both sides take turns; the best of all rounds
counts (their number is below the table). The limit must be kept, and the goal is what we aim for. A
ratio with "faster" is the time of the other side divided by that of isoscope. All other ratios are
the time of isoscope divided by that of the other side. The second ratio is that of processor time,
on which other jobs of the machine have less influence; it includes the time that threads spend
waiting for each other. All clouds are generated (seed 0), in float32, with a falling spectrum and a
common offset.

| job | case | compared with | limit | goal | ratio | of processor time \
| isoscope, s | other, s | result |
| --- | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | --- |"""


def main(chosen: list[str]) -> None:
    """Run some bars, store what they found, and write the page."""
    if chosen != ["--page"]:
        commit, failed = of_git("rev-parse", "--short", "HEAD"), list[str]()
        if chosen == ["--resume"]:
            chosen = [
                name for name in in_order(BARS) if not is_done(stored().get(name, {}), commit)
            ]
            if not chosen:
                print("everything has been measured")
                return
        for name in chosen or in_order(BARS):
            when, began = f"{datetime.now(UTC):%Y-%m-%d}", time.perf_counter()
            company = Company()
            figures: list[dict[str, Any]] = []
            try:
                for figure in BARS[name].run():
                    print(row(BARS[name], figure), flush=True)
                    figures.append(figure._asdict())
            except Exception as error:  # such as a package that is not installed
                print(f"  {name} failed: {error!r}", flush=True)
                failed.append(name)
                continue
            record = stored()  # as it is by now: other bars may have been measured meanwhile
            record[name] = {
                "date": when, "machine": f"{machine()}; {company}", "commit": commit,
                "figures": figures,
            }  # fmt: skip
            RECORD.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", "utf-8")
            PAGE.write_text(page(record), "utf-8")
            print(f"  {name}: {time.perf_counter() - began:.0f} s; {company}", flush=True)
        if failed:
            sys.exit(f"not measured: {', '.join(failed)}")
    PAGE.write_text(page(stored()), "utf-8")


def in_order(names: Iterable[str]) -> list[str]:
    """Put those that take minutes last: whoever stops early then has most of the table."""
    return sorted(names, key=lambda name: ("spectralyte" in name, name.startswith("audit")))


def of_git(*arguments: str) -> str:
    """Return what git says about this checkout."""
    found = subprocess.run(["git", *arguments], cwd=RESULTS, capture_output=True, text=True)
    return found.stdout.strip()


def is_done(record: Mapping[str, Any], commit: str) -> bool:
    """Whether figures are those of a commit, on a machine that did little else."""
    return bool(record) and record.get("commit") == commit and ROUGH not in record["machine"]


def stored() -> dict[str, Any]:
    """Return the record."""
    found: dict[str, Any] = json.loads(RECORD.read_text("utf-8")) if RECORD.exists() else {}
    return found


def machine() -> str:
    """Say on what and with what this runs."""
    return (
        f"{cores()} cores, {platform.machine()}, Python {platform.python_version()}, "
        f"numpy {np.__version__}"
    )


def page(record: Mapping[str, Any]) -> str:
    """Return the page of a record."""
    rows, notes = [], []
    for name, bar in BARS.items():
        if name not in record:
            rows.append(row(bar, None))
            continue
        found = record[name]
        rows += [row(bar, Figure(**figure)) for figure in found["figures"]]
        counts = sorted({figure["rounds"] for figure in found["figures"]})
        rounds = " or ".join(map(str, counts)) + (" round" if counts == [1] else " rounds")
        notes.append(f"- {bar.job}: {found['date']}, {found['machine']}; {rounds}.")
    return "\n".join([INTRODUCTION, *rows, "", *notes]) + "\n"


def row(bar: Bar, figure: Figure | None) -> str:
    """Return a row of the table."""
    if figure is None:
        cells = [bar.job, "", "", *map(factor, (bar, bar), (bar.limit, bar.goal))]
        return f"| {' | '.join([*cells, '', '', '', '', 'not measured'])} |"
    ratios = [ours / theirs for ours, theirs in zip(figure.ours, figure.theirs, strict=True)]
    if bar.faster:
        ratios = [1 / ratio for ratio in ratios]
    shown = [factor(bar, value) for value in (bar.limit, bar.goal, *ratios)]
    seconds = [f"{side[0]:.3g}" for side in (figure.ours, figure.theirs)]
    cells = [bar.job, figure.case, figure.against, *shown, *seconds, result(bar, ratios[0])]
    return f"| {' | '.join(cells)} |"


def factor(bar: Bar, value: float) -> str:
    """Return a ratio as the table has it."""
    return f"{value:.3g} × faster" if bar.faster else f"{value:.2f} ×"


def result(bar: Bar, ratio: float) -> str:
    """Say whether a ratio keeps the limit, and reaches the goal."""
    sign = -1 if bar.faster else 1
    if sign * ratio <= sign * bar.goal:
        return "goal reached"
    return "limit kept" if sign * ratio <= sign * bar.limit else "**missed**"


if __name__ == "__main__":
    main(sys.argv[1:])
