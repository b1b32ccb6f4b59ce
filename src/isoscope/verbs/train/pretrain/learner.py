"""A network that learns from scratch, step by step, and goes on from a state bit for bit.

The training loop is our own instead of transformers' Trainer: what a step reads and masks follows
from its number alone, so that a state is weights, AdamW's two moments, and the number. Hidden
states go to the output matrix only where something is predicted (masked tokens, or the token after
each), which a Trainer with a stock head does not do.

The corpus is a text in blocks: texts are joined with an end between them and cut into blocks of one
length, each with a begin before it. One text in twenty is kept for validation, unless there is
another file for that.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import cross_entropy

from isoscope.compute.memory import TRAINED, check_bytes
from isoscope.data.texts.open import open_texts
from isoscope.errors import DataError
from isoscope.typing import Arrays, Ids
from isoscope.verbs.train.pretrain.networks import Reader, make_network
from isoscope.verbs.train.pretrain.plan import Objective, Plan, Size
from isoscope.verbs.train.scratch import SPECIAL, byte_pair_tokenizer

if TYPE_CHECKING:
    from isoscope.verbs.train.pretrain.common_enemies import CommonEnemies


# Share of tokens that a masked model predicts; Devlin et al. (2019).
PREDICTED = 0.15

# Of these, the shares that are masked and that become another token; the rest stays.
MASKED, SWAPPED = 0.8, 0.1


@dataclass(frozen=True)
class Question:
    """What a network reads, where it predicts, and what would be right.

    ``where`` is true at the positions whose hidden states predict, texts × tokens.
    """

    tokens: Tensor
    where: Tensor
    answers: Tensor


def ask(objective: Objective, batch: Ids, tokenizer: Any, key: Sequence[int]) -> Question:
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


# Blocks of the validation text that a perplexity is taken of, at even distances.
JUDGED_BLOCKS = 256

MOMENTS = ("exp_avg", "exp_avg_sq")

# Apart in keys of random numbers, so that masks and dropout do not follow the same ones.
MASKS, DROPOUT = 1, 2


class Learner:
    """A network, its optimiser, and how far it is.

    Attributes
    ----------
    step : int
        Steps that are done.
    """

    def __init__(self, plan: Plan, corpus: Corpus, device: str = "cpu") -> None:
        self.plan, self.corpus, self.device = plan, corpus, device
        network = make_network(plan, corpus.tokenizer)
        if str(device) == "cpu":
            size = sum(one.numel() * one.element_size() for one in network.parameters())
            check_bytes(TRAINED * size, "training", "its weights", "choose a smaller --size")
        self.network = network.to(device).train()
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
        # Texts, masks, dropout and rate follow from the number of the step alone, so that a run
        # that goes on from a state repeats them.
        blocks = self.corpus.batch(self.step, shape.batch_size, plan.seed)
        question = self._ask(blocks, (plan.seed, MASKS, self.step))
        if shape.dropout:
            seeds = np.random.default_rng([plan.seed, DROPOUT, self.step])
            torch.manual_seed(int(seeds.integers(2**62)))
        for group in self.optimiser.param_groups:
            group["lr"] = plan.rate(self.step)
        self.optimiser.zero_grad(set_to_none=True)
        read, logits = self._predict(question)
        loss = cross_entropy(logits, question.answers)
        number = float(loss.detach())
        if not math.isfinite(number):
            raise DataError(
                f"the loss is {number} at step {self.step + 1}: training stopped; try a smaller "
                "--learning-rate"
            )
        if enemies is not None:
            enemies.begin(read, logits, question.answers)
        loss.backward()  # type: ignore[no-untyped-call]
        if enemies is not None:  # before gradients are cut
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

    def load_state(self, state: Arrays, step: int) -> None:
        """Take up a state that was kept after some steps."""
        with torch.no_grad():
            for name, one in self.learned.items():
                one.copy_(copied(state[f"weight {name}"]))
                if step and f"{MOMENTS[0]} {name}" in state:
                    self.optimiser.state[one] = {
                        "step": torch.tensor(float(step), device=one.device),
                        **{k: copied(state[f"{k} {name}"]).to(one.device) for k in MOMENTS},
                    }
        self.step = step

    def _ask(self, blocks: Ids, key: tuple[int, ...]) -> Question:
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


def copied(array: NDArray[Any]) -> Tensor:
    """Return a tensor that shares no memory with the array it is a copy of."""
    return torch.from_numpy(np.array(array))


# One text in so many is for validation.
HELD_OUT = 20

# Batches that a text must have: fewer are no text to learn a language from.
FEWEST_BATCHES = 2

# Texts that are tokenized together.
AT_ONCE = 10_000


@dataclass(frozen=True)
class Corpus:
    """Texts as blocks of tokens, to learn from and for validation.

    ``counts`` says how often each token of the vocabulary is in the training blocks, ``digest``
    identifies all texts, ``words`` describes the corpus in a line, and ``held_texts`` are the texts
    for validation.
    """

    tokenizer: Any
    train: NDArray[np.int32]
    validation: NDArray[np.int32]
    counts: Ids
    digest: str
    words: str
    held_texts: tuple[str, ...] = ()

    def batch(self, step: int, size: int, seed: int) -> Ids:
        """Return the blocks of a step, from 0; every epoch has an order of its own."""
        places = np.arange(step * size, (step + 1) * size)
        epochs = places // len(self.train)
        found = np.empty((size, self.train.shape[1]), np.int64)
        for epoch in np.unique(epochs):
            order = np.random.default_rng([seed, int(epoch)]).permutation(len(self.train))
            here = epochs == epoch
            found[here] = self.train[order[places[here] % len(self.train)]]
        return found


def make_corpus(
    text: Any, shape: Size, *, validation: Any = None, column: str | None = None
) -> Corpus:
    """Learn a vocabulary from texts, and cut them into blocks.

    Parameters
    ----------
    text : str, Path, list of str or TextSource
        What ``open_texts`` takes.
    shape : Size
        Says how large vocabulary, blocks and batches are.
    validation : optional
        The same, for what is judged on.
    column : str, optional
        Which column of a table holds the texts.
    """
    learned, judged, name = split_texts(text, validation, column)
    tokenizer = byte_pair_tokenizer(learned, shape.vocabulary, shape.context)
    if len(tokenizer) < shape.vocabulary:
        raise DataError(
            f"{name} is too small for a vocabulary of {shape.vocabulary:,}: it has pairs for "
            f"{len(tokenizer):,}; name a smaller --vocabulary, or give more text"
        )
    train = blocks(tokenizer, learned, shape.context)
    held = blocks(tokenizer, judged, shape.context)
    needed = FEWEST_BATCHES * shape.batch_size
    if len(train) < needed:
        raise DataError(
            f"{name} is too small: {len(train):,} blocks of {shape.context} tokens, and "
            f"{FEWEST_BATCHES} batches of {shape.batch_size} have {needed:,}; give more text"
        )
    if not len(held):
        raise DataError(
            f"the texts for validation have less than {shape.context} tokens; give more text"
        )
    digest = hashlib.sha256()
    for texts in (learned, judged):
        digest.update(b"%d texts\n" % len(texts))
        for one in texts:
            content = one.encode()
            digest.update(b"%d\n" % len(content))
            digest.update(content)
    return Corpus(
        tokenizer, train, held, np.bincount(train.ravel(), minlength=len(tokenizer)),
        digest.hexdigest(),
        f"{name}: {train.size:,} tokens for training, {held.size:,} for validation, vocabulary "
        f"{len(tokenizer):,}",
        tuple(judged),
    )  # fmt: skip


def split_texts(text: Any, validation: Any, column: str | None) -> tuple[list[str], list[str], str]:
    """Return texts to learn from, texts to be judged on, and what the first are called."""
    source = open_texts(text, column)
    texts = [one.text for one in source.texts()]
    if validation is None:
        learned = [one for k, one in enumerate(texts, start=1) if k % HELD_OUT]
        return learned, texts[HELD_OUT - 1 :: HELD_OUT], source.name
    return texts, [one.text for one in open_texts(validation, column).texts()], source.name


def blocks(tokenizer: Any, texts: list[str], length: int) -> NDArray[np.int32]:
    """Join texts, and cut them into blocks; what is left over at the end is left out."""
    begin, end = (tokenizer.convert_tokens_to_ids(SPECIAL[k]) for k in (0, 2))
    stream: list[int] = []
    for first in range(0, len(texts), AT_ONCE):
        some = texts[first : first + AT_ONCE]
        for found in tokenizer.backend_tokenizer.encode_batch_fast(some, add_special_tokens=False):
            stream += found.ids
            stream.append(end)
    inner = length - 1
    count = len(stream) // inner
    found = np.full((count, length), begin, np.int32)
    found[:, 1:] = np.array(stream[: count * inner], np.int32).reshape(count, inner)
    return found
