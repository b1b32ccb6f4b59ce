"""How long and how fast a model is fine-tuned: Ding et al.'s settings, by kind of model and task.

Their table of hyper-parameters gives rate, batch and epochs; what it leaves open is as in the
scripts that they name: texts of at most 128 tokens for encoders, AdamW without weight decay,
gradients cut to length 1. The weights of calibrations are not printed, see ``naming``; nor is it
said how texts are searched for when they are written: here, the likeliest token is taken.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from isoscope.errors import UsageError

Schedule = Literal["constant", "polynomial"]

LONGER_TASKS = ("mrpc", "wnli")
"""Small sets, which get five epochs."""

MADE = "made:bart"
"""A model that starts from nothing; see ``made_model``."""

MOST_SUMMARIZED = 1_024
"""Tokens of an article, as many as BART has positions."""

ENCODER_DECODERS = ("bart", "mbart", "t5", "mt5", "marian", "pegasus", "m2m_100")


@dataclass(frozen=True)
class Settings:
    """What decides a run of fine-tuning besides task, calibration and seed.

    Attributes
    ----------
    learning_rate : float
        The highest rate.
    schedule : {"constant", "polynomial"}
        What becomes of it: it stays, or falls to 0 in a line.
    batch_size : int
        Examples a step.
    epochs : int
        Passes over the training examples.
    longest : int
        Tokens of a text, or of a pair of texts; the rest is cut.
    limit : int, optional
        The first so many examples to learn from, after they are shuffled once with seed 0.
    longest_target : int
        Tokens of a text that is written.
    warm_up : float
        Share of all steps in which the rate rises from 0.
    beams : int
        Of the search when texts are written; 1 takes the likeliest token every time.
    """

    learning_rate: float = 2e-5
    schedule: Schedule = "constant"
    batch_size: int = 32
    epochs: int = 3
    longest: int = 128
    limit: int | None = None
    longest_target: int = 128
    warm_up: float = 0.0
    beams: int = 1

    def __post_init__(self) -> None:
        if not self.learning_rate > 0:
            raise UsageError(f"a learning rate is above 0, not {self.learning_rate}")
        for name in ("batch_size", "epochs", "longest", "longest_target", "beams"):
            if getattr(self, name) < 1:
                raise UsageError(f"{name} is at least 1, not {getattr(self, name)}")
        if not 0 <= self.warm_up < 1:
            raise UsageError(f"warm_up is a share of all steps below 1, not {self.warm_up}")
        if self.limit is not None and self.limit < 1:
            raise UsageError(f"limit is at least 1, not {self.limit}")


MADE_TRANSLATIONS = Settings(2e-3, "polynomial", 48, 2, 64, longest_target=64, warm_up=0.1)
"""Of ``made:bart``, this project's own: chosen on Multi30k for minutes on one core."""

MADE_SUMMARIES = Settings(2e-3, "polynomial", 8, 5, 512, warm_up=0.1)
"""The same for long texts, of which there are few."""


def usual_settings(model_type: str, task: str) -> Settings:
    """Return the settings of Ding et al. (2022), appendix B.

    Parameters
    ----------
    model_type : str
        As a configuration calls it: ``bert``, ``roberta``, ``distilbert``, ``bart``, …; or
        ``made:bart``, which is not fine-tuned but learns everything, and needs a larger rate.
    task : str
        Such as ``mrpc``.
    """
    longest = MOST_SUMMARIZED if task == "summarize" else 128
    if model_type == MADE:
        return MADE_SUMMARIES if task == "summarize" else MADE_TRANSLATIONS
    if model_type in ENCODER_DECODERS:
        return Settings(3e-5, "polynomial", 48, 5, longest)
    rate = 1e-5 if "roberta" in model_type else 2e-5
    return Settings(rate, "constant", 32, 5 if task in LONGER_TASKS else 3)
