"""The small network that Rajaee & Pilehvar train on frozen features."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from isoscope.errors import UsageError
from isoscope.tasks.probes.scaling import WORDS, Scale, Scaling, check_scaling

if TYPE_CHECKING:
    from collections.abc import Iterator

    import torch

    from isoscope.tasks.probes.contract import Codes, Lesson, Matrix


@dataclass(frozen=True)
class MlpProbe:
    """One hidden layer with ReLU, trained with Adam, as it was after its best epoch.

    The best epoch is the one with the highest accuracy on rows that are held back (the first of
    equals), which are not trained on. The network is built anew for every space and draws its
    weights and its batches from its own seed: spaces are compared with the same draws.

    With a rate this low the length of vectors decides how far training gets in ten epochs. The
    features are left as they are nevertheless, as in the paper; ``scaling="block"`` tells what
    remains of a difference when lengths are the same.

    Attributes
    ----------
    hidden, rate, batch, epochs
        Width of the hidden layer, learning rate, rows of a batch, passes over the rows.
    scaling : {"none", "block", "each"}
        What is done to features first; see ``scaling``.
    seed : int
        Of the weights, the batches and the rows that are held back.

    References
    ----------
    Rajaee & Pilehvar (2021), A cluster-based approach for improving isotropy in contextual
    embedding space, ACL.
    """

    hidden: int = 100
    rate: float = 3e-5
    batch: int = 32
    epochs: int = 10
    scaling: Scaling = "none"
    seed: int = 0
    name: str = "mlp"

    def __post_init__(self) -> None:
        check_scaling(self.scaling)
        if min(self.hidden, self.batch, self.epochs) < 1 or self.rate <= 0:
            raise UsageError(
                "hidden units, rows of a batch and epochs are 1 or more, and the rate above 0: "
                f"not {self.hidden}, {self.batch}, {self.epochs} and {self.rate:g}"
            )

    def __str__(self) -> str:
        return (
            f"a network with {self.hidden} hidden units (ReLU), Adam at {self.rate:g}, batches of "
            f"{self.batch}, best of {self.epochs} epochs on held-back rows, {WORDS[self.scaling]}"
        )

    def predict(self, lesson: Lesson) -> Codes:
        """Train, and classify as the network did after its best epoch."""
        back = lesson.held_back(self.seed)
        learned, codes = lesson.features[~back], lesson.codes[~back]
        best, chosen = -1.0, np.empty(0, np.intp)
        epochs = self.trained(learned, codes, lesson.blocks, (lesson.features[back], lesson.asked))
        for _, (guessed, asked) in epochs:
            right = float(np.mean(guessed == lesson.codes[back])) if back.any() else 0.0
            if right > best:
                best, chosen = right, asked
        return chosen

    def epochs_of(self, lesson: Lesson) -> list[tuple[float, Codes]]:
        """Return the loss of every epoch, and the classes of what is asked for after it."""
        epochs = self.trained(lesson.features, lesson.codes, lesson.blocks, (lesson.asked,))
        return [(loss, asked) for loss, (asked,) in epochs]

    def trained(
        self, features: Matrix, codes: Codes, blocks: int, asked: tuple[Matrix, ...]
    ) -> Iterator[tuple[float, tuple[Codes, ...]]]:
        """Train, and give out the mean loss of every epoch and what it says of several matrices."""
        require_torch()
        import torch

        scale = Scale.of(features, self.scaling, blocks)
        present, targets = np.unique(codes, return_inverse=True)
        inputs, classes = tensor(scale(features)), torch.from_numpy(targets)
        questions = [tensor(scale(matrix)) for matrix in asked]
        with torch.random.fork_rng(devices=[]):  # the caller's random numbers stay as they are
            torch.manual_seed(self.seed)
            network = torch.nn.Sequential(
                torch.nn.Linear(inputs.shape[1], self.hidden),
                torch.nn.ReLU(),
                torch.nn.Linear(self.hidden, len(present)),
            )
        optimiser = torch.optim.Adam(network.parameters(), lr=self.rate)
        shuffled = torch.Generator().manual_seed(self.seed)
        for _ in range(self.epochs):
            total = 0.0
            order = torch.randperm(len(inputs), generator=shuffled)
            for rows in torch.split(order, self.batch):
                optimiser.zero_grad()
                loss = torch.nn.functional.cross_entropy(network(inputs[rows]), classes[rows])
                loss.backward()  # type: ignore[no-untyped-call]
                optimiser.step()
                total += loss.item() * len(rows)
            with torch.no_grad():
                said = [network(question).argmax(dim=1).numpy() for question in questions]
            yield total / len(inputs), tuple(present[one] for one in said)


def tensor(matrix: Matrix) -> torch.Tensor:
    """Return a matrix as the network takes it."""
    import torch

    return torch.from_numpy(np.ascontiguousarray(matrix, np.float32))


def require_torch() -> None:
    """Say what to install where torch is missing."""
    if importlib.util.find_spec("torch") is None:
        raise UsageError(
            "the probe mlp needs torch, which is not installed; pip install 'isoscope[models]'"
        )
