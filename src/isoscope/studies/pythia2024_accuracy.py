"""Machina & Mercer (2024), appendix A: what classifiers read off a model through its training.

The paper takes nine sets of sentences and three of tokens from SentEval, and finds that the
accuracy of the 70M model goes down with its isotropy. It does not name the sets: the nine are
taken to be SentEval's sentence classification, and one set of words stands for the three.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from isoscope.results.result import Result, Row
from isoscope.studies.benchmarks import sets_to_score
from isoscope.studies.claims import Claim
from isoscope.studies.pythia2024 import PAPER
from isoscope.studies.pythia2024_training import (
    MIDDLE,
    SMALLEST,
    TRAINING,
    followed,
    of,
    with_isotropy,
)
from isoscope.studies.pythia2024_weights import matrix_of
from isoscope.studies.registry import Request, Study, register
from isoscope.studies.scale_tables import ACCURACIES
from isoscope.studies.several import joined
from isoscope.tasks.evaluating import evaluate
from isoscope.tasks.sentence_protocol import SentenceProtocol

if TYPE_CHECKING:
    from isoscope.models.model import Model


SETS = ("mr", "cr", "subj", "mpqa", "sst-2", "sst-5", "trec", "mrpc", "sick-e", "semcor-pos")
ACCURACY, I1 = "logistic/accuracy", "i1"
MEAN_ACCURACY, MEAN_I1 = f"average/{ACCURACY}", f"average/{I1}"
LAST_LAYER = "last layer, vectors as they are"
NOT_THERE = (
    "the paper's three sets of tokens, which it does not name, are not among them: semcor-pos "
    "stands for them; SST-2 is GLUE's"
)


def appendix_a(request: Request) -> Result:
    """Accuracy of every checkpoint beside I1 of its unembedding and of its last layer."""
    tasks, absent = sets_to_score(request, SETS)

    def one(model: Model) -> Result:
        return scored_checkpoint(model, tasks, request)

    results = []
    for subject in request.subjects:
        found, _ = followed(request, subject, one)
        more = [with_isotropy(subject.name, MEAN_ACCURACY, found, name) for name in (I1, MEAN_I1)]
        results.append(replace(found, rows=[*more, *found.rows]))
    return replace(joined(results), left_out=absent)


def scored_checkpoint(model: Model, tasks: list[str], request: Request) -> Result:
    """Score one checkpoint, and measure the vectors that were scored and the unembedding."""
    # Vectors are not kept: those of many checkpoints would fill a disk.
    scores = evaluate(
        model, tasks, ["none"], data=request.data, progress=request.progress,
        sentences=SentenceProtocol(
            layers="last", special_tokens=False, isotropy=(I1,), probe="logistic", cache=False,
            seed=request.seed,
        ),
    )  # fmt: skip
    wanted = {f"{task}/{name}" for task in tasks for name in (ACCURACY, I1)}
    rows = [
        replace(row, protocol=f"{row.measure.partition('/')[0]}: {row.protocol}; {LAST_LAYER}")
        for row in scores.rows
        if row.measure in wanted
    ]
    means = [mean_row(rows, tasks, name) for name in (ACCURACY, I1)]
    matrix = matrix_of(model, "output", request)
    unembedding = [
        replace(row, protocol=f"{I1} is the unembedding's: {row.protocol}")
        for row in matrix.rows
        if (row.measure, row.correction) == (I1, "none")
    ]
    return replace(scores, rows=[*unembedding, *means, *rows], extra=matrix.extra)


def mean_row(rows: list[Row], tasks: list[str], name: str) -> Row:
    """Return the mean of a score or a measure over sets; undefined where one of them is."""
    several = [row for row in rows if row.measure in {f"{task}/{name}" for task in tasks}]
    values = [row.value for row in several if row.value is not None]
    whole = len(values) == len(tasks)
    return Row(
        several[0].subject, several[0].part, "none", f"average/{name}",
        float(np.mean(values)) if whole else None,
        protocol=f"mean over {', '.join(tasks)}; {NOT_THERE}",
        note="" if whole else "a set has none", extra={"unit": "sets"},
    )  # fmt: skip


register(
    Study(
        "P-A", "Accuracy of classifiers over training, beside isotropy",
        PAPER + ", appendix A",
        f"{TRAINING}; and a --data folder with SentEval's sets (MR, CR, SUBJ, MPQA, SST-5, TREC), "
        "GLUE's SST-2 and MRPC, SICK and SemCor, or some of them",
        appendix_a,
        (
            Claim("the accuracy of the 70M model goes with I1 of its unembedding: their "
                  "correlation over checkpoints is above 0",
                  of(SMALLEST, f"correlation({MEAN_ACCURACY}, {I1})"), {}, ">", 0.0),
            Claim("and with I1 of its last layer",
                  of(SMALLEST, f"correlation({MEAN_ACCURACY}, {MEAN_I1})"), {}, ">", 0.0),
        ),
        (SMALLEST, MIDDLE), training=True, tasks=SETS, scales=ACCURACIES,
    )
)  # fmt: skip
