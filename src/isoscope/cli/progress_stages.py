"""How far and how fast the stages of a run go, from what they report."""

from __future__ import annotations

from collections import deque

UNITS = {
    "checkpoints": "checkpoints",
    "compare queries and documents": "spaces",
    "compare random pairs": "spaces",
    "counting texts": "texts",
    "position probes": "layers",
    "sentences": "sentences",
    "texts": "texts",
    "try corrections": "fits",
}
"""What stages count that do not count what their command counts."""

STRETCH = 30.0
"""Seconds over which a rate is taken."""

SPACING = 0.5
"""Seconds between the points that a rate is taken from: reports come much faster."""

FEWEST = 3
"""Points that are kept however old they are, for stages that report every few minutes."""

LATE = 1.0
"""Seconds in which a thread's report may be overtaken by another's."""


class Stage:
    """One stage of a run: ``done`` of ``total`` since its first report.

    A resumed stage begins far above zero, so that its rate counts from the first report:
    (done − done then) / (time − time then), over the last half minute.
    """

    def __init__(self, name: str, unit: str, done: int, total: int | None, now: float) -> None:
        self.name, self.unit = name, unit
        self.first, self.began = done, now
        self.done, self.total, self.moved = done, total, now
        self.fresh = True
        self._points = deque([(now, done)])

    def move(self, done: int, total: int | None, now: float) -> None:
        """Go on to a higher count."""
        self.done, self.total, self.moved, self.fresh = done, total, now, False
        if now - self._points[-1][0] >= SPACING:
            self._points.append((now, done))
        while len(self._points) > FEWEST and self._points[1][0] <= now - STRETCH:
            self._points.popleft()

    @property
    def finished(self) -> bool:
        """Whether all is done; a stage without a total never says so."""
        return self.total is not None and self.done >= self.total

    @property
    def elapsed(self) -> float:
        """Seconds from the first report to the last."""
        return self.moved - self.began

    @property
    def rate(self) -> float | None:
        """Counts per second; None before two reports at different times."""
        when, done = self._points[0]
        return (self.done - done) / (self.moved - when) if self.moved > when else None

    @property
    def seconds_left(self) -> float | None:
        """What is left, at this rate; None where the total or the rate is not known."""
        if self.total is None:
            return None
        if self.finished:
            return 0.0
        return (self.total - self.done) / self.rate if self.rate else None


class Stages:
    """The stages of a run by name; those without a unit of their own count ``unit``."""

    def __init__(self, unit: str) -> None:
        self._unit = unit
        self._known: dict[str, Stage] = {}
        self.running: Stage | None = None

    def find(self, name: str) -> Stage | None:
        """Return the stage of this name, if it has begun."""
        return self._known.get(name)

    def take(self, name: str, done: int, total: int | None, now: float) -> Stage | None:
        """Return the stage after a report, or None where the report says nothing new."""
        stage = self._known.get(name)
        if stage is None or self._begins_again(stage, done, total, now):
            stage = Stage(name, UNITS.get(name, self._unit), done, total, now)
            self._known[name] = stage
        elif done < stage.done or (done, total) == (stage.done, stage.total):
            return None
        else:
            stage.move(done, total, now)
        self.running = stage
        return stage

    def _begins_again(self, stage: Stage, done: int, total: int | None, now: float) -> bool:
        """Tell the same stage of the next cloud from a report that another thread overtook."""
        if done < stage.done:
            return done <= stage.first or total != stage.total or now - stage.moved >= LATE
        if not stage.finished:
            return False
        return total != stage.total or (done == stage.done and self.running is not stage)
