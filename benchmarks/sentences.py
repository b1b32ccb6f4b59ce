"""How often is a sentence that contains a decision wrong, on data where the truth is known?

Every scenario draws data whose truth is known, calls the verb, and counts the decisions that the
result holds. Counts are kept in ``docs/results/sentences.json`` as they arrive and written as
tables to ``docs/results/sentences.md``. A scenario that was interrupted goes on where it stopped.

    python benchmarks/sentences.py                              # what is missing to 500 draws
    python benchmarks/sentences.py --only "diff: halves, 250" --again
    python benchmarks/sentences.py --draws 0                    # writes the page again

A new scenario is a function from a seed to the decisions of one draw, with ``@scenario``, in the
file of its verb in ``benchmarks/scenarios``.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from scenarios import (  # noqa: F401, which register
    advise,
    correct,
    diff,
    measure,
    measure_search,
    threshold,
)  # fmt: skip
from scenarios.page import page
from scenarios.scenario import SCENARIOS, VERBS, Scenario

from isoscope.compute.threads import one_blas_thread

ORDERED = sorted(SCENARIOS, key=lambda one: VERBS.index(one.verb))

RESULTS = Path(__file__).parent.parent / "docs" / "results"
STORED, PAGE = RESULTS / "sentences.json", RESULTS / "sentences.md"

BATCH = 25
"""Draws after which counts are kept."""

Kept = dict[str, Any]


def count(one: Scenario, kept: Kept | None, draws: int) -> Kept:
    """Add draws to what is kept of a scenario, from the seed where it stopped."""
    before = 0 if kept is None else int(kept["draws"])
    counts: Counter[str] = Counter() if kept is None else Counter(kept["counts"])
    with one_blas_thread():
        for seed in range(before, draws):
            found = one.draw(seed)
            counts.update(found if isinstance(found, Mapping) else dict.fromkeys(found, 1))
    truth = one.truth if isinstance(one.truth, str) else one.truth()
    return {
        "verb": one.verb, "name": one.name, "truth": truth, "draws": draws, "wrong": one.wrong,
        "counts": {what: round(times, 6) for what, times in sorted(counts.items())},
    }  # fmt: skip


def store(kept: dict[str, Kept]) -> None:
    """Write counts in the order of the scenarios, and the page."""
    ordered = {one.key: kept[one.key] for one in ORDERED if one.key in kept}
    part = STORED.with_suffix(".part")
    part.write_text(json.dumps(ordered, indent=1, ensure_ascii=False) + "\n", "utf-8")
    part.replace(STORED)
    PAGE.write_text(page(ordered), "utf-8")


def main() -> None:
    """Run scenarios, keep what they found, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--draws", type=int, default=500)
    parser.add_argument("--only", default="", help="run scenarios whose key contains this")
    parser.add_argument("--again", action="store_true", help="from seed 0, whatever is kept")
    asked = parser.parse_args()
    kept: dict[str, Kept] = json.loads(STORED.read_text("utf-8")) if STORED.exists() else {}
    for one in ORDERED:
        if asked.only not in one.key:
            continue
        if asked.again:
            kept.pop(one.key, None)
        while (done := kept.get(one.key, {"draws": 0})["draws"]) < asked.draws:
            upto = min(done + BATCH, asked.draws)
            kept[one.key] = count(one, kept.get(one.key), upto)
            store(kept)
        if one.key in kept:
            found = {what: kept[one.key]["counts"].get(what, 0) for what in one.wrong}
            print(f"{one.key}, {kept[one.key]['draws']} draws: {found}", flush=True)
    store(kept)


if __name__ == "__main__":
    main()
