"""Faults at every call that changes files, and at every message to a database.

    python benchmarks/faults.py every [OPERATION…]   kills, ENOSPC, EIO and EACCES at every call
    python benchmarks/faults.py postgres             a connection cut in every message
    python benchmarks/random_kills.py                fifty random kills of long runs

Results go into docs/results/robust.json as each operation is done; docs/make_robust.py writes the
page. ``every`` starts itself again with a shim before the C library, which it compiles with gcc.
Python's functions are not patched instead, because pyarrow, safetensors and torch write without
them; a tracer such as strace could inject the same errors, but takes a new process for each case.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
import tempfile
import time
from datetime import date
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "tests")]
RECORD = ROOT / "docs" / "results" / "robust.json"


def save(part: str, name: str, found: dict[str, Any], path: Path) -> None:
    """Put what was found of one operation into the record, beside all else that is there."""
    record = json.loads(path.read_text()) if path.exists() else {}
    about = {"date": date.today().isoformat(), "machine": f"2 cores, {platform.machine()}"}
    record.setdefault(part, {})[name] = {**found, **about}
    written = path.with_suffix(".partial")
    written.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n")
    written.replace(path)


def every(chosen: list[str], record: Path, one_in: int = 1) -> int:
    """Disturb every operation at every call, or one in some; return how many faults did harm."""
    from fault_injection.injector import Injector, restart_with_shim

    memory = Path("/dev/shm")
    base = memory if memory.is_dir() else Path(tempfile.gettempdir())
    work = base / "isoscope-faults"
    work.mkdir(exist_ok=True)
    restart_with_shim(work)
    from fault_injection.operations import CARELESS, NETWORK_OPERATIONS, SMALL_OPERATIONS, TINY

    if not TINY.exists() and (not chosen or {one.name for one in NETWORK_OPERATIONS} & {*chosen}):
        from tiny_models import save_tiny_model

        TINY.mkdir()
        save_tiny_model("bert", TINY / "bert")
    injector = Injector(Path(tempfile.mkdtemp(dir=work)))
    harm = 0
    named = {one.name: one for one in (*SMALL_OPERATIONS, *NETWORK_OPERATIONS, CARELESS)}
    for name in chosen or [one for one in named if one != CARELESS.name]:
        operation = named[name]
        began = time.time()
        tally = injector.all_faults(operation, every=one_in)
        harm += len(tally.failures)
        found = {
            "calls": dict(tally.calls), "faults": dict(tally.faults), "harm": tally.failures[:20],
            "harmful": len(tally.failures), "seconds": round(time.time() - began),
        }  # fmt: skip
        save("faults", operation.name, found, record)
        total = sum(tally.faults.values())
        print(f"{operation.name}: {total} faults, {len(tally.failures)} did harm", flush=True)
        for one in tally.failures[:5]:
            print(f"  {one}", flush=True)
    return harm


def postgres(record: Path) -> int:
    """Cut connections in every message; return how many cuts did harm."""
    from fault_injection.postgres_cuts import OPERATIONS, all_cuts
    from postgres_for_tests import running_server

    harm = 0
    with running_server() as server, tempfile.TemporaryDirectory() as folder:
        for operation in OPERATIONS:
            found = all_cuts(server, operation, Path(folder))
            harm += len(found["harm"])
            save("postgres", operation, found, record)
            print(f"{operation}: {found['cuts']} cuts, {len(found['harm'])} did harm", flush=True)
    return harm


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", choices=("every", "postgres"))
    parser.add_argument("operations", nargs="*")
    parser.add_argument("--one-in", type=int, default=1, help="only one fault in so many")
    parser.add_argument("--record", type=Path, default=RECORD)
    given = parser.parse_args()
    if given.part == "postgres":
        sys.exit(bool(postgres(given.record)))
    sys.exit(bool(every(given.operations, given.record, given.one_in)))


if __name__ == "__main__":
    main()
