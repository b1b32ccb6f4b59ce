"""Write docs/results/robust.md from docs/results/robust.json and tests/measures/stress.json.

    python docs/make_robust.py
    python docs/make_robust.py --merge PART.json…    first take parts of the record from other files

The record is kept by `make fuzz`, benchmarks/faults.py, benchmarks/soak.py and others that add
a section; nothing on the page is written by hand but the sentences below.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"
RECORD = RESULTS / "robust.json"
STRESS = Path(__file__).parents[1] / "tests" / "measures" / "stress.json"
AIM = 100_000
"""Cases of a target of the fuzzer."""
FLAT_CYCLES = 10
"""Cycles of the long run that a statement about trends needs, at least."""

Record = dict[str, Any]


def table(header: list[str], rows: list[list[Any]], right: int = 1) -> list[str]:
    """Return a table; all columns from ``right`` on are numbers."""
    marks = ["---" if k < right else "---:" for k in range(len(header))]
    return [
        f"| {' | '.join(header)} |",
        f"| {' | '.join(marks)} |",
        *(f"| {' | '.join(map(str, row))} |" for row in rows),
        "",
    ]


def fuzz_section(fuzz: Record) -> list[str]:
    """Return what the fuzzer tried and found."""
    targets = {name: one for name, one in fuzz["targets"].items() if one["cases"]}
    cases = sum(one["cases"] for one in targets.values())
    failures = [(name, f) for name, one in targets.items() for f in one.get("failures", [])]
    remaining = sum("fixed" not in failure for _, failure in failures)
    whole = sum(one["cases"] >= AIM for one in targets.values())
    about = fuzz["about"]
    rows = [
        [f"`{name}`", f"{one['cases']:,}", f"{one['read']:,}", f"{one['refused']:,}",
         sum("fixed" not in f for f in one.get("failures", [])), one["peak_megabytes"],
         one["date"]]
        for name, one in targets.items()
    ]  # fmt: skip
    lines = [
        "## Mutated inputs", "",
        f"`make fuzz`, seed {about['seed']}, {about['machine']}, Python {about['python']}. "
        f"**{cases:,} cases** of {len(targets)} targets, {whole} of which have {AIM:,}. A case has "
        "5 seconds of processor time and 512 MB of resident memory in all, and ends with success "
        "or one line of at most 300 characters. Counts of a target begin again when a failure is "
        f"fixed. Kinds of failures found and fixed: {len(failures) - remaining}; not fixed: "
        f"{remaining}.", "",
        *table(["target", "cases", "read", "refused", "kinds not fixed", "peak MB", "date"],
               rows),
    ]  # fmt: skip
    if failures:
        lines += ["What failed, and in how many cases; of each kind one is a file of the "
                  "tests once it is fixed:", ""]  # fmt: skip
        lines += table(
            ["target", "kind", "place", "cases", "fixed"],
            [[f"`{n}`", f["kind"], f"`{f['place'] or 'the child process'}`", f["times"],
              f.get("fixed", "no")] for n, f in failures],
            3,
        )  # fmt: skip
    return lines


def faults_of(found: Record) -> tuple[int, int]:
    """Return how many faults were injected at calls that change files, and how many did harm."""
    return (
        sum(sum(one["faults"].values()) for one in found.values()),
        sum(one["harmful"] for one in found.values()),
    )


def cuts_of(found: Record) -> tuple[int, int]:
    """Return how many connections were cut, and how many cuts did harm."""
    return sum(one["cuts"] for one in found.values()), sum(
        len(one["harm"]) for one in found.values()
    )


def faults_summary(record: Record) -> list[str]:
    """Say how many faults of all kinds were injected."""
    calls, harmed = faults_of(record.get("faults", {}))
    cuts, broken = cuts_of(record.get("postgres", {}))
    before, wrong = faults_of(record.get("faults_before", {}))
    return [
        "## Injected faults", "",
        f"`benchmarks/faults.py` injected **{calls + cuts:,} faults**, {harmed + broken:,} of "
        f"which did harm: {calls:,} at calls that change files, and {cuts:,} cuts of connections "
        f"to PostgreSQL. Of {before:,} faults at calls before the repairs, {wrong:,} did harm. "
        "Fifty random kills of long runs, on this machine and on Ray, are on [another "
        "page](faults.md).", "",
    ]  # fmt: skip


def faults_section(faults: Record, heading: str) -> list[str]:
    """Return what became of the injected faults."""
    kinds = list(dict.fromkeys(kind for one in faults.values() for kind in one["faults"]))
    total, harm = faults_of(faults)
    part = {
        name: (sum(one["faults"].values()), len(kinds) * sum(one["calls"].values()))
        for name, one in faults.items()
    }
    sampled = [
        f"Of `{name}`, {tried:,} of {possible:,} possible faults were injected."
        for name, (tried, possible) in part.items() if tried < possible
    ]  # fmt: skip
    rows = [
        [f"`{name}`", sum(one["calls"].values()), *(one["faults"].get(kind, 0) for kind in kinds),
         one["harmful"], one["date"]]
        for name, one in faults.items()
    ]  # fmt: skip
    return [
        heading, "",
        "`python benchmarks/faults.py every`: a kill, ENOSPC, EIO and EACCES at every write, "
        "fsync, rename, open, truncation, deletion and change of rights below the folder of a run. "
        "After "
        "each, the target is old or new, the error is one line, and running again (with "
        "`--resume` where there is a journal) gives what an undisturbed run gives, and leaves "
        f"nothing else. **{total:,} faults, {harm:,} of them did harm.**", "",
        *([*sampled, ""] if sampled else []),
        *table(["operation", "calls", *kinds, "harm", "date"], rows),
        *(f"- `{name}`, {one['fault']} at call {one['call']} ({one['what']}): {one['wrong']}"
          for name, found in faults.items() for one in found["harm"][:3]),
        "",
    ]  # fmt: skip


def postgres_section(found: Record) -> list[str]:
    """Return what became of cut connections."""
    rows = [[name, one["messages"], one["cuts"], one["refused"], len(one["harm"]), one["date"]]
            for name, one in found.items()]  # fmt: skip
    return [
        "### Connections to PostgreSQL", "",
        "`python benchmarks/faults.py postgres`: a proxy cuts the connection in the middle of "
        "every message of the protocol, in both directions. The database is then as it was or as "
        "it was to be, and the error is one line.", "",
        *table(["operation", "messages", "cuts", "refused", "harm", "date"], rows),
    ]  # fmt: skip


def soak_before(soak: Record) -> str:
    """Return what an earlier run found, in a sentence."""
    trends = ", ".join(
        f"{name} {soak['trends'][name]['per_hour']:+g} ± {soak['trends'][name]['half_width']:g}"
        for name in ("api uss", "api rss", "explore uss", "explore rss")
    )
    return (
        f"An earlier run, begun {soak['started']}, took {soak['minutes']:g} minutes, of which it "
        f"was stopped for {soak['stopped_minutes']:g}, and had {soak['cycles']} cycles; its "
        f"changes per hour: {trends}. Memory that no other process shares (uss) also changes when "
        "other processes with the same libraries begin and end."
    )


def soak_section(soak: Record, before: list[Record]) -> list[str]:
    """Return the long run; of trends only where there were enough cycles."""
    lines = [
        "## A long run", "",
        f"`{soak['command']}`, begun {soak['started']}: {soak['minutes']:g} minutes, of which the "
        f"run was stopped for {soak['stopped_minutes']:g}; cycles: {soak['cycles']}, each of "
        f"`measure`, `correct`, `profile --workers 2` and 200 questions to `explore`, "
        f"{soak['processor_seconds']:,} seconds of processor time; {soak['samples']} samples.", "",
    ]  # fmt: skip
    if soak["cycles"] < FLAT_CYCLES:
        return [
            *lines,
            f"That is too few cycles to say whether anything grows: at least {FLAT_CYCLES} are "
            "needed. The record is shown for what it is.", "",
            "![memory, handles, threads and temporary files over the run](soak.svg)", "",
        ]  # fmt: skip
    rows = [
        [name, one["mean"], f"{one['per_hour']:+g} ± {one['half_width']:g}"]
        for name, one in soak["trends"].items()
    ]
    same = "were the same in every cycle" if soak["same_numbers"] else "DIFFERED between cycles"
    return [
        *lines,
        f"All numbers {same}; the server answered {soak['server_errors']} times with an error of "
        "its own. Trends after the first quarter, with 95 % intervals from ten stretches:", "",
        *table(["quantity (memory in MB)", "mean", "change per hour"], rows),
        *(line for one in before for line in (soak_before(one), "")),
        "![memory, handles, threads and temporary files over the run](soak.svg)", "",
    ]  # fmt: skip


def stress_section(stress: Record) -> list[str]:
    """Return the table of exceptions."""
    rows = [
        [one["dtype"], f"{one['offset_above']:g}", f"{one['error']:.1e}", f"`{one['worst']}`"]
        for one in stress["exceptions"]
    ]
    return [
        "## Numbers under stress", "",
        f"`{stress['command']}` ({stress['date']}, {stress['seeds']} seeds): "
        f"{stress['numbers']:,} numbers at scales of 1e-30, 1 and 1e30, with offsets up to 1e6 "
        "times the spread, of full and deficient rank, with duplicates, in float64, float32 and "
        "float16, against the oracle of 50 digits. Tolerances: 1e-10 in float64; in lower "
        "precision 1e-5, and 1e-4 for logarithms. `tests/measures/test_stress.py` draws other "
        "clouds, and fails above these limits anywhere but in the regions below, where it allows "
        "four times the error that was measured.", "",
        *table(["type", "offset above", "largest error", "of"], rows),
    ]  # fmt: skip


def guards_section(guards: Record) -> list[str]:
    """Return what guards cost."""
    rows = [
        [one["run"], one["calls"], one["in guards"], one["processor seconds"],
         one["percent of the call"], one["percent of a command"]]
        for one in guards["runs"]
    ]  # fmt: skip
    most = max(one["percent of a command"] for one in guards["runs"])
    return [
        "## Overhead of guards", "",
        f"`{guards['command']}` ({guards['date']}, seed {guards['seed']}, {guards['machine']}, "
        f"{guards['data']}): processor time inside all guards but those of FAISS, which run in "
        "another process. A command also loads isoscope and numpy, which takes "
        f"{guards['processor seconds of loading']:g} s. Guards take at most **{most:g} %** of a "
        f"command; the bar is {guards['bar in percent']:g} %. Calls from Python of a few "
        "milliseconds spend a larger share in them.", "",
        *table(["run", "guards called", "seconds in guards", "seconds", "% of the call",
                "% of a command"], rows),
    ]  # fmt: skip


def wide_section(wide: Record) -> list[str]:
    """Return what a file of few vectors with many dimensions takes."""
    return [
        "## Few vectors of many dimensions", "",
        f"`{wide['command']}` ({wide['date']}, seed {wide['seed']}, {wide['machine']}): `isoscope "
        f"measure` on {wide['rows']} vectors of {wide['dimensions']:,} dimensions takes "
        f"**{wide['processor seconds']:g} s** of processor time, "
        f"{wide['ratio to the small file']:g} times as much as on {wide['rows']} vectors of "
        f"{wide['small dimensions']} dimensions, and "
        f"at most **{wide['megabytes']} MB** of resident memory "
        f"({wide['megabytes of the small file']} MB on the small file).", "",
    ]  # fmt: skip


def defects_section(defects: list[Record]) -> list[str]:
    """Return what was found on the way, and what became of it."""
    fixed = sum(one["fixed"] for one in defects)
    rows = [[one["found_by"], one["what"], "yes" if one["fixed"] else "no", one["date"]]
            for one in defects]  # fmt: skip
    return [
        "## Defects found", "", f"{len(defects)} kinds of defects, {fixed} of them fixed.", "",
        *table(["found by", "what", "fixed", "date"], rows, 4),
    ]  # fmt: skip


def page(record: Record, stress: Record | None) -> str:
    """Return the page."""
    lines = ["# Robustness", "", "Generated by `docs/make_robust.py`.", ""]
    if record.get("defects"):
        lines += defects_section(record["defects"])
    if record.get("fuzz"):
        lines += fuzz_section(record["fuzz"])
    if record.get("faults"):
        lines += faults_summary(record)
        lines += faults_section(record["faults"], "### Faults at every call")
    if record.get("faults_before"):
        lines += faults_section(record["faults_before"], "### The same before repairs")
        lines += [
            "Two operations are left out, whose checks were themselves wrong at that time.",
            "",
        ]
    if record.get("postgres"):
        lines += postgres_section(record["postgres"])
    if record.get("soak"):
        lines += soak_section(record["soak"], record.get("soak_before", []))
    if stress:
        lines += stress_section(stress)
    if record.get("wide"):
        lines += wide_section(record["wide"])
    if record.get("guards"):
        lines += guards_section(record["guards"])
    return "\n".join(lines).rstrip() + "\n"


def merged(record: Record, part: Record) -> Record:
    """Put a part into a record, target by target and operation by operation."""
    for name, value in part.items():
        if isinstance(value, dict) and isinstance(record.get(name), dict):
            merged(record[name], value)
        else:
            record[name] = value
    return record


def main() -> None:
    """Merge parts, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--merge", nargs="*", type=Path, default=[])
    given = parser.parse_args()
    record = json.loads(RECORD.read_text()) if RECORD.exists() else {}
    for path in given.merge:
        merged(record, json.loads(path.read_text()))
    RECORD.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n")
    stress = json.loads(STRESS.read_text()) if STRESS.exists() else None
    (RESULTS / "robust.md").write_text(page(record, stress))


if __name__ == "__main__":
    main()
