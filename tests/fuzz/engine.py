"""Tries cases of one target within limits, in a process of its own that may crash.

Guided by what comes out: a case with a new outcome (the shape of a message or an answer), or one
that reaches lines of isoscope that no case reached before, becomes a seed of later cases. Lines are
traced in one case of 64, as tracing is slow.

Limits of a case: 5 seconds of processor time, which does not depend on what else the machine does,
and 512 MB of resident memory of the whole process, measured as the peak over batches. A batch that
went over it ends the round, as libraries keep memory that they once had, and is tried again case by
case in another process.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Iterator
from pathlib import Path
from random import Random
from types import FrameType
from typing import Any

from fuzz.mutations import Files
from fuzz.target import Target
from isoscope.errors import IsoscopeError

SECONDS = 5.0
MEGABYTES = 512
LONGEST = 300
TRACED = 64
BATCH = 250
MOST_SEEDS = 400
HEAVY = "heavy"
"""The folder of the cases of a batch that took too much memory."""

SOURCES = str(Path(sys.modules["isoscope"].__file__ or "").parent)


class TooSlowError(BaseException):
    """A case takes too long; no ``except Exception`` of a library may swallow it."""


def late(number: int, frame: FrameType | None) -> None:
    del number, frame
    raise TooSlowError


def peak() -> float:
    """Return the highest resident memory since the last ``forget_peak``, in megabytes."""
    text = Path("/proc/self/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+)", text)[1]) / 1024  # type: ignore[index]


def forget_peak() -> None:
    Path("/proc/self/clear_refs").write_text("5")


def write(folder: Path, files: Files) -> None:
    """Put the files of a case into an empty folder."""
    for name, content in files.items():
        path = folder / name
        if path.exists():
            path.unlink()
        try:
            path.write_bytes(content)
        except FileNotFoundError:
            path.parent.mkdir(parents=True)
            path.write_bytes(content)


def place_of(error: BaseException) -> str:
    """Return the innermost line of isoscope of a traceback, and the innermost of all."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [f for f in frames if f.filename.startswith(SOURCES)]
    last = [*own[-1:], *frames[-1:]]
    return " < ".join(f"{Path(f.filename).name}:{f.lineno} {f.name}" for f in last)


def shape_of(message: str, folder: str) -> str:
    """Return a message without what differs from case to case."""
    text = re.sub(r"'[^']*'|\"[^\"]*\"", "'…'", message.replace(folder, "…"))
    return re.sub(r"[\d.,]+", "#", text)[:80]


class Outcome:
    """What became of a case: ``kind`` is read, refused or a failure's name."""

    def __init__(self, kind: str, detail: str, place: str = "") -> None:
        self.kind, self.detail, self.place = kind, detail, place

    @property
    def failed(self) -> bool:
        return self.kind not in ("read", "refused")


def attempt(target: Target, folder: Path) -> Outcome:
    """Read the files of a folder, and judge what comes."""
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        found = target.read(folder)
        return Outcome("read", str(found))
    except IsoscopeError as error:
        said = str(error)
        # The name of the folder is that of whoever runs this: it counts as a short one.
        length = len(said.replace(str(folder), "x"))
        if "\n" in said or "\r" in said:
            return Outcome("message of several lines", said[:600], place_of(error))
        if length > LONGEST:
            return Outcome("long message", f"{length} characters: {said[:900]}", place_of(error))
        return Outcome("refused", said)
    except TooSlowError as error:
        return Outcome("too slow", "", place_of(error))
    except BaseException as error:
        kind = f"{type(error).__name__}"
        return Outcome(kind, str(error)[:300], place_of(error))
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


class Lines:
    """The lines of isoscope that cases reached."""

    def __init__(self) -> None:
        self.seen: set[tuple[str, int]] = set()
        self.new = 0

    def trace(self, frame: FrameType, event: str, argument: Any) -> Any:
        del event, argument
        return self.line if frame.f_code.co_filename.startswith(SOURCES) else None

    def line(self, frame: FrameType, event: str, argument: Any) -> Any:
        del argument
        if event == "line":
            place = (frame.f_code.co_filename, frame.f_lineno)
            if place not in self.seen:
                self.seen.add(place)
                self.new += 1
        return self.line


class Fuzzer:
    """Cases of one target."""

    def __init__(self, target: Target, folder: Path, corpus: list[Files], seed: str) -> None:
        self.target, self.folder, self.random = target, folder, Random(seed)
        self.seeds = target.seeds()
        self.corpus = [*self.seeds, *corpus]
        self.outcomes: set[str] = set()
        self.lines = Lines()
        self.added: list[Files] = []
        folder.mkdir(parents=True, exist_ok=True)

    def case(self) -> Files:
        """Make the next case."""
        pool = self.seeds if self.random.random() < 0.3 else self.corpus
        return self.target.mutated(self.random.choice(pool), self.corpus, self.random)

    def outcome_of(self, files: Files, *, traced: bool = False) -> Outcome:
        """Try one case."""
        write(self.folder, files)
        if not traced:
            return attempt(self.target, self.folder)
        self.lines.new = 0
        sys.settrace(self.lines.trace)
        try:
            return attempt(self.target, self.folder)
        finally:
            sys.settrace(None)

    def cases(self, number: int) -> Iterator[tuple[Files, Outcome]]:
        """Try many cases."""
        for k in range(number):
            traced = k % TRACED == 0
            files = self.case()
            outcome = self.outcome_of(files, traced=traced)
            said = outcome.detail
            shape = said if outcome.kind == "read" else shape_of(said, str(self.folder))
            shape = f"{outcome.kind} {shape}"
            new = traced and self.lines.new > 0
            if (shape not in self.outcomes or new) and sum(map(len, files.values())) < 20_000:
                self.outcomes.add(shape)
                if len(self.corpus) < MOST_SEEDS and not outcome.failed:
                    self.corpus.append(files)
                    self.added.append(files)
            yield files, outcome


def strictly() -> None:
    """Set limits for this process."""
    signal.signal(signal.SIGPROF, late)
    warnings.simplefilter("error")


def run_round(target: Target, folder: Path, corpus: list[Files], seed: str, number: int) -> None:
    """Try cases, and print what came of every batch as a line of JSON; meant for a child."""
    strictly()
    fuzzer = Fuzzer(target, folder / "case", corpus, seed)
    saved = {"failures": 0}

    def keep(files: Files, outcome: Outcome) -> dict[str, str]:
        where = folder / "found" / f"{os.getpid()}-{saved['failures']}"
        saved["failures"] += 1
        write(where, files)
        return {
            "kind": outcome.kind, "place": outcome.place, "detail": outcome.detail[:600],
            "files": str(where),
        }  # fmt: skip

    attempt(target, folder / "nothing there")  # what it imports is not the first case's time
    (folder / "nothing there").exists()
    print(json.dumps({"base": round(peak(), 1)}), flush=True)
    done = 0
    known: set[tuple[str, str]] = set()
    while done < number:
        forget_peak()
        counts = {"read": 0, "refused": 0, "failed": 0}
        failures, batch = [], []
        began = time.process_time()
        for files, outcome in fuzzer.cases(min(BATCH, number - done)):
            batch.append(files)
            counts["failed" if outcome.failed else outcome.kind] += 1
            if outcome.failed and (outcome.kind, outcome.place) not in known:
                known.add((outcome.kind, outcome.place))
                failures.append(keep(files, outcome))
        highest = peak()
        heavy = highest > MEGABYTES
        for k, files in enumerate(batch if heavy else ()):
            write(folder / HEAVY / f"{k:03}", files)
        done = number if heavy else done + len(batch)
        print(
            json.dumps({
                "cases": len(batch), **counts, "failures": failures, "peak": round(highest, 1),
                "seconds": round(time.process_time() - began, 3), "lines": len(fuzzer.lines.seen),
                "outcomes": len(fuzzer.outcomes), "heavy": heavy,
            }),
            flush=True,
        )  # fmt: skip
    for k, files in enumerate(fuzzer.added):
        write(folder / "corpus" / f"{os.getpid()}-{k}", files)
    shutil.rmtree(folder / "case", ignore_errors=True)


def weigh_round(target: Target, folder: Path) -> None:
    """Try each case of a heavy batch again until one takes too much; meant for a child."""
    strictly()
    attempt(target, folder / "nothing there")
    highest, failures = 0.0, []
    for case in sorted((folder / HEAVY).iterdir()):
        forget_peak()
        attempt(target, case)
        highest = max(highest, peak())
        if highest > MEGABYTES:
            where = folder / "found" / f"heavy-{os.getpid()}"
            shutil.copytree(case, where)
            failures.append({
                "kind": "too much memory", "place": "", "detail": f"{highest:.0f} MB",
                "files": str(where),
            })  # fmt: skip
            break
    shutil.rmtree(folder / HEAVY)
    print(json.dumps({"peak": round(highest, 1), "failures": failures}), flush=True)


def load_corpus(folder: Path) -> list[Files]:
    """Return the seeds that earlier rounds found."""
    return [
        {
            str(path.relative_to(case)): path.read_bytes()
            for path in case.rglob("*")
            if path.is_file()
        }
        for case in sorted((folder / "corpus").glob("*"))[:MOST_SEEDS]
    ]
