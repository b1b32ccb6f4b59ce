"""Does ``isoscope diff`` find differences where there are none, and those that there are?

    python benchmarks/diff_simulation.py --runs 500

Each design draws two clouds anew from seeds 0, 1, …: ``equal`` ones have one distribution, and a
test at 5 % should reject in 5 % of the runs. Counts are kept in ``docs/results/diff.json``, and
written as tables into ``docs/results/diff.md``; ``--runs 0`` writes the tables again.
"""

from __future__ import annotations

import argparse
import json
import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isoscope.compute.threads import one_blas_thread
from isoscope.verbs.diff.permutation import equality_tests
from isoscope.verbs.diff.support import outside

Matrix = NDArray[np.float64]
Units = NDArray[np.int64]

PERMUTATIONS = 199
ALPHA = 0.05
NAMES = ("means", "covariances", "lengths")

RESULTS = Path(__file__).parents[1] / "docs" / "results"
STORED, PAGE = RESULTS / "diff.json", RESULTS / "diff.md"
BEGIN, END = "<!-- simulation -->", "<!-- end of simulation -->"

Counts = dict[str, Any]


@dataclass(frozen=True)
class Drawn:
    """Two clouds of one run."""

    a: Matrix
    b: Matrix
    units: Units | None = None
    paired: bool = False


Design = Callable[[np.random.Generator], Drawn]


@dataclass
class Rejected:
    """How often each test rejected."""

    runs: int = 0
    tests: dict[str, int] = field(default_factory=lambda: dict.fromkeys(NAMES, 0))
    any: int = 0

    def add(self, drawn: Drawn, seed: int) -> None:
        """Test two clouds."""
        units = {} if drawn.units is None else {"units_a": drawn.units, "units_b": drawn.units}
        found = equality_tests(
            drawn.a, drawn.b, paired=drawn.paired, permutations=PERMUTATIONS, seed=seed, **units
        )
        self.runs += 1
        for name in NAMES:
            self.tests[name] += (found[name].p_value or 0.0) <= ALPHA
        self.any += min(one.p_holm or 0.0 for one in found.values()) <= ALPHA


def cloud(random: np.random.Generator, rows: int, width: int, tails: float | None = None) -> Matrix:
    """Rows with a steep spectrum (variances 1, 1/2, 1/3, …) and a common offset."""
    scales = np.arange(1, width + 1) ** -0.5
    rows_drawn = random.standard_normal((rows, width))
    if tails is not None:
        rows_drawn /= np.sqrt(random.chisquare(tails, (rows, 1)) / tails)
    return np.asarray((rows_drawn + 1) * scales)


def spread(width: int) -> float:
    """Root of the total variance of ``cloud``."""
    return math.sqrt(float((1 / np.arange(1, width + 1)).sum()))


def equal(rows: int, width: int, tails: float | None = None) -> Design:
    def draw(random: np.random.Generator) -> Drawn:
        return Drawn(cloud(random, rows, width, tails), cloud(random, rows, width, tails))

    return draw


def uneven(rows: int, width: int) -> Design:
    """Lengths that differ by more than a factor of two between ordinary rows."""

    def draw(random: np.random.Generator) -> Drawn:
        a, b = (cloud(random, rows, width) * random.lognormal(0, 0.5, (rows, 1)) for _ in range(2))
        return Drawn(a, b)

    return draw


def documents(random: np.random.Generator) -> Drawn:
    units = np.repeat(np.arange(50), 4)
    a, b = (cloud(random, 50, 64)[units] + cloud(random, 200, 64) for _ in range(2))
    return Drawn(a, b, units)


def same_rows(random: np.random.Generator) -> Drawn:
    common = cloud(random, 200, 64)
    a, b = (common + cloud(random, 200, 64) for _ in range(2))
    return Drawn(a, b, paired=True)


def other_means(random: np.random.Generator) -> Drawn:
    drawn = equal(200, 64)(random)
    return Drawn(drawn.a, drawn.b + 1)


def other_covariances(random: np.random.Generator) -> Drawn:
    drawn = equal(200, 64)(random)
    scales = np.arange(1, 65) ** -0.5
    return Drawn(drawn.a - scales, 2 * (drawn.b - scales))


def shifted(rows: int, share: float, everywhere: bool = True) -> Design:
    """B moved by a share of the spread, along all dimensions or along the fortieth."""

    def draw(random: np.random.Generator) -> Drawn:
        drawn = equal(rows, 64)(random)
        direction = np.ones(64) if everywhere else np.eye(64)[39]
        return Drawn(drawn.a, drawn.b + share * spread(64) * direction / np.linalg.norm(direction))

    return draw


def one_dimension(random: np.random.Generator) -> Drawn:
    """A tenth of its own standard deviation, in one dimension of 64 alone."""
    drawn = equal(1_000, 64)(random)
    step = np.zeros(64)
    step[0] = 0.1
    return Drawn(drawn.a, drawn.b + step)


def wider(factor: float) -> Design:
    def draw(random: np.random.Generator) -> Drawn:
        drawn = equal(1_000, 64)(random)
        middle = drawn.b.mean(axis=0)
        return Drawn(drawn.a, middle + factor * (drawn.b - middle))

    return draw


SIZES: dict[str, Design] = {
    "equal, 200 × 64 each": equal(200, 64),
    "equal, heavy tails (t of 5), 200 × 64": equal(200, 64, 5.0),
    "equal, more dimensions than rows, 100 × 300": equal(100, 300),
    "equal, uneven norms (log-normal, 0.5), 100 × 300": uneven(100, 300),
    "equal, 50 documents of 4 rows, 64 dimensions": documents,
    "the same rows seen twice, 200 × 64": same_rows,
    "means differ, covariances do not, 200 × 64": other_means,
    "covariances differ, means do not, 200 × 64": other_covariances,
}

POWERS: dict[str, Design] = {
    "shift of 0.10 of the spread, 1,000 × 64": shifted(1_000, 0.10),
    "the same in one dimension": shifted(1_000, 0.10, everywhere=False),
    "shift of 0.05": shifted(1_000, 0.05),
    "shift of 0.03": shifted(1_000, 0.03),
    "shift of 0.10, 200 × 64": shifted(200, 0.10),
    "0.1 standard deviations of one dimension (0.05 of the spread)": one_dimension,
    "B wider by 5 %, 1,000 × 64": wider(1.05),
    "B wider by 10 %": wider(1.10),
    "B wider by 20 %": wider(1.20),
}


def tests(designs: dict[str, Design], runs: int) -> list[Counts]:
    """Count how often each test rejects, design by design."""
    found = []
    for name, draw in designs.items():
        rejected = Rejected()
        for seed in range(runs):
            rejected.add(draw(np.random.default_rng(seed)), seed)
        found.append({"design": name, "runs": runs, **rejected.tests, "any": rejected.any})
        print(found[-1], flush=True)
    return found


def support(runs: int) -> list[Counts]:
    """Take the share of B outside A's support where both are equal, and count missed intervals."""
    found = []
    for name, rows, width in (("1,000 × 16", 1_000, 16), ("1,000 × 64", 1_000, 64)):
        shares, missed = np.zeros(2), np.zeros(2)
        for seed in range(runs):
            random = np.random.default_rng(seed)
            units = np.arange(rows)
            a, b = cloud(random, rows, width), cloud(random, rows, width)
            for k, one in enumerate(outside(a, units, b, units, paired=False, seed=seed)):
                shares[k] += one.value or 0.0
                missed[k] += not (one.low or 0.0) <= one.expected <= (one.high or 0.0)
        found.append({
            "design": name, "runs": runs,
            "mean": [round(share / runs, 6) for share in shares.tolist()],
            "missed": [round(count) for count in missed.tolist()],
        })  # fmt: skip
        print(found[-1], flush=True)
    return found


def tables(kept: Counts) -> str:
    """Return what was counted as Markdown."""
    lines = [f"{PERMUTATIONS} permutations, rejected at {ALPHA:.0%}; seeds from 0."]
    for title, part in (("nothing", kept["equal"]), ("something", kept["different"])):
        lines += [
            "", headed(f"Rejected where {title} differs", part), "",
            "| design | means | covariances | norms | any, after Holm |",
            "| --- | ---: | ---: | ---: | ---: |",
        ]  # fmt: skip
        for row in part["designs"]:
            shares = [f"{row[one] / row['runs']:.1%}" for one in (*NAMES, "any")]
            lines.append(f"| {row['design']} | {' | '.join(shares)} |")
    part = kept["support"]
    lines += [
        "", headed("Share of B outside A's support where both are equal", part), "",
        "| design | mean at 95 % | interval leaves out 0.05 | mean at 99 % | leaves out 0.01 |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]  # fmt: skip
    for row in part["designs"]:
        cells = [
            f"{mean:.2%} | {missed / row['runs']:.1%}"
            for mean, missed in zip(row["mean"], row["missed"], strict=True)
        ]
        lines.append(f"| {row['design']} | {' | '.join(cells)} |")
    return re.sub(r"(\d)%", r"\1 %", "\n".join(lines))


def headed(title: str, part: Counts) -> str:
    """Return the line above a table: what it shows, of how many runs, and when."""
    return f"{title}, {part['designs'][0]['runs']} runs ({part['date']})"


def write_page() -> None:
    """Put the tables in the place of those that the page has."""
    page = PAGE.read_text("utf-8")
    head, rest = page.split(BEGIN)
    tail = rest.split(END)[1]
    made = tables(json.loads(STORED.read_text("utf-8")))
    PAGE.write_text(f"{head}{BEGIN}\n\n{made}\n\n{END}{tail}", "utf-8")


PARTS: dict[str, Callable[[int], list[Counts]]] = {
    "equal": lambda runs: tests(SIZES, runs),
    "different": lambda runs: tests(POWERS, runs // 5),
    "support": support,
}


def main() -> None:
    """Count, keep what was counted, and write the tables of the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--runs", type=int, default=500, help="0 writes the tables again")
    parser.add_argument("--only", choices=PARTS, help="count one part, and keep the others")
    asked = parser.parse_args()
    kept = json.loads(STORED.read_text("utf-8")) if STORED.exists() else {}
    for name, count in PARTS.items():
        if asked.runs and asked.only in (None, name):
            with one_blas_thread():
                found = count(asked.runs)
            kept[name] = {"date": date.today().isoformat(), "designs": found}
            STORED.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n", "utf-8")
    write_page()


if __name__ == "__main__":
    main()
