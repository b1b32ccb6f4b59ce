"""Progress for programs: lines of JSON on standard error."""

from __future__ import annotations

import json
import os
import threading
from contextlib import suppress
from typing import IO, TYPE_CHECKING, Literal

from isoscope.cli.progress_stages import Stages

if TYPE_CHECKING:
    from collections.abc import Callable

    from isoscope.cli.progress_stages import Stage

    Kind = Literal["first", "between", "last"]

PAUSE = 1.0
"""Seconds between two lines of a stage."""


class ProgressLines:
    """Writes a JSON object a line: the first and the last of every stage, and one a second.

    Stages that begin and end many times a second have one first and one last line a second.
    """

    def __init__(self, stream: IO[str], unit: str, clock: Callable[[], float]) -> None:
        self._stream, self._clock = stream, clock
        self._stages = Stages(unit)
        self._due: dict[tuple[str, Kind], float] = {}
        self._unsaid: dict[str, Stage] = {}
        self._ended = False
        self._lock = threading.Lock()

    def report(self, stage: str, done: int, total: int | None) -> None:
        """Write a line where one is due."""
        with self._lock:
            if self._ended:
                return
            now = self._clock()
            moved = self._stages.take(stage, done, total, now)
            if moved is None:
                return
            if moved.fresh:
                for other in list(self._unsaid.values()):
                    self._say(other, "last", now)
            self._say(
                moved, "last" if moved.finished else "first" if moved.fresh else "between", now
            )

    def end(self) -> None:
        """Write how far stages came that have not said so."""
        with self._lock:
            self._ended = True
            for stage in self._unsaid.values():
                self._write(stage)

    def _say(self, stage: Stage, kind: Kind, now: float) -> None:
        """Write a line, or keep it for later where one of its kind was written just now."""
        if now < self._due.get((stage.name, kind), now):
            self._unsaid[stage.name] = stage
            return
        self._unsaid.pop(stage.name, None)
        self._due[stage.name, kind] = self._due[stage.name, "between"] = now + PAUSE
        self._write(stage)

    def _write(self, stage: Stage) -> None:
        """Write where a stage is; nobody who listens is no reason to stop the run."""
        line = json.dumps(
            {
                "progress": stage.name,
                "done": int(stage.done),  # numpy's numbers are none of JSON's
                "total": None if stage.total is None else int(stage.total),
                "unit": stage.unit or None,
                "rate": None if stage.rate is None else float(f"{stage.rate:.4g}"),
                "seconds_left": None
                if stage.seconds_left is None
                else round(stage.seconds_left, 1),
                "elapsed": round(stage.elapsed, 1),
            }
        )
        try:
            self._stream.write(f"{line}\n")
            self._stream.flush()
        except BrokenPipeError:
            silence(self._stream)
        except (OSError, ValueError):
            pass  # a full disk, or a stream that was closed


def silence(stream: IO[str]) -> None:
    """Send a stream nowhere, so that a warning that others write there does not fail either."""
    with suppress(OSError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
