"""The common enemies effect: do output embeddings move away from what predicts?

For one position with the vector h before the output matrix, probabilities p and the true token y,
the loss −ln p_y has the gradient (p_k − [k = y]) h in row k (Biś et al. 2021, eq. 6). A step of
plain SGD on that path moves every row but the true one along −h, and the true one along h: the rows
have a common enemy, and move together. Over a batch every row is drawn by many h, the true token of
some, and AdamW divides by a size of its own in every dimension: whether rows still move together
is what is recorded here, by how frequent their tokens are.

References
----------
Biś et al. (2021), Too much in common: shifting of embeddings in transformer language models and its
implications, NAACL, section 3.3. Machina & Mercer (2024), Anisotropy is not inherent to
transformers, NAACL, section 5.2, doubts that it adds up.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from isoscope.models.runtime import quietly
from isoscope.results.result import Row
from isoscope.typing import Doubles, Ids, Mask
from isoscope.verbs.train.names import OTHERS, SINGLE, TRUE
from isoscope.verbs.train.pretrain.learner import Learner, ask

# Updates of one step: minus the gradient through the output layer alone, minus the whole one (a
# tied matrix also learns as an input), and what the optimiser really did.
OUTPUT_PATH, GRADIENT, OPTIMISER = "SGD, output path", "SGD", "AdamW"

EVERY, NEVER = "all", "never seen"

# Shares of the tokens that are in the text, by rank of frequency; the others are never seen.
BANDS = ((0.01, "most frequent 1 %"), (0.1, "next 9 %"), (0.5, "next 40 %"), (1.0, "rarest 50 %"))


@dataclass(frozen=True)
class Position:
    """What one step of plain SGD for one position does to the rows of an output matrix.

    ``others`` has cos(update, −h) of every row but that of the true token, and ``true`` that one.
    """

    others: Doubles
    true: float


def single_position(
    read: Tensor, weight: Tensor, answer: int, bias: Tensor | None = None, rate: float = 1.0
) -> Position:
    """Take one real step of SGD on an output matrix for one position, in double precision.

    Parameters
    ----------
    read : Tensor
        h, what the output matrix reads.
    weight, bias : Tensor
        Of the output layer, words × d and words; both stay as they are.
    answer : int
        The true token.
    rate : float
        The step's.
    """
    h = read.detach().double()
    # The optimiser moves a difference that begins at 0: of a row that moves by 1e-30, nothing
    # would be left beside its weights.
    moves = torch.zeros_like(weight, dtype=torch.float64).requires_grad_()
    logits = (weight.detach().double() + moves) @ h
    if bias is not None:
        logits = logits + bias.detach().double()
    optimiser = torch.optim.SGD([moves], lr=rate)
    loss = cross_entropy(logits[None], torch.tensor([answer], device=logits.device))
    loss.backward()  # type: ignore[no-untyped-call]
    optimiser.step()
    cosines = along(moves.detach(), -h)
    keep = np.arange(len(cosines)) != answer
    return Position(cosines[keep], float(cosines[answer]))


def along(updates: Tensor, direction: Tensor) -> Doubles:
    """Return the cosine of every row with a direction; NaN for a row that does not move."""
    lengths = torch.linalg.vector_norm(updates, dim=1) * torch.linalg.vector_norm(direction)
    found: Doubles = ((updates @ direction) / lengths).double().cpu().numpy()
    return found


def pair_cosine(updates: Tensor) -> float | None:
    """Return the mean cosine of all pairs of rows, (‖Σ u‖² − m) / (m² − m); zero rows have none."""
    lengths = torch.linalg.vector_norm(updates, dim=1)
    moved = lengths > 0
    count = int(moved.sum())
    if count < 2:
        return None
    total = (updates[moved] / lengths[moved, None]).double().sum(dim=0)
    return float((total @ total - count) / (count * (count - 1)))


class CommonEnemies:
    """Records steps: how rows of the output matrix move, and how their mean drifts.

    Parameters
    ----------
    layer : Linear
        The output layer of the network in training, as it is before the first step.
    counts : array
        How often each token is in the text.

    Attributes
    ----------
    updates, drift : list of dict
        A row for every recorded step, update and band; a row for every recorded step.
    """

    def __init__(self, layer: nn.Linear, counts: Ids) -> None:
        self.weight = layer.weight
        self.bands = frequency_bands(counts)
        self.start = self.weight.detach().double().mean(dim=0)
        self.updates: list[dict[str, Any]] = []
        self.drift: list[dict[str, Any]] = []
        self._found: dict[str, Tensor] = {}

    def begin(self, read: Tensor, logits: Tensor, answers: Tensor) -> None:
        """Look at the predictions of a step, before anything moves."""
        with torch.no_grad():
            wrong = torch.softmax(logits, dim=1)
            wrong[torch.arange(len(answers), device=wrong.device), answers] -= 1
            self._found = {OUTPUT_PATH: wrong.T @ read / -len(answers)}
            self._enemy = -read.mean(dim=0)
            self._before = self.weight.detach().clone()
            self._targets = torch.zeros(len(self.weight), dtype=torch.bool, device=wrong.device)
            self._targets[answers] = True

    def see_gradient(self) -> None:
        """Look at the whole gradient, before it is cut."""
        assert self.weight.grad is not None
        self._found[GRADIENT] = -self.weight.grad.detach().clone()

    def finish(self, step: int) -> None:
        """Look at what the optimiser did, and write the step down."""
        now = self.weight.detach()
        self._found[OPTIMISER] = now - self._before
        targets = self._targets.cpu().numpy()
        for update, rows in self._found.items():
            cosines = along(rows, self._enemy)
            for band, chosen in self.bands.items():
                self.updates.append(
                    {"step": step, "update": update, "band": band}
                    | told(rows, cosines, chosen, targets)
                )
        mean = now.double().mean(dim=0)
        away = mean - self.start
        moved = self._found[OPTIMISER].double()
        self.drift.append(
            {
                "step": step,
                "length_of_mean": float(torch.linalg.vector_norm(mean)),
                "drift_of_mean": float(torch.linalg.vector_norm(away)),
                "cosine_with_enemy": cosine(away, self._enemy.double()),
                # 1 where all rows make the same move, about 1/√rows where they have nothing in
                # common.
                "common_share_of_step": float(
                    torch.linalg.vector_norm(moved.mean(dim=0))
                    / moved.square().sum(dim=1).mean().sqrt().clamp_min(1e-300)
                ),
            }
        )
        self._found = {}


def told(
    rows: Tensor,
    cosines: Doubles,
    chosen: Mask,
    targets: Mask,
) -> dict[str, Any]:
    """Say how the rows of a band move."""
    known = cosines[chosen & np.isfinite(cosines)]
    others = chosen & ~targets & np.isfinite(cosines)
    from_numpy = torch.from_numpy(others).to(rows.device)
    return {
        "rows": len(known),
        "share_against_h": float((known > 0).mean()) if len(known) else None,
        "mean_cosine_against_h": float(known.mean()) if len(known) else None,
        "non_targets": int(others.sum()),
        "share_of_non_targets": float((cosines[others] > 0).mean()) if others.any() else None,
        "pair_cosine_of_non_targets": pair_cosine(rows[from_numpy]),
    }


def cosine(first: Tensor, second: Tensor) -> float | None:
    """Return the cosine of two vectors, None where one has no length."""
    length = torch.linalg.vector_norm(first) * torch.linalg.vector_norm(second)
    return float(first @ second / length) if bool(length > 0) else None


def frequency_bands(counts: Ids) -> dict[str, Mask]:
    """Return which tokens are in which band; bands without tokens are left out."""
    order = np.argsort(-counts, kind="stable")
    seen = int((counts > 0).sum())
    found = {EVERY: np.ones(len(counts), bool)}
    first = 0
    for share, name in BANDS:
        end = round(share * seen)
        band = np.zeros(len(counts), bool)
        band[order[first:end]] = True
        found[name] = band
        first = end
    found[NEVER] = counts == 0
    return {name: band for name, band in found.items() if band.any()}


# Positions of a batch of validation that a step of SGD is taken for, each by itself.
POSITIONS = 20


def load_last(learner: Learner, folder: Path) -> None:
    """Give a learner the weights of a checkpoint."""
    kind: Any = type(learner.network)
    with quietly():
        trained = kind.from_pretrained(folder)
    learner.network.load_state_dict(trained.state_dict())


def single_rows(name: str, learner: Learner) -> list[Row]:
    """Take a step of plain SGD for some positions, each by itself, from the trained weights."""
    plan, corpus = learner.plan, learner.corpus
    some = corpus.validation[: plan.shape.batch_size].astype(np.int64)
    question = ask(plan.objective, some, corpus.tokenizer, (0,))
    reader = learner.reader
    learner.network.eval()
    with torch.no_grad():
        read = reader.read(reader.hidden(question.tokens)[question.where])
    places = np.random.default_rng(0).choice(len(read), min(POSITIONS, len(read)), replace=False)
    found = [
        single_position(read[k], reader.output.weight, int(question.answers[k]), reader.output.bias)
        for k in places.tolist()
    ]
    others = min(float(np.nanmin(one.others)) for one in found)
    true = max(one.true for one in found)
    how = f"{len(found)} positions, one step of SGD on the output matrix each, double precision"
    return [
        Row(name, SINGLE, "none", measure, value, n=len(found), protocol=how)
        for measure, value in ((OTHERS, others), (TRUE, true))
    ]
