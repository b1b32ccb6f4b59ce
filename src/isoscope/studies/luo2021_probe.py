"""Luo (2021): how well each layer tells positions, and what outlier dimensions contribute to it.

The paper trains on SST-2's training set and tests on its test set; here a fifth of the texts, drawn
at random, are held out. Its lowest three layers are taken to be layers 1 to 3, as it counts the
input apart; its high layers to be the last third.
"""

from __future__ import annotations

import gc
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from isoscope.compute.stats.estimates import bounded_score, difference
from isoscope.explain.position import (
    ACCURACY,
    NO_OUTLIER,
    RANK,
    accuracy_row,
    baseline_rows,
    contribution_table,
    often_extreme,
    probe_layers,
    rank_row,
)
from isoscope.explain.position_probe import (
    LEVEL,
    PositionProbe,
    PositionTask,
    position_task,
    rank_of,
)
from isoscope.explain.token_sample import read_tokens
from isoscope.results.result import Result, Row
from isoscope.studies.claims import Claim
from isoscope.studies.layers import numbered_layers
from isoscope.studies.luo2021_outliers import BERT, MODELS, PAPER, ROBERTA, printed_dimensions
from isoscope.studies.registry import Request, Study, register
from isoscope.studies.scale_tables import LUO_BASE
from isoscope.studies.several import joined
from isoscope.studies.subjects import open_subject, provenance_of
from isoscope.studies.texts import SST_2

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any


TOKENS = 60_000
"""Tokens of whole texts that are read, at most."""

LOWEST = "layer 1|layer 2|layer 3"
THIRD = "layer 3"
CHANGE = f"{ACCURACY}/change_above_layer_3"
HIGH = f"{ACCURACY}/high_layers"


@dataclass(frozen=True)
class ProbedModel:
    """The probes of a model's layers, as papers number them, and what they were made of."""

    name: str
    probes: dict[str, PositionProbe]
    task: PositionTask
    outliers: list[int]
    chosen: str
    """Whose outliers these are."""
    protocol: str
    provenance: dict[str, Any]


def probed(request: Request) -> Iterator[ProbedModel]:
    """Probe all layers of every model, special tokens included."""
    assert request.text is not None
    for subject in request.subjects:
        model = open_subject(subject, request)
        names = numbered_layers(model.stacks)
        sample = read_tokens(
            model, request.text, TOKENS, request.seed,
            special=True, layers=names, progress=request.progress,
        )  # fmt: skip
        provenance = provenance_of(model)
        del model
        gc.collect()  # modules of a network refer to each other: it would stay beside the next
        sample = replace(sample, layers={names[k]: v for k, v in sample.layers.items()})
        task = position_task(sample.positions, sample.sentences, sample.ids, request.seed)
        probes = probe_layers(sample, task, request.seed, request.progress)
        width = next(iter(sample.layers.values())).shape[1]
        outliers, chosen = printed_dimensions(subject.name, width), "those that the paper names"
        if not outliers:
            outliers = often_extreme(v for k, v in sample.layers.items() if k != "layer 0")
            chosen = "minimum or maximum in at least 10 % of the vectors of all non-input layers"
        protocol = f"{sample.protocol}, at most {TOKENS:,} tokens; {task.protocol}"
        yield ProbedModel(subject.name, probes, task, outliers, chosen, protocol, provenance)


def figure_3_7(request: Request) -> Result:
    """Accuracy of every layer's probe, with what one gets without vectors."""
    results = []
    for model in probed(request):
        rows = [
            accuracy_row(layer, probe, model.task, model.protocol)
            for layer, probe in model.probes.items()
        ]
        without = "the commonest position in training, of all tokens or of the same token"
        rows += [*baseline_rows("", model.task, without), change_row(model), high_row(model)]
        named = [replace(row, subject=model.name) for row in rows]
        results.append(Result(named, extra=model.provenance))
    return joined(results)


def change_row(model: ProbedModel) -> Row:
    """Compare the last layer with layer 3, on the same texts."""
    last = list(model.probes)[-1]
    row = Row(
        "", "", "none", CHANGE, None,
        n=model.task.tokens, protocol=f"{last} less {THIRD}, on the same tokens",
    )  # fmt: skip
    if THIRD not in model.probes or last == THIRD:
        return replace(row, note=f"there is no layer above {THIRD}")
    found = difference(model.probes[last].accuracy, model.probes[THIRD].accuracy, level=LEVEL)
    return replace(row, value=found.value, low=found.low, high=found.high, note=found.note)


def high_row(model: ProbedModel) -> Row:
    """Take the mean accuracy of the last third of the layers, the input not counted."""
    behind = [probe for layer, probe in model.probes.items() if layer != "layer 0"]
    high = [probe.accuracy for probe in behind[-max(1, len(behind) // 3) :]]
    value = float(np.mean([score.value for score in high]))
    # The error of a mean of scores of the same texts is the mean of their errors.
    known = [score.influences for score in high if score.influences is not None]
    influences = np.asarray(np.mean(known, axis=0))
    found = bounded_score(value, influences, LEVEL)
    return Row(
        "", "", "none", HIGH, value, low=found.low, high=found.high, n=model.task.tokens,
        protocol=f"mean of the last {len(high)} of {len(behind)} layers", note=found.note,
    )  # fmt: skip


def figure_3_8(request: Request) -> Result:
    """Rank outlier dimensions by what they contribute to every layer's probe."""
    results = []
    for model in probed(request):
        rows: list[Row] = []
        for layer, probe in model.probes.items():
            rows += outlier_rows(layer, probe, model)
        table = replace(contribution_table(model.probes), subject=model.name)
        named = [replace(row, subject=model.name) for row in rows]
        results.append(Result(named, [table], extra=model.provenance))
    return joined(results)


def outlier_rows(layer: str, probe: PositionProbe, model: ProbedModel) -> list[Row]:
    """Return the best rank of an outlier dimension in a layer, and that of each."""
    protocol = f"{model.protocol}; outlier dimensions: {model.chosen}"
    if not model.outliers:
        width = len(probe.contributions)
        return [Row("", layer, "none", RANK, None, n=width, protocol=protocol, note=NO_OUTLIER)]
    best = min(model.outliers, key=lambda k: rank_of(k, probe.contributions))
    return [
        rank_row(layer, probe, best, RANK, protocol),
        *(rank_row(layer, probe, k, f"{RANK}/{k}", protocol) for k in model.outliers),
    ]


INPUT = {"part": "layer 0"}
NEED = "models (a hub id, a folder or a .gguf file) and a text, the paper's being SST-2 train"

register(
    Study(
        "L-F3.7", "How well a linear probe reads positions, layer by layer",
        PAPER + ", figure 3.7", NEED, figure_3_7,
        (
            Claim("positions are read with an accuracy of at least 0.95 in layers 1 to 3",
                  {"measure": ACCURACY, "part": LOWEST}, {}, ">=", 0.95),
            Claim("the accuracy falls above: that of the last layer is below that of layer 3",
                  {"measure": CHANGE}, {}, "<", 0.0),
            Claim("RoBERTa's accuracy is above BERT's in high layers (mean of the last third)",
                  {"measure": HIGH}, {"subject": ROBERTA}, ">", {"subject": BERT},
                  min_subjects=2),
        ),
        MODELS[:2], text=SST_2, scales=LUO_BASE,
    )
)  # fmt: skip
register(
    Study(
        "L-F3.8", "What outlier dimensions contribute to reading positions, layer by layer",
        PAPER + ", figures 3.8 and 3.9", NEED, figure_3_8,
        (
            Claim("an outlier dimension contributes most in all non-input layers",
                  {"measure": RANK, "part": "layer *"}, {}, "<=", 1.0, excluding=(INPUT,)),
            Claim("RoBERTa's 588 contributes most in all non-input layers",
                  {"measure": f"{RANK}/588", "subject": ROBERTA}, {}, "<=", 1.0,
                  excluding=(INPUT,)),
        ),
        MODELS[:2], text=SST_2, scales=LUO_BASE,
    )
)  # fmt: skip
