"""A linear probe that reads a token's place in its text off its vector.

The probe has weights W (d × 300) and no bias: class k gets the score Σ_i w_{k,i} v_i. It is trained
with cross-entropy and Adam on some of the texts, in batches of 128, for ten epochs (for more where
there are few tokens), and scored on the others. How much neuron i contributes is the mean over
held-out tokens

    c(i) = E |w_{y,i} v_i|

where y is the position that the token has. The paper does not say whose weights it takes; those of
the position that the probe predicts are given as well. A neuron that is large and always the same
tells nothing, yet contributes: it stands in for the bias that the probe lacks. So each neuron's
contribution about its mean m_i, E |w_{y,i} (v_i − m_i)|, is given too; that one leaves this out.

Texts with the same tokens count as one: in a model that knows no positions their vectors are the
same, and a copy among the training texts would give the answer away. Tokens of a text are right
or wrong together, so that the accuracy p = Σ_t r_t / Σ_t n_t, with r_t of the n_t tokens of text t
right, is a ratio of means over texts. To first order its error is the mean of (r_t − p n_t) / n̄.

References
----------
Luo (2021), thesis, section 3.2.2, figures 3.7 to 3.9. Durrani et al. (2020), Analyzing individual
neurons in pre-trained language models. Cochran (1977), Sampling techniques, chapter 2.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from isoscope.compute.stats.estimates import FEWEST, Score, bounded_score, wilson
from isoscope.errors import DataError, UsageError

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from torch import Tensor

    from isoscope.typing import Mask, Vector

    Matrix = NDArray[np.float32]
    Numbers = NDArray[np.int64]


# Positions that the probe tells apart: 0 to 299, as in the paper. Later tokens are left out.
CLASSES = 300

BATCH = 128
EPOCHS = 10
# Ten epochs of a small text are too few steps to learn even positions that are plainly there; so
# there are more epochs, up to these steps. From 12,800 training tokens on there are ten.
FEWEST_STEPS = 1_000

# Of Adam; the paper gives none. Vectors are divided by the root of their mean squared norm, so that
# one rate fits every layer. Of six from 0.001 to 0.3, this one's held-out accuracy was the best, or
# within 0.01 of it, in MiniLM's embedding and blocks 1, 3 and 6, on two texts; in block 4, on one
# text, 0.1 was better by 0.015.
RATE = 0.03

# Share of the texts that the probe is scored on.
HELD_OUT = 0.2

# Different texts below which a probe says nothing: four of them would be held out.
FEWEST_TEXTS = 20

LEVEL = 0.95


@dataclass(frozen=True)
class PositionTask:
    """What all layers are probed on: tokens, their positions, and who is held out.

    Attributes
    ----------
    kept : array of bool
        Which of the tokens that were given have a position that the probe knows.
    positions, ids, texts : array
        Position, row of the vocabulary and number of the different text of every token kept.
    held_out : array of bool
        Which of the tokens kept the probe is scored on.
    """

    kept: Mask
    positions: Numbers
    ids: Numbers
    texts: Numbers
    held_out: Mask

    @property
    def left_out(self) -> int:
        """Tokens beyond the last position that the probe knows."""
        return int((~self.kept).sum())

    @property
    def tokens(self) -> int:
        """Tokens that the probe is scored on."""
        return int(self.held_out.sum())

    @property
    def epochs(self) -> int:
        """How often the probe sees all training tokens."""
        batches = math.ceil((len(self.positions) - self.tokens) / BATCH)
        return max(EPOCHS, math.ceil(FEWEST_STEPS / batches))

    @cached_property
    def majority(self) -> int:
        """The commonest position of training tokens, the first of equals."""
        return int(np.bincount(self.positions[~self.held_out]).argmax())

    @cached_property
    def majority_baseline(self) -> float:
        """Accuracy of always answering the commonest position."""
        return float(np.mean(self.positions[self.held_out] == self.majority))

    @cached_property
    def token_baseline(self) -> float:
        """Accuracy of answering a token's commonest position in training, without its vector.

        A model that knows no positions still knows tokens, and some tokens begin texts. Tokens
        that training did not meet get the commonest position of all.
        """
        train = ~self.held_out
        pairs, counts = np.unique(
            np.stack([self.ids[train], self.positions[train]]), axis=1, return_counts=True
        )
        # By token, then the largest count, then the first position: the first of each token wins.
        order = np.lexsort((pairs[1], -counts, pairs[0]))
        known, first = np.unique(pairs[0][order], return_index=True)
        best = dict(zip(known.tolist(), pairs[1][order][first].tolist(), strict=True))
        guesses = [best.get(token, self.majority) for token in self.ids[self.held_out].tolist()]
        return float(np.mean(self.positions[self.held_out] == guesses))

    @property
    def protocol(self) -> str:
        """What was trained on what, in a few words."""
        scored = len(np.unique(self.texts[self.held_out]))
        trained = len(np.unique(self.texts[~self.held_out]))
        beyond = f"; {self.left_out:,} tokens beyond position {CLASSES - 1} left out"
        return (
            f"linear probe without bias, Adam at {RATE:g}, batches of {BATCH}, "
            f"{self.epochs} epochs, trained on {trained:,} different texts and scored on "
            f"{self.tokens:,} tokens of {scored:,} others" + beyond * bool(self.left_out)
        )


@dataclass(frozen=True)
class PositionProbe:
    """What a probe of one layer found.

    Attributes
    ----------
    accuracy : Score
        On held-out tokens; its items are texts.
    contributions : array
        c(i) of every neuron, with the weights of the position that a token has.
    predicted_contributions : array
        The same with the weights of the position that the probe predicts.
    contributions_about_mean : array
        As ``contributions``, of what neurons have beyond their mean over held-out tokens.
    contributions_of_texts : array, optional
        The sum of |w_i v_i| over the tokens of every held-out text, and beside it as the last
        column their number: what is left without some texts.
    """

    accuracy: Score
    contributions: Vector
    predicted_contributions: Vector
    contributions_about_mean: Vector
    contributions_of_texts: NDArray[np.float64] | None = None


def rank_of(dimension: int, contributions: Vector) -> int:
    """Return the place of a neuron among all; 1 is the largest."""
    return int((contributions > contributions[dimension]).sum()) + 1


def position_task(
    positions: Numbers,
    sentences: Numbers,
    ids: Numbers,
    seed: int = 0,
    held_out: Mask | None = None,
) -> PositionTask:
    """Leave late tokens out, number the different texts, and hold some of them out.

    Parameters
    ----------
    positions, sentences, ids : array
        Position, number of the text and row of the vocabulary of every token; a text's tokens in
        their order.
    seed : int
        Of the split.
    held_out : array of bool, optional
        Which tokens are held out; by default those of a fifth of the different texts, at random.
    """
    # Copies of a text are on the same side of the split: see the top of this module.
    different = different_texts(sentences, ids)
    if held_out is None:
        number = int(different.max()) + 1
        if number < FEWEST_TEXTS:
            raise DataError(
                f"{number} different texts, and fewer than {FEWEST_TEXTS} are too few to probe "
                "positions; give more texts"
            )
        drawn = np.random.default_rng(seed).permutation(number)[: round(HELD_OUT * number)]
        held_out = np.isin(different, drawn)
    elif held_out.shape != positions.shape:
        raise UsageError(f"held_out is of {held_out.shape} tokens, positions of {positions.shape}")
    kept = positions < CLASSES
    task = PositionTask(kept, positions[kept], ids[kept], different[kept], held_out[kept])
    if not 0 < task.tokens < len(task.positions):
        raise DataError("no token is left to train on, or none to score; give more texts")
    if len(np.unique(task.positions)) < 2:
        raise DataError(
            f"all tokens are at position {task.positions[0]}: there is nothing to tell apart; give "
            "longer texts"
        )
    return task


def different_texts(sentences: Numbers, ids: Numbers) -> Numbers:
    """Number texts by their tokens: those with the same tokens get the same number."""
    # A stable sort keeps the tokens of a text in their order, which is what is compared.
    order = np.argsort(sentences, kind="stable")
    _, first = np.unique(sentences[order], return_index=True)
    numbers: dict[bytes, int] = {}
    found = np.empty(len(ids), np.int64)
    for rows in np.split(order, first[1:]):
        found[rows] = numbers.setdefault(ids[rows].tobytes(), len(numbers))
    return found


def probe_positions(vectors: Matrix, task: PositionTask, seed: int = 0) -> PositionProbe:
    """Train a probe on the vectors of one layer and score it on held-out tokens.

    Vectors are divided by one number while the probe is trained. It stays linear and without a
    bias: the weights of the vectors as they are are those of the divided ones over that number,
    and products w v, so contributions, are the same for both.

    Parameters
    ----------
    vectors : array
        A row for every token that the task was made of.
    task : PositionTask
        Positions, and which tokens are held out.
    seed : int
        Of the order in which tokens are trained on.
    """
    import torch

    if vectors.shape[:1] != task.kept.shape:
        raise UsageError(f"{len(vectors):,} vectors, and {len(task.kept):,} tokens of the task")
    kept = np.flatnonzero(task.kept)
    scale, train = divided(vectors[kept[~task.held_out]])
    known = torch.from_numpy(task.positions[~task.held_out])
    weights = trained(torch.from_numpy(train), known, task.epochs, seed)
    held = torch.from_numpy(vectors[kept[task.held_out]] / scale)
    gold = torch.from_numpy(task.positions[task.held_out])
    predicted = (held @ weights).argmax(1)
    right = (predicted == gold).numpy()
    return PositionProbe(
        text_accuracy(right, task.texts[task.held_out]),
        mean_contributions(held, weights, gold),
        mean_contributions(held, weights, predicted),
        mean_contributions(held - held.double().mean(0).float(), weights, gold),
        text_contributions(held, weights, gold, task.texts[task.held_out]),
    )


def divided(vectors: Matrix) -> tuple[np.float32, Matrix]:
    """Divide vectors by the root of their mean squared norm; return both."""
    largest = float(np.abs(vectors).max())
    if not np.isfinite(largest):
        raise DataError("a vector has an entry that is NaN or infinite: it cannot be probed")
    if largest == 0:
        return np.float32(1), vectors
    # By the largest entry first, so that squares of single precision neither overflow nor vanish.
    squares = np.square(vectors / np.float32(largest)).sum(axis=1, dtype=np.float64)
    scale = np.float32(largest * np.sqrt(squares.mean()))
    return scale, vectors / scale


def trained(vectors: Tensor, positions: Tensor, epochs: int, seed: int) -> Tensor:
    """Return the weights (d × classes) that Adam finds, from zeros: the problem is convex.

    The gradient of the cross-entropy is Vᵀ (P − Y) / n, with P the probabilities of all classes for
    n vectors and Y their positions as zeros and ones.
    """
    import torch

    order = torch.Generator().manual_seed(seed)
    weights = torch.zeros(vectors.shape[1], CLASSES)
    adam = torch.optim.Adam([weights], lr=RATE)
    for _ in range(epochs):
        shuffled = torch.randperm(len(vectors), generator=order)
        for start in range(0, len(vectors), BATCH):
            batch = shuffled[start : start + BATCH]
            # P − Y, in place: one is taken from the probability of the true position.
            errors = torch.softmax(vectors[batch] @ weights, dim=1)
            errors[torch.arange(len(batch)), positions[batch]] -= 1
            weights.grad = vectors[batch].T @ errors / len(batch)
            adam.step()
    return weights


def mean_contributions(vectors: Tensor, weights: Tensor, classes: Tensor) -> Vector:
    """Return the mean of |w_{y,i} v_i| over tokens, y being each token's class.

    Tokens of a class share their weights, so that it is enough to add up |v| class by class.
    """
    import torch

    sums = torch.zeros(CLASSES, vectors.shape[1], dtype=torch.float64)
    sums.index_add_(0, classes, vectors.abs().double())
    products = sums * weights.abs().double().T
    return np.asarray((products.sum(0) / len(vectors)).numpy())


def text_contributions(
    vectors: Tensor, weights: Tensor, classes: Tensor, texts: Numbers
) -> NDArray[np.float64]:
    """Return the sum of |w_{y,i} v_i| over the tokens of every text, and their number at the end.

    Texts are in the order of their numbers.
    """
    _, place = np.unique(texts, return_inverse=True)
    products = (vectors * weights.T[classes]).abs().double().numpy()
    found = np.zeros((int(place.max()) + 1, products.shape[1] + 1))
    np.add.at(found[:, :-1], place, products)
    found[:, -1] = np.bincount(place)
    return found


def text_accuracy(right: Mask, texts: Numbers) -> Score:
    """Return the share of tokens that are right, with an interval for tokens that go together.

    The interval is symmetric on the scale of log odds. Where texts do not differ, as when all
    tokens are right, it is Wilson's for as many items as there are texts: no share of a text's
    tokens varies more than one that is 0 or 1.
    """
    _, place = np.unique(texts, return_inverse=True)
    tokens = np.bincount(place)
    value = float(right.mean())
    influences = (np.bincount(place, right) - value * tokens) / tokens.mean()
    score = bounded_score(value, influences, LEVEL)
    if score.low is None and len(tokens) >= FEWEST:
        low, high = wilson(value, len(tokens), LEVEL)
        return replace(score, low=low, high=high, note="")
    return score
