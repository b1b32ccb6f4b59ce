"""Steps of training: what names say of them, and which of many to take."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

from isoscope.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

Every = int | Literal["log"] | None
Step = int | None

LOG: Literal["log"] = "log"

NUMBER = r"(\d+)(?:([kmb])(?![a-z]))?"
SAID_STEP = re.compile(rf"(?:step|checkpoint|ckpt|iteration|iter)s?[-_ =]*{NUMBER}", re.IGNORECASE)
ANY_NUMBER = re.compile(NUMBER, re.IGNORECASE)
TIMES = {"": 1, "k": 10**3, "m": 10**6, "b": 10**9}

FEWEST_IN_A_RUN = 4
"""Steps at even distances that are said as one run."""


def step_of(name: str) -> Step:
    """Return the step that the name of a checkpoint tells.

    That is the number behind step, checkpoint, ckpt or iter, else the last number of the name.

    Examples
    --------
    >>> step_of("step143000"), step_of("checkpoint-500"), step_of("stage1-step50K-tokens105B")
    (143000, 500, 50000)
    >>> step_of("epoch_3"), step_of("main")
    (3, None)
    """
    found = SAID_STEP.findall(name) or ANY_NUMBER.findall(name)
    if not found:
        return None
    number, unit = found[-1]
    return int(number) * TIMES[unit.lower()]


def order_of(name: str) -> tuple[bool, int, list[tuple[int, str]]]:
    """Return a key that sorts names by step, then with numbers as numbers; no step comes last."""
    step = step_of(name)
    pieces = re.findall(r"\d+|\D+", name)
    natural = [(int(piece), "") if piece.isdecimal() else (-1, piece) for piece in pieces]
    return step is None, step or 0, natural


def choose(steps: Sequence[Step], every: Every) -> list[int]:
    """Return the places of some steps, always with the first and the last.

    Parameters
    ----------
    steps : sequence of int or None
        In order; None where a checkpoint has no number.
    every : int, "log" or None
        A number takes every so many of the list. ``log`` takes those nearest, by ratio, to 1, 2, 4,
        8 … times the first step above 0, with step 0 and with what has no number. None takes all.

    Examples
    --------
    >>> choose([0, 10, 20, 30, 40, 50], 2), choose([0, 10, 20, 30, 40, 50], "log")
    ([0, 2, 4, 5], [0, 1, 2, 4, 5])
    """
    if every is None:
        return list(range(len(steps)))
    ends = {0, len(steps) - 1}
    if every == LOG:
        return sorted(ends | nearest_to_doubling(steps))
    if every < 1:
        raise not_every(str(every))
    return sorted(ends.union(range(0, len(steps), every)))


def nearest_to_doubling(steps: Sequence[Step]) -> set[int]:
    """Return the places of steps nearest to doubled ones, of 0, and of what has no number."""
    taken = {k for k, step in enumerate(steps) if not step}
    known = {k: step for k, step in enumerate(steps) if step}
    target, end = min(known.values(), default=1), max(known.values(), default=0)
    while target <= end:
        goal = target
        taken.add(min(known, key=lambda k: max(known[k] / goal, goal / known[k])))
        target *= 2
    return taken


def said_rule(every: Every) -> str:
    """Say how steps were chosen."""
    if every == LOG:
        return "nearest to doubled steps"
    return "" if every in (None, 1) else f"one in {every}"


def parse_every(text: str | None) -> Every:
    """Read ``--every``."""
    if text is None:
        return None
    if text == LOG:
        return LOG
    if not re.fullmatch(r"[0-9]+", text) or int(text) < 1:
        raise not_every(text)
    return int(text)


def not_every(text: str) -> UsageError:
    """Say what ``--every`` takes."""
    return UsageError(f"--every is log or a number from 1 on, not {text}")


def said_steps(steps: Sequence[int]) -> str:
    """Write a list of steps, those at even distances in short.

    Examples
    --------
    >>> said_steps([0, 1, 2, 4, 1000, 2000, 3000, 4000])
    '0, 1, 2, 4, 1000 to 4000 by 1000'
    """
    said = []
    start = 0
    while start < len(steps):
        end = end_of_run(steps, start)
        if end - start + 1 >= FEWEST_IN_A_RUN:
            said.append(f"{steps[start]} to {steps[end]} by {steps[end] - steps[end - 1]}")
            start = end + 1
        else:
            said.append(str(steps[start]))
            start += 1
    return ", ".join(said)


def end_of_run(steps: Sequence[int], start: int) -> int:
    """Return the last place up to which steps have even distances."""
    end = min(start + 1, len(steps) - 1)
    distance = steps[end] - steps[start]
    while end + 1 < len(steps) and steps[end + 1] - steps[end] == distance:
        end += 1
    return end
