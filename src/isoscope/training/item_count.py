"""Whether a model divides its loss by a number of items that it is told.

``Trainer`` tells a model how many items all batches of a step have, in all processes, and then sums
what the batches give. It concludes from the model's signature that it listens. Classifiers take the
number, do not use it, and return the mean of a batch: their sum over batches and processes is too
large by as many times. So a model is asked.
"""

from __future__ import annotations

from typing import Any

import torch


def uses_item_count(model: Any, inputs: dict[str, Any]) -> bool:
    """Tell whether twice the number of items gives half the loss.

    Parameters
    ----------
    model : Module
        As it is called in training; its mode is left as it was, and no random number is drawn.
    inputs : dict
        A batch with labels.
    """
    training = model.training
    model.eval()
    try:
        with torch.no_grad():
            one, two = (
                loss_of(model(**inputs, num_items_in_batch=torch.tensor(count))) for count in (1, 2)
            )
    finally:
        model.train(training)
    # Half precision keeps three digits; a mean would be twice as much.
    return bool(one > 0 and abs(two / one - 0.5) < 0.1)


def loss_of(outputs: Any) -> float:
    """Return the loss among the outputs of a model, which has labels."""
    return float(outputs["loss"] if isinstance(outputs, dict) else outputs[0])
