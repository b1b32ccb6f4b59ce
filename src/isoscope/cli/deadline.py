"""``--timeout``: a run ends after so many seconds as SIGTERM would end it.

The main thread is interrupted, so that temporary files go and journals are closed. Where it does
not answer, because a library computes for minutes on end, the process ends a little later anyway.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from isoscope.progress import Progress

# As the command ``timeout`` of GNU does.
TIMED_OUT = 124

# Seconds that the main thread has to clean up before the process ends without it.
GRACE = 20.0


class Deadline:
    """The end of a run, and how far the run was."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.passed = False
        self._stage: tuple[str, int, int | None] | None = None

    def reports(self, to: Progress | None) -> Progress:
        """Return what takes note of every report on progress and hands it on."""

        def report(stage: str, done: int, total: int | None = None) -> None:
            self._stage = (stage, done, total)
            if to is not None:
                to(stage, done, total)

        return report

    def __str__(self) -> str:
        if self._stage is None:
            reached = "before any progress was reported"
        else:
            stage, done, total = self._stage
            of = "" if total is None else f" of {int(total):,}"
            reached = f"at {int(done):,}{of} of '{stage}'"
        return f"stopped by --timeout {self.seconds:g} (ISOSCOPE_TIMEOUT) {reached}"


# What ends this process: None for nothing. There is one main thread, and one clock for it.
_CURRENT: Deadline | None = None


def passed() -> Deadline | None:
    """Return the deadline that has passed, if one has."""
    return _CURRENT if _CURRENT is not None and _CURRENT.passed else None


@contextmanager
def deadline(seconds: float | None) -> Iterator[Deadline | None]:
    """End what runs inside after so many seconds; of two deadlines, the outer one counts.

    Where the time is over, what is inside gets a ``KeyboardInterrupt``, as with Ctrl-C.
    """
    global _CURRENT
    main = threading.current_thread() is threading.main_thread()
    if seconds is None or _CURRENT is not None or not main:
        yield _CURRENT
        return
    one = _CURRENT = Deadline(seconds)
    over = threading.Event()
    before = signal.signal(signal.SIGINT, interrupt)
    threading.Thread(target=watch, args=(one, over), daemon=True).start()
    try:
        yield one
        if one.passed:  # and what was inside took the interrupt for its own, as a server does
            raise KeyboardInterrupt
    finally:
        over.set()
        signal.signal(signal.SIGINT, before)
        if not one.passed:
            _CURRENT = None


def interrupt(number: int, frame: object) -> None:
    """Do what Python does with Ctrl-C, also where this process was started to ignore it."""
    del number, frame
    raise KeyboardInterrupt


def watch(one: Deadline, over: threading.Event) -> None:
    """Interrupt the main thread when the time has come, and end the process if it does not end."""
    if over.wait(one.seconds):
        return
    one.passed = True
    # To that thread by name: a signal ends a system call that waits only in the thread it goes to.
    signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
    time.sleep(GRACE)
    end_now(one)


def end_now(one: Deadline) -> None:
    """End the process though its main thread does not answer."""
    with suppress(OSError, ValueError):
        print(f"isoscope: {one}{kept_journal()}", file=sys.stderr, flush=True)
    output = sys.modules.get("isoscope.data.output")
    if output is not None:
        output.remove_temporary_files()
    os._exit(TIMED_OUT)


def kept_journal() -> str:
    """Say which journal was kept for --resume; nothing where none was."""
    journal = sys.modules.get("isoscope.compute.journal")
    kept: list[Path] = [] if journal is None else [path for path in journal.KEPT if path.is_dir()]
    return f"; --resume continues from {kept[-1]}" if kept else ""
