"""Which models an ablation compares: every combination of some levels of some factors."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING, Any, get_args

from isoscope.errors import UsageError, unknown_name
from isoscope.training.pretraining.plan import FinalNorm, Objective, Plan, Positions

if TYPE_CHECKING:
    from collections.abc import Mapping

TIED, UNTIED = "tied", "untied"
KNOWN: dict[str, tuple[str, ...]] = {
    "tie": (TIED, UNTIED),
    "positions": get_args(Positions),
    "final-norm": get_args(FinalNorm),
    "objective": get_args(Objective),
}
"""All levels of every factor."""

USUAL: dict[str, tuple[str, ...]] = {
    "tie": (TIED, UNTIED),
    "positions": ("learned", "none"),
    "final-norm": ("layernorm", "layernorm-no-bias"),
    "objective": ("clm", "mlm"),
}
"""Those that are compared where none are named; the first is the reference."""

USUAL_GRID = "tie,positions,final-norm"
BETWEEN_LEVELS = "+"


@dataclass(frozen=True)
class Factor:
    """One thing that differs between models; effects are against the first level."""

    name: str
    levels: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.name}={BETWEEN_LEVELS.join(self.levels)}"


Cell = tuple[str, ...]
"""A level of every factor."""


def parse_grid(text: str) -> tuple[Factor, ...]:
    """Read factors, such as ``tie,positions=learned+rotary+none``.

    Parameters
    ----------
    text : str
        Names with commas, each with levels behind ``=`` where others than the usual are wanted.
    """
    factors = [parse_factor(word.strip()) for word in text.split(",") if word.strip()]
    names = [factor.name for factor in factors]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise UsageError(f"the factor {twice} is there twice")
    if not factors:
        raise UsageError(f"name at least one factor: {', '.join(KNOWN)}")
    return tuple(factors)


def parse_factor(word: str) -> Factor:
    """Read one factor."""
    name, equals, rest = word.partition("=")
    if name not in KNOWN:
        raise unknown_name("factor", name, KNOWN)
    levels = tuple(rest.split(BETWEEN_LEVELS)) if equals else USUAL[name]
    for level in levels:
        if level not in KNOWN[name]:
            raise unknown_name(f"level of {name}", level, KNOWN[name])
    if len(levels) < 2 or len(set(levels)) < len(levels):
        raise UsageError(f"{name} needs two levels or more, each once, not {rest or levels}")
    return Factor(name, levels)


def cells(factors: tuple[Factor, ...]) -> list[Cell]:
    """Return all combinations of levels."""
    return list(product(*(factor.levels for factor in factors)))


def plan_of(base: Plan, factors: tuple[Factor, ...], cell: Cell, seed: int) -> Plan:
    """Return the plan of one model."""
    fields: dict[str, Any] = {"seed": seed}
    for factor, level in zip(factors, cell, strict=True):
        if factor.name == "tie":
            fields["tie"] = level == TIED
        else:
            fields[factor.name.replace("-", "_")] = level
    return replace(base, **fields)


def cell_name(cell: Cell) -> str:
    """Return what results call a cell."""
    return ", ".join(cell)


def levels_of(factors: tuple[Factor, ...], cell: Cell) -> Mapping[str, str]:
    """Return the levels of a cell by factor."""
    return {factor.name: level for factor, level in zip(factors, cell, strict=True)}
