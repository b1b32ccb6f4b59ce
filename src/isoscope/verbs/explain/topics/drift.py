"""Whether the mean of an embedding matrix moved away from the origin in training.

With μ the mean of the rows x_i of a matrix X, the shift ‖μ‖ / mean ‖x_i‖ is 0 for a centred matrix
and 1 where all rows are the same. A shift stretches the first singular value, σ₁² ≥ n ‖μ‖², and
centring takes it back.

References
----------
Biś et al. (2021), Too much in common, sections 4 and 5; figure 2 for a toy.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from isoscope.errors import MissingError
from isoscope.measures.reads.moments import MomentParts, Moments
from isoscope.measures.reads.passes import first_read
from isoscope.measures.views import NONE
from isoscope.models.checkpoint_cache import CheckpointCache
from isoscope.models.layer_names import EMBEDDING_MATRIX, UNEMBEDDING_MATRIX
from isoscope.progress import report
from isoscope.results.fields import CHECKPOINTS, PARTS
from isoscope.results.model_rows import fields_of
from isoscope.results.result import Row
from isoscope.verbs.explain.names import SHIFT
from isoscope.verbs.explain.topics.base import Explanation, KeyFigure, Question, Topic, cosine

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from isoscope.models.checkpoints import Checkpoint, Training
    from isoscope.models.model import Model
    from isoscope.typing import Vector


# Mean lengths by which the mean must move away to have drifted. Of n random rows the mean is 1/√n
# of a length from the origin, below 0.02 for a vocabulary.
FURTHER = 0.1

# Times by which σ₁/σ₂ must grow with it: a shift that does not make one direction larger than the
# others is no common direction.
WIDER = 1.1

CENTER = "center"
TOWARDS, MOVED, RATIO = "mean/cosine_with_last", "mean/moved", "singular_ratio"


@dataclass(frozen=True)
class Place:
    """Where a matrix is at one checkpoint.

    Attributes
    ----------
    rows : int
        Of the matrix, without those that no token has.
    mean : array
        Of the rows.
    length : float
        Mean length of the rows.
    ratio, centred_ratio : float or None
        σ₁/σ₂ of the matrix as it is, and centred; None where σ₂ is 0.
    """

    rows: int
    mean: Vector
    length: float
    ratio: float | None
    centred_ratio: float | None

    @classmethod
    def of(cls, moments: Moments) -> Place:
        """Take mean, length and singular values from sums over rows."""
        mean, centred = moments.mean, moments.covariance
        length = moments.norm_sum / moments.weight
        # About the origin: XᵀX/n is the covariance and the outer product of the mean.
        moved = centred + np.outer(mean, mean)
        return cls(moments.rows, mean, length, singular_ratio(moved), singular_ratio(centred))

    @property
    def shift(self) -> float | None:
        """The mean's length in mean lengths of rows; None where all rows are zero."""
        return None if self.length == 0 else float(np.linalg.norm(self.mean)) / self.length


@dataclass(frozen=True)
class Drift:
    """A matrix over a training: its name in results, and its place at each checkpoint, in order."""

    part: str
    places: tuple[Place, ...]

    @property
    def further(self) -> float | None:
        """How much further from the origin the last mean is than the first, in mean lengths."""
        first, last = self.places[0].shift, self.places[-1].shift
        return None if first is None or last is None else last - first

    @property
    def wider(self) -> float | None:
        """The last σ₁/σ₂ over the first."""
        first, last = self.places[0].ratio, self.places[-1].ratio
        return None if first is None or last is None else last / first

    @property
    def found(self) -> bool:
        """Whether the mean moved away and stretched the matrix."""
        return (self.further or 0.0) > FURTHER and (self.wider or 0.0) > WIDER


def singular_ratio(second_moment: NDArray[np.float64]) -> float | None:
    """Return σ₁/σ₂ from XᵀX/n, whose eigenvalues are their squares over n."""
    # Ascending. Below the rounding of the largest eigenvalue the second one is noise, not a number.
    values = np.linalg.eigvalsh(second_moment)
    if len(values) < 2 or values[-2] <= len(values) * np.finfo(np.float64).eps * values[-1]:
        return None
    return float(np.sqrt(values[-1] / values[-2]))


def explain_drift(question: Question) -> Explanation:
    """Follow the mean of the embedding matrices over the checkpoints of a training."""
    training = question.training
    if training is None:
        raise MissingError("needs checkpoints: a folder of them, or --revisions")
    if len(training.checkpoints) < 2:
        raise MissingError(
            f"needs at least two checkpoints, and {training.model} has one: "
            f"{training.checkpoints[0].revision}"
        )
    drifts = followed(training, question)
    rows = [row for drift in drifts for row in drift_rows(drift, training)]
    told = max(drifts, key=lambda drift: (drift.found, drift.further or 0.0))
    first, last = told.places[0], told.places[-1]
    figures = (
        KeyFigure(f"mean of the {told.part} from the origin, in mean norms",
                  last.shift, first.shift, "at the first checkpoint"),
        KeyFigure("first singular value over the second", last.ratio, first.ratio,
                  "at the first checkpoint", ".1f"),
    )  # fmt: skip
    moved = "moved away from the origin" if told.found else "did not move away from the origin"
    brief = f"the {told.part} {moved} in training"
    return Explanation(told.found, sentence(told, drifts, training), rows, [], brief, figures)


def followed(training: Training, question: Question) -> list[Drift]:
    """Read the matrices of every checkpoint."""
    places: dict[str, list[Place]] = {}
    total = len(training.checkpoints)
    with CheckpointCache() as cache:
        for number, checkpoint in enumerate(training.checkpoints):
            model = cache.open(checkpoint)
            for which, part in matrices(model).items():
                matrix = model.embedding_cloud(which)
                read = first_read(matrix, MomentParts(dimensions=False), double=True)
                places.setdefault(part, []).append(Place.of(read[matrix.name].moments))
            report(question.progress, CHECKPOINTS, number + 1, total)
    # A matrix that only some checkpoints have, such as a head that was added, has no first or last.
    return [Drift(part, tuple(found)) for part, found in places.items() if len(found) == total]


def matrices(model: Model) -> dict[str, str]:
    """Return which matrices a model has, and what results call them."""
    if model.parts.unembedding is None or model.tied:
        return {"input": EMBEDDING_MATRIX}
    return {"input": EMBEDDING_MATRIX, "output": UNEMBEDDING_MATRIX}


def drift_rows(drift: Drift, training: Training) -> list[Row]:
    """Return the figures of every checkpoint, which tell checkpoints apart as profiles do.

    The subject is ``model@revision``: rows of one part are a curve over subjects.
    """
    first, last = drift.places[0], drift.places[-1]
    rows = []
    for checkpoint, here in zip(training.checkpoints, drift.places, strict=True):
        zero = "" if here.length else "all rows are zero"
        rank = "the second singular value is zero"
        apart = float(np.linalg.norm(here.mean - first.mean))
        figures: list[tuple[str, str, float | None, str]] = [
            (NONE, SHIFT, here.shift, zero),
            (NONE, MOVED, apart / here.length if here.length else None,
             zero or "since the first checkpoint, in mean lengths of this one"),
            (NONE, TOWARDS, cosine(here.mean, last.mean), "one of the means is zero"),
            (NONE, RATIO, here.ratio, rank),
            (CENTER, RATIO, here.centred_ratio, rank),
        ]  # fmt: skip
        rows += [
            Row(
                checkpoint.name, drift.part, correction, measure, value, n=here.rows,
                protocol=training.protocol,
                note=note if value is None or measure == MOVED else "",
                extra={**fields_of(checkpoint), PARTS: "matrix"},
            )
            for correction, measure, value, note in figures
        ]  # fmt: skip
    return rows


def sentence(told: Drift, drifts: Sequence[Drift], training: Training) -> str:
    """Say where the mean of one matrix went and what its singular values did; others in short."""
    first, last = told.places[0], told.places[-1]
    span = said_span(training.checkpoints)
    if first.shift is None or last.shift is None:
        return f"No drift is known: all rows of the {told.part} are zero at a checkpoint, {span}."
    went = f"from {first.shift:.2f} to {last.shift:.2f} of a mean length {span}"
    if told.found:
        start = f"The mean of the {told.part} moved away from the origin, {went}"
    else:
        start = f"No matrix drifted: the mean of the {told.part} went {went}"
    ratios = (
        f"σ₁/σ₂ went from {said(first.ratio)} to {said(last.ratio)}, centred from "
        f"{said(first.centred_ratio)} to {said(last.centred_ratio)}"
    )
    others = [
        f" The mean of the {other.part} went from {said(other.places[0].shift, 2)} to "
        f"{said(other.places[-1].shift, 2)}."
        for other in drifts
        if other is not told
    ]
    return f"{start}; {ratios}.{''.join(others)}"


def said(value: float | None, digits: int = 1) -> str:
    """Write a figure that zeros leave undefined, such as σ₁/σ₂ of a matrix of rank one."""
    return "undefined" if value is None else f"{value:.{digits}f}"


def said_span(checkpoints: Sequence[Checkpoint]) -> str:
    """Say from where to where a training was followed."""
    first, last = checkpoints[0], checkpoints[-1]
    if first.step is None or last.step is None:
        return f"from {first.revision} to {last.revision}"
    return f"over steps {first.step:,} to {last.step:,}"


DRIFT = Topic(
    "drift", "did the embedding matrix move away from the origin in training?",
    "checkpoints of a training", explain_drift,
)  # fmt: skip
