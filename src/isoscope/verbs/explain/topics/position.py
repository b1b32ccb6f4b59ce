"""Whether the vectors of a model tell where in a text a token stands, and which neurons do.

A probe of every layer predicts positions; what it beats is the commonest position, and the
commonest position of the same token. Dimensions that stand out are ranked by what they contribute.
A rank says little where positions cannot be read: large neurons contribute to any probe, and in
MiniLM an outlier comes first even when its positional embeddings are set to zero.

References
----------
Luo (2021), thesis, section 3.2.2.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.errors import DataError
from isoscope.measures.views import NONE
from isoscope.models.layer_names import EMBEDDING, POSITIONS
from isoscope.models.structure.parts import LEARNED
from isoscope.progress import Progress, report
from isoscope.results.model_rows import position_extremes
from isoscope.results.result import Row, Table
from isoscope.verbs.explain.names import ACCURACY, BY_TOKEN, MAJORITY, NO_OUTLIER, OFTEN, RANK
from isoscope.verbs.explain.topics.base import Explanation, KeyFigure, Question, Topic
from isoscope.verbs.explain.topics.position_probe import (
    PositionProbe,
    PositionTask,
    position_task,
    probe_positions,
    rank_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray

    from isoscope.models.model import Model
    from isoscope.models.token_table import TokenSample

    Probes = Mapping[str, PositionProbe]


# By how much the lower end of an accuracy must be above both baselines. The tokens of a text,
# without their order, tell its length and what it is about, and so a little more of positions than
# a token alone: probes of MiniLM with its positional embeddings set to zero gained up to 0.02 so.
MARGIN = 0.05

# Contributions that are listed for every layer.
LARGEST = 10


@dataclass(frozen=True)
class PositionProbes:
    """The probes of the layers of a sample, and what they were trained and scored on."""

    probes: dict[str, PositionProbe]
    task: PositionTask
    protocol: str

    def accuracy_row(self, layer: str) -> Row:
        """Return how often a layer's probe is right."""
        score = self.probes[layer].accuracy
        return Row.of(
            score, "", layer, NONE, ACCURACY,
            n=self.task.tokens, protocol=self.protocol, extra={"texts": score.n},
        )  # fmt: skip

    def baseline_rows(self, layer: str, protocol: str) -> list[Row]:
        """Return how often one is right without vectors."""
        values = {MAJORITY: self.task.majority_baseline, BY_TOKEN: self.task.token_baseline}
        return [
            Row("", layer, NONE, measure, value, n=self.task.tokens, protocol=protocol)
            for measure, value in values.items()
        ]


def position_probes(
    sample: TokenSample, seed: int, progress: Progress | None = None
) -> PositionProbes:
    """Probe every layer of a sample for positions.

    Parameters
    ----------
    sample : TokenSample
        Tokens of whole texts in several layers.
    seed : int
        Of the texts that are held out, and of training.
    progress : callable, optional
        Called with ``position probes``, layers done, and layers in all.
    """
    task = position_task(sample.positions, sample.sentences, sample.ids, seed)
    found = {}
    for done, (layer, vectors) in enumerate(sample.layers.items(), start=1):
        found[layer] = probe_positions(vectors, task, seed)
        report(progress, "position probes", done, len(sample.layers))
    return PositionProbes(found, task, f"{sample.protocol}; {task.protocol}")


def explain_position(question: Question) -> Explanation:
    """Probe every layer for positions, and look at what the model was told of them."""
    sample = question.sample
    tables = position_tables(question.model)
    try:
        found = position_probes(sample, question.seed, question.progress)
    except DataError as error:
        rows = [
            Row("", layer, NONE, ACCURACY, None, protocol=sample.protocol, note=str(error))
            for layer in sample.layers
        ]
        return Explanation(
            False, f"Positions cannot be probed: {error}.", rows, tables,
            "positions cannot be probed with this text",
        )  # fmt: skip
    probes, task = found.probes, found.task
    outliers = often_extreme(
        vectors for layer, vectors in sample.layers.items() if not layer.endswith(EMBEDDING)
    )
    rows = [
        row
        for layer, probe in probes.items()
        for row in (
            found.accuracy_row(layer),
            *found.baseline_rows(layer, found.protocol),
            *(rank_row(layer, probe, k, f"{RANK}/{k}", found.protocol) for k in outliers),
        )
    ]
    told = telling(probes, task)
    sentence = sentence_of(told, probes, task, outliers)
    brief, figures = in_brief(told, probes, task)
    every = [contribution_table(probes), *tables]
    return Explanation(bool(told), sentence, rows, every, brief, figures)


def in_brief(
    told: list[str], probes: Probes, task: PositionTask
) -> tuple[str, tuple[KeyFigure, ...]]:
    """Return the finding as a clause, with the accuracy of the best layer beside a guess."""
    best = max(probes, key=lambda layer: probes[layer].accuracy.value or 0.0)
    guess, how = max(
        (task.majority_baseline, "the commonest one"),
        (task.token_baseline, "from the token alone"),
    )
    figure = KeyFigure(
        f"accuracy of position, from {best}",
        probes[best].accuracy.value, guess, how,
    )  # fmt: skip
    if not told:
        return "a token's position in its text cannot be read from its vector", (figure,)
    where = spans(told, list(probes))
    return f"a token's position in its text can be read from its vector {where}", (figure,)


def often_extreme(layers: Iterable[NDArray[np.float32]]) -> list[int]:
    """Return the dimensions that are minimum, or maximum, in a share of all vectors together."""
    lowest = highest = np.zeros(0)
    for vectors in layers:
        width = vectors.shape[1]
        if not len(lowest):
            lowest, highest = np.zeros(width), np.zeros(width)
        lowest += np.bincount(vectors.argmin(axis=1), minlength=width)
        highest += np.bincount(vectors.argmax(axis=1), minlength=width)
    share = np.maximum(lowest, highest) / max(lowest.sum(), 1)
    return [int(k) for k in np.flatnonzero(share >= OFTEN)]


def rank_row(layer: str, probe: PositionProbe, dimension: int, measure: str, protocol: str) -> Row:
    """Return the rank of a dimension's contribution; 1 is the largest."""
    values = probe.contributions
    return Row(
        "", layer, NONE, measure, float(rank_of(dimension, values)),
        n=len(values), protocol=protocol,
        extra={
            "dimension": dimension,
            "contribution": float(values[dimension]),
            "mean_contribution": float(values.mean()),
            "rank_by_predicted_class": rank_of(dimension, probe.predicted_contributions),
            "rank_about_mean": rank_of(dimension, probe.contributions_about_mean),
            "whole": True,
        },
    )  # fmt: skip


def contribution_table(probes: Probes) -> Table:
    """List the largest contributions of every layer."""
    rows: list[dict[str, Any]] = [
        {
            "layer": layer,
            "dimension": int(k),
            "contribution": float(probe.contributions[k]),
            "by_predicted_class": float(probe.predicted_contributions[k]),
            "about_mean": float(probe.contributions_about_mean[k]),
            "mean_of_layer": float(probe.contributions.mean()),
        }
        for layer, probe in probes.items()
        for k in np.argsort(-probe.contributions, kind="stable")[:LARGEST]
    ]
    note = (
        f"the {LARGEST} largest of each layer: mean of |w·v| over held-out tokens, w being the "
        "weight of the position that a token has"
    )
    return Table("", "", NONE, "position_contributions", rows, note)


def position_tables(model: Model) -> list[Table]:
    """List the entries that stand out in learned positional embeddings."""
    tables = model.parts.positions.tables
    found = []
    for table in tables:
        if table.kind == LEARNED:
            side = table.path.split(".")[0] if len(tables) > 1 else ""
            matrix = np.asarray(model.tensor(table.path))
            found.append(position_extremes("", f"{side} {POSITIONS}".strip(), matrix, table))
    return found


def telling(probes: Probes, task: PositionTask) -> list[str]:
    """Return the layers that tell positions: accuracies above both baselines by the margin."""
    needed = max(task.majority_baseline, task.token_baseline) + MARGIN
    return [
        layer
        for layer, probe in probes.items()
        if probe.accuracy.low is not None and probe.accuracy.low > needed
    ]


def sentence_of(told: list[str], probes: Probes, task: PositionTask, outliers: list[int]) -> str:
    """Say which layers tell positions, how well the best does, and the last; or that none does."""
    accuracies = {layer: f"{probe.accuracy.value:.2f}" for layer, probe in probes.items()}
    baselines = f"majority {task.majority_baseline:.2f}, by token {task.token_baseline:.2f}"
    best = max(probes, key=lambda layer: probes[layer].accuracy.value or 0.0)
    if not told:
        return (
            f"Positions cannot be read from any layer: the best accuracy is {accuracies[best]} "
            f"in {best} ({baselines}; {MARGIN:g} more is required)."
        )
    layers = list(probes)
    shown = " and ".join(f"{accuracies[k]} in {k}" for k in dict.fromkeys((best, layers[-1])))
    return (
        f"Positions can be read {spans(told, layers)} (accuracy {shown}; {baselines})"
        f"{outlier_words(told, probes, outliers)}."
    )


def spans(some: list[str], layers: list[str]) -> str:
    """Say which layers some are, runs of them by their ends."""
    if some == layers:
        return "in every layer"
    runs = [list(run) for inside, run in groupby(layers, lambda layer: layer in some) if inside]
    said = [f"in {run[0]}" if len(run) == 1 else f"from {run[0]} to {run[-1]}" for run in runs]
    return " and ".join(said)


def outlier_words(told: list[str], probes: Probes, outliers: list[int]) -> str:
    """Name the outlier dimension that contributes most, in layers behind the input."""
    if not outliers:
        return f"; {NO_OUTLIER}"
    places = [
        (rank_of(k, probe.contributions), rank_of(k, probe.contributions_about_mean), k, layer)
        for layer, probe in probes.items()
        if layer in told and not layer.endswith(EMBEDDING)
        for k in outliers
    ]
    if not places:
        return ""
    rank, about_mean, dimension, layer = min(places, key=lambda place: place[:2])
    width = len(probes[layer].contributions)
    return (
        f"; outlier dimension {dimension} ranks {ordinal(rank)} of {width} by contribution in "
        f"{layer}, {ordinal(about_mean)} about its mean"
    )


def ordinal(number: int) -> str:
    """Write a rank: 1st, 2nd, 3rd, 4th, 11th."""
    ending = {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{'th' if number % 100 in (11, 12, 13) else ending}"


POSITION = Topic(
    "position", "do vectors encode the position of a token in its text, and in which dimensions?",
    "a text", explain_position,
)  # fmt: skip
