"""Shards, states and works for engines, some of which die; workers import them from here."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isoscope.compute.pool import Tick
from isoscope.data.texts import open_texts
from isoscope.data.texts.base import TextRow
from isoscope.data.texts.readers import JoinedTexts, LineTexts
from isoscope.errors import DataError, UsageError


@dataclass(frozen=True)
class Numbered:
    """A shard that is a number."""

    value: int

    @property
    def name(self) -> str:
        return f"shard {self.value}"


def numbered(count: int) -> list[tuple[int, Numbered]]:
    """Return shards as a pool takes them."""
    return [(number, Numbered(number)) for number in range(count)]


@dataclass(frozen=True)
class Nested:
    """A state that shows which merge was made of which: it neither commutes nor associates."""

    tree: Any
    weight: float = 1.0

    def merge(self, other: Nested) -> Nested:
        return Nested((self.tree, other.tree), self.weight + other.weight)

    def to_entry(self) -> tuple[Mapping[str, NDArray[Any]], Mapping[str, Any]]:
        return {"weight": np.asarray(self.weight)}, {"tree": self.tree}

    @classmethod
    def from_entry(cls, arrays: Mapping[str, NDArray[Any]], facts: Mapping[str, Any]) -> Nested:
        return cls(as_tuples(facts["tree"]), float(arrays["weight"]))


def as_tuples(tree: Any) -> Any:
    """Undo what JSON makes of tuples."""
    return tuple(map(as_tuples, tree)) if isinstance(tree, list) else tree


def balanced(leaves: list[Any]) -> Any:
    """Merge leaves as the tree must, None being nothing: the largest power of two to the left."""
    if len(leaves) == 1:
        return leaves[0]
    half = 1 << (len(leaves) - 1).bit_length() - 1
    left, right = balanced(leaves[:half]), balanced(leaves[half:])
    if left is None or right is None:
        return right if left is None else left
    return left, right


@dataclass(frozen=True)
class Reading:
    """Makes a state of a shard; some shards are bad, and some calls are wrong."""

    bad: Mapping[int, str] = field(default_factory=dict)
    wrong: frozenset[int] = frozenset()

    def __call__(self, shard: Numbered, tick: Tick) -> Nested:
        tick(1)
        if shard.value in self.bad:
            raise DataError(self.bad[shard.value])
        if shard.value in self.wrong:
            raise UsageError(f"there is no column of {shard.name}; has: text")
        return Nested(shard.value)


class UnsendableError(Exception):
    """An error that holds what no other process can have."""

    def __init__(self, lock: Any, message: str) -> None:
        super().__init__(message)
        self.lock = lock

    @staticmethod
    def raised(shard: Numbered, tick: Tick) -> None:
        del tick
        raise UnsendableError(threading.Lock(), shard.name)


@dataclass(frozen=True)
class Opening:
    """Opens a file that is not there: an OSError, not a DataError."""

    path: str

    def __call__(self, shard: Numbered, tick: Tick) -> str:
        del shard, tick
        return Path(self.path).read_text()


@dataclass(frozen=True)
class Slow:
    """Notes which process it is in, and takes very long but for shard 0."""

    folder: str

    def __call__(self, shard: Numbered, tick: Tick) -> None:
        del tick
        (Path(self.folder) / f"{shard.value} in {os.getpid()}").touch()
        if shard.value:
            time.sleep(100)

    def processes(self) -> set[int]:
        """Return who worked."""
        return {int(path.name.split()[-1]) for path in Path(self.folder).glob("* in *")}


def are_gone(processes: set[int]) -> bool:
    """Whether processes have ended, or do so within half a minute."""
    end = time.monotonic() + 30
    while any(map(is_alive, processes)):
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def is_alive(process: int) -> bool:
    """Whether a process is there, and no zombie."""
    try:
        status = Path(f"/proc/{process}/stat").read_text()
    except FileNotFoundError:
        return False
    return status.rsplit(")", 1)[1].split()[0] != "Z"


@dataclass(frozen=True)
class Threads:
    """Counts the threads that numpy and torch would take in a worker."""

    def __call__(self, shard: Numbered, tick: Tick) -> dict[str, int]:
        del tick
        import threadpoolctl

        if shard.value:
            import torch

            return {"torch": torch.get_num_threads()}
        return {pool["filepath"]: pool["num_threads"] for pool in threadpoolctl.threadpool_info()}


class Counted:
    """A work that notes every time that it is taken apart or put together."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __call__(self, shard: Numbered, tick: Tick) -> int:
        del tick
        return shard.value

    def __getstate__(self) -> Path:
        take_turn(self.folder, "taken apart")
        return self.folder

    def __setstate__(self, folder: Path) -> None:
        self.folder = folder
        take_turn(folder, f"put together by {os.getpid()}")


@dataclass(frozen=True)
class Fatal:
    """Kills its own process over one shard, the first so many times."""

    folder: str
    shard: int
    times: int = 1

    def __call__(self, shard: Numbered, tick: Tick) -> Nested:
        del tick
        turn = take_turn(Path(self.folder), shard.name)
        if shard.value == self.shard and turn < self.times:
            die()
        return Nested(shard.value)


class FatalLines(LineTexts):
    """Lines of a file that kill whoever reads the last one for the nth time, for some n."""

    def fatal(self, folder: Path, turns: frozenset[int]) -> FatalLines:
        """Say where turns are counted, and which of them are deadly."""
        self._folder, self._turns = str(folder), turns
        return self

    def rows(self) -> Iterator[TextRow]:
        before: TextRow | None = None
        for row in super().rows():
            if before is not None:
                yield before
            before = row
        if take_turn(Path(self._folder), "last line") in self._turns:
            die()
        if before is not None:
            yield before


def fatal_texts(pattern: str, folder: Path, turns: frozenset[int]) -> JoinedTexts:
    """Open the files of a pattern, the first of which has fatal lines."""
    texts = open_texts(pattern)
    assert isinstance(texts, JoinedTexts)
    first, *rest = texts._sources
    assert isinstance(first, LineTexts)
    return JoinedTexts([FatalLines(first.location).fatal(folder, turns), *rest], texts.name)


def take_turn(folder: Path, name: str) -> int:
    """Return how often this was called before, in whatever process."""
    turn = 0
    while True:
        try:
            (folder / f"{name}-{turn}").touch(exist_ok=False)
        except FileExistsError:
            turn += 1
        else:
            return turn


def turns(folder: Path, name: str) -> int:
    """Return how many turns were taken."""
    return len(list(folder.glob(f"{name}-*")))


def environment() -> dict[str, str]:
    """Return the variables of a process that can import what tests share."""
    path = [str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, path))}


def die() -> None:
    """End this process as kill -9 does."""
    os.kill(os.getpid(), signal.SIGKILL)
