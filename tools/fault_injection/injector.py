"""Faults at every call that changes files: kills, and errors of a full, broken or closed disk.

An operation is run once without faults, which counts its calls. Then it is run again for each of
them and each kind of fault, in a fork of a process that has imported everything, so that a case
takes milliseconds. After each fault:

- the target is the old one or the new one, byte by byte;
- an error is one line (an ``IsoscopeError`` or an ``OSError``), never a traceback of another kind;
- running the same again (with ``--resume`` where there is a journal) gives what an undisturbed run
  gives, and leaves nothing else behind. After an error, other than of a deletion, nothing but the
  journal is left even before that.
"""

from __future__ import annotations

import ctypes
import errno
import gc
import hashlib
import json
import os
import pickle
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from isoscope.data.output import _SWEPT, PREFIX
from isoscope.errors import IsoscopeError

KILL, COUNT = 0, -1
FAULTS = {
    "kill": KILL, "ENOSPC": errno.ENOSPC, "EIO": errno.EIO, "EACCES": errno.EACCES,
}  # fmt: skip
CLEANING = ("unlink", "rmdir")
"""Calls that remove something: where one fails, what it was to remove may stay."""

STEP = "/step "
"""In the name of what a journal keeps of a step."""

Snapshot = dict[str, str]


@dataclass(frozen=True)
class Operation:
    """Something that writes files.

    Attributes
    ----------
    name : str
        What it is called in records.
    run : callable
        Does it in a folder; the second argument says whether to resume.
    prepare : callable
        Puts what is needed, and an old target, into an empty folder.
    targets : tuple of str
        Names of the files or folders that are old or new.
    journals : tuple of str
        Names of what may stay until the run is resumed.
    lenient : bool
        Whether it goes on without what it could not write, as a cache does.
    once : bool
        Whether running it again over its own target would be another thing.
    """

    name: str
    run: Callable[[Path, bool], None]
    prepare: Callable[[Path], None]
    targets: tuple[str, ...]
    journals: tuple[str, ...] = ()
    lenient: bool = False
    once: bool = False


@dataclass
class Tally:
    """What became of the faults of one operation."""

    calls: Counter[str] = field(default_factory=Counter)
    faults: Counter[str] = field(default_factory=Counter)
    failures: list[dict[str, Any]] = field(default_factory=list)


def build(folder: Path) -> Path:
    """Compile the shim."""
    library = folder / "fault_shim.so"
    source = Path(__file__).with_name("shim.c")
    subprocess.run(
        ["gcc", "-shared", "-fPIC", "-O2", "-w", "-o", library, source, "-ldl"], check=True
    )
    return library


# Fields of results that say how long something took and what it used, and what is summed over them.
VOLATILE = ("seconds", "processor", "memory", "checksum")


def without_costs(value: Any) -> Any:
    """Return a value of JSON without what differs from run to run."""
    if isinstance(value, dict):
        # What a row measures may itself be a time.
        cost = any(name in str(value.get("measure")) for name in VOLATILE)
        left_out = (*VOLATILE, "value", "sd", "runs") if cost else VOLATILE
        return {key: without_costs(one) for key, one in value.items() if key not in left_out}
    return [without_costs(one) for one in value] if isinstance(value, list) else value


def digest_of(path: Path) -> str:
    """Return a digest of a file; of JSON, without costs."""
    content = path.read_bytes()
    if path.suffix == ".json":
        with suppress(ValueError):
            content = json.dumps(without_costs(json.loads(content))).encode()
    return hashlib.sha256(content).hexdigest()


def snapshot(folder: Path) -> Snapshot:
    """Return a digest of every file below a folder, and the folders themselves."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        # A lock holds the number of a process, which differs.
        named = path.is_dir() or path.name == "lock"
        found[name] = "" if named else digest_of(path)
    return found


def below(found: Snapshot, names: tuple[str, ...]) -> Snapshot:
    """Return the part of a snapshot that belongs to some names."""
    return {
        path: digest
        for path, digest in found.items()
        if any(path == name or path.startswith(f"{name}/") for name in names)
    }


def is_temporary(path: str) -> bool:
    """Whether a path leads to or through a temporary file or folder."""
    return any(part.startswith(PREFIX) for part in Path(path).parts)


class Injector:
    """Runs operations with faults.

    Parameters
    ----------
    folder : Path
        Where cases are run; a file system in memory is fast.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.library = ctypes.CDLL(None)
        if not hasattr(self.library, "fault_arm"):
            raise SystemExit("start this with LD_PRELOAD of the shim")
        self.library.fault_trace.restype = ctypes.c_char_p
        self.library.fault_count.restype = ctypes.c_long
        self.library.fault_arm.argtypes = [ctypes.c_char_p, ctypes.c_long, ctypes.c_int]

    def in_fork(
        self, operation: Operation, case: Path, *, k: int, fault: int, resume: bool
    ) -> dict[str, Any]:
        """Run an operation in a fork; return its exit, its message and the calls it made."""
        report = self.folder / "report"
        report.unlink(missing_ok=True)
        process = os.fork()
        if process == 0:
            code = 99
            try:
                _SWEPT.clear()  # as in a process that has just begun
                os.chdir(case)
                said: dict[str, Any] = {"kind": "", "message": ""}
                self.library.fault_arm(os.fsencode(case), k, fault)
                try:
                    operation.run(case, resume)
                    code = 0
                except (IsoscopeError, OSError) as error:
                    said, code = {"kind": type(error).__name__, "message": str(error)}, 1
                except BaseException as error:
                    said, code = {"kind": type(error).__name__, "message": str(error)}, 2
                self.library.fault_disarm()
                said["calls"] = self.library.fault_trace().decode().split()
                report.write_bytes(pickle.dumps(said))
            finally:
                os._exit(code)
        _, status = os.waitpid(process, 0)
        found = pickle.loads(report.read_bytes()) if report.exists() else {}
        killed = os.WIFSIGNALED(status)
        return {
            "code": -os.WTERMSIG(status) if killed else os.WEXITSTATUS(status),
            "message": "", "kind": "", "calls": [], **found,
        }  # fmt: skip

    def fresh(self) -> Path:
        """Return a folder with what the operation needs."""
        case = self.folder / "case"
        shutil.rmtree(case, ignore_errors=True)
        shutil.copytree(self.folder / "prepared", case)
        return case

    def all_faults(self, operation: Operation, *, every: int = 1, kinds: Any = FAULTS) -> Tally:
        """Run an operation with every fault, or every few of them."""
        tally = Tally()
        prepared = self.folder / "prepared"
        shutil.rmtree(prepared, ignore_errors=True)
        prepared.mkdir(parents=True)
        operation.prepare(prepared)
        before = snapshot(prepared)
        operation.run(self.fresh(), False)  # here, so that all modules are imported
        gc.collect()
        gc.freeze()  # forks collect garbage of their own alone: torch's trainer asks for it
        case = self.fresh()
        done = self.in_fork(operation, case, k=0, fault=COUNT, resume=False)
        if done["code"]:
            raise SystemExit(f"{operation.name} fails without a fault: {done}")
        after = snapshot(case)
        calls = done["calls"]
        tally.calls.update(calls)
        for k in range(1, len(calls) + 1):
            for kind, number in kinds.items():
                if (k + number) % every:
                    continue
                tally.faults[kind] += 1
                wrong = self.one_fault(operation, k, number, before, after)
                if wrong:
                    call = calls[k - 1]
                    tally.failures.append({"call": k, "what": call, "fault": kind, "wrong": wrong})
        return tally

    def one_fault(
        self, operation: Operation, k: int, fault: int, before: Snapshot, after: Snapshot
    ) -> str:
        """Inject one fault; return what is wrong afterwards, or nothing."""
        case = self.fresh()
        done = self.in_fork(operation, case, k=k, fault=fault, resume=False)
        found = snapshot(case)
        if done["code"] == 2:
            return f"{done['kind']}: {done['message'][:200]}"
        if done["code"] not in (0, 1, -signal.SIGKILL):
            return f"exit code {done['code']}"
        if "\n" in done["message"]:
            return f"message of several lines: {done['message'][:200]}"
        old, new = (below(one, operation.targets) for one in (before, after))
        target = below(found, operation.targets)
        for path, digest in target.items():
            if is_temporary(path):  # which the next run removes
                continue
            if digest not in (old.get(path), new.get(path)):
                return f"{path} is neither old nor new"
        for path in old:
            if path not in target and path in new:
                return f"{path} is gone"
        cleaning = done["calls"][k - 1 :][:1] and done["calls"][k - 1] in CLEANING
        made = {p: one for p, one in target.items() if not (cleaning and is_temporary(p))}
        if done["code"] == 0 and made != new and not operation.lenient:
            return "it succeeded, and the target is not new"
        expected = {**before, **after}
        left = [p for p in found if p not in expected and not below({p: ""}, operation.journals)]
        if done["code"] in (0, 1) and left and not cleaning:
            return f"left behind: {', '.join(left[:3])}"
        if done["code"] == -signal.SIGKILL:
            foreign = [path for path in left if not is_temporary(path)]
            if foreign:
                return f"left behind by a kill: {', '.join(foreign[:3])}"
        if operation.once and target == new and not any(STEP in path for path in found):
            return ""  # nothing is left to resume
        return self.resumed(operation, case, after)

    def resumed(self, operation: Operation, case: Path, after: Snapshot) -> str:
        """Run the operation again; return what differs from an undisturbed run."""
        past = time.time() - 60  # as if some time went by: new temporary files are not touched
        for path in case.rglob(f"{PREFIX}*"):
            os.utime(path, (past, past))
        resume = any((case / name).exists() for name in operation.journals)
        done = self.in_fork(operation, case, k=0, fault=COUNT, resume=resume)
        if done["code"]:
            return f"cannot be run again: {done['kind']}: {done['message'][:200]}"
        found = snapshot(case)
        if found == after:
            return ""
        differing = [path for path in {**found, **after} if found.get(path) != after.get(path)]
        return f"after running again: {', '.join(differing[:4])} differ from an undisturbed run"


def restart_with_shim(folder: Path) -> None:
    """Start this program again with the shim before the C library, unless it is there."""
    if "fault_shim" in os.environ.get("LD_PRELOAD", ""):
        return
    environment = {**os.environ, "LD_PRELOAD": str(build(folder)), "OMP_NUM_THREADS": "1"}
    os.execve(sys.executable, [sys.executable, *sys.argv], environment)
