"""Classifiers of frozen features: multinomial logistic regression, and a small network.

Logistic regression minimises, over weights W and intercepts b,

    C Σ_i −ln softmax(W x_i + b)_{y_i} + ‖W‖² / 2

An invertible linear change of features changes no unregularised linear classifier, which can undo
the change in its weights. What a correction can do to a *regularised* one is to make some
directions cheaper than others, and scaling does the same. Dividing each feature by its own
standard deviation is itself a correction (``standardize``): if it were always done, the vectors as
they are would never be scored. So the shape of a space is kept by default: features are centred,
which an intercept makes harmless, and divided by *one* number, so that the same strengths of
regularisation mean the same in spaces of any norm. Where features consist of several blocks, such
as u and u ∘ v, each block has its own number: for vectors of unit norm, products are smaller than
entries by the square root of the dimension, and would hardly count.

References
----------
Conneau & Kiela (2018), SentEval: an evaluation toolkit for universal sentence representations,
LREC. Rajaee & Pilehvar (2021), A cluster-based approach for improving isotropy in contextual
embedding space, ACL.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, get_args, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from isoscope.compute.stats.folds import dealt_by_class
from isoscope.errors import UsageError, check_name, require

Matrix = NDArray[np.floating[Any]]
Codes = NDArray[np.intp]

# One row in this many is held back to choose on, where the data do not say which.
CHOOSING = 5


@dataclass(frozen=True)
class Lesson:
    """Features with their classes, and features whose classes are asked for.

    Attributes
    ----------
    features : array of rows × width
        What is learned from.
    codes : array of int
        The class of every row, 0 … K − 1.
    asked : array of rows × width
        What is to be classified.
    choosing : array of bool, optional
        The rows of ``features`` on which a probe chooses its settings, as a release's dev part;
        without it, or where it leaves a class unseen, every fifth row of a class, at random.
    blocks : int
        Of how many blocks of one width the features consist, as of u, v, |u − v| and u ∘ v.
    """

    features: Matrix
    codes: Codes
    asked: Matrix
    choosing: NDArray[np.bool_] | None = None
    blocks: int = 1

    def held_back(self, seed: int) -> NDArray[np.bool_]:
        """Tell which rows settings are chosen on; none where every class is too small for it.

        All classes are among the other rows.
        """
        given = self.choosing
        if (
            given is not None
            and given.any()
            and np.array_equal(np.unique(self.codes[~given]), np.unique(self.codes))
        ):
            return given
        return np.asarray(dealt_by_class(self.codes, CHOOSING, seed) == CHOOSING - 1)


class Probe(Protocol):
    """A classifier of frozen features.

    Attributes
    ----------
    name : str
        What stands in front of its scores, as in ``logistic/accuracy``.
    """

    @property
    def name(self) -> str: ...  # noqa: D102 - see the class

    def __str__(self) -> str:
        """Say how it learns, for a protocol."""

    def predict(self, lesson: Lesson) -> Codes:
        """Return the class of every row that is asked for; at least two are learned from."""


@runtime_checkable
class EpochProbe(Probe, Protocol):
    """A probe that learns in epochs."""

    def epochs_of(self, lesson: Lesson) -> Sequence[tuple[float, Codes]]:
        """Return the loss of every epoch, and the classes of what is asked for after it.

        All rows are learned from, none is held back.
        """


Scaling = Literal["none", "block", "each"]
WORDS: dict[str, str] = {
    "none": "features as they are",
    "block": "features centred and divided by one number a block",
    "each": "each feature standardised",
}


@dataclass(frozen=True)
class Scale:
    """A shift and a divisor for every feature."""

    shift: Matrix
    divisor: Matrix

    @classmethod
    def of(cls, features: Matrix, kind: Scaling, blocks: int = 1) -> Scale:
        """Find the shift and the divisor of some rows.

        Parameters
        ----------
        features : array of rows × width
            The rows that are learned from, and no others.
        kind : {"none", "block", "each"}
            Nothing; centred, and the root mean square entry of a block 1; or each feature's mean 0
            and standard deviation 1.
        blocks : int
            How many blocks of one width there are.
        """
        check_scaling(kind)
        width = features.shape[1]
        if kind == "none":
            return cls(np.zeros(width), np.ones(width))
        shift = features.mean(axis=0, dtype=np.float64)
        # From the rows that are learned from alone; the scored ones must not decide how they are
        # scaled.
        spread = np.square(features - shift).mean(axis=0)
        if kind == "block":
            spread = np.repeat(spread.reshape(blocks, -1).mean(axis=1), width // blocks)
        # A constant, or what rounding leaves of one, is not blown up to the size of the others.
        rounding = np.finfo(features.dtype).eps ** 2 * np.square(features, dtype=np.float64).mean()
        return cls(shift, np.sqrt(np.where(spread > rounding, spread, 1.0)))

    def __call__(self, features: Matrix) -> Matrix:
        """Return features scaled, in double precision."""
        return np.asarray((features - self.shift) / self.divisor)


def check_scaling(kind: str) -> None:
    """Refuse a scaling that does not exist."""
    check_name("scaling", kind, get_args(Scaling))


STRENGTHS = (1e-5, 1e-4, 0.001, 0.01, 0.1, 1.0, 10.0, 100.0)
ITERATIONS = 5000

# Up to this many features Newton's steps, which solve for all weights at once, are cheap.
NEWTON_WIDTH = 1024

TOLERANCE = 1e-5

# A fall by less, in nats a row and in standard errors, does not end the search for a strength.
LITTLE, ERRORS = 0.05, 3.0

# A probability below this counts as this: one sure error must not decide a choice.
SMALLEST = 1e-15


@dataclass(frozen=True)
class LogisticProbe:
    """Multinomial logistic regression with an L2 penalty, as scikit-learn has it.

    The strength C is chosen as SentEval does, on rows that are held back: the one with the highest
    mean log-probability of their classes, which moves more smoothly than accuracy; of equals the
    strongest penalty. Then it is fitted on all rows, unless the rows to choose on are given
    (a release's dev part), which are then only chosen on, as SentEval does too.

    Gradients alone (L-BFGS) take hundreds of steps where variances differ by a factor of 100,000,
    and are then stopped short in the narrow directions: a correction would help the solver, not
    the classifier. So two classes are solved by Newton's method, whose steps do not depend on the
    spectrum, where there are no more than 1,024 features; L-BFGS does the others, ten times as
    exactly as scikit-learn asks of it.

    Attributes
    ----------
    strengths : tuple of float
        The values of C, weakest classifier first.
    scaling : {"block", "each", "none"}
        What is done to features first; see ``scaling``.
    seed : int
        Of the rows that are held back.

    References
    ----------
    Conneau & Kiela (2018), SentEval: an evaluation toolkit for universal sentence
    representations, LREC.
    """

    strengths: tuple[float, ...] = STRENGTHS
    scaling: Scaling = "block"
    seed: int = 0
    name: str = "logistic"

    def __post_init__(self) -> None:
        check_scaling(self.scaling)
        if not self.strengths or min(self.strengths) <= 0:
            raise UsageError(f"strengths must be positive numbers, got {self.strengths}")

    def __str__(self) -> str:
        low, high = min(self.strengths), max(self.strengths)
        grid = f"one of {len(self.strengths)} C from {low:g} to {high:g} chosen on held-back rows"
        strength = f"C = {low:g}" if len(self.strengths) == 1 else grid
        return f"logistic regression, {WORDS[self.scaling]}, {strength}"

    def predict(self, lesson: Lesson) -> Codes:
        """Choose C, fit, and classify."""
        back = lesson.held_back(self.seed)
        model = self.chosen(lesson, back)
        # A release's dev part is for choosing alone; rows held back at random are learned from too.
        # `held_back` returns the very array that was given, or one of its own: that tells the two
        # cases apart.
        kept = ~back if back is lesson.choosing else np.ones(len(back), np.bool_)
        scale = Scale.of(lesson.features[kept], self.scaling, lesson.blocks)
        model.fit(scale(lesson.features[kept]), lesson.codes[kept])
        return np.asarray(model.predict(scale(lesson.asked)), np.intp)

    def chosen(self, lesson: Lesson, back: NDArray[np.bool_]) -> Any:
        """Return the classifier of the other rows that fits the held-back ones best.

        Strengths are tried in order until one is clearly worse than the best: beyond it are the
        fits that take the longest. A small fall is no reason to stop, as a class that shows in
        narrow directions is found only after the wide ones have been of no use.
        """
        strengths = sorted(self.strengths)
        if len(strengths) == 1 or not back.any():
            return regression(lesson, strengths[len(strengths) // 2])
        scale = Scale.of(lesson.features[~back], self.scaling, lesson.blocks)
        learned, chosen_on = scale(lesson.features[~back]), scale(lesson.features[back])
        model, best, highest = None, None, np.full(int(back.sum()), -np.inf)
        for strength in strengths:
            model = regression(lesson, strength, model)
            model.fit(learned, lesson.codes[~back])
            fit = log_probabilities(model, chosen_on, lesson.codes[back])
            if best is None or fit.mean() > highest.mean():
                best, highest = model, fit
            elif clearly_worse(fit, highest):
                break
        return best


def regression(lesson: Lesson, strength: float, start: Any = None) -> Any:
    """Return scikit-learn's estimator with the solver that suits.

    It starts from the weights of another one, if there is one, or from its own when it is fitted
    again: from one strength to the next, or to a few more rows, it is a short way.
    """
    from sklearn.linear_model import LogisticRegression

    newton = lesson.features.shape[1] <= NEWTON_WIDTH and len(np.unique(lesson.codes)) == 2
    model = LogisticRegression(
        C=strength,
        solver="newton-cholesky" if newton else "lbfgs",
        max_iter=ITERATIONS,
        tol=TOLERANCE,
        warm_start=True,
    )
    if start is not None:
        model.coef_, model.intercept_ = start.coef_.copy(), start.intercept_.copy()
    return model


def log_probabilities(model: Any, features: Matrix, codes: Codes) -> NDArray[np.float64]:
    """Return the log-probability that a classifier gives to the true class of every row.

    All of them are classes that it has learned.
    """
    columns = np.searchsorted(model.classes_, codes)
    found = model.predict_proba(features)[np.arange(len(codes)), columns]
    return np.asarray(np.log(np.maximum(found, SMALLEST)))


def clearly_worse(fit: NDArray[np.float64], best: NDArray[np.float64]) -> bool:
    """Whether log-probabilities fall by more than little, and by more than chance."""
    fall = best - fit
    error = float(fall.std()) / np.sqrt(len(fall))
    return bool(fall.mean() > max(LITTLE, ERRORS * error))


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
                "hidden units, rows of a batch and epochs must be at least 1, and the rate "
                f"above 0: got {self.hidden}, {self.batch}, {self.epochs} and {self.rate:g}"
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
        torch = require(
            "torch",
            "the probe mlp needs torch, which is not installed; pip install 'isoscope[models]'",
        )

        def tensor(matrix: Matrix) -> Any:
            return torch.from_numpy(np.ascontiguousarray(scale(matrix), np.float32))

        scale = Scale.of(features, self.scaling, blocks)
        present, targets = np.unique(codes, return_inverse=True)
        inputs, classes = tensor(features), torch.from_numpy(targets)
        questions = [tensor(matrix) for matrix in asked]
        with torch.random.fork_rng(devices=[]):  # the caller's random numbers stay as they are
            torch.manual_seed(self.seed)
            network = torch.nn.Sequential(
                torch.nn.Linear(inputs.shape[1], self.hidden),
                torch.nn.ReLU(),
                torch.nn.Linear(self.hidden, len(present)),
            )
        # Batches have a generator of their own: weights of larger spaces draw more numbers, and the
        # batches must be the same in all of them.
        optimiser = torch.optim.Adam(network.parameters(), lr=self.rate)
        shuffled = torch.Generator().manual_seed(self.seed)
        for _ in range(self.epochs):
            total = 0.0
            order = torch.randperm(len(inputs), generator=shuffled)
            for rows in torch.split(order, self.batch):
                optimiser.zero_grad()
                loss = torch.nn.functional.cross_entropy(network(inputs[rows]), classes[rows])
                loss.backward()
                optimiser.step()
                total += loss.item() * len(rows)
            with torch.no_grad():
                said = [network(question).argmax(dim=1).numpy() for question in questions]
            yield total / len(inputs), tuple(present[one] for one in said)


PROBES: dict[str, type[LogisticProbe] | type[MlpProbe]] = {
    "logistic": LogisticProbe,
    "mlp": MlpProbe,
}


def find_probe(name: str, seed: int = 0) -> Probe:
    """Return a probe by its name, with its default settings."""
    check_name("probe", name, PROBES)
    return PROBES[name](seed=seed)
