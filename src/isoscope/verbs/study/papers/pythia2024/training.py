"""Machina & Mercer (2024): isotropy and accuracy through training, and an ablation.

- Figures 3, 4, 7 and 9: a model that ends anisotropic does not drift there steadily.
- Appendix A: what classifiers read off a model at every checkpoint.
- Section 6 asks for an ablation: the same small model is trained with tied and with untied
  matrices, and with and without positions.

For appendix A the paper takes nine sets of sentences and three of tokens from SentEval, and finds
that the accuracy of the 70M model goes down with its isotropy. It does not name the sets: the nine
are taken to be SentEval's sentence classification, and one set of words stands for the three.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

from scipy import stats

import isoscope
from isoscope.results.fields import REPLICATES
from isoscope.results.merge import joined_without_verdicts
from isoscope.results.result import Result, Row
from isoscope.tasks.protocol import SentenceProtocol
from isoscope.verbs.study.inputs import (
    OWN,
    WIKIPEDIA,
    correlation_over_training,
    mean_of,
    sets_to_score,
)
from isoscope.verbs.study.judgement.claims import Claim
from isoscope.verbs.study.judgement.evidence import EXACT, P_VALUE, against_number
from isoscope.verbs.study.judgement.replicates import combined
from isoscope.verbs.study.judgement.scope import OWN as MADE_HERE
from isoscope.verbs.study.papers.pythia2024 import (
    INTER,
    INTRA,
    ISOTROPIC,
    apart,
    printed,
    profile_with_error,
)
from isoscope.verbs.study.papers.pythia2024.weights import matrix_of, norm_and_matrix
from isoscope.verbs.study.registry import Request, add_study
from isoscope.verbs.study.runs.trainings import FEWEST, Curve, ablated, followed, last_step
from isoscope.verbs.train.names import EMBEDDING as EMBEDDING_MATRIX
from isoscope.verbs.train.names import (
    EXTREME,
    LAST_LAYER,
    MEAN_COSINE,
    NON_INPUT,
    PERPLEXITY,
    UNEMBEDDING,
    VALIDATION,
)

if TYPE_CHECKING:
    from isoscope.models.model import Model

    Sayings = dict[str, "Saying"]


# A bias is flat while it changes by at most this share of itself; the paper gives no number.
FLAT = 0.25

BIAS, GAIN = "bias_avgnorm", "gain_avgnorm"
PLATEAU = printed("Pythia-6.9B unembedding over training", "isotropy plateau")
AROUND = 0.03
LAST_THIRD = "in_last_third"


def of_every_training(
    request: Request,
    one: Callable[[Model], Result],
    rows_of: Callable[[str, Result], list[Row]],
) -> Result:
    """Follow every model through its training, and say something of its curves.

    Parameters
    ----------
    request : Request
        Models, and which of their checkpoints are looked at.
    one : callable
        Gives the numbers of one checkpoint.
    rows_of : callable
        Gets the name of a model and the numbers of all its checkpoints; returns the rows of the
        study.
    """
    results = []
    for subject in request.subjects:
        found, _ = followed(request, subject, one)
        results.append(replace(found, rows=rows_of(subject.name, found)))
    return joined_without_verdicts(results)


@dataclass(frozen=True)
class Saying:
    """Something that is said of a curve, as a number.

    Attributes
    ----------
    value : callable
        Gives the number.
    tries : callable
        Among how many numbers it was chosen, as the lowest checkpoint is: p-values are multiplied
        with it (Bonferroni).
    """

    value: Callable[[Curve], float]
    tries: Callable[[Curve], int] = lambda _: 1


def told(subject: str, measure: str, found: Result, sayings: Sayings) -> list[Row]:
    """Return what is said of a curve, undefined where there are too few checkpoints.

    Checkpoints that were measured without the same blocks of texts, or of the vocabulary, give what
    is said of them an error.
    """
    rows = of_curve(found, measure)
    curve = Curve.of(rows)
    few = f"thirds of a training need at least {FEWEST} checkpoints, and there are {len(curve)}"
    names = [f"{measure}/{name}" for name in sayings]
    known = [
        Row(subject, "", "none", name, None, n=len(curve), extra={"unit": "checkpoints"})
        for name in names
    ]
    if len(curve) < FEWEST:
        return [replace(row, note=few) for row in known]

    def said(row: Row, saying: Saying) -> Row:
        made = combined(rows, row, lambda values: saying.value(curve.with_values(values)))
        return chosen_among(made, saying.tries(curve))

    return [said(row, saying) for row, saying in zip(known, sayings.values(), strict=True)]


def of_curve(found: Result, measure: str) -> list[Row]:
    """Return the checkpoints of a measure, in the order of their steps."""
    rows = [
        row
        for row in found.rows
        if (row.measure, row.correction) == (measure, "none")
        and row.value is not None
        and row.extra.get("step") is not None
    ]
    return sorted(rows, key=lambda row: int(row.extra["step"]))


def chosen_among(row: Row, tries: int) -> Row:
    """Give a number that is the largest or smallest of several the p-value of its sign."""
    if tries == 1 or row.value is None or REPLICATES not in row.extra:
        return row
    found = against_number(row, 0.0)
    p = min(1.0, 2 * min(found.above, found.below) * tries)
    how = f"blocks of the data, for {tries} comparisons"
    return replace(row, extra={**row.extra, P_VALUE: p, "test": how})


def turning_row(subject: str, measure: str, found: Result) -> Row:
    """Return how far a curve is from monotone, with the p-value of its rising and falling both.

    The largest rise and the largest fall are those of all pairs of checkpoints. A curve without
    one of them is monotone as far as all its steps are certain.
    """
    rows = of_curve(found, measure)
    (row,) = told(subject, measure, found, {"turning": Saying(lambda line: line.turning)})
    if row.value is None or row.extra.get(EXACT) or REPLICATES not in row.extra:
        return row
    if row.value == 0:
        steps = [apart(later, before, row) for before, later in pairwise(rows)]
        weighed = [against_number(step, 0.0) for step in steps]
        p = min(max(one.above for one in weighed), max(one.below for one in weighed))
        tries = 1
    else:
        pairs = [(one, other) for k, one in enumerate(rows) for other in rows[k + 1 :]]
        changes = [apart(later, before, row) for before, later in pairs]
        highest, lowest = (
            against_number(end(changes, key=lambda one: one.value or 0.0), 0.0)
            for end in (max, min)
        )
        p, tries = max(highest.above, lowest.below), len(pairs)
    how = f"blocks of the data, for {tries} comparisons"
    return replace(row, extra={**row.extra, P_VALUE: min(1.0, 2 * p * tries), "test": how})


def over_text(request: Request, measure: str) -> Result:
    """Follow a measure of the last layer over a text."""
    sayings: Sayings = {
        "change_in_middle_third": Saying(lambda line: line.change(1 / 3, 2 / 3)),
        "change_over_first_two_thirds": Saying(lambda line: line.change(0, 2 / 3)),
    }

    def one(model: Model) -> Result:
        return profile_with_error(
            model, request, measure, layers=model.stacks[-1].layers[-1:], intervals=False
        )

    return of_every_training(
        request,
        one,
        lambda name, found: [
            *found.rows, *told(name, measure, found, sayings), turning_row(name, measure, found),
        ],
    )  # fmt: skip


def figure_3(request: Request) -> Result:
    """InterSim of the last layer over training."""
    return over_text(request, INTER)


def figure_4(request: Request) -> Result:
    """Mean IntraSim of the last layer over training."""
    return over_text(request, INTRA)


def figure_7(request: Request) -> Result:
    """I1 of the unembedding over training, raw and centred."""
    sayings: Sayings = {
        "early_drop": Saying(lambda line: line.early_drop, lambda line: line.early),
        "rise_after_drop": Saying(
            lambda line: line.rise_after_drop, lambda line: line.early * len(line)
        ),
        "change_after_first_third": Saying(lambda line: line.change(1 / 3, 1)),
        "end_above_lowest_before": Saying(
            lambda line: float(line.values[-1] - line.values[:-1].min())
        ),
    }
    return of_every_training(
        request,
        lambda model: matrix_of(model, "output", request),
        lambda name, found: [
            *found.rows, *told(name, "i1", found, sayings), *last_third(name, found),
        ],
    )  # fmt: skip


def last_third(subject: str, found: Result) -> list[Row]:
    """Return I1 of the checkpoints of the last third of training."""
    rows = of_curve(found, "i1")
    if len(rows) < FEWEST:
        (row,) = told(subject, "i1", found, {LAST_THIRD: Saying(lambda line: line.at(1))})
        return [row]
    late = Curve.of(rows).shares >= 2 / 3
    return [
        replace(row, measure=f"i1/{LAST_THIRD}")
        for row, is_late in zip(rows, late, strict=True)
        if is_late
    ]


def figure_9(request: Request) -> Result:
    """Gain and bias of the last norm over training, and how they go with I1."""
    return of_every_training(
        request,
        lambda model: norm_and_matrix(model, request),
        lambda name, found: [
            *found.rows,
            *told(name, BIAS, found, {"relative_change": Saying(relative_change)}),
            *told(name, GAIN, found, {"change": Saying(lambda line: line.change(0, 1))}),
            *(with_isotropy(name, measure, found) for measure in (BIAS, GAIN)),
        ],
    )


def relative_change(curve: Curve) -> float:
    """Return how much a curve changes after the first third of training, as a share of itself."""
    start = curve.at(1 / 3)
    return abs(curve.change(1 / 3, 1)) / start if start > 0 else float("inf")


def with_isotropy(subject: str, measure: str, found: Result, isotropy: str = "i1") -> Row:
    """Correlate a measure with I1 over checkpoints.

    Step 0 is no point of it: before training a norm is constant, and a model knows nothing.
    """
    values: dict[str, dict[int, float]] = {measure: {}, isotropy: {}}
    for row in found.rows:
        step = row.extra.get("step")
        if row.measure in values and row.correction == "none" and row.value is not None and step:
            values[row.measure][int(step)] = row.value
    steps = sorted(set(values[measure]) & set(values[isotropy]))
    first, second = ([values[name][step] for step in steps] for name in (measure, isotropy))
    row = correlation_over_training(subject, (measure, isotropy), (first, second), ", step 0 apart")
    return with_test_interval(row)


def with_test_interval(row: Row) -> Row:
    """Give a correlation the interval that agrees with its p-value (Miettinen 1976).

    On Fisher's scale, z = atanh r, the error is taken to be the one with which the p-value of
    z = 0 would be that of the test: |z| over the normal quantile of p.
    """
    p = row.extra.get(P_VALUE)
    if row.value is None or p is None or abs(row.value) >= 1 or p <= 0:
        return row
    z, quantile = math.atanh(row.value), float(stats.norm.isf(p / 2))
    if quantile <= 0 or z == 0:
        return replace(row, low=-1.0, high=1.0)
    reach = abs(z) / quantile * float(stats.norm.ppf(0.975))
    return replace(row, low=math.tanh(z - reach), high=math.tanh(z + reach))


SMALLEST, MIDDLE, BIG = "Pythia-70M", "Pythia-410M", "Pythia-6.9B"
BOTH = f"{SMALLEST}|{MIDDLE}"


def of(subject: str, measure: str) -> dict[str, str]:
    """Return what is said of the curve of one of the paper's models."""
    return {"subject": subject, "measure": measure}


add_study(
    "P-F3", figure_3,
    Claim("InterSim of Pythia-70M rises in the middle third of training",
          of(SMALLEST, f"{INTER}/change_in_middle_third"), {}, ">", 0.0),
    Claim("InterSim of Pythia-410M falls over the first two thirds of training",
          of(MIDDLE, f"{INTER}/change_over_first_two_thirds"), {}, "<", 0.0),
    Claim("InterSim of Pythia-70M and Pythia-410M is not monotone over training",
          of(BOTH, f"{INTER}/turning"), {}, ">", 0.0),
    models=(SMALLEST, MIDDLE), text=replace(OWN, usual="The Pile's Enron Emails"), training=True,
)  # fmt: skip
add_study(
    "P-F4", figure_4,
    Claim("mean IntraSim of Pythia-70M and Pythia-410M is not monotone over training",
          of(BOTH, f"{INTRA}/turning"), {}, ">", 0.0),
    models=(SMALLEST, MIDDLE), text=replace(OWN, usual="The Pile's Enron Emails"), training=True,
)  # fmt: skip
add_study(
    "P-F7", figure_7,
    Claim("I1 of the unembedding of Pythia-70M and Pythia-410M drops from step 0",
          of(BOTH, "i1/early_drop"), {}, "<", 0.0),
    Claim("I1 of the unembedding of Pythia-70M and Pythia-410M rises after this drop",
          of(BOTH, "i1/rise_after_drop"), {}, ">", 0.0),
    Claim("I1 of the unembedding of Pythia-70M falls after the first third of training",
          of(SMALLEST, "i1/change_after_first_third"), {}, "<", 0.0),
    Claim("I1 of the unembedding of Pythia-70M is lowest at the end of training",
          of(SMALLEST, "i1/end_above_lowest_before"), {}, "<=", 0.0),
    Claim(f"I1 of the unembedding of Pythia-6.9B stays at {PLATEAU:g} ± {AROUND:g} over the last "
          "third of training",
          of(BIG, f"i1/{LAST_THIRD}"), {}, "within", (PLATEAU - AROUND, PLATEAU + AROUND)),
    models=(SMALLEST, MIDDLE, BIG), training=True,
)  # fmt: skip
add_study(
    "P-F9", figure_9,
    Claim("the bias of the final norm of Pythia models from 410M on is flat: it changes by at most "
          f"{FLAT:.0%} after the first third of training",
          of(ISOTROPIC, f"{BIAS}/relative_change"), {}, "<=", FLAT),
    Claim("the gain of the final norm of Pythia models from 410M on grows over training",
          of(ISOTROPIC, f"{GAIN}/change"), {}, ">", 0.0),
    Claim("the bias of the final norm of Pythia-70M grows as I1 of the unembedding falls",
          of(SMALLEST, f"correlation({BIAS}, i1)"), {}, "<", 0.0),
    Claim("the gain of the final norm of Pythia-70M grows as I1 of the unembedding falls",
          of(SMALLEST, f"correlation({GAIN}, i1)"), {}, "<", 0.0),
    models=(SMALLEST, MIDDLE, BIG), training=True,
)  # fmt: skip


SETS = ("mr", "cr", "subj", "mpqa", "sst-2", "sst-5", "trec", "mrpc", "sick-e", "semcor-pos")
ACCURACY, I1 = "logistic/accuracy", "i1"
MEAN_ACCURACY, MEAN_I1 = f"average/{ACCURACY}", f"average/{I1}"
LAST_LAYER_AS_IT_IS = "last layer, vectors as they are"
NOT_THERE = (
    "the paper's three sets of tokens, which it does not name, are not among them: semcor-pos "
    "stands for them; SST-2 is GLUE's"
)


def appendix_a(request: Request) -> Result:
    """Accuracy of every checkpoint beside I1 of its unembedding and of its last layer."""
    tasks, absent = sets_to_score(request, SETS)
    result = of_every_training(
        request,
        lambda model: scored_checkpoint(model, tasks, request),
        lambda name, found: [
            *(with_isotropy(name, MEAN_ACCURACY, found, measure) for measure in (I1, MEAN_I1)),
            *found.rows,
        ],
    )
    return replace(result, left_out=absent)


def scored_checkpoint(model: Model, tasks: list[str], request: Request) -> Result:
    """Score one checkpoint, and measure the vectors that were scored and the unembedding."""
    # Vectors are not kept: those of many checkpoints would fill a disk.
    scores = isoscope.evaluate(
        model, tasks, ["none"], data=request.data, progress=request.progress,
        sentences=SentenceProtocol(
            layers="last", special_tokens=False, isotropy=(I1,), probe="logistic", cache=False,
            seed=request.seed,
        ),
    )  # fmt: skip
    wanted = {f"{task}/{name}" for task in tasks for name in (ACCURACY, I1)}
    rows = [
        replace(
            row, protocol=f"{row.measure.partition('/')[0]}: {row.protocol}; {LAST_LAYER_AS_IT_IS}"
        )
        for row in scores.rows
        if row.measure in wanted
    ]
    means = [mean_row(rows, tasks, name) for name in (ACCURACY, I1)]
    matrix = matrix_of(model, "output", request, with_error=False)
    unembedding = [
        replace(row, protocol=f"{I1} is the unembedding's: {row.protocol}")
        for row in matrix.rows
        if (row.measure, row.correction) == (I1, "none")
    ]
    return replace(scores, rows=[*unembedding, *means, *rows], extra=matrix.extra)


def mean_row(rows: list[Row], tasks: list[str], name: str) -> Row:
    """Return the mean of a score or a measure over sets; undefined where one of them is."""
    several = [row for row in rows if row.measure in {f"{task}/{name}" for task in tasks}]
    mean = mean_of(row.value for row in several) if len(several) == len(tasks) else None
    return Row(
        several[0].subject, several[0].part, "none", f"average/{name}", mean,
        protocol=f"mean over {', '.join(tasks)}; {NOT_THERE}",
        note="" if mean is not None else "a set has none", extra={"unit": "sets"},
    )  # fmt: skip


add_study(
    "P-A", appendix_a,
    Claim("the accuracy of Pythia-70M correlates positively over checkpoints with I1 of its "
          "unembedding",
          of(SMALLEST, f"correlation({MEAN_ACCURACY}, {I1})"), {}, ">", 0.0),
    Claim("the accuracy of Pythia-70M correlates positively over checkpoints with I1 of its last "
          "layer",
          of(SMALLEST, f"correlation({MEAN_ACCURACY}, {MEAN_I1})"), {}, ">", 0.0),
    models=(SMALLEST, MIDDLE), training=True, tasks=SETS,
)  # fmt: skip


GRID = "tie,positions"
FACTOR = "tie"
UNTYING = "untied instead of tied"

SHOWN = {
    (VALIDATION, PERPLEXITY),
    (EMBEDDING_MATRIX, "i1"), (EMBEDDING_MATRIX, "i1_scaled"),
    (UNEMBEDDING, "i1"), (UNEMBEDDING, "i1_scaled"),
    (LAST_LAYER, MEAN_COSINE), (NON_INPUT, EXTREME),
}  # fmt: skip


def ablation(request: Request) -> Result:
    """Every cell at the end of its training, and what untying changes."""
    found = ablated(request, GRID, "clm", FACTOR)
    effects = [row for row in found.rows if row.extra.get("factor") is not None]
    kept = [row for row in (*last_step(found), *effects) if (row.part, row.measure) in SHOWN]
    return replace(found, rows=kept)


add_study(
    "P-X", ablation,
    Claim("untying the matrices raises I1 of the unembedding",
          {"measure": "i1", "part": UNEMBEDDING}, {"correction": UNTYING}, ">", 0.0,
          scope=MADE_HERE),
    Claim("untying the matrices raises I1 of the unembedding at the same norm (i1_scaled), which "
          "the paper does not look at",
          {"measure": "i1_scaled", "part": UNEMBEDDING}, {"correction": UNTYING}, ">", 0.0,
          scope=MADE_HERE),
    text=WIKIPEDIA, trains=True,
)  # fmt: skip
