"""What is written down after every epoch: seconds, and how even the trained matrices are."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from transformers import TrainerCallback

from isoscope.errors import UsageError
from isoscope.training.evenness import evenness
from isoscope.training.targets import head_weight, output_weight

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor

WEIGHTS: dict[str, Callable[[Any], Tensor]] = {"head": head_weight, "vocabulary": output_weight}


def matrix_evenness(model: Any) -> dict[str, dict[str, float | None]]:
    """Return I1, I2 and lengths of the head and of the vocabulary's matrix.

    A model that has no output matrix of its vocabulary, such as a classifier, is represented by
    its input embeddings. What it has not at all is left out.
    """
    found = {}
    for name, weight_of in WEIGHTS.items():
        try:
            weight = weight_of(model)
        except UsageError:
            embeddings = model.get_input_embeddings() if name == "vocabulary" else None
            if embeddings is None:
                continue
            weight = embeddings.weight
        found[name] = evenness(weight.detach().float().cpu().numpy())
    return found


class EpochLog(TrainerCallback):
    """Times every epoch without its evaluation, and measures the matrices at its end.

    Attributes
    ----------
    epochs : list of dict
        One entry an epoch: ``seconds``, and measures such as ``head_i1``.
    """

    def __init__(self, log: Callable[[dict[str, float]], None]) -> None:
        self.epochs: list[dict[str, float]] = []
        self._log = log
        self._began = 0.0

    def on_epoch_begin(self, *_: Any, **__: Any) -> None:
        """Start the clock."""
        self._began = time.perf_counter()

    def on_epoch_end(
        self,
        args: Any,  # noqa: ARG002
        state: Any,  # noqa: ARG002
        control: Any,
        model: Any = None,
        **_: Any,
    ) -> None:
        """Stop it, and measure.

        Whatever is logged calls off the log that is due: here it is asked for again, or a log of
        every epoch would never have a loss.
        """
        entry = {"seconds": time.perf_counter() - self._began}
        for part, measures in matrix_evenness(model).items():
            for name, value in measures.items():
                if value is not None:
                    entry[f"{part}_{name}"] = value
        self.epochs.append(entry)
        due = control.should_log
        self._log({f"epoch_{name}" if name == "seconds" else name: v for name, v in entry.items()})
        control.should_log = due
