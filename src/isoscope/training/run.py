"""One run of fine-tuning: what is trained, on what, how, and where it is kept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from isoscope.models.model import Model
    from isoscope.training.settings import Settings
    from isoscope.training.targets import Target


@dataclass(frozen=True)
class Run:
    """A task, a calibration and a seed, with all that they need.

    Attributes
    ----------
    model : Model
        What is fine-tuned, as ``open_model`` gives it; its weights are loaded anew in every run.
    task : str
        Such as ``rte``, ``translate:de-en``, ``summarize``.
    calibration : str
        As ``make_calibration`` takes it.
    seed : int
        Of the head, the order of examples, and dropout.
    settings : Settings
        How long and how fast.
    data : Path or None
        The user's data folder.
    folder : Path
        Where checkpoints are written while it trains; whoever runs it empties it afterwards.
    target : {"head", "vocabulary", "hidden"}
        Which matrix is calibrated.
    progress : callable, optional
        Called with steps done and steps in all.
    """

    model: Model
    task: str
    calibration: str
    seed: int
    settings: Settings
    data: Path | None
    folder: Path
    target: Target = "head"
    progress: Callable[[int, int], None] | None = None

    @property
    def name(self) -> str:
        """What the journal calls it."""
        return f"{self.task}, {self.calibration}, seed {self.seed}"
