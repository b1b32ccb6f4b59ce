"""What is predicted of a batch: masked tokens, or the token after each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from isoscope.training.made_model import SPECIAL

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from torch import Tensor

    from isoscope.training.pretraining.plan import Objective

PREDICTED = 0.15
"""Share of tokens that a masked model predicts; Devlin et al. (2019)."""

MASKED, SWAPPED = 0.8, 0.1
"""Of these, the shares that are masked and that become another token; the rest stays."""


@dataclass(frozen=True)
class Question:
    """What a network reads, where it predicts, and what would be right."""

    tokens: Tensor
    where: Tensor
    """True at the positions whose hidden states predict, texts × tokens."""
    answers: Tensor


def ask(
    objective: Objective, batch: NDArray[np.int64], tokenizer: Any, key: Sequence[int]
) -> Question:
    """Make a question of blocks of tokens.

    Parameters
    ----------
    objective : {"mlm", "clm"}
        What is predicted.
    batch : array
        Blocks × tokens.
    tokenizer : PreTrainedTokenizerFast
        Knows which token is the mask.
    key : sequence of int
        Decides which tokens are masked; the same key masks the same ones.
    """
    if objective == "clm":
        tokens = torch.from_numpy(batch)
        predicts = torch.ones_like(tokens, dtype=torch.bool)
        predicts[:, -1] = False
        return Question(tokens, predicts, tokens[:, 1:].reshape(-1))
    rng = np.random.default_rng([*key])
    ordinary = batch >= len(SPECIAL)
    where = ordinary & (rng.random(batch.shape) < PREDICTED)
    if not where.any():  # a tiny batch may have no masked token by chance
        where.flat[int(ordinary.argmax())] = True
    fate = rng.random(batch.shape)
    swapped = rng.integers(len(SPECIAL), len(tokenizer), batch.shape)
    read = np.where(where & (fate < MASKED), tokenizer.mask_token_id, batch)
    read = np.where(where & (fate >= MASKED) & (fate < MASKED + SWAPPED), swapped, read)
    return Question(*(torch.from_numpy(one) for one in (read, where, batch[where])))
