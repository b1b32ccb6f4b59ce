"""What a screen consists of: a title, the answer, numbers, pictures, and what to do next."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

# Draws a picture as lines, given the room that it has and whether it is drawn in ASCII.
Drawing = Callable[[int, bool], Sequence[str]]


@dataclass(frozen=True)
class Numbers:
    """A table: names in the first column, numbers in the others.

    Attributes
    ----------
    header : list of str
        Headings; the first is that of the names.
    rows : list of list of str
        A list of cells for every line.
    marked : collection of int
        Lines that stand out.
    left : collection of int
        Columns, besides the first, whose cells stand left, as bars and words do.
    turn : bool
        Whether columns may become rows where they do not fit.
    """

    header: list[str]
    rows: list[list[str]]
    marked: frozenset[int] = frozenset()
    left: frozenset[int] = frozenset()
    turn: bool = True


@dataclass(frozen=True)
class Picture:
    """A drawing with a label before it."""

    label: str
    draw: Drawing


@dataclass(frozen=True)
class Text:
    """A paragraph."""

    text: str


@dataclass(frozen=True)
class Fact:
    """A word, such as "Next", with what belongs to it; a command has a remark behind it."""

    label: str
    text: str
    remark: str = ""
    command: bool = False


Block = Numbers | Picture | Text | Fact


@dataclass(frozen=True)
class Screen:
    """What a person sees of a result.

    Attributes
    ----------
    title : str
        What was analysed: parts with " · " between them, the first a name.
    answer : list of str
        The diagnosis; every entry is a paragraph.
    body : list
        Numbers and pictures; groups are set apart by an empty line.
    facts : list of Fact
        What it means, notes, and what to do next.
    """

    title: str
    answer: list[str] = field(default_factory=list)
    body: list[list[Block]] = field(default_factory=list)
    facts: list[Fact] = field(default_factory=list)
