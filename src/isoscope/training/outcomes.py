"""What one run of fine-tuning came to: a task, a calibration, a seed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

Evenness = Mapping[str, float | None]
"""I1, I2 and lengths of a matrix; see ``evenness``."""


@dataclass(frozen=True)
class Outcome:
    """One run, as the journal keeps it.

    Attributes
    ----------
    task, calibration : str
        Names; the calibration as ``make_calibration`` takes it.
    seed : int
        Of the head, the order of examples, and dropout.
    scores : mapping
        By metric; the first decides. None where one is undefined.
    evenness : mapping
        Of ``head``, ``vocabulary`` and ``hidden``, those that the model has, after training.
    seconds : tuple of float
        Of every epoch of training, without evaluations.
    settings : mapping
        All that decides the run besides: learning rate, epochs, batch, examples, weights.
    notes : tuple of str
        What a reader must know, such as that one class only is predicted.
    constant : bool
        Whether every prediction is the same.
    history : tuple of mapping
        One entry an epoch: losses, and evenness of the calibrated matrix.
    stopped_at : int, optional
        The step whose loss was not finite, where there was one.
    """

    task: str
    calibration: str
    seed: int
    scores: Mapping[str, float | None]
    evenness: Mapping[str, Evenness] = field(default_factory=dict)
    seconds: tuple[float, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    constant: bool = False
    history: tuple[Mapping[str, Any], ...] = ()
    stopped_at: int | None = None

    def to_facts(self) -> dict[str, Any]:
        """Return everything as JSON holds it."""
        return asdict(self)

    @classmethod
    def from_facts(cls, facts: Mapping[str, Any]) -> Outcome:
        """Rebuild what ``to_facts`` gave."""
        listed = {name: tuple(facts[name]) for name in ("seconds", "notes", "history")}
        return cls(**{**facts, **listed})
