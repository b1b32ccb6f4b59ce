"""A network that learns from nothing, step by step, and goes on from a state bit for bit.

A loop of its own instead of transformers' Trainer: what a step reads and masks follows from its
number alone, so that a state is weights, AdamW's two moments, and the number. Hidden states go to
the output matrix only where something is predicted, which a Trainer with a stock head does not do.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch.nn.functional import cross_entropy

from isoscope.errors import DataError
from isoscope.training.pretraining.networks import Reader, make_network
from isoscope.training.pretraining.objectives import Question, ask

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray
    from torch import Tensor

    from isoscope.training.pretraining.common_enemies import CommonEnemies
    from isoscope.training.pretraining.corpus import Corpus
    from isoscope.training.pretraining.plan import Plan

JUDGED_BLOCKS = 256
"""Blocks of the validation text that a perplexity is taken of, at even distances."""

MOMENTS = ("exp_avg", "exp_avg_sq")
MASKS, DROPOUT = 1, 2
"""Apart in keys of random numbers, so that masks and dropout do not follow the same ones."""


class Learner:
    """A network, its optimiser, and how far it is.

    Attributes
    ----------
    step : int
        Steps that are done.
    """

    def __init__(self, plan: Plan, corpus: Corpus, device: str = "cpu") -> None:
        self.plan, self.corpus, self.device = plan, corpus, device
        self.network = make_network(plan, corpus.tokenizer).to(device).train()
        self.reader = Reader(self.network)
        self.learned = {
            name: one for name, one in self.network.named_parameters() if one.requires_grad
        }
        self.optimiser = make_optimiser(plan, self.learned)
        self.step = 0

    def learn(self, enemies: CommonEnemies | None = None) -> float:
        """Do one step, and return its loss.

        Parameters
        ----------
        enemies : CommonEnemies, optional
            Watches this step.
        """
        plan, shape = self.plan, self.plan.shape
        blocks = self.corpus.batch(self.step, shape.batch_size, plan.seed)
        question = self._ask(blocks, (plan.seed, MASKS, self.step))
        if shape.dropout:
            torch.manual_seed(
                int(np.random.default_rng([plan.seed, DROPOUT, self.step]).integers(2**62))
            )
        for group in self.optimiser.param_groups:
            group["lr"] = plan.rate(self.step)
        self.optimiser.zero_grad(set_to_none=True)
        read, logits = self._predict(question)
        loss = cross_entropy(logits, question.answers)
        number = float(loss.detach())
        if not math.isfinite(number):
            raise DataError(
                f"the loss is {number} at step {self.step + 1}: training stopped; a smaller "
                "--learning-rate may help"
            )
        if enemies is not None:
            enemies.begin(read, logits, question.answers)
        loss.backward()  # type: ignore[no-untyped-call]
        if enemies is not None:
            enemies.see_gradient()
        torch.nn.utils.clip_grad_norm_(self.learned.values(), shape.clipping)
        self.optimiser.step()
        self.step += 1
        if enemies is not None:
            enemies.finish(self.step)
        return number

    def perplexity(self) -> float:
        """Return exp of the mean loss over blocks of the validation text, without dropout."""
        blocks = self.corpus.validation
        count = min(JUDGED_BLOCKS, len(blocks))
        places = np.linspace(0, len(blocks) - 1, count).round().astype(int)
        size = self.plan.shape.batch_size
        total, answers = 0.0, 0
        self.network.eval()
        with torch.inference_mode():
            for first in range(0, count, size):
                some = blocks[places[first : first + size]].astype(np.int64)
                question = self._ask(some, (first,))
                _, logits = self._predict(question)
                total += float(cross_entropy(logits, question.answers, reduction="sum"))
                answers += len(question.answers)
        self.network.train()
        if not math.isfinite(total):
            raise DataError(
                f"the loss on the validation text is {total} after step {self.step}: training "
                "stopped; a smaller --learning-rate may help"
            )
        return math.exp(min(total / answers, 700.0))  # beyond, a double has no number for it

    def state(self) -> dict[str, NDArray[Any]]:
        """Return the weights, and the moments of the optimiser, by name."""
        found = {f"weight {name}": as_array(one) for name, one in self.learned.items()}
        for name, one in self.learned.items():
            moments = self.optimiser.state.get(one, {})
            found |= {f"{k} {name}": as_array(moments[k]) for k in MOMENTS if k in moments}
        return found

    def go_on(self, state: Mapping[str, NDArray[Any]], step: int) -> None:
        """Take up a state that was kept after some steps."""
        with torch.no_grad():
            for name, one in self.learned.items():
                one.copy_(torch.from_numpy(np.array(state[f"weight {name}"])))
                if step and f"{MOMENTS[0]} {name}" in state:
                    self.optimiser.state[one] = {
                        "step": torch.tensor(float(step), device=one.device),
                        **{k: as_tensor(state[f"{k} {name}"], one) for k in MOMENTS},
                    }
        self.step = step

    def _ask(self, blocks: NDArray[np.int64], key: tuple[int, ...]) -> Question:
        made = ask(self.plan.objective, blocks, self.corpus.tokenizer, key)
        return Question(*(one.to(self.device) for one in (made.tokens, made.where, made.answers)))

    def _predict(self, question: Question) -> tuple[Tensor, Tensor]:
        read = self.reader.read(self.reader.hidden(question.tokens)[question.where])
        return read, self.reader.logits(read)


def make_optimiser(plan: Plan, learned: Mapping[str, torch.nn.Parameter]) -> torch.optim.AdamW:
    """Make AdamW; biases and norms do not decay."""
    shape = plan.shape
    decaying = [one for one in learned.values() if one.ndim > 1]
    others = [one for one in learned.values() if one.ndim < 2]
    return torch.optim.AdamW(
        [
            {"params": decaying, "weight_decay": shape.weight_decay},
            {"params": others, "weight_decay": 0.0},
        ],
        lr=shape.learning_rate,
        betas=(0.9, shape.beta_2),
        eps=shape.epsilon,
        fused=True,
    )


def as_array(tensor: Tensor) -> NDArray[Any]:
    """Return a copy of a tensor's numbers."""
    found: NDArray[Any] = tensor.detach().cpu().numpy().copy()
    return found


def as_tensor(array: NDArray[Any], like: Tensor) -> Tensor:
    """Return a copy of an array where another tensor is."""
    return torch.from_numpy(np.array(array)).to(like.device)
