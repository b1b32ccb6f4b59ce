"""What a scenario is, and the list of all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

LEVEL = 0.05
"""Rate of errors that a statement may have where chance can mislead it."""

Decisions = Iterable[str] | Mapping[str, float]
"""What was said in one draw; or shares between 0 and 1 under the names of what they are of."""

Draw = Callable[[int], Decisions]


@dataclass(frozen=True)
class Scenario:
    """Data whose truth is known.

    Attributes
    ----------
    verb, name : str
        The verb, and a name that no other scenario of the verb has.
    truth : str or callable
        What is true of the data; a function where that takes a computation.
    draw : callable
        Returns the decisions of the draw with a seed.
    wrong : dict of str to float
        Decisions that are wrong here, each with the rate that is allowed.
    """

    verb: str
    name: str
    truth: str | Callable[[], str]
    draw: Draw
    wrong: dict[str, float]

    @property
    def key(self) -> str:
        """Where its counts are kept."""
        return f"{self.verb}: {self.name}"


@dataclass(frozen=True)
class Description:
    """How the page introduces a verb, and which answers it shows for all of its scenarios.

    Attributes
    ----------
    text : str
        A paragraph.
    answers : dict of str to tuple of str
        Columns of a table: the head of each, and the decisions whose rates it shows.
    """

    text: str
    answers: dict[str, tuple[str, ...]]


VERBS = ("diff", "threshold", "advise", "measure", "correct")
"""Verbs in the order of the page."""

SCENARIOS: list[Scenario] = []
DESCRIPTIONS: dict[str, Description] = {}


def scenario(
    verb: str, name: str, truth: str | Callable[[], str], wrong: dict[str, float]
) -> Callable[[Draw], Draw]:
    """Register a function from a seed to the decisions of one draw."""

    def register(draw: Draw) -> Draw:
        SCENARIOS.append(Scenario(verb, name, truth, draw, wrong))
        return draw

    return register


def describe(verb: str, text: str, answers: dict[str, tuple[str, ...]]) -> None:
    """Register what the page says about a verb."""
    DESCRIPTIONS[verb] = Description(text, answers)
