"""What can become of a claim, and what a reader must know beside it."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, Literal

HOLDS, FAILS, REVERSED, UNDECIDED = "holds", "fails", "reversed", "undecided"
NOT_APPLICABLE, NOT_RUN = "not applicable", "not run"
OUTCOMES = (HOLDS, FAILS, REVERSED, UNDECIDED, NOT_APPLICABLE, NOT_RUN)
Outcome = Literal["holds", "fails", "reversed", "undecided", "not applicable", "not run"]

# A claim is decided where its p-value, corrected by Holm's method, is at most this.
LEVEL = 0.05

# Field of a result: subjects for which the study could not run, with the reason.
NOT_RUN_FIELD = "not_run"

# What a reader must know beside a verdict.
SIGNS = "depends on the sign convention"
NORMS = "depends on norms"
SELECTED = "selected on what is scored"
QUANTISED = "quantised weights"
TOKENIZER = "other tokenizer"
FLAGS = (SIGNS, NORMS, SELECTED, QUANTISED, TOKENIZER)

# Field of a row whose value was chosen as the best of several on the items that it is a score of.
CHOSEN = "selected"

# How a case was not weighed whose baseline could not show what the claim says.
TOO_WEAK = "the baseline is too weak"


@dataclass(frozen=True)
class Case:
    """Two figures that a claim compares; ``true`` is None where one is undefined.

    ``p_true``, ``p_false`` and ``p_opposite`` are one-sided; ``low`` and ``high`` are the interval
    of 95 % of left less right, of logarithms where both sides have one.
    """

    subject: str
    left: str
    left_value: float | None
    op: str
    right: str
    right_value: float | None
    true: bool | None
    note: str = ""
    right_subject: str = ""
    """The model of the right side, where it is another one."""
    p_true: float = 1.0
    p_false: float = 1.0
    p_opposite: float = 1.0
    how: str = ""
    low: float | None = None
    high: float | None = None
    bounds: tuple[float, float] | None = None


@dataclass(frozen=True)
class Verdict:
    """What became of a claim on one model, with the figures it was judged on."""

    text: str
    outcome: str
    reason: str
    other_models: tuple[str, ...]
    """The model, where the paper did not look at it."""
    cases: list[Case]
    subject: str = ""
    flags: tuple[str, ...] = ()
    p: float | None = None
    """Corrected by Holm's method; None where nothing was weighed."""
    sets_missing: tuple[str, ...] = ()
    """Sets that the claim speaks of and that have no figures."""
    p_holds: float | None = field(default=None, repr=False)
    p_fails: float | None = field(default=None, repr=False)
    p_reversed: float | None = field(default=None, repr=False)

    @property
    def is_decided(self) -> bool:
        """Whether something can be said."""
        return self.outcome in (HOLDS, FAILS, REVERSED)

    def to_dict(self) -> dict[str, Any]:
        """Return the verdict as plain dictionaries and lists."""
        lists = {
            name: list(getattr(self, name)) for name in ("other_models", "flags", "sets_missing")
        }
        return {**asdict(self), **lists}
