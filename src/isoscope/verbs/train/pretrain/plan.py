"""What is trained from scratch: objective, architecture, size, and how it learns.

``tiny`` takes about ten minutes on two cores, ``mini`` some hours, ``small`` an accelerator's hour.
``paper`` has the settings of Luo (2021), table 3.1; what that table leaves open, the vocabulary and
the length of texts, is as in RoBERTa. An ablation compares every combination of some levels of
some factors: the cells of a grid of plans.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from itertools import product
from typing import Any, Literal, get_args

from isoscope.errors import UsageError, at_least, check_name
from isoscope.verbs.train.scratch import SPECIAL

Objective = Literal["mlm", "clm"]
Positions = Literal["learned", "sinusoidal", "rotary", "none"]
FinalNorm = Literal["layernorm", "layernorm-no-bias", "rmsnorm"]

# Every byte is a token, so that any text can be written, and so are special ones.
SMALLEST_VOCABULARY = 256 + len(SPECIAL)


@dataclass(frozen=True)
class Size:
    """A shape, and what it learns well with.

    Attributes
    ----------
    layers, width, heads, feed_forward : int
        Blocks, their width, attention heads, and width of the perceptron in a block.
    vocabulary : int
        Tokens.
    context : int
        Tokens of a text.
    batch_size : int
        Texts a step.
    steps : int
        Unless others are asked for.
    learning_rate : float
        The highest.
    warm_up : int
        Steps in which the rate rises, at most a tenth of all.
    dropout, weight_decay, beta_2, epsilon, clipping : float
        Of the network, AdamW, and of the length that gradients are cut to.
    """

    layers: int
    width: int
    heads: int
    feed_forward: int
    vocabulary: int
    context: int
    batch_size: int
    steps: int
    learning_rate: float
    warm_up: int = 10_000
    dropout: float = 0.0
    weight_decay: float = 0.01
    beta_2: float = 0.98
    epsilon: float = 1e-6
    clipping: float = 0.5


SIZES = {
    "tiny": Size(4, 128, 4, 512, 4_000, 128, 32, 1_500, 2e-3),
    "mini": Size(6, 256, 4, 1_024, 8_000, 128, 32, 5_000, 1e-3),
    "small": Size(8, 512, 8, 2_048, 16_000, 256, 64, 20_000, 5e-4),
    "paper": Size(12, 768, 12, 3_072, 50_265, 512, 256, 200_000, 1e-4, dropout=0.1),
}


@dataclass(frozen=True)
class Plan:
    """One training from scratch.

    Attributes
    ----------
    objective : {"mlm", "clm"}
        Masked tokens are predicted from both sides (BERT), or every token from those before it
        (GPT-2, GPT-NeoX).
    size : str
        One of ``SIZES``.
    positions : {"learned", "sinusoidal", "rotary", "none"}
        Position encoding. ``none``: the table of positions is zero and stays so.
    tie : bool
        Whether input embedding and output matrix are one.
    final_norm : {"layernorm", "layernorm-no-bias", "rmsnorm"}
        The norm before the output matrix; that of BERT is in its head. Without a bias, it is zero
        and stays so.
    steps : int, optional
        Instead of those of the size.
    checkpoints : int
        States that are kept, at even distances, beside that before the first step.
    seed : int
        Of the weights, the order of texts, and the masks.
    changed : dict
        Fields of the size that have other values.
    """

    objective: Objective = "clm"
    size: str = "tiny"
    positions: Positions = "learned"
    tie: bool = True
    final_norm: FinalNorm = "layernorm"
    steps: int | None = None
    checkpoints: int = 5
    seed: int = 0
    changed: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, value, known in (
            ("objective", self.objective, get_args(Objective)),
            ("size", self.size, SIZES),
            ("kind of positions", self.positions, get_args(Positions)),
            ("final norm", self.final_norm, get_args(FinalNorm)),
        ):
            check_name(name, value, known)
        for name in self.changed:
            check_name("field of a size", name, Size.__dataclass_fields__)
        at_least("a seed", self.seed, 0)
        if not 0 <= self.shape.dropout < 1:
            raise UsageError(f"dropout must be at least 0 and below 1, got {self.shape.dropout}")
        if 1 <= self.shape.vocabulary < SMALLEST_VOCABULARY:
            raise UsageError(
                f"a vocabulary of byte pairs must have at least {SMALLEST_VOCABULARY} tokens, "
                f"got {self.shape.vocabulary}"
            )
        if self.length < 1:
            raise UsageError(f"steps must be at least 1, got {self.length}")
        if not 1 <= self.checkpoints <= self.length:
            raise UsageError(
                f"there are 1 to {self.length} checkpoints in {self.length} steps, not "
                f"{self.checkpoints}"
            )
        shape = self.shape
        for name in ("layers", "width", "heads", "vocabulary", "batch_size", "feed_forward"):
            at_least(name, getattr(shape, name), 1)
        if shape.context < 2:
            raise UsageError(f"a text must have at least 2 tokens, got {shape.context}")
        if not shape.learning_rate > 0:
            raise UsageError(f"a learning rate must be above 0, got {shape.learning_rate}")
        if shape.width % shape.heads:
            raise UsageError(f"{shape.heads} heads do not divide a width of {shape.width}")
        if self.positions == "rotary" and shape.width // shape.heads % 2:
            raise UsageError("rotary positions turn pairs of dimensions: heads need an even width")

    @property
    def shape(self) -> Size:
        """The size, with what was changed."""
        return Size(**{**asdict(SIZES[self.size]), **self.changed})

    @property
    def length(self) -> int:
        """Steps in all."""
        return self.shape.steps if self.steps is None else self.steps

    @property
    def kept_steps(self) -> tuple[int, ...]:
        """Steps after which a checkpoint is kept; 0 is before the first."""
        count = self.checkpoints
        return (0, *(round(self.length * k / count) for k in range(1, count + 1)))

    @property
    def words(self) -> str:
        """Objective and architecture in a line."""
        tied = "tied" if self.tie else "untied"
        return f"{self.objective}, {self.positions} positions, {tied}, {self.final_norm}"

    def rate(self, step: int) -> float:
        """Return the learning rate of a step, from 0: it rises in a line, then falls to 0."""
        shape = self.shape
        warm = min(shape.warm_up, self.length // 10)
        if step < warm:
            return shape.learning_rate * (step + 1) / (warm + 1)
        return shape.learning_rate * (self.length - step) / (self.length - warm)

    def to_facts(self) -> dict[str, Any]:
        """Return all that decides a training, as JSON holds it."""
        names = ("objective", "positions", "tie", "final_norm", "checkpoints", "seed")
        own = {name: getattr(self, name) for name in names}
        return {**own, **asdict(self.shape), "steps": self.length}


TIED, UNTIED = "tied", "untied"

# All levels of every factor.
KNOWN: dict[str, tuple[str, ...]] = {
    "tie": (TIED, UNTIED),
    "positions": get_args(Positions),
    "final-norm": get_args(FinalNorm),
    "objective": get_args(Objective),
}

# Those that are compared where none are named; the first is the reference.
USUAL: dict[str, tuple[str, ...]] = {
    "tie": (TIED, UNTIED),
    "positions": ("learned", "none"),
    "final-norm": ("layernorm", "layernorm-no-bias"),
    "objective": ("clm", "mlm"),
}

USUAL_GRID = "tie,positions,final-norm"
BETWEEN_LEVELS = "+"


@dataclass(frozen=True)
class Factor:
    """One thing that differs between models; effects are against the first level."""

    name: str
    levels: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.name}={BETWEEN_LEVELS.join(self.levels)}"


# A level of every factor.
Cell = tuple[str, ...]


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
    check_name("factor", name, KNOWN)
    levels = tuple(rest.split(BETWEEN_LEVELS)) if equals else USUAL[name]
    for level in levels:
        check_name(f"level of {name}", level, KNOWN[name])
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
