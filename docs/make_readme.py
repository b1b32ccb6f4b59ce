"""Fill in what the README shows of real runs: a screen, and times beside other packages.

python docs/make_readme.py

The screen is that of docs/screens.md. The times are those that ``python benchmarks/measure.py
peers`` has stored in docs/results/peers.json.
"""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parent
README = DOCS.parent / "README.md"
SCREEN = re.compile(r"```text\n\$ isoscope measure shifted\.npy(?: --out \S+)?\n.*?\n```", re.S)
TIMES = re.compile(r"<!-- times -->\n.*?<!-- end of times -->", re.S)
SHOWN = {
    "isoscope, all measures, four corrections": ("isoscope", "all measures, in four spaces"),
    "isoscope, iso_score": ("isoscope", "`iso_score` alone, with its interval"),
    "IsoScore 2.0.1": ("IsoScore 2.0.1", "IsoScore"),
    "spectralyte 0.4.0, audit": ("spectralyte 0.4.0", "its audit"),
    "vecscope 0.2.0, audit": ("vecscope 0.2.0", "its audit"),
}


def times(record: dict[str, Any]) -> str:
    """Return the sentence and the table about the times of other packages."""
    lines = [
        f"Time for {record['rows']:,} vectors of {record['dimensions']} dimensions, measured side "
        f"by side on {record['cores']} cores\non {record['date']} "
        "([more figures](docs/results/measure.md)):",
        "",
        "| package | what was run | time |",
        "| --- | --- | ---: |",
    ]
    for name, (package, what) in SHOWN.items():
        seconds = record["seconds"][name]
        digits = max(0, 1 - math.floor(math.log10(seconds)))
        version = f" {record['isoscope']}" if package == "isoscope" else ""
        lines.append(f"| {package}{version} | {what} | {seconds:.{digits}f} s |")
    return "\n".join(lines)


def page() -> str:
    """Return the README with the screen and the times of today's records."""
    (screen,) = SCREEN.findall((DOCS / "screens.md").read_text("utf-8"))
    record = json.loads((DOCS / "results" / "peers.json").read_text("utf-8"))
    screen = screen.replace(" --out shifted.json", "")  # which a later screen of the page reads
    text = SCREEN.sub(lambda _: screen, README.read_text("utf-8"))
    return TIMES.sub(lambda _: f"<!-- times -->\n{times(record)}\n<!-- end of times -->", text)


if __name__ == "__main__":
    README.write_text(page(), "utf-8")
